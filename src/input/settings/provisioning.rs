//! Settings under `provisioning`: interpretation of Provisionings, and installation of their
//! clusters.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use yaml_serde::Value;

use crate::base::text::static_regex;

/// Settings for Provisionings.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Provisioning")]
pub struct ProvisioningSettings {
    /// Device models that satisfy the requirements of Provisionings.
    pub devices: Devices,
    /// The program that installs Kubernetes. Default: `kubespray`, or `kud` if only `image` is set.
    installer: Option<Installer>,
    /// The installer's container image. Default: `quay.io/kubespray/kubespray:v2.31.0`, or for `kud`
    /// `github.com/onap/multicloud-k8s:latest`, which is not published: ICN builds it on the machines.
    #[serde(deserialize_with = "text")]
    #[schemars(with = "String", extend("x-editor" = {"pattern": IMAGE_PATTERN}))]
    pub(super) image: Option<String>,
    /// Ansible variables of all machines, such as `kube_version` or `ansible_user` (`root` by default).
    /// They replace those of sipgen. Write no passwords.
    pub variables: BTreeMap<String, serde_json::Value>,
    /// The format of the inventory of `kud`.
    inventory: InventoryFormat,
    /// Set if the installer Job saves the kubeconfig of the new cluster in the Secret
    /// `<cluster>-kubeconfig`, where jump hosts, Flux and Cluster API look for it.
    pub kubeconfig_secret: bool,
    /// Set if the image of `kud` supports `--scale`, which adds workers. The Job of a change that only
    /// adds workers passes it. By default, every Job is a full installation. `kubespray` always can.
    scale: bool,
}

impl Default for ProvisioningSettings {
    fn default() -> Self {
        Self {
            devices: Devices::default(),
            installer: None,
            image: None,
            variables: BTreeMap::new(),
            inventory: InventoryFormat::default(),
            kubeconfig_secret: true,
            scale: false,
        }
    }
}

impl ProvisioningSettings {
    /// Returns the installer. An image alone is one with the interface of KUD, as before kubespray.
    pub fn installer(&self) -> Installer {
        let implied = if self.image.is_some() { Installer::Kud } else { Installer::Kubespray };
        self.installer.unwrap_or(implied)
    }

    /// Returns the installer's image.
    pub fn image(&self) -> &str {
        self.image.as_deref().unwrap_or(match self.installer() {
            Installer::Kubespray => "quay.io/kubespray/kubespray:v2.31.0",
            Installer::Kud => "github.com/onap/multicloud-k8s:latest",
        })
    }

    /// Returns whether the image is that of Akraino's Binary Provisioning Agent.
    pub fn has_public_kud(&self) -> bool {
        self.installer() == Installer::Kud
            && self.image.is_none()
            && self.inventory == InventoryFormat::Ini
    }

    /// Returns the format of the inventory.
    pub fn inventory(&self) -> InventoryFormat {
        match self.installer() {
            Installer::Kubespray => InventoryFormat::Yaml,
            Installer::Kud => self.inventory,
        }
    }

    /// Returns whether the installer can only add workers.
    pub fn scales(&self) -> bool {
        self.scale || self.installer() == Installer::Kubespray
    }
}

/// A program that installs Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Installer {
    /// kubespray's own image.
    Kubespray,
    /// The installer of Akraino's Binary Provisioning Agent with its plugins, or an image with the same
    /// command `./installer`.
    Kud,
}

impl Installer {
    /// Returns the prefix of its objects' names.
    pub fn prefix(self) -> &'static str {
        match self {
            Installer::Kubespray => "k8s",
            Installer::Kud => "kud",
        }
    }
}

/// A container image reference: an optional registry, a path, an optional tag and an optional digest,
/// without a scheme and without credentials, because nodes have their own.
const IMAGE_PATTERN: &str = concat!(
    r"^(([A-Za-z0-9]([-.A-Za-z0-9]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?/)?",
    r"[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*)*",
    r"(:[A-Za-z0-9_][-.A-Za-z0-9_]{0,127})?(@[A-Za-z][-+._A-Za-z0-9]*:[0-9A-Fa-f]{32,})?$"
);

