//! Built-in templates, and the descriptors of what they render. The build embeds all files below
//! `templates/`.

/// Name of the file that describes the service kinds that the templates beside it render.
const DESCRIPTOR: &str = "descriptor.yaml";

/// Texts by path, in the order of paths.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/templates.rs"));

/// Returns the built-in templates with their paths below `templates/`, in order.
pub(crate) fn templates() -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.iter().copied().filter(|(path, _)| described(path).is_none())
}

/// Returns the built-in templates below a directory, with their paths relative to it.
pub(crate) fn templates_below(
    directory: &str,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    let start = format!("{directory}/");
    let first = FILES.partition_point(|(path, _)| *path < start.as_str());
    let below = FILES.iter().skip(first);
    below
        .map_while(move |(path, _)| Some((*path, path.strip_prefix(&start)?)))
        .filter(|(path, _)| described(path).is_none())
}

/// Returns the descriptors with their directories below `templates/`.
pub(crate) fn descriptors() -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.iter().filter_map(|(path, text)| Some((described(path)?, *text)))
}

/// Returns the directory that a file describes.
fn described(path: &str) -> Option<&str> {
    path.strip_suffix(DESCRIPTOR)?.strip_suffix('/')
}
