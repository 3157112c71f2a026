//! Words in the bytes of a file, before it is parsed.

use memchr::memmem;

/// Returns whether a file's content mentions one of some words, such as kinds, or has what may spell them otherwise.
pub fn mentions(words: &[&str]) -> impl Fn(&[u8]) -> bool + Sync + use<> {
    let finders: Vec<_> = words
        .iter()
        .map(|word| memmem::Finder::new(word).into_owned())
        .collect();
    move |content| {
        finders.iter().any(|finder| finder.find(content).is_some()) || may_spell_otherwise(content)
    }
}

/// Returns whether a content has an escape by which YAML or JSON writes letters, a text that goes on behind an escaped line
/// break, or text in base64.
fn may_spell_otherwise(content: &[u8]) -> bool {
    let is_letter = |byte: &u8| matches!(byte, b'x' | b'u' | b'U' | b'\n' | b'\r' | 0x80..);
    memchr::memchr_iter(b'\\', content).any(|at| content.get(at + 1).is_some_and(is_letter))
        || memmem::find(content, b"binary").is_some()
}
