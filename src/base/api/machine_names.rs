//! Names that Cluster API gives to Machines.
//!
//! An object's name, a dash and a random text make the name of each object that it creates. A name
//! has at most 63 characters: Cluster API cuts the first part and appends the random text
//! without a dash.

/// Characters of the longest name.
const LONGEST: usize = 63;
/// Characters of a random text.
const RANDOM: usize = 5;
/// Characters of the hash that Cluster API before 1.5 appends to the name of a MachineDeployment.
const HASH: std::ops::RangeInclusive<usize> = RANDOM + 1..=10;
/// Characters of random texts. Without vowels, no word is among them.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// Stands for a random character in a [`NamePattern`], because no text in UTF-8 has it.
const ANY: u8 = 0xff;
/// Stands for a digit.
const DIGIT: u8 = 0xfe;

/// How well a name fits a pattern; the best is last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameFit {
    /// The name has the form, and other characters than Cluster API's in the place of random ones.
    Form,
    /// Cluster API may have made the name.
    Exact,
}

/// The form of names that one object gives to others.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NamePattern(Vec<u8>);

impl NamePattern {
    /// Returns the form of a fixed name.
    fn fixed(name: &str) -> Self {
        Self(name.into())
    }

    /// Returns the form of the names that an object with this name gives.
    fn generated(mut self) -> Self {
        self.0.push(b'-');
        self.0.truncate(LONGEST - RANDOM);
        self.0.extend([ANY; RANDOM]);
        self
    }

    /// Returns the form of the names of MachineSets that a MachineDeployment with this name makes.
    fn machine_sets(self) -> impl Iterator<Item = Self> {
        let with_hash = self.0.clone();
        let hashes = HASH.map(move |length| {
            let mut name = with_hash.clone();
            name.push(b'-');
            name.extend(std::iter::repeat_n(ANY, length));
            Self(name)
        });
        std::iter::once(self.generated()).chain(hashes)
    }

    /// Returns how well a name fits; `None` for one that no object can have.
    fn fit(&self, name: &str) -> Option<NameFit> {
        let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        // Most patterns have another length.
        if self.0.len() != name.len() {
            return None;
        }
        let mut fit = NameFit::Exact;
        for (pattern, byte) in self.0.iter().zip(name.bytes()) {
            match *pattern {
                ANY if ALPHABET.contains(&byte) => {}
                ANY if is_part(byte) => fit = NameFit::Form,
                DIGIT if byte.is_ascii_digit() => {}
                ANY | DIGIT => return None,
                other if other == byte => {}
                _ => return None,
            }
        }
        let is_name = name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.bytes().all(|byte| is_part(byte) || b"-.".contains(&byte));
        is_name.then_some(fit)
    }
}

/// The names of the Machines of a control plane or MachineDeployment, and of the objects between
/// them.
#[derive(Debug, Clone, Default)]
pub struct MachineNames {
    machines: Vec<NamePattern>,
    machine_sets: Vec<NamePattern>,
    owner: Option<NamePattern>,
}

impl MachineNames {
    /// Returns those of a control plane.
    pub fn control_plane(name: &str) -> Self {
        Self::for_control_plane(NamePattern::fixed(name))
    }

    /// Returns those of a control plane that a ClusterClass makes for a Cluster.
    pub fn control_plane_of_class(cluster: &str) -> Self {
        Self::for_control_plane(NamePattern::fixed(cluster).generated())
    }

    /// Returns those of a MachineDeployment.
    pub fn deployment(name: &str) -> Self {
        Self::for_deployment(NamePattern::fixed(name))
    }

    /// Returns those of a MachineDeployment that a ClusterClass makes for a Cluster.
    pub fn deployment_of_class(cluster: &str, deployment: &str) -> Self {
        Self::for_deployment(NamePattern::fixed(&format!("{cluster}-{deployment}")).generated())
    }

    /// Returns those of a MachineSet.
    pub fn machine_set(name: &str) -> Self {
        Self::for_machine_sets(vec![NamePattern::fixed(name)])
    }

    /// Returns that of a single Machine.
    pub fn machine(name: &str) -> Self {
        Self { machines: vec![NamePattern::fixed(name)], ..Self::default() }
    }

    /// Adds the names that Cluster API before 1.7 gave to Metal3Machines, after their template.
    #[must_use]
    pub fn with_template(mut self, template: &str) -> Self {
        self.machines.push(NamePattern::fixed(template).generated());
        self
    }

    /// Adds the numbered names that k0smotron before 1.4 gave to Machines.
    #[must_use]
    pub fn with_numbers(mut self, control_plane: &str) -> Self {
        self.machines.extend((1..=3).map(|digits| {
            let mut name = NamePattern::fixed(control_plane).0;
            name.push(b'-');
            name.extend(std::iter::repeat_n(DIGIT, digits));
            NamePattern(name)
        }));
        self
    }