/// Returns whether a text is a container image reference.
pub fn is_image(text: &str) -> bool {
    static_regex!(IMAGE_PATTERN).is_match(text)
}

/// Deserializes a string only. YAML's parser would convert numbers and null.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(Some(text)),
        _ => Err(D::Error::custom("expected a string")),
    }
}

/// The format of an Ansible inventory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InventoryFormat {
    /// `hosts.ini`, as Akraino's Binary Provisioning Agent writes it and its installer reads it.
    #[default]
    Ini,
    /// `hosts.yaml`, as current kubespray has it.
    Yaml,
}

/// Additional device models, in the format of inspection data (`0x8086 0x1572`). The host labels
/// `bpa.akraino.org/sriov` and `bpa.akraino.org/qat`, `true` or `false`, take precedence.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Devices {
    /// Network cards with SR-IOV.
    pub sriov: Vec<Model>,
    /// Devices with QuickAssist.
    pub qat: Vec<Model>,
}

/// A PCI device model: vendor ID and device ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema, derive_more::Display)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend(
    "pattern" = r"^\s*(0[xX])?[0-9A-Fa-f]{4}[ :]+(0[xX])?[0-9A-Fa-f]{4}\s*$",
    "examples" = ["0x8086 0x1572"]
))]
#[display("{vendor:#06x} {product:#06x}")]
pub struct Model {
    /// PCI vendor ID.
    pub vendor: u16,
    /// PCI device ID.
    pub product: u16,
}

impl TryFrom<String> for Model {
    type Error = String;

    /// Parses two numbers of four hexadecimal digits, with or without `0x`, separated by a space,
    /// or by a colon as in `lspci -n`.
    fn try_from(text: String) -> Result<Self, String> {
        let model = static_regex!(
            "^[ :\t]*(?:0[xX])?([0-9A-Fa-f]{4})[ :\t]+(?:0[xX])?([0-9A-Fa-f]{4})[ :\t]*$"
        );
        let invalid = || {
            let text = text.chars().take(40).collect::<String>();
            format!(
                "invalid device model `{text}`: write vendor and device ID, such as `0x8086 0x1572`"
            )
        };
        let found = model.captures(&text).ok_or_else(invalid)?;
        let number = |digits: &str| u16::from_str_radix(digits, 16).map_err(|_| invalid());
        Ok(Self { vendor: number(&found[1])?, product: number(&found[2])? })
    }
}

const INTEL: u16 = 0x8086;
const MELLANOX: u16 = 0x15b3;
const BROADCOM: u16 = 0x14e4;

