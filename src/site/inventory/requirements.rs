//! Requirements of node sets on the hardware of hosts, and what a host lacks.
//!
//! All kinds of requests have the same requirements and the same comparison.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::machine::{Cpus, InspectedCard, InspectedDisk, MachineProperties};
use crate::base::api::hardware::{DiskKind, HardwareText, memory};
use crate::base::grouping::occurrences;
use crate::base::text::joined;

/// Requirements on the hardware of a host. A machine in both lists of a Provisioning must meet those
/// of both. Serialized are the fields that a machine may have.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HardwareRequirements {
    /// Minimum number of CPUs.
    pub cpu: u64,
    /// Minimum memory in MiB.
    pub memory_mib: u64,
    /// Set if its network cards must support SR-IOV.
    pub sriov: bool,
    /// Set if it must have QuickAssist.
    pub qat: bool,
    /// Architectures of the CPUs.
    #[serde(rename = "cpuArch", skip_serializing_if = "BTreeSet::is_empty")]
    pub architectures: BTreeSet<String>,
    /// Model names of the CPUs.
    #[serde(rename = "cpuModel", skip_serializing_if = "BTreeSet::is_empty")]
    pub models: BTreeSet<TextPattern>,
    /// Features of the CPUs, in lower case.
    #[serde(rename = "cpuFlags", skip_serializing_if = "BTreeSet::is_empty")]
    pub flags: BTreeSet<String>,
    /// Disks; each counts for one entry.
    #[serde(skip)]
    pub disks: Vec<RequiredDisks>,
    /// Network cards; each counts for one entry.
    #[serde(skip)]
    pub nics: Vec<RequiredNics>,
    /// Other texts.
    #[serde(skip)]
    pub texts: BTreeMap<HardwareText, TextPattern>,
}

/// A text that is compared in any case; `*` stands for any text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct TextPattern {
    /// The pattern as written.
    pub text: String,
    /// Set if a part of the compared text suffices.
    #[serde(skip)]
    pub is_part: bool,
}

/// A number of disks.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequiredDisks {
    /// Minimum number.
    pub count: u64,
    /// Minimum size of each in bytes.
    pub bytes: u64,
    /// The size as written.
    pub size: Option<String>,
    /// Type of each.
    pub kind: Option<DiskKind>,
}

/// A number of network cards.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequiredNics {
    /// Minimum number.
    pub count: u64,
    /// Minimum speed of each in Gbit/s.
    pub speed_gbps: u64,
    /// Set if each must support SR-IOV.
    pub sriov: bool,
}

/// A requirement that a host does not meet.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
#[display("{reason}")]
pub struct UnmetRequirement {
    /// The reason as a clause about one host: `has 4 CPUs, and 8 are asked for`.
    reason: String,
    /// The rule for several hosts: `with fewer than 8 CPUs`.
    pub(crate) rule: String,
}

impl UnmetRequirement {
    pub(crate) fn new(reason: impl Into<String>, rule: impl Into<String>) -> Self {
        Self { reason: reason.into(), rule: rule.into() }
    }

    fn without(what: impl fmt::Display) -> Self {
        Self::new(format!("has no {what}"), format!("without {what}"))
    }

    /// Compares a text with the one that is asked for.
    fn text(
        what: impl fmt::Display,
        found: Option<&String>,
        asked: &str,
        matches: impl Fn(&str) -> bool,
    ) -> Option<Self> {
        let reason = match found {
            Some(found) if matches(found) => return None,
            Some(found) => format!("has the {what} `{found}`, and `{asked}` is asked for"),
            None => format!("has no known {what}"),
        };
        Some(Self::new(reason, format!("without the {what} `{asked}`")))
    }
}

impl fmt::Display for HardwareRequirements {
    /// Formats the requirements as `32 CPUs, 128 GiB, x86_64, 2 NVME disks of 900Gi or more`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend((self.cpu > 0).then(|| counted_cpus(self.cpu)));
        parts.extend((self.memory_mib > 0).then(|| memory(self.memory_mib)));
        parts.extend(self.sriov.then(|| "SR-IOV".to_owned()));
        parts.extend(self.qat.then(|| "QuickAssist".to_owned()));
        parts.extend(self.architectures.iter().cloned());
        parts.extend(self.models.iter().map(|model| model.text.clone()));
        parts.extend(self.flags.iter().cloned());
        parts.extend(self.disks.iter().map(|disks| disks.words(disks.count)));
        parts.extend(self.nics.iter().map(|nics| nics.words(nics.count)));
        parts.extend(self.texts.iter().map(|(what, pattern)| format!("{what} {}", pattern.text)));
        f.write_str(&parts.join(", "))
    }
}

