//! Paths of outputs: directories that templates of the repo's own render.

use camino::{Utf8Path, Utf8PathBuf};

use super::CLUSTERS;

/// The directory of outputs for the whole site, below the output directory.
pub const SITE: &str = "site";
/// The directory with the templates of outputs, in a directory of templates.
pub const OUTPUTS: &str = "outputs";

/// Returns the directory of an output for the whole site.
pub fn site_directory(output: &str) -> Utf8PathBuf {
    Utf8Path::new(SITE).join(output)
}

/// Returns the directory of an output's templates, below that of templates.
pub fn template_directory(output: &str) -> Utf8PathBuf {
    Utf8Path::new(OUTPUTS).join(output)
}

/// Returns the start of the name of each file that a template renders per host; the host follows, and
/// the extension. No name of a host has `_`, so no two names are equal.
pub fn host_file_prefix(template: &Utf8Path) -> String {
    format!("{}_", template.file_stem().unwrap_or_default())
}

/// Returns the directory below that of a cluster or of the site that a file is in, such as that of a
/// service or an output, and the path of the file in it.
pub fn part_of(file: &Utf8Path) -> Option<(&str, &Utf8Path)> {
    let mut parts = file.iter();
    match parts.next()? {
        SITE => {}
        CLUSTERS => drop(parts.nth(1)?),
        _ => return None,
    }
    let part = parts.next()?;
    let below = parts.as_path();
    (!below.as_str().is_empty()).then_some((part, below))
}

/// Returns whether a template of an output renders a file. The template's path is relative to the
/// directory of templates, and the file's to the output directory.
pub fn renders(template: &str, file: &Utf8Path) -> bool {
    let Some((output, file)) = part_of(file) else { return false };
    let template = Utf8Path::new(template).strip_prefix(template_directory(output));
    template.is_ok_and(|template| {
        let name = file.file_name().unwrap_or_default();
        let is_of_host = file.parent() == template.parent()
            && file.extension() == template.extension()
            && name.starts_with(&host_file_prefix(template));
        template == file || is_of_host
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_traced_back_to_the_template_of_its_output() {
        for (template, file, is_rendered) in [
            ("outputs/dns/a.yaml", "clusters/t/edge/dns/a.yaml", true),
            ("outputs/dns/a.yaml", "site/dns/a.yaml", true),
            ("outputs/dns/x/a.yaml", "clusters/t/edge/dns/x/a_metal.h1.yaml", true),
            ("outputs/dns/a.yaml", "clusters/t/edge/dns/a_metal.h1.ini", false),
            ("outputs/dns/a.yaml", "clusters/t/edge/other/a.yaml", false),
            ("outputs/dns/a.yaml", "hosts/observed/t.edge/a.yaml", false),
            ("outputs/dns/a.yaml", "clusters/t/edge/a.yaml", false),
        ] {
            assert_eq!(renders(template, Utf8Path::new(file)), is_rendered, "{template} {file}");
        }
    }
}
