//! Names by which patches find hosts, as kustomize sees them.

use crate::base::finding::ComponentLevel;
use crate::base::layout;
use crate::site::Site;
use crate::site::delivery::Component;
use crate::site::inventory::Host;

/// Returns the component that patches a host, if components are used.
pub(super) fn component_of<'a>(site: &'a Site, host: &Host) -> Option<&'a Component> {
    site.wiring.components.get(&host.evidence.root()?)
}

/// Returns the level at which an overlay patches a host, if its build was evaluated. A variable in
/// its name or namespace has no value there.
fn level_of<'a>(site: &'a Site, host: &'a Host) -> Option<&'a ComponentLevel> {
    let root = &site.inventory.roots.get(&host.evidence.root()?)?.directory;
    let overlay = layout::declared_directory(root);
    host.origin.level(&site.settings.output.join(overlay))
}

/// Returns the name in a host's patch or partial object.
pub(super) fn written_name<'a>(site: &'a Site, host: &'a Host) -> &'a str {
    let own = host.key.name.as_str();
    match component_of(site, host) {
        Some(component) => component.name_of(host),
        None => level_of(site, host).map_or(own, |level| level.name.as_str()),
    }
}

/// Returns the namespace in a host's patch or partial object. It has none if only the settings give
/// it one.
pub(super) fn written_namespace<'a>(site: &'a Site, host: &'a Host) -> Option<&'a str> {
    let own = host.key.namespace.as_str();
    match component_of(site, host) {
        Some(component) => component.namespace_of(host),
        None if host.evidence.root().is_none() => Some(own),
        None => match level_of(site, host) {
            Some(level) => level.namespace.as_deref(),
            None => (!host.namespace_by_settings).then_some(own),
        },
    }
}