/// Formats a number of CPUs.
pub(crate) fn counted_cpus(count: u64) -> String {
    format!("{count} {}", if count == 1 { "CPU" } else { "CPUs" })
}

impl TextPattern {
    /// Returns a pattern that a whole text must match.
    pub fn whole(text: &str) -> Self {
        Self { text: text.to_owned(), is_part: false }
    }

    /// Returns a pattern that a part of a text must match.
    pub fn part(text: &str) -> Self {
        Self { text: text.to_owned(), is_part: true }
    }

    /// Returns whether a text matches. The time is linear in its length.
    pub fn matches(&self, text: &str) -> bool {
        let text = text.trim().to_lowercase();
        let pattern = self.text.to_lowercase();
        let pattern = if self.is_part { format!("*{pattern}*") } else { pattern };
        let Some((start, more)) = pattern.split_once('*') else { return text == pattern };
        let (middle, end) = more.rsplit_once('*').unwrap_or(("", more));
        let rest = text.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
        let Some(mut rest) = rest else { return false };
        middle.split('*').all(|part| match rest.split_once(part) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
    }
}

/// Devices of one kind that a host must have in a number.
trait RequiredDevices {
    type Device;
    const NOUN: &'static str;

    fn count(&self) -> u64;

    fn fits(&self, device: &Self::Device) -> bool;

    /// Describes a number of such devices.
    fn words(&self, count: u64) -> String;
}

impl RequiredDevices for RequiredDisks {
    type Device = InspectedDisk;
    const NOUN: &'static str = "disks";

    fn count(&self) -> u64 {
        self.count
    }

    fn fits(&self, disk: &InspectedDisk) -> bool {
        disk.bytes >= self.bytes && self.kind.is_none_or(|kind| disk.kind == Some(kind))
    }

    fn words(&self, count: u64) -> String {
        let kind = self.kind.map_or_else(String::new, |kind| format!("{kind} "));
        let size =
            self.size.as_ref().map_or_else(String::new, |size| format!(" of {size} or more"));
        in_words(count, &format!("{kind}disk")) + &size
    }
}

impl RequiredDevices for RequiredNics {
    type Device = InspectedCard;
    const NOUN: &'static str = "network cards";

    fn count(&self) -> u64 {
        self.count
    }

    fn fits(&self, card: &InspectedCard) -> bool {
        card.speed_gbps.unwrap_or_default() >= self.speed_gbps && (card.sriov || !self.sriov)
    }

