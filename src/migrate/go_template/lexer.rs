//! Actions of a Go template and the text between them.

use super::Untranslatable;

/// Text, and the action that follows it; the last piece has none.
pub(super) struct Piece<'a> {
    pub(super) text: &'a str,
    pub(super) action: Option<Action<'a>>,
}

/// An action.
pub(super) struct Action<'a> {
    /// Its text without braces, trim markers and space.
    pub(super) body: &'a str,
    /// Its line in the template, from 1.
    pub(super) line: usize,
    /// True if it has a line of its own, which the translation removes or gives to a tag. The
    /// result then differs from Go's in blank lines and indentation only.
    pub(super) has_line: bool,
    trims_before: bool,
    trims_behind: bool,
}

impl<'a> Action<'a> {
    fn new(inside: &'a str, line: usize) -> Self {
        // A minus is a trim marker only with a space next to it.
        let trims_before = inside.starts_with("- ") || inside.starts_with("-\t");
        let trims_behind = inside.ends_with(" -") || inside.ends_with("\t-");
        let body = if trims_before { &inside[1..] } else { inside };
        let body = if trims_behind {
            &body[..body.len() - 1]
        } else {
            body
        };
        Self {
            body: body.trim(),
            line,
            has_line: false,
            trims_before,
            trims_behind,
        }
    }

    /// Returns its first word.
    pub(super) fn keyword(&self) -> &'a str {
        self.body.split_whitespace().next().unwrap_or_default()
    }

    pub(super) fn is_comment(&self) -> bool {
        self.body.starts_with("/*")
    }

    fn opens(&self) -> bool {
        ["if", "with", "range"].contains(&self.keyword())
    }

    fn prints(&self) -> bool {
        let is_silent = self.is_comment()
            || self.opens()
            || ["else", "end"].contains(&self.keyword())
            || declared(self.body).0.is_some();
        !is_silent
    }
}

/// Divides the declaration of a variable: `$name := value`.
pub(super) fn declared(body: &str) -> (Option<&str>, &str) {
    let Some((name, value)) = body.split_once(":=") else {
        return (None, body);
    };
    match name.trim().strip_prefix('$') {
        Some(name) if name.chars().all(|c| c.is_alphanumeric() || c == '_') => (Some(name), value),
        _ => (None, body),
    }
}

/// Maximum number of actions. [`give_lines`] takes up to the square of it.
const MOST_ACTIONS: usize = 2000;

/// Divides a template into pieces. White space that Go removes is removed, and so are the line
/// breaks and the indentation of actions that have a line.
pub(super) fn pieces(source: &str) -> Result<Vec<Piece<'_>>, Untranslatable> {
    let mut pieces = Vec::new();
    let (mut rest, mut line) = (source, 1);
    while let Some(start) = rest.find("{{") {
        line += rest[..start].matches('\n').count();
        if pieces.len() == MOST_ACTIONS {
            return Err(Untranslatable {
                line,
                reason: format!("it has more than {MOST_ACTIONS} actions"),
            });
        }
        let inside = &rest[start + 2..];
        let end = end_of_action(inside).ok_or_else(|| Untranslatable {
            line,
            reason: "an action that is not closed".to_owned(),
        })?;
        pieces.push(Piece {
            text: &rest[..start],
            action: Some(Action::new(&inside[..end], line)),
        });
        line += inside[..end].matches('\n').count();
        rest = &inside[end + 2..];
    }
    pieces.push(Piece {
        text: rest,
        action: None,
    });
    give_lines(&mut pieces);
    trim(&mut pieces);
    Ok(pieces)
}

