//! Formats of files that stand where manifests are expected.

/// The reason why a file has no object although it is a YAML mapping.
pub(crate) const WHOLLY_ENCRYPTED: &str = "SOPS has encrypted it as a whole";

/// Beginnings of files in other formats, with the reason and the remedy.
const FORMATS: [(&[u8], &str, &str); 6] = [
    (
        b"version https://git-lfs.github.com/spec/",
        "it is a pointer of Git LFS",
        "run `git lfs pull`, or keep inputs out of Git LFS",
    ),
    (
        b"\0GITCRYPT\0",
        "git-crypt has encrypted it",
        "run `git-crypt unlock`, or keep inputs in plain text",
    ),
    (b"$ANSIBLE_VAULT;", "Ansible Vault has encrypted it", "decrypt it"),
    (b"-----BEGIN PGP MESSAGE", "PGP has encrypted it", "decrypt it"),
    (b"-----BEGIN AGE ENCRYPTED", "age has encrypted it", "decrypt it"),
    (b"age-encryption.org/", "age has encrypted it", "decrypt it"),
];

/// Returns why a file has no objects, and how to restore them, if its format is known.
pub(crate) fn foreign_format(content: &[u8]) -> Option<(&'static str, &'static str)> {
    let content = content.trim_ascii_start();
    let known = FORMATS.into_iter().find(|(beginning, ..)| content.starts_with(beginning));
    known.map(|(_, why, remedy)| (why, remedy))
}