/// Device IDs of a vendor's product family.
type DeviceFamily = (u16, &'static [u16]);

/// Network cards with SR-IOV.
const SRIOV: [DeviceFamily; 10] = [
    // 82576 and I350
    (INTEL, &[0x10c9, 0x1521, 0x1522, 0x1523, 0x1524]),
    // 82599 (X520)
    (INTEL, &[0x10f8, 0x10fb, 0x154d, 0x1557, 0x1558]),
    // X540, X550, X552 and X553
    (INTEL, &[0x1528, 0x1563, 0x15ac, 0x15ad, 0x15c4, 0x15ce]),
    // X710, XL710 and XXV710
    (
        INTEL,
        &[
            0x1572, 0x1580, 0x1581, 0x1583, 0x1584, 0x1585, 0x1586, 0x1587, 0x1588, 0x1589, 0x158a,
            0x158b, 0x15ff,
        ],
    ),
    // X722
    (INTEL, &[0x37ce, 0x37cf, 0x37d0, 0x37d1, 0x37d2, 0x37d3]),
    // E810, E822 and E823
    (
        INTEL,
        &[
            0x1591, 0x1592, 0x1593, 0x1599, 0x159a, 0x159b, 0x1890, 0x1891, 0x124c, 0x124d, 0x188a,
            0x188b, 0x188c,
        ],
    ),
    // ConnectX-3 and its Pro
    (MELLANOX, &[0x1003, 0x1007]),
    // ConnectX-4, -5, -6 and -7 with their variants
    (MELLANOX, &[0x1013, 0x1015, 0x1017, 0x1019, 0x101b, 0x101d, 0x101f, 0x1021]),
    // BlueField-2 and -3
    (MELLANOX, &[0xa2d6, 0xa2dc]),
    // BCM57414, BCM57416, BCM57508 and BCM57504
    (BROADCOM, &[0x16d7, 0x16d8, 0x1750, 0x1751]),
];

/// Devices with QuickAssist.
const QAT: [DeviceFamily; 3] = [
    // Atom C2000 and C3000, Xeon D-1500
    (INTEL, &[0x1f18, 0x19e2, 0x18ee, 0x6f54]),
    // DH895xCC, C620 and the cards 8960 and 8970
    (INTEL, &[0x0435, 0x37c8]),
    // Integrated in Xeons since Sapphire Rapids: 4xxx, 401xx, 402xx, 420xx
    (INTEL, &[0x4940, 0x4942, 0x4944, 0x4946]),
];

impl Devices {
    /// Returns whether a device model has SR-IOV.
    pub fn have_sriov(&self, model: Model) -> bool {
        is_known(model, &SRIOV) || self.sriov.contains(&model)
    }

    /// Returns whether a device model has QuickAssist.
    pub fn have_qat(&self, model: Model) -> bool {
        is_known(model, &QAT) || self.qat.contains(&model)
    }
}

fn is_known(model: Model, known: &[DeviceFamily]) -> bool {
    known
        .iter()
        .any(|(vendor, products)| *vendor == model.vendor && products.contains(&model.product))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_the_same_however_it_is_written() {
        let read = |text: &str| Model::try_from(text.to_owned());
        let model = read("0x8086 0x158b").unwrap();
        for text in ["0x8086 0x158B", " 8086:158b ", "0X8086  158b"] {
            assert_eq!(read(text), Ok(model), "{text}");
        }
        assert_eq!(model.to_string(), "0x8086 0x158b");
        for text in
            ["", "0x8086", "0x8086 0x15", "0x8086 0x1572 0x0001", "Intel X710", "0x+086 0x1572"]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_image_is_what_a_container_runtime_takes_for_one() {
        let digest = format!("sha256:{}", "0123456789abcdef".repeat(4));
        for image in [
            ProvisioningSettings::default().image(),
            "busybox",
            "a/b_c/d--e.f:V1.4_rc-1",
            "localhost:5000/installer",
            "Reg.example.com/x",
            "[2001:db8::5]:5000/platform/installer:1.4",
            &format!("reg/x:1@{digest}"),
        ] {
            assert!(is_image(image), "{image}");
        }
        for no_image in [
            "",
            "http://reg.example.com/x",
            "http://user:pass@reg.example.com/x",
            "user:pass@reg.example.com/x",
            "user:pass@reg:5000/x",
            "user:pass@reg:5000",
            "Installer",
            "reg:port/x",
            "a//b",
            "/a",
            "a/",
            "a:",
            "a:-b",
            "a:b:c",
            "a@sha256:1234",
            "[::1/x",
            "a b",
        ] {
            assert!(!is_image(no_image), "{no_image}");
        }
    }

    #[test]
    fn the_settings_add_to_what_is_known() {
        let devices: Devices =
            yaml_serde::from_str("sriov: ['0x19a2 0x0710']\nqat: [8086:4948]").unwrap();
        let model = |text: &str| Model::try_from(text.to_owned()).unwrap();
        assert!(
            devices.have_sriov(model("0x19a2 0x0710"))
                && devices.have_sriov(model("0x8086 0x1572"))
        );
        assert!(
            devices.have_qat(model("0x8086 0x4948")) && devices.have_qat(model("0x8086 0x37c8"))
        );
        assert!(!Devices::default().have_sriov(model("0x14e4 0x165f")));
        assert!(!Devices::default().have_qat(model("0x8086 0x1572")));
    }
}
