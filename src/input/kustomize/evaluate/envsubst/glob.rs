//! Shell patterns in which `*` also matches slashes, as in Flux's envsubst.

enum GlobToken {
    Any,
    AnyByte,
    Byte(u8),
    Class { is_negated: bool, ranges: Vec<(u8, u8)> },
}

/// Returns the length of the shortest or longest prefix that matches, without the empty one; 0 if
/// none does.
pub(super) fn prefix(pattern: &[u8], text: &[u8], is_longest: bool) -> usize {
    let Some(tokens) = tokens(pattern) else {
        return 0;
    };
    // One flag per position in the pattern that the text so far can reach.
    let mut reached = vec![false; tokens.len() + 1];
    reached[0] = true;
    skip_any(&tokens, &mut reached);
    let mut found = 0;
    for (index, byte) in text.iter().enumerate() {
        let mut next = vec![false; tokens.len() + 1];
        for (position, token) in tokens.iter().enumerate().filter(|(at, _)| reached[*at]) {
            match token {
                GlobToken::Any => next[position] = true,
                token => next[position + 1] |= token.matches(*byte),
            }
        }
        skip_any(&tokens, &mut next);
        reached = next;
        if reached[tokens.len()] {
            found = index + 1;
            if !is_longest {
                break;
            }
        }
        if !reached.contains(&true) {
            break;
        }
    }
    found
}

/// Marks the positions behind each `*`, which may match nothing.
fn skip_any(tokens: &[GlobToken], reached: &mut [bool]) {
    for (position, token) in tokens.iter().enumerate() {
        if reached[position] && matches!(token, GlobToken::Any) {
            reached[position + 1] = true;
        }
    }
}

impl GlobToken {
    fn matches(&self, byte: u8) -> bool {
        match self {
            GlobToken::Any | GlobToken::AnyByte => true,
            GlobToken::Byte(own) => *own == byte,
            GlobToken::Class { is_negated, ranges } => {
                let is_in = |(low, high): &(u8, u8)| (*low..=*high).contains(&byte);
                ranges.iter().any(is_in) != *is_negated
            }
        }
    }
}

/// Parses an ASCII pattern; returns `None` if it is malformed, so that it matches nothing.
fn tokens(pattern: &[u8]) -> Option<Vec<GlobToken>> {
    let mut tokens = Vec::new();
    let mut rest = pattern;
    while let [first, behind @ ..] = rest {
        rest = behind;
        tokens.push(match first {
            b'*' => GlobToken::Any,
            b'?' => GlobToken::AnyByte,
            b'[' => class(&mut rest)?,
            b'\\' => {
                let (escaped, behind) = rest.split_first()?;
                rest = behind;
                GlobToken::Byte(*escaped)
            }
            byte => GlobToken::Byte(*byte),
        });
    }
    Some(tokens)
}

fn class(rest: &mut &[u8]) -> Option<GlobToken> {
    let is_negated = rest.first() == Some(&b'^');
    if is_negated {
        *rest = &rest[1..];
    }
    let mut ranges = Vec::new();
    loop {
        if let (Some(b']'), false) = (rest.first(), ranges.is_empty()) {
            *rest = &rest[1..];
            return Some(GlobToken::Class { is_negated, ranges });
        }
        let low = class_byte(rest)?;
        let mut high = low;
        if rest.first() == Some(&b'-') {
            *rest = &rest[1..];
            high = class_byte(rest)?;
        }
        ranges.push((low, high));
    }
}

/// Parses a byte of a class. Something must follow it.
fn class_byte(rest: &mut &[u8]) -> Option<u8> {
    if matches!(rest.first()?, b'-' | b']') {
        return None;
    }
    if rest.first() == Some(&b'\\') {
        *rest = &rest[1..];
    }
    let (byte, behind) = rest.split_first()?;
    *rest = behind;
    (!behind.is_empty()).then_some(*byte)
}