    fn words(&self, count: u64) -> String {
        let mut words = in_words(count, "network card");
        if self.speed_gbps > 0 {
            words += &format!(" of {} Gbit/s or more", self.speed_gbps);
        }
        if self.sriov {
            words += " with SR-IOV";
        }
        words
    }
}

/// Formats a number of devices: `no disk`, `1 disk`, `2 disks`.
fn in_words(count: u64, noun: &str) -> String {
    let number = if count == 0 { "no".to_owned() } else { count.to_string() };
    format!("{number} {noun}{}", if count > 1 { "s" } else { "" })
}

/// Returns the first entries that devices cannot meet together, each device for one of them. By Hall's
/// theorem (1935), they meet all entries if they suffice for each subset.
fn too_few<R: RequiredDevices>(required: &[R], devices: &[R::Device]) -> Option<UnmetRequirement> {
    let masks = devices.iter().map(|device| {
        let fits = required.iter().enumerate().filter(|(_, entry)| entry.fits(device));
        fits.fold(0_u32, |mask, (at, _)| mask | 1 << at)
    });
    let by_mask = occurrences(masks.filter(|mask| *mask > 0));
    // The entries are few: validation limits them.
    let mut subsets: Vec<u32> = (1..1 << required.len()).collect();
    subsets.sort_by_key(|subset| subset.count_ones());
    subsets.into_iter().find_map(|subset| {
        let entries = required.iter().enumerate().filter(|(at, _)| subset & 1 << at > 0);
        let entries: Vec<&R> = entries.map(|(_, entry)| entry).collect();
        let asked: u64 = entries.iter().map(|entry| entry.count()).sum();
        let has = by_mask.iter().filter(|(mask, _)| *mask & subset > 0);
        let has: u64 = has.map(|(_, devices)| *devices as u64).sum();
        (has < asked).then(|| match entries.as_slice() {
            [entry] if asked == 1 => UnmetRequirement::new(
                format!("has {}", entry.words(0)),
                format!("with {}", entry.words(0)),
            ),
            [entry] => UnmetRequirement::new(
                format!("has {}, and {asked} are asked for", entry.words(has)),
                format!("with fewer than {}", entry.words(asked)),
            ),
            _ => {
                let words = entries.iter().map(|entry| entry.words(entry.count()));
                let words = joined(words, " and ");
                UnmetRequirement::new(
                    format!("has only {has} {} for {words}", R::NOUN),
                    format!("with too few {} for {words}", R::NOUN),
                )
            }
        })
    })
}

/// Maximum number of disks and network cards of a described host.
const MOST_DEVICES: u64 = 1000;

impl MachineProperties {
    /// Describes a host that meets requirements and has nothing else; `None` if none can.
    pub(crate) fn sufficient_for(asked: &HardwareRequirements) -> Option<Self> {
        let devices = asked.disks.iter().map(|disks| disks.count);
        let devices: u64 = devices.chain(asked.nics.iter().map(|nics| nics.count)).sum();
        if devices > MOST_DEVICES {
            return None;
        }
        let disks = asked.disks.iter().flat_map(|disks| {
            (0..disks.count).map(|_| InspectedDisk { kind: disks.kind, bytes: disks.bytes })
        });
        let cards = asked.nics.iter().flat_map(|nics| {
            let card = InspectedCard { speed_gbps: Some(nics.speed_gbps), sriov: nics.sriov };
            (0..nics.count).map(move |_| card)
        });
        // A wildcard stands for no text as well.
        let text = |pattern: &TextPattern| pattern.text.replace('*', "");
        let sufficient = Self {
            cpu: Some(asked.cpu),
            memory_mib: Some(asked.memory_mib),
            sriov: asked.sriov,
            qat: asked.qat,
            cpus: Cpus::with_flags(
                asked.models.first().map(text),
                asked.architectures.first().cloned(),
                asked.flags.iter().map(String::as_str),
            ),
            is_inspected: true,
            disks: disks.collect(),
            cards: cards.collect(),
            texts: asked.texts.iter().map(|(what, pattern)| (*what, text(pattern))).collect(),
            ..Self::default()
        };
        // For example, two architectures contradict each other.
        let is_possible = sufficient.lacks(asked).next().is_none();
        is_possible.then_some(sufficient)
    }

    /// Returns the unmet requirements.
    pub fn lacks<'a>(
        &'a self,
        asked: &'a HardwareRequirements,
    ) -> impl Iterator<Item = UnmetRequirement> + 'a {
        // Without a requirement, unknown hardware does not matter.
        let is_unknown = asked.cpu > 0 && self.cpu.is_none()
            || asked.memory_mib > 0 && self.memory_mib.is_none()
            || !self.is_inspected && asked.needs_inspection();
        let unknown = is_unknown.then(|| {
            let reason = "has no hardware details that say what it has";
            UnmetRequirement::new(reason, "without hardware details")
        });
        let cpu = self.cpu.filter(|has| *has < asked.cpu).map(|has| {
            UnmetRequirement::new(
                format!("has {has} CPUs, and {} are asked for", asked.cpu),
                format!("with fewer than {} CPUs", asked.cpu),
            )
        });
        let memory = self.memory_mib.filter(|has| *has < asked.memory_mib).map(|has| {
            UnmetRequirement::new(
                format!("has {has} MiB of memory, and {} MiB are asked for", asked.memory_mib),
                format!("with less than {} MiB of memory", asked.memory_mib),
            )
        });
        let sriov = (asked.sriov && !self.sriov)
            .then(|| UnmetRequirement::new("has no network card with SR-IOV", "without SR-IOV"));
        let qat = (asked.qat && !self.qat).then(|| UnmetRequirement::without("QuickAssist"));
        let details = (!is_unknown).then(|| self.lacks_details(asked)).into_iter().flatten();
        [unknown, cpu, memory, sriov, qat].into_iter().flatten().chain(details)
    }

    /// Returns the unmet requirements on the kinds of CPUs, disks and network cards, and on texts.
    fn lacks_details<'a>(
        &'a self,
        asked: &'a HardwareRequirements,
    ) -> impl Iterator<Item = UnmetRequirement> + 'a {
        let cpus = &self.cpus;
        let architectures = asked.architectures.iter().filter_map(|asked| {
            let is_it = |has: &str| architecture(has) == architecture(asked);
            UnmetRequirement::text("CPU architecture", cpus.architecture.as_ref(), asked, is_it)
        });
        let models = asked.models.iter().filter_map(|asked| {
            let is_it = |has: &str| asked.matches(has);
            UnmetRequirement::text("CPU model", cpus.model.as_ref(), &asked.text, is_it)
        });
        let texts = asked.texts.iter().filter_map(|(what, asked)| {
            let is_it = |has: &str| asked.matches(has);
            UnmetRequirement::text(what, self.texts.get(what), &asked.text, is_it)
        });
        let flags = asked.flags.iter().filter(|flag| !cpus.lacks_flags() && !cpus.has_flag(flag));
        let flags = flags.map(UnmetRequirement::without);
        let has_speed = |nic: &RequiredNics| nic.speed_gbps > 0;
        let lacks_speeds = self.cards.iter().all(|card| card.speed_gbps.is_none())
            && asked.nics.iter().any(has_speed);
        let unknown = |is_unknown: bool, part| {
            is_unknown.then(|| UnmetRequirement::without(format_args!("known {part}")))
        };
        let lacks_flags = cpus.lacks_flags() && !asked.flags.is_empty();
        let disks = unknown(self.disks.is_empty() && !asked.disks.is_empty(), "disks");
        let nics = unknown(lacks_speeds, "speed of a network card");
        architectures
            .chain(models)
            .chain(unknown(lacks_flags, "CPU features"))
            .chain(flags)
            .chain(disks.or_else(|| too_few(&asked.disks, &self.disks)))
            .chain(nics.or_else(|| too_few(&asked.nics, &self.cards)))
            .chain(texts)
    }
}

