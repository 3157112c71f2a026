//! Search for words in a file before it is parsed.

use memchr::memmem;

/// Returns a function that tells whether a file's content may contain one of some words, such as
/// kinds. It also accepts content that could spell a word in another way.
pub fn mentions(words: &[&str]) -> impl Fn(&[u8]) -> bool + Sync + use<> {
    let finders: Vec<_> = words.iter().map(|word| memmem::Finder::new(word).into_owned()).collect();
    move |content| {
        finders.iter().any(|finder| finder.find(content).is_some()) || may_spell_otherwise(content)
    }
}

/// Returns whether content has an escape for letters in YAML or JSON, an escaped line break, or
/// base64 text.
fn may_spell_otherwise(content: &[u8]) -> bool {
    let is_letter = |byte: &u8| matches!(byte, b'x' | b'u' | b'U' | b'\n' | b'\r' | 0x80..);
    memchr::memchr_iter(b'\\', content).any(|at| content.get(at + 1).is_some_and(is_letter))
        || memmem::find(content, b"binary").is_some()
}
