//! The record of what an installer Job installs, in an annotation of the Job.
//!
//! It is how a run knows that machines were only added since the last one, and how a repeated run
//! renders the same Job again.

use std::collections::BTreeSet;

use derive_more::Display;

/// The annotation with the record.
pub const ANNOTATION: &str = "bpa.akraino.org/installed";

/// What an installer Job installs. Its display is the value of the annotation: `scale CORE
/// MACHINE,MACHINE`.
#[derive(Debug, Clone, PartialEq, Eq, Display)]
#[display("{mode} {core} {}", machines.iter().map(String::as_str).collect::<Vec<_>>().join(","))]
pub struct InstallationRecord {
    /// The playbook that the Job runs.
    pub mode: InstallMode,
    /// Hash of everything but the machines.
    pub core: String,
    /// Hash of every machine: name, role, host and address.
    pub machines: BTreeSet<String>,
}

/// The playbook of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display)]
#[display(rename_all = "lowercase")]
pub enum InstallMode {
    /// The full installation.
    Full,
    /// Only adds workers (kubespray's `scale.yml`).
    Scale,
}

impl InstallationRecord {
    /// Returns the record of the next Job. `are_workers` tells whether machines, given by their
    /// hashes, run workloads only.
    ///
    /// An unchanged installation keeps the mode, so that its Job keeps its name.
    pub fn next(
        previous: Option<&InstallationRecord>,
        core: String,
        machines: BTreeSet<String>,
        are_workers: impl Fn(&BTreeSet<&String>) -> bool,
    ) -> Self {
        let mode = match previous {
            Some(previous) if previous.core == core && previous.machines == machines => {
                previous.mode
            }
            Some(previous)
                if previous.core == core
                    && previous.machines.is_subset(&machines)
                    && are_workers(&machines.difference(&previous.machines).collect()) =>
            {
                InstallMode::Scale
            }
            _ => InstallMode::Full,
        };
        Self { mode, core, machines }
    }

    /// Finds the record in the text of a Job.
    pub fn find(content: &[u8]) -> Option<Self> {
        let mut lines =
            content.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
        let value = lines.find_map(|line| {
            let value = line.trim().strip_prefix(ANNOTATION)?.strip_prefix(':')?;
            Some(value.trim().trim_matches(['"', '\'']))
        });
        Self::parse(value?)
    }

    fn parse(text: &str) -> Option<Self> {
        let [mode, core, machines] = text.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let mut modes = [InstallMode::Full, InstallMode::Scale].into_iter();
        Some(Self {
            mode: modes.find(|known| known.to_string() == mode)?,
            core: core.to_owned(),
            machines: machines.split(',').map(str::to_owned).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machines(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn only_added_workers_scale_and_a_repeated_run_changes_nothing() {
        let next = |previous: Option<&InstallationRecord>, core: &str, names: &[&str]| {
            let are_workers =
                |added: &BTreeSet<&String>| added.iter().all(|name| name.starts_with('w'));
            InstallationRecord::next(previous, core.to_owned(), machines(names), are_workers)
        };
        let first = next(None, "c", &["m1", "w1"]);
        assert_eq!(first.mode, InstallMode::Full);
        assert_eq!(next(Some(&first), "c", &["m1", "w1"]), first);

        let scaled = next(Some(&first), "c", &["m1", "w1", "w2"]);
        assert_eq!(scaled.mode, InstallMode::Scale);
        assert_eq!(next(Some(&scaled), "c", &["m1", "w1", "w2"]), scaled);
        assert_eq!(next(Some(&scaled), "c", &["m1", "w1", "w2", "w3"]).mode, InstallMode::Scale);

        for (core, names) in [
            ("other", ["m1", "w1", "w2", "w3"].as_slice()),
            ("c", &["m1", "w2", "w3"]),
            ("c", &["m1", "m2", "w1", "w2"]),
        ] {
            assert_eq!(
                next(Some(&scaled), core, names).mode,
                InstallMode::Full,
                "{core} {names:?}"
            );
        }
    }

    #[test]
    fn a_record_is_read_back_from_a_job() {
        let record = InstallationRecord {
            mode: InstallMode::Scale,
            core: "0a".to_owned(),
            machines: machines(&["1b", "2c"]),
        };
        let job = format!("metadata:\n  annotations:\n    {ANNOTATION}: \"{record}\"\n");
        assert_eq!(InstallationRecord::find(job.as_bytes()), Some(record));
        assert_eq!(InstallationRecord::find(b"kind: Job\n"), None);
        assert_eq!(InstallationRecord::find(format!("{ANNOTATION}: odd\n").as_bytes()), None);
    }
}
