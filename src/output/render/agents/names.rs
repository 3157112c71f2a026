//! Names of agents' objects.
//!
//! They have at most 63 characters, because agents use them as label values.

use camino::Utf8Path;
use sha2::{Digest, Sha256};

use crate::base::api::names::ClusterKey;
use crate::base::text::joined;

/// Maximum length of a label value.
const LONGEST: usize = 63;

/// Names of the objects of one site. They start with the prefix from the settings.
#[derive(Clone, Copy)]
pub(super) struct AgentObjectNames<'a>(pub(super) &'a str);

impl AgentObjectNames<'_> {
    /// Returns the name of the object that applies a part of a cluster. It is unique because
    /// namespaces contain no dots.
    pub(super) fn cluster_object(self, part: &str, cluster: &ClusterKey) -> String {
        self.name(part, &format!("{}.{}", cluster.namespace, cluster.name), true)
    }

    /// Returns the name of the object that applies the overlay over a directory.
    pub(super) fn declared(self, directory: &Utf8Path) -> String {
        let is_plain = directory.iter().all(is_dns_label);
        let parts: Vec<&str> = directory.iter().collect();
        self.name("declared", &parts.join(if is_plain { "." } else { "/" }), is_plain)
    }

    /// Joins the site's prefix, the kind of a directory and the rest. A rest that is invalid or too
    /// long is replaced, with a hash that keeps it unique.
    pub(super) fn name(self, kind: &str, rest: &str, is_plain: bool) -> String {
        let parts = [self.0, kind, rest].into_iter().filter(|part| !part.is_empty());
        let whole = joined(parts, ".");
        if is_plain && whole.len() <= LONGEST {
            return whole;
        }
        // The hash covers the whole name, so shortened names stay distinct.
        let hash = format!("{:.10x}", Sha256::digest(whole.as_bytes()));
        let lowercase = whole.to_ascii_lowercase();
        let is_other = |c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit() && c != '-';
        let labels = lowercase.split(is_other).map(|label| label.trim_matches('-'));
        let labels = joined(labels.filter(|label| !label.is_empty()), ".");
        let short: String = labels.chars().take(LONGEST - hash.len() - 1).collect();
        format!("{}-{hash}", short.trim_end_matches(['-', '.']))
    }
}

fn is_dns_label(text: &str) -> bool {
    let is_dns = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(is_dns) && !text.starts_with('-') && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const NAMES: AgentObjectNames<'_> = AgentObjectNames("sipgen");

    fn cluster(key: &str) -> String {
        NAMES.cluster_object("services", &key.parse().unwrap())
    }

    #[test]
    fn an_object_is_named_after_what_it_applies() {
        assert_eq!(cluster("tenant-a/edge"), "sipgen.services.tenant-a.edge");
        assert_eq!(NAMES.declared("sites/lab".into()), "sipgen.declared.sites.lab");
        assert_eq!(NAMES.declared("".into()), "sipgen.declared");
        assert_eq!(NAMES.name("released", "", true), "sipgen.released");
        assert_eq!(AgentObjectNames("site-7").name("released", "", true), "site-7.released");
        let observed = NAMES.cluster_object("observed", &"tenant-a/edge".parse().unwrap());
        for name in [NAMES.name("released", "", true), observed] {
            assert!(crate::base::layout::is_agents_object_of_labels(&name, "sipgen"), "{name}");
        }
    }

    #[test]
    fn no_two_names_are_alike_and_all_are_names() {
        let part = "x".repeat(63);
        let clusters = ["a-b/c", "a/b-c", "a/b.c"].map(str::to_owned).into_iter().chain([
            format!("{part}/{part}.{part}.{part}.y"),
            format!("{part}/{part}.{part}.{part}.z"),
            format!("{part}/y"),
        ]);
        let roots = [
            "a-b/c",
            "a/b-c",
            "a/b.c",
            "a/b/c",
            "a.b/c",
            "A/b/c",
            "Sites/Lab 1",
            "sites/lab_1",
            "сайт",
            "_",
            "",
        ];
        let names: Vec<String> = clusters
            .map(|key| cluster(&key))
            .chain(roots.map(|root| NAMES.declared(root.into())))
            .collect();

        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 6 + roots.len(), "{names:?}");
        for name in names {
            assert!(name.len() <= LONGEST && name.split('.').all(is_dns_label), "{name}");
        }
    }
}
