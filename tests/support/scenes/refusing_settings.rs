//! What the tests of `refusing_settings` begin with.

use crate::support::Repo;

/// The quickstart after its first run, with settings.
pub fn with_settings(text: &str) -> Repo {
    let repo = Repo::generated("quickstart");
    repo.write("sipgen.yaml", text);
    repo
}

/// The quickstart after its first run, with a template of its own.
pub fn with_template(name: &str, text: &str) -> Repo {
    let repo = with_settings("templates: own\n");
    repo.write(&format!("own/{name}"), text);
    repo
}
