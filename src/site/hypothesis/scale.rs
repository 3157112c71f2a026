//! Node sets with other numbers of hosts.

use std::str::FromStr;

use super::UnknownSubject;
use crate::base::api::names::{ClusterKey, Part};
use crate::base::text::known_names;
use crate::site::Site;

/// Another number of active hosts of a node set.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
#[display("{cluster} {node_set} has {target} active hosts")]
pub struct Scale {
    /// The cluster.
    pub cluster: ClusterKey,
    /// The role, or the name of a MachineDeployment.
    pub node_set: String,
    /// The number.
    pub target: ScaleTarget,
}

/// A number of hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display)]
pub enum ScaleTarget {
    /// A number in total.
    To(usize),
    /// A number of additional hosts.
    #[display("{_0} more")]
    Plus(usize),
    /// A number of hosts less.
    #[display("{_0} fewer")]
    Minus(usize),
}

impl FromStr for Scale {
    type Err = String;

    /// Reads `namespace/name:node-set=number`, where a sign makes the number relative.
    fn from_str(text: &str) -> Result<Self, String> {
        let form = || "write it as namespace/name:node-set=3, or as …=+3".to_owned();
        let (name, number) = text.split_once('=').ok_or_else(form)?;
        let (cluster, node_set) = name.split_once(':').ok_or_else(form)?;
        let cluster = cluster
            .parse()
            .map_err(|_| format!("`{cluster}` is not the namespace and name of a cluster"))?;
        let digits = number.trim_start_matches(['+', '-']);
        let count: usize =
            digits.parse().map_err(|_| format!("`{number}` is no number of hosts"))?;
        let target = match number.strip_suffix(digits) {
            Some("") => ScaleTarget::To(count),
            Some("+") => ScaleTarget::Plus(count),
            Some("-") => ScaleTarget::Minus(count),
            _ => return Err(format!("`{number}` is no number of hosts")),
        };
        Ok(Scale { cluster, node_set: node_set.to_owned(), target })
    }
}

impl Scale {
    pub(super) fn apply(&self, site: &mut Site) -> Result<(), UnknownSubject> {
        let unknown = UnknownSubject::cluster(&self.cluster, site);
        let request = site.clusters.get_mut(&self.cluster);
        let cluster = request.and_then(|request| request.cluster.as_mut()).ok_or(unknown)?;
        // A node set, not a machine.
        let is_meant =
            |part: &Part| part.node.is_none() && name(part).eq_ignore_ascii_case(&self.node_set);
        let found = cluster.node_sets.iter_mut().find(|(part, _)| is_meant(part));
        let Some((part, node_set)) = found else {
            let known: Vec<String> =
                cluster.node_sets.keys().filter(|part| part.node.is_none()).map(name).collect();
            let known = known_names(&known, known.len());
            let (cluster, node_set) = (self.cluster.clone(), self.node_set.clone());
            return Err(UnknownSubject::NodeSet { cluster, node_set, known });
        };
        node_set.active = match self.target {
            ScaleTarget::To(number) => number,
            ScaleTarget::Plus(more) => node_set.active.saturating_add(more),
            ScaleTarget::Minus(less) => node_set.active.checked_sub(less).ok_or_else(|| {
                UnknownSubject::TooFew(format!("{} {}", self.cluster, name(part)), node_set.active)
            })?,
        };
        Ok(())
    }
}

/// Returns the name of a node set: that of its MachineDeployment, or its role.
fn name(part: &Part) -> String {
    let named = part.node_set.as_ref();
    named.map_or_else(|| part.role.to_string(), ToString::to_string)
}
