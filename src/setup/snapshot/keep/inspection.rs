//! Reduction of the result of an inspection.

use serde_json::{Map, Value, json};

use super::put;
use crate::base::api::hardware::{DiskKind, Hardware};

/// Keeps the hardware facts that requests select by, and those that identify the machine. Serial
/// numbers of disks are left out.
pub(super) fn hardware(live: &Value) -> Option<Map<String, Value>> {
    let Hardware { cpu, ram_mebibytes, nics, storage, system_vendor, firmware, hostname: _ } =
        serde_json::from_value(live.clone()).ok()?;
    let some = |fields: Vec<(&str, Option<Value>)>| -> Map<String, Value> {
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    };
    // Sorted, so that the same processors always give the same bytes.
    let mut flags = cpu.flags;
    flags.sort_unstable();
    flags.dedup();
    let mut kept = some(vec![("ramMebibytes", ram_mebibytes.map(Value::from))]);
    put(
        &mut kept,
        "cpu",
        some(vec![
            ("arch", cpu.arch.map(Value::from)),
            ("count", cpu.count.map(Value::from)),
            ("flags", (!flags.is_empty()).then(|| Value::from(flags))),
            ("model", cpu.model.map(Value::from)),
        ]),
    );
    let nics: Vec<Value> = nics
        .into_iter()
        .map(|nic| {
            some(vec![
                ("ip", nic.ip.map(Value::from)),
                ("mac", nic.mac.map(Value::from)),
                ("model", nic.model.map(Value::from)),
                ("name", nic.name.map(Value::from)),
                ("speedGbps", nic.speed_gbps.filter(|speed| *speed > 0).map(Value::from)),
            ])
            .into()
        })
        .collect();
    if !nics.is_empty() {
        kept.insert("nics".to_owned(), nics.into());
    }
    let mut disks: Vec<(Option<DiskKind>, Option<u64>)> =
        storage.iter().map(|disk| (disk.disk_kind(), disk.size_bytes)).collect();
    // Inspection lists the same disks in another order each time.
    disks.sort_unstable();
    let disks: Vec<Value> = disks
        .into_iter()
        .map(|(kind, bytes)| {
            let kind = kind.map(|kind| Value::from(kind.to_string()));
            some(vec![("sizeBytes", bytes.map(Value::from)), ("type", kind)]).into()
        })
        .collect();
    if !disks.is_empty() {
        kept.insert("storage".to_owned(), disks.into());
    }
    let vendor = some(vec![
        ("manufacturer", system_vendor.manufacturer.map(Value::from)),
        ("productName", system_vendor.product_name.map(Value::from)),
        ("serialNumber", system_vendor.serial_number.map(Value::from)),
    ]);
    put(&mut kept, "systemVendor", vendor);
    let bios = some(vec![
        ("vendor", firmware.bios.vendor.map(Value::from)),
        ("version", firmware.bios.version.map(Value::from)),
    ]);
    if !bios.is_empty() {
        kept.insert("firmware".to_owned(), json!({"bios": bios}));
    }
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses hardware without the fields that no plan reads.
    fn read_hardware(hardware: &Value) -> String {
        let mut hardware: Hardware = serde_json::from_value(hardware.clone()).unwrap();
        hardware.hostname = Some("left out".to_owned());
        for nic in &mut hardware.nics {
            (nic.pxe, nic.vendor) = (true, Some("left out".to_owned()));
        }
        for disk in &mut hardware.storage {
            // They decide about the type of a disk without one.
            (disk.name, disk.rotational) = (Some("left out".to_owned()), Some(true));
            (disk.model, disk.vendor) = (Some("left out".to_owned()), Some("left out".to_owned()));
        }
        format!("{hardware:#?}")
    }

    #[test]
    fn every_field_of_hardware_that_plans_read_is_kept() {
        let live = json!({
            "cpu": {"count": 8, "arch": "x86_64", "model": "Xeon", "flags": ["vmx"]}, "ramMebibytes": 1024,
            "nics": [{"name": "eno1", "mac": "52:54:00:00:00:01", "ip": "10.0.0.1", "model": "0x8086 0x1572", "speedGbps": 25}],
            "storage": [{"type": "SSD", "sizeBytes": 1}],
            "systemVendor": {"manufacturer": "Dell Inc.", "productName": "R640", "serialNumber": "S1"},
            "firmware": {"bios": {"vendor": "Dell Inc.", "version": "2.19.1"}}
        });
        let fields = read_hardware(&live);
        for empty in ["None", "[]", "false"] {
            assert!(!fields.contains(empty), "set every field of the hardware above: {fields}");
        }
        let kept = Value::from(hardware(&live).unwrap());
        assert_eq!(read_hardware(&kept), fields, "add the field to `hardware` of this module");
    }
}