/// Returns the name that the kernel gives to an architecture, in lower case. Kubernetes has other names
/// for some.
fn architecture(name: &str) -> Cow<'static, str> {
    match name.trim().to_ascii_lowercase().as_str() {
        "amd64" => "x86_64".into(),
        "arm64" => "aarch64".into(),
        name => name.to_owned().into(),
    }
}

impl HardwareRequirements {
    /// Returns whether any hardware meets the requirements.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether labels cannot show that a host meets the requirements.
    fn needs_inspection(&self) -> bool {
        let devices = Self { sriov: self.sriov, qat: self.qat, ..Self::default() };
        *self != devices
    }

    /// Returns whether it requires SR-IOV.
    pub(crate) fn asks_for_sriov(&self) -> bool {
        self.sriov || self.nics.iter().any(|nics| nics.sriov)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::api::hardware::Hardware;
    use crate::input::settings::provisioning::Devices;
    use crate::site::inventory::networks::NoNetworkData;

    fn machine(hardware: &str) -> MachineProperties {
        let hardware = yaml_serde::from_str::<Hardware>(hardware).unwrap();
        let (network, devices) = (Err(NoNetworkData::Absent), Devices::default());
        MachineProperties::new(Some(&hardware), &network, None, &BTreeMap::new(), &devices)
    }

    fn lacks(machine: &MachineProperties, asked: &HardwareRequirements) -> Vec<String> {
        machine.lacks(asked).map(|unmet| unmet.to_string()).collect()
    }

    #[test]
    fn cpus_are_compared_by_model_features_and_architecture() {
        let machine = machine(
            "cpu: {model: Intel(R) Xeon(R) Gold 6252N CPU @ 2.30GHz, arch: x86_64, flags: [fpu, AVX512F, avx512cd]}",
        );
        let lack = |model: &str, flag: &str, arch: &str| -> Vec<String> {
            let one = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            let asked = HardwareRequirements {
                models: one(model).iter().map(|model| TextPattern::part(model)).collect(),
                flags: one(flag).into_iter().collect(),
                architectures: one(arch).into_iter().collect(),
                ..HardwareRequirements::default()
            };
            lacks(&machine, &asked)
        };

        assert!(lack("xeon*gold 62", "avx512f", "X86_64").is_empty());
        assert!(lack("", "", "amd64").is_empty());
        assert_eq!(lack("", "avx512", ""), ["has no avx512"]);
        assert_eq!(lack("gold*xeon", "", "").len(), 1, "parts have an order");
        assert_eq!(
            lack("", "", "arm64"),
            ["has the CPU architecture `x86_64`, and `arm64` is asked for"]
        );
    }

    #[test]
    fn a_host_lacks_what_is_not_known_of_it() {
        let asked = HardwareRequirements {
            cpu: 8,
            memory_mib: 1024,
            sriov: true,
            ..HardwareRequirements::default()
        };
        let known =
            MachineProperties { sriov: true, ..machine("{cpu: {count: 8}, ramMebibytes: 512}") };
        assert_eq!(lacks(&known, &asked), ["has 512 MiB of memory, and 1024 MiB are asked for"]);
        let unknown = MachineProperties::default();
        let no_details = "has no hardware details that say what it has";
        assert_eq!(lacks(&unknown, &asked), [no_details, "has no network card with SR-IOV"]);
        assert!(HardwareRequirements::default().is_empty());
        assert!(lacks(&unknown, &HardwareRequirements::default()).is_empty());

        let disks = [RequiredDisks { count: 1, ..RequiredDisks::default() }].into();
        let asked = HardwareRequirements { disks, ..HardwareRequirements::default() };
        assert_eq!(lacks(&unknown, &asked), [no_details]);
        assert_eq!(lacks(&machine("{}"), &asked), ["has no known disks"]);
        let flags = ["vmx".to_owned()].into();
        let asked = HardwareRequirements { flags, ..HardwareRequirements::default() };
        assert_eq!(lacks(&machine("{}"), &asked), ["has no known CPU features"]);
    }

    #[test]
    fn a_pattern_matches_a_whole_text_in_any_case() {
        for (pattern, text, matches) in [
            ("dell inc.", " Dell Inc. ", true),
            ("Dell", "Dell Inc.", false),
            ("dell*", "Dell Inc.", true),
            ("*r640*", "PowerEdge R640 (SKU=NotProvided)", true),
            ("2.19.*", "2.19.1", true),
            ("2.19.*", "12.19.1", false),
            ("a*a", "a", false),
            ("a**b*", "ab", true),
            ("*b*b", "ab", false),
            ("a.c", "abc", false),
            ("*x*", "", false),
        ] {
            assert_eq!(TextPattern::whole(pattern).matches(text), matches, "{pattern} {text}");
        }
        assert!(TextPattern::part("gold 62").matches("Xeon Gold 6252N"));
    }

    #[test]
    fn each_device_counts_for_one_entry() {
        let machine = machine(
            "storage: [{type: NVME, sizeBytes: 1000}, {type: nvme, sizeBytes: 900}, {rotational: true, sizeBytes: 5000}, \
             {name: /dev/nvme7n1, rotational: false, sizeBytes: 10}]\n\
             nics: [{mac: '52:54:00:00:00:01', ip: 10.0.0.1, speedGbps: 25}, {mac: '52:54:00:00:00:01', ip: 'fd00::1', speedGbps: 25}, \
             {mac: '52:54:00:00:00:02', speedGbps: 10, model: '0x8086 0x1572'}]",
        );
        let disk = |count, bytes: u64, kind| RequiredDisks {
            count,
            bytes,
            size: (bytes > 0).then(|| bytes.to_string()),
            kind,
        };
        let disks = |disks: &[RequiredDisks]| {
            let disks = disks.to_vec();
            lacks(&machine, &HardwareRequirements { disks, ..HardwareRequirements::default() })
        };
        let nvme = Some(DiskKind::Nvme);
        assert!(
            disks(&[disk(2, 900, nvme), disk(1, 0, nvme), disk(1, 5000, Some(DiskKind::Hdd))])
                .is_empty()
        );
        assert_eq!(
            disks(&[disk(3, 900, nvme)]),
            ["has 2 NVME disks of 900 or more, and 3 are asked for"]
        );
        assert_eq!(
            disks(&[disk(2, 900, nvme), disk(1, 0, Some(DiskKind::Ssd))]),
            ["has no SSD disk"]
        );
        assert_eq!(
            disks(&[disk(2, 10, nvme), disk(2, 900, nvme)]),
            ["has only 3 disks for 2 NVME disks of 10 or more and 2 NVME disks of 900 or more"]
        );
        let nics = |count, speed_gbps, sriov| {
            let nics = vec![RequiredNics { count, speed_gbps, sriov }];
            lacks(&machine, &HardwareRequirements { nics, ..HardwareRequirements::default() })
        };
        assert!(nics(2, 10, false).is_empty() && nics(1, 10, true).is_empty());
        assert_eq!(
            nics(2, 25, false),
            ["has 1 network card of 25 Gbit/s or more, and 2 are asked for"]
        );
        assert_eq!(nics(1, 25, true), ["has no network card of 25 Gbit/s or more with SR-IOV"]);
    }
}
