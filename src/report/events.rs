//! Events between two snapshots, as text.

use super::{ReportText, STRONG, styled};
use crate::base::text::counted;
use crate::setup::snapshot::Event;

/// Maximum number of events in a commit message.
const MOST: usize = 100;

/// Lists up to `most` events, one per line.
pub fn events(events: &[Event], most: usize) -> ReportText {
    let mut out = ReportText::default();
    for event in events.iter().take(most) {
        // Writing to a `ReportText` cannot fail.
        let _ = writeln!(out, "host `{}` {}", styled(STRONG, &event.host), event.what);
    }
    if events.len() > most {
        let _ = writeln!(out, "and {} more", counted(events.len() - most, "event"));
    }
    out
}

/// Formats the commit message of a snapshot.
pub fn snapshot_message(all: &[Event]) -> String {
    let mut hosts: Vec<_> = all.iter().map(|event| &event.host).collect();
    hosts.dedup();
    let mut out = ReportText::default();
    // Writing to a `ReportText` cannot fail.
    let _ = match hosts.as_slice() {
        [] => writeln!(out, "snapshot: update files"),
        [only] => writeln!(out, "snapshot: {only}"),
        several => writeln!(out, "snapshot: {} changed", counted(several.len(), "host")),
    };
    let _ = writeln!(out);
    for event in all.iter().take(MOST) {
        let _ = writeln!(out, "- {event}");
    }
    if all.len() > MOST {
        let _ = writeln!(out, "- and {} more", counted(all.len() - MOST, "event"));
    }
    out.to_string()
}