/// Finds the end of an action: the next `}}` that is not in a string or comment.
fn end_of_action(inside: &str) -> Option<usize> {
    let body = inside.strip_prefix('-').unwrap_or(inside).trim_start();
    if let Some(comment) = body.strip_prefix("/*") {
        let end = comment.find("*/")? + inside.len() - comment.len();
        return Some(end + inside[end..].find("}}")?);
    }
    let mut quote = None;
    let mut is_escaped = false;
    for (index, c) in inside.char_indices() {
        match (quote, c) {
            _ if is_escaped => is_escaped = false,
            (Some('"'), '\\') => is_escaped = true,
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '`') => quote = Some(c),
            (None, '}') if inside[index..].starts_with("}}") => return Some(index),
            _ => {}
        }
    }
    None
}

/// Decides which actions have a line.
///
/// All tags of a block must agree: with a marker on one side of `if` and on the other side of its
/// `end`, Go joins the lines around a block that is skipped.
fn give_lines(pieces: &mut [Piece<'_>]) {
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    let mut open: Vec<Vec<usize>> = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        let Some(action) = &piece.action else {
            continue;
        };
        if action.opens() {
            open.push(vec![index]);
        } else if ["else", "end"].contains(&action.keyword()) {
            if let Some(block) = open.last_mut() {
                block.push(index);
            }
            if action.keyword() == "end" {
                blocks.extend(open.pop());
            }
        } else if !action.prints() {
            blocks.push(vec![index]);
        }
    }
    blocks.retain(|block| agree(pieces, block));
    // An action without a line may remove the line break of its neighbor.
    loop {
        for piece in pieces.iter_mut() {
            if let Some(action) = &mut piece.action {
                action.has_line = false;
            }
        }
        for index in blocks.iter().flatten() {
            if let Some(action) = &mut pieces[*index].action {
                action.has_line = true;
            }
        }
        let before = blocks.len();
        blocks.retain(|block| block.iter().all(|index| keeps_its_line(pieces, *index)));
        if blocks.len() == before {
            return;
        }
    }
}

/// Returns whether all actions of a block stand alone in their lines, with the same markers.
fn agree(pieces: &[Piece<'_>], block: &[usize]) -> bool {
    let markers = |index: usize| {
        let action = pieces[index].action.as_ref()?;
        Some((action.trims_before, action.trims_behind))
    };
    let first_markers = markers(block[0]);
    first_markers != Some((true, true))
        && block.iter().all(|index| {
            markers(*index) == first_markers
                && starts_line(pieces, *index)
                && ends_line(pieces[index + 1].text, index + 2 == pieces.len())
        })
}

fn starts_line(pieces: &[Piece<'_>], index: usize) -> bool {
    let before = pieces[index].text;
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.trim().is_empty() && (before.contains('\n') || index == 0)
}

fn ends_line(behind: &str, is_last: bool) -> bool {
    let line = behind.split('\n').next().unwrap_or_default();
    line.trim().is_empty() && (behind.contains('\n') || is_last)
}

fn keeps_its_line(pieces: &[Piece<'_>], index: usize) -> bool {
    let exact = |index: usize| {
        let action = pieces.get(index)?.action.as_ref()?;
        (!action.has_line).then_some(action)
    };
    let is_blank = |index: usize| pieces[index].text.trim().is_empty();
    let trimmed_before =
        index > 0 && is_blank(index) && exact(index - 1).is_some_and(|action| action.trims_behind);
    let trimmed_behind =
        is_blank(index + 1) && exact(index + 1).is_some_and(|action| action.trims_before);
    !trimmed_before && !trimmed_behind
}

/// Removes white space that trim markers remove, and the lines of actions.
fn trim(pieces: &mut [Piece<'_>]) {
    for index in 0..pieces.len() {
        let mut text = pieces[index].text;
        let before = index
            .checked_sub(1)
            .and_then(|before| pieces[before].action.as_ref());
        if let Some(action) = before {
            if action.has_line {
                text = text.split_once('\n').map_or("", |(_, rest)| rest);
            } else if action.trims_behind {
                text = text.trim_start();
            }
        }
        if let Some(action) = &pieces[index].action {
            if action.has_line {
                text = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
            } else if action.trims_before {
                text = text.trim_end();
            }
        }
        pieces[index].text = text;
    }
}