    fn for_control_plane(owner: NamePattern) -> Self {
        let machines = vec![owner.clone().generated()];
        Self { machines, machine_sets: Vec::new(), owner: Some(owner) }
    }

    fn for_deployment(owner: NamePattern) -> Self {
        let machine_sets = owner.clone().machine_sets().collect();
        Self { owner: Some(owner), ..Self::for_machine_sets(machine_sets) }
    }

    fn for_machine_sets(machine_sets: Vec<NamePattern>) -> Self {
        let machines = machine_sets.iter().cloned().map(NamePattern::generated);
        Self { machines: machines.collect(), machine_sets, owner: None }
    }

    /// Returns whether a Machine may have this name.
    pub fn fit_machine(&self, name: &str) -> Option<NameFit> {
        best_fit(&self.machines, name)
    }

    /// Returns whether a MachineSet between the MachineDeployment and its Machines may have this
    /// name.
    pub fn fit_machine_set(&self, name: &str) -> Option<NameFit> {
        best_fit(&self.machine_sets, name)
    }

    /// Returns whether the control plane or MachineDeployment itself may have this name.
    pub fn fit_owner(&self, name: &str) -> Option<NameFit> {
        self.owner.as_ref()?.fit(name)
    }
}

fn best_fit(patterns: &[NamePattern], name: &str) -> Option<NameFit> {
    patterns.iter().filter_map(|pattern| pattern.fit(name)).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_cluster_api_generates() {
        let control_plane = MachineNames::control_plane("edge");
        assert_eq!(control_plane.fit_machine("edge-x2k9p"), Some(NameFit::Exact));
        assert_eq!(control_plane.fit_machine("edge-abcde"), Some(NameFit::Form));
        for other in [
            "edge",
            "edge-",
            "edge-x2k9",
            "edge-x2k9p7",
            "edge-X2k9p",
            "edge-x2k9p-x2k9p",
            "edgex-x2k9p",
            "edge-****p",
        ] {
            assert_eq!(control_plane.fit_machine(other), None, "{other}");
        }
        let workers = MachineNames::deployment("prod");
        assert_eq!(workers.fit_machine("prod-x7k2p-h5rlz"), Some(NameFit::Exact));
        assert_eq!(workers.fit_machine("prod-6d4f8b7c9d-h5rlz"), Some(NameFit::Exact), "a hash");
        assert_eq!(workers.fit_machine("prod-north-x7k2p"), Some(NameFit::Form), "a word");
        assert_eq!(workers.fit_machine("prod-6d4f8b7c9d2-h5rlz"), None);
        assert_eq!(workers.fit_machine_set("prod-x7k2p"), Some(NameFit::Exact));
        assert_eq!(workers.fit_owner("prod"), Some(NameFit::Exact));

        let class_names = MachineNames::deployment_of_class("edge", "md");
        assert_eq!(class_names.fit_owner("edge-md-x7k2p"), Some(NameFit::Exact));
        assert_eq!(class_names.fit_machine("edge-md-x7k2p-4k7zd-h5rlz"), Some(NameFit::Exact));
        assert_eq!(
            MachineNames::control_plane_of_class("edge").fit_machine("edge-x7k2p-h5rlz"),
            Some(NameFit::Exact)
        );
        let k0s = MachineNames::control_plane("cp").with_numbers("cp");
        assert!(k0s.fit_machine("cp-0").is_some() && k0s.fit_machine("cp-12").is_some());
        assert!(MachineNames::control_plane("cp").fit_machine("cp-0").is_none());
    }

    #[test]
    fn a_long_name_is_cut_as_cluster_api_cuts_it() {
        let long = |length| "n".repeat(length);
        // 58 characters and a dash are one too many.
        for (name, machine) in [
            (long(57), format!("{}-x7k2p", long(57))),
            (long(58), format!("{}x7k2p", long(58))),
            (long(63), format!("{}x7k2p", long(58))),
        ] {
            assert_eq!(machine.len(), 63);
            assert_eq!(
                MachineNames::control_plane(&name).fit_machine(&machine),
                Some(NameFit::Exact),
                "{name}"
            );
        }
        // Of the MachineSet's random text, three characters are left.
        let workers = MachineNames::deployment(&long(54));
        assert_eq!(workers.fit_machine_set(&format!("{}-x7k2p", long(54))), Some(NameFit::Exact));
        assert_eq!(workers.fit_machine(&format!("{}-x7kh5rlz", long(54))), Some(NameFit::Exact));
        assert_eq!(
            MachineNames::deployment(&long(60)).fit_machine(&format!("{}h5rlz", long(58))),
            Some(NameFit::Exact)
        );
    }

    #[test]
    fn a_name_that_no_object_can_have_makes_none() {
        for name in ["", "Edge", "é", "*", "a_b"] {
            assert_eq!(
                MachineNames::control_plane(name).fit_machine(&format!("{name}-x7k2p")),
                None,
                "{name}"
            );
        }
    }
}
