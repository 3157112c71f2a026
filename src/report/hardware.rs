//! Formats the hardware of a host.

use super::{ReportText, STRONG, one_line, styled};
use crate::base::api::hardware::{Hardware, Nic, Storage, memory};
use crate::site::inventory::hardware::InspectedHardware;

/// Formats a host's known hardware, to follow its explanation. The text is empty if nothing is
/// known.
pub fn explain_hardware(
    boot_mac_address: Option<&str>,
    found: Option<&InspectedHardware>,
) -> ReportText {
    let mut out = ReportText::default();
    let mut rows: Vec<(&str, String)> = Vec::new();
    rows.extend(boot_mac_address.iter().map(|mac| ("boot MAC", (*mac).to_owned())));
    if let Some(InspectedHardware { hardware, .. }) = found {
        rows.extend(hardware_rows(hardware));
    }
    if rows.is_empty() {
        return out;
    }
    let source = found.map_or(String::new(), |found| format!(", from {}", found.source));
    writeln!(out, "  {}", styled(STRONG, format_args!("hardware{source}")));
    for (what, text) in rows {
        writeln!(out, "    {what:10}  {}", one_line(&text));
    }
    out
}

fn hardware_rows(hardware: &Hardware) -> Vec<(&'static str, String)> {
    let Hardware { cpu, ram_mebibytes, hostname, nics, storage, system_vendor, firmware } =
        hardware;
    let mut rows = Vec::new();
    let mut add = |what, parts: Vec<Option<String>>| {
        let parts: Vec<String> =
            parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        if !parts.is_empty() {
            rows.push((what, parts.join("  ")));
        }
    };
    add("CPU", vec![cpu.count.map(|count| count.to_string()), cpu.arch.clone(), cpu.model.clone()]);
    add("memory", vec![ram_mebibytes.map(memory)]);
    for Nic { name, mac, ip, model, vendor, speed_gbps, pxe } in nics {
        let speed = speed_gbps.filter(|speed| *speed > 0).map(|speed| format!("{speed} Gbit/s"));
        let boots = pxe.then(|| "PXE".to_owned());
        let known = [name, mac, ip, vendor, model].into_iter().cloned();
        add("NIC", known.chain([speed, boots]).collect());
    }
    for Storage { name, kind, rotational: _, size_bytes, model, vendor } in storage {
        let size = [name.clone(), size_bytes.map(size)];
        let made = [kind, vendor, model].into_iter().cloned();
        add("disk", size.into_iter().chain(made).collect());
    }
    let made =
        [&system_vendor.manufacturer, &system_vendor.product_name, &system_vendor.serial_number];
    add("system", made.into_iter().cloned().collect());
    add("BIOS", vec![firmware.bios.vendor.clone(), firmware.bios.version.clone()]);
    add("hostname", vec![hostname.clone()]);
    rows
}

/// Formats a disk size in powers of ten, as on the label.
fn size(bytes: u64) -> String {
    const GIGA: u64 = 1_000_000_000;
    if bytes >= 10_000 * GIGA {
        format!("{} TB", bytes / (1000 * GIGA))
    } else {
        format!("{} GB", bytes / GIGA)
    }
}
