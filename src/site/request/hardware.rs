//! Validates the hardware requirements of node sets.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::api::hardware::{DiskKind, HardwareText};
use crate::base::api::hardware_requirements::{
    CpuRequest, DiskRequest, HardwareRequest, MOST_ENTRIES, MOST_UNITS, NicRequest, is_cpu_flag,
};
use crate::base::api::quantity::{self, WrittenText};
use crate::base::finding::RouteStep;
use crate::input::decode::label_selector::Mistake;
use crate::site::inventory::requirements::{
    HardwareRequirements, RequiredDisks, RequiredNics, TextPattern,
};

/// The longest text of a requirement, in characters.
const LONGEST_TEXT: usize = 256;

/// Checks the requirements of a node set.
///
/// # Errors
///
/// Returns all mistakes.
pub(crate) fn check(hardware: &HardwareRequest) -> Result<HardwareRequirements, Vec<Mistake>> {
    let HardwareRequest { cpu, memory, storage, nics, system_vendor, firmware } = hardware;
    let mut check = HardwareValidation::default();
    let CpuRequest { count, arch, model, flags } = cpu.clone().unwrap_or_default();
    let cpu = check.number(count, "cpu.count").unwrap_or_default();
    let architectures = check.text(arch, "cpu.arch");
    let models = check.text(model, "cpu.model");
    let vendor = system_vendor.clone().unwrap_or_default();
    let bios = firmware.clone().and_then(|firmware| firmware.bios).unwrap_or_default();
    let texts: BTreeMap<HardwareText, TextPattern> = [
        (HardwareText::Manufacturer, vendor.manufacturer, "systemVendor.manufacturer"),
        (HardwareText::ProductName, vendor.product_name, "systemVendor.productName"),
        (HardwareText::BiosVendor, bios.vendor, "firmware.bios.vendor"),
        (HardwareText::BiosVersion, bios.version, "firmware.bios.version"),
    ]
    .into_iter()
    .filter_map(|(what, found, path)| Some((what, TextPattern::whole(&check.text(found, path)?))))
    .collect();
    let required = HardwareRequirements {
        cpu,
        memory_mib: check.size(memory.as_ref(), quantity::mebibytes, "memory"),
        architectures: architectures.into_iter().collect(),
        models: models.iter().map(|model| TextPattern::whole(model)).collect(),
        flags: check.flags(flags.as_deref().unwrap_or_default()),
        disks: check.disks(storage.as_deref().unwrap_or_default()),
        nics: check.nics(nics.as_deref().unwrap_or_default()),
        texts,
        ..HardwareRequirements::default()
    };
    if check.mistakes.is_empty() { Ok(required) } else { Err(check.mistakes) }
}

#[derive(Default)]
struct HardwareValidation {
    mistakes: Vec<Mistake>,
}

impl HardwareValidation {
    /// Reports a mistake at a path of fields and indices, such as `storage.0.type`.
    fn report(&mut self, path: &str, message: String, help: &str) {
        let step = |step: &str| step.parse::<usize>().map_or_else(|_| step.into(), RouteStep::from);
        self.mistakes.push(Mistake::new(path.split('.').map(step).collect(), message, help));
    }

    fn number(&mut self, number: Option<i64>, path: &str) -> Option<u64> {
        let number = number?;
        let valid = u64::try_from(number).ok().filter(|_| (1..=MOST_UNITS).contains(&number));
        if valid.is_none() {
            let field = field(path);
            let help = format!("write 1 to {MOST_UNITS}, or remove it");
            self.report(path, format!("`{field}: {number}` is not a valid number"), &help);
        }
        valid
    }

    fn size(
        &mut self,
        size: Option<&WrittenText>,
        parse: impl Fn(&str) -> Option<u64>,
        path: &str,
    ) -> u64 {
        let Some(WrittenText(text)) = size else { return 0 };
        parse(text.trim()).filter(|size| *size > 0).unwrap_or_else(|| {
            let message = format!("`{}: {text}` is not an amount of bytes", field(path));
            self.report(path, message, "write a Kubernetes quantity, such as `128Gi`");
            0
        })
    }

    fn text(&mut self, text: Option<String>, path: &str) -> Option<String> {
        let text = text.as_deref()?.trim();
        let message = if text.chars().count() > LONGEST_TEXT {
            format!("`{}` has more than {LONGEST_TEXT} characters", field(path))
        } else if text.trim_matches('*').is_empty() {
            format!("`{}: {text}` requires nothing", field(path))
        } else {
            return Some(text.to_owned());
        };
        self.report(path, message, "write the inspected text; `*` stands for any text");
        None
    }

    fn flags(&mut self, flags: &[String]) -> BTreeSet<String> {
        for (index, flag) in flags.iter().enumerate() {
            if !is_cpu_flag(flag) {
                let message = "a CPU feature is not a single word".to_owned();
                let help = "write one feature per entry, as in /proc/cpuinfo, such as `avx512f`";
                self.report(&format!("cpu.flags.{index}"), message, help);
            }
        }
        flags.iter().map(|flag| flag.to_ascii_lowercase()).collect()
    }

    fn disks(&mut self, entries: &[DiskRequest]) -> Vec<RequiredDisks> {
        let entries = self.few(entries, "storage").iter().enumerate();
        let disks = entries.map(|(index, DiskRequest { count, min_size, kind })| {
            let path = |field: &str| format!("storage.{index}.{field}");
            let known =
                |kind: &String| DiskKind::ALL.into_iter().find(|it| it.to_string() == *kind);
            let parsed = kind.as_ref().map(known);
            if let (Some(None), Some(kind)) = (parsed, kind) {
                let message = format!("unknown type of disks `{kind}`");
                self.report(&path("type"), message, "write `HDD`, `SSD` or `NVME`");
            }
            RequiredDisks {
                count: self.number(count.or(Some(1)), &path("count")).unwrap_or(1),
                bytes: self.size(min_size.as_ref(), quantity::bytes, &path("minSize")),
                size: min_size.as_ref().map(|size| size.0.trim().to_owned()),
                kind: parsed.flatten(),
            }
        });
        disks.collect()
    }

    fn nics(&mut self, entries: &[NicRequest]) -> Vec<RequiredNics> {
        let entries = self.few(entries, "nics").iter().enumerate();
        let nics = entries.map(|(index, NicRequest { count, min_speed_gbps, sriov })| {
            let path = |field: &str| format!("nics.{index}.{field}");
            RequiredNics {
                count: self.number(count.or(Some(1)), &path("count")).unwrap_or(1),
                speed_gbps: self.number(*min_speed_gbps, &path("minSpeedGbps")).unwrap_or_default(),
                sriov: sriov.unwrap_or_default(),
            }
        });
        nics.collect()
    }

    /// Returns entries unless there are too many.
    fn few<'e, T>(&mut self, entries: &'e [T], field: &str) -> &'e [T] {
        if entries.len() <= MOST_ENTRIES {
            return entries;
        }
        let message = format!("`{field}` has more than {MOST_ENTRIES} entries");
        self.report(field, message, "write equal devices as one entry with a `count`");
        &[]
    }
}

/// Returns the last field of a path.
fn field(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or_default()
}
