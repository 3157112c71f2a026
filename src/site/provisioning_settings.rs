//! What `sipgen.yaml` says of Provisionings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the clusters of Provisionings are installed.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Provisioning {
    /// The form of the inventory that the installer is given.
    #[serde(default)]
    pub inventory: InventoryFormat,
    /// The installer's container image.
    #[serde(default = "default_image")]
    #[schemars(extend("x-editor" = {"pattern": r"^\S+$"}))]
    pub image: String,
}

/// The forms of an ansible inventory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InventoryFormat {
    /// `hosts.ini`, as Akraino's Binary Provisioning Agent wrote it and its installer reads it.
    #[default]
    Ini,
    /// `hosts.yaml`, as kubespray has it today.
    Yaml,
}

/// The image that Akraino's Binary Provisioning Agent ran. Nobody publishes it: it is built on the machines themselves.
fn default_image() -> String {
    "github.com/onap/multicloud-k8s:latest".to_owned()
}

impl Default for Provisioning {
    fn default() -> Self {
        Self { inventory: InventoryFormat::default(), image: default_image() }
    }
}
