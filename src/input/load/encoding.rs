//! Text encodings of files.

use std::string::FromUtf8Error;

/// Decodes a file's text and removes its byte order mark. Returns the bytes if they are not UTF-8.
pub(super) fn decode(bytes: Vec<u8>) -> Result<String, Vec<u8>> {
    let text = String::from_utf8(in_utf8(bytes)).map_err(FromUtf8Error::into_bytes)?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

/// Decodes a file's text, with replacement characters for invalid bytes. The parser reports their
/// position.
pub(super) fn lossy(bytes: Vec<u8>) -> String {
    decode(bytes).unwrap_or_else(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Converts UTF-16 and UTF-32 to UTF-8, because PowerShell redirects output as UTF-16.
///
/// Without a byte order mark, the zero bytes of the first character identify the encoding, because
/// YAML and JSON start with an ASCII character.
pub(super) fn in_utf8(bytes: Vec<u8>) -> Vec<u8> {
    let decode_16 = |unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.as_chunks().0.iter().map(|bytes| unit(*bytes)).collect();
        String::from_utf16_lossy(&units)
    };
    let decode_32 = |unit: fn([u8; 4]) -> u32| {
        let units = bytes.as_chunks().0.iter().map(|bytes| unit(*bytes));
        units
            .map(|unit| char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect::<String>()
    };
    let text = match bytes.as_slice() {
        [0xff, 0xfe, 0, 0, ..] | [1..=255, 0, 0, 0, ..] => decode_32(u32::from_le_bytes),
        [0, 0, 0xfe, 0xff, ..] | [0, 0, 0, 1..=255, ..] => decode_32(u32::from_be_bytes),
        [0xff, 0xfe, ..] | [1..=255, 0, ..] => decode_16(u16::from_le_bytes),
        [0xfe, 0xff, ..] | [0, 1..=255, ..] => decode_16(u16::from_be_bytes),
        _ => return bytes,
    };
    text.into_bytes()
}
