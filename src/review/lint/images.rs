//! Rule: a container image has no version, or one that is too old for the rendered configuration.

use super::service_field;
use crate::base::api::service_kind::ImageAdvice;
use crate::base::finding::{Code, Finding};
use crate::site::request::{Cluster, ClusterService};

/// Finds an image without a version, which may differ between nodes and change with a restart, or one
/// whose program does not support its configuration.
pub(super) fn unsuitable(cluster: &Cluster, service: &ClusterService) -> Option<Finding> {
    let (image, advice) = (ImageReference::parse(&service.image), &service.kind.image);
    let (message, help) = unversioned(&image, advice).or_else(|| outdated(&image, advice))?;
    let place = service_field(cluster, service, "image");
    Some(Finding::new(Code::UnsuitableImage, message).at(place).help(help))
}

/// Returns the problem of an image without a version, with help.
fn unversioned(image: &ImageReference<'_>, advice: &ImageAdvice) -> Option<(String, String)> {
    let what = match image.tag {
        _ if image.has_digest => return None,
        None => "the container image has no tag, which means `latest`",
        Some("latest") => "the container image has the tag `latest`",
        Some(_) => return None,
    };
    let help = format!(
        "write a version, such as `{}`; add its digest (`@sha256:…`) so that nobody can replace it",
        advice.example
    );
    Some((format!("{what}: pods may run different versions"), help))
}

/// Returns the problem of an image that is too old, with help.
fn outdated(image: &ImageReference<'_>, advice: &ImageAdvice) -> Option<(String, String)> {
    let name = advice.name.as_deref().filter(|name| *name == image.name)?;
    let version = version(image.tag?).filter(|version| *version < advice.oldest)?;
    let (major, minor) = advice.oldest;
    let message = format!(
        "{name} {}.{} does not support its configuration, which requires {major}.{minor}",
        version.0, version.1
    );
    Some((message, format!("write `image: {}`", advice.example)))
}

/// Parts of an image reference.
struct ImageReference<'a> {
    /// Last part of the path.
    name: &'a str,
    tag: Option<&'a str>,
    has_digest: bool,
}

impl<'a> ImageReference<'a> {
    fn parse(reference: &'a str) -> Self {
        let tagged = reference.split('@').next().unwrap_or_default();
        // A colon before the last slash separates a registry's port.
        let last = tagged.rsplit('/').next().unwrap_or_default();
        let (name, tag) = last.split_once(':').unzip();
        Self { name: name.unwrap_or(last), tag, has_digest: reference.contains('@') }
    }
}

/// Parses major and minor version of a tag: `3.0-alpine`, `v2.45.1`.
fn version(tag: &str) -> Option<(u32, u32)> {
    let mut numbers = tag.trim_start_matches('v').split(['.', '-']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_divided_as_container_runtimes_do() {
        for (reference, name, tag, has_digest) in [
            ("haproxy", "haproxy", None, false),
            ("haproxy:2.3.2", "haproxy", Some("2.3.2"), false),
            ("reg:5000/haproxy", "haproxy", None, false),
            ("reg:5000/a/haproxy:3.0@sha256:00", "haproxy", Some("3.0"), true),
        ] {
            let image = ImageReference::parse(reference);
            assert_eq!(
                (image.name, image.tag, image.has_digest),
                (name, tag, has_digest),
                "{reference}"
            );
        }
    }

    #[test]
    fn a_version_is_read_from_tags_that_have_one() {
        for (tag, expected) in [
            ("3.0", Some((3, 0))),
            ("v2.45.1-alpine", Some((2, 45))),
            ("2.6-bookworm", Some((2, 6))),
            ("lts", None),
            ("3", None),
        ] {
            assert_eq!(version(tag), expected, "{tag}");
        }
    }
}
