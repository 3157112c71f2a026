//! Properties of texts, whatever they are about.
//!
//! * `bounded`: bounds of what a parser may be given.
//! * `credentials`: finds credentials, and masks them.
//! * `suggest`: finds the name that was probably meant.
//! * `visible`: makes every character visible.

pub(crate) mod bounded;
pub(crate) mod credentials;
pub(crate) mod suggest;
pub(crate) mod visible;

/// Quotes a name as one word of a shell's command line.
pub fn in_shell(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.to_owned();
    }
    format!("'{}'", name.replace('\'', r"'\''"))
}

/// Returns a number of things in words: `1 host`, `2 hosts`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
