//! Variable substitution as Flux's fork of envsubst does it, with its deviations from a shell.
//!
//! Source: `envsubst` of github.com/fluxcd/pkg. The property `substitution` compares the two.
//! `parser` finds the expressions.

mod parser;

use parser::{EnvsubstParser, TemplatePart, VariableExpression};

use super::{EvaluationError, StepResult};

/// Limit on bytes that all expressions of an object produce together. An object beyond it is too
/// large for the API server.
pub(super) const MAX_BYTES: usize = 8 << 20;

/// A text after substitution.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SubstitutedText {
    pub(super) text: String,
    /// Set if it still has expressions, because values of their variables are unknown.
    pub(super) is_partial: bool,
}

/// Substitutes the variables of a text. `value_of` returns `None` for an unknown value. Takes the
/// bytes that expressions produce from `bytes_left`.
pub(super) fn substitute<'v>(
    text: &str,
    bytes_left: &mut usize,
    value_of: impl FnMut(&str) -> Option<&'v str>,
) -> StepResult<SubstitutedText> {
    let parts = EnvsubstParser::new(text).parts()?;
    let mut evaluation = Substitution { value_of, bytes_left };
    let mut is_partial = false;
    let mut result = Vec::with_capacity(text.len());
    for part in &parts {
        match part {
            TemplatePart::Text(text) => result.extend_from_slice(text),
            TemplatePart::Expression(expression) => match evaluation.value(expression)? {
                Some(value) => result.extend(value),
                None => {
                    is_partial = true;
                    result.extend_from_slice(&text.as_bytes()[expression.source.clone()]);
                }
            },
        }
    }
    // Offsets and lengths count bytes, so a character may be cut.
    let text = String::from_utf8(result).map_err(|_| refused())?;
    Ok(SubstitutedText { text, is_partial })
}

fn refused() -> EvaluationError {
    EvaluationError::Unapplied("it has an expression that envsubst refuses".to_owned())
}

fn too_large() -> EvaluationError {
    let why = "its variables are nested too deeply, or their values are too long";
    EvaluationError::Undetermined(why.to_owned())
}

struct Substitution<'b, F> {
    value_of: F,
    bytes_left: &'b mut usize,
}

impl<'v, F: FnMut(&str) -> Option<&'v str>> Substitution<'_, F> {
    /// Returns the value of an expression, or `None` if it depends on an unknown one.
    fn value(&mut self, expression: &VariableExpression) -> StepResult<Option<Vec<u8>>> {
        let arguments = expression.arguments.iter().map(|argument| match argument {
            TemplatePart::Text(text) => Ok(Some(text.clone())),
            TemplatePart::Expression(expression) => self.value(expression),
        });
        let arguments = arguments.collect::<StepResult<Vec<Option<Vec<u8>>>>>()?;
        let Some(value) = (self.value_of)(&expression.variable) else { return Ok(None) };
        self.spend(value.len())?;
        let value = value.as_bytes();
        let known: Option<Vec<&[u8]>> = arguments.iter().map(Option::as_deref).collect();
        let Some(known) = known else {
            let has_value = !value.is_empty() && is_default(&expression.operator);
            return Ok(has_value.then(|| value.to_vec()));
        };
        let result = self.apply(&expression.operator, value, &known)?;
        self.spend(result.len())?;
        Ok(Some(result))
    }

    fn spend(&mut self, bytes: usize) -> StepResult {
        *self.bytes_left = self.bytes_left.checked_sub(bytes).ok_or_else(too_large)?;
        Ok(())
    }

    fn apply(&mut self, operator: &str, value: &[u8], arguments: &[&[u8]]) -> StepResult<Vec<u8>> {
        let (first, second) = (arguments.first().copied(), arguments.get(1).copied());
        let text = || String::from_utf8_lossy(value).into_owned();
        Ok(match (operator, first, second) {
            (",", ..) => with_first(&text(), lowercase),
            ("^", ..) => with_first(&text(), uppercase),
            (",,", ..) => text().chars().map(lowercase).collect::<String>().into(),
            ("^^", ..) => text().chars().map(uppercase).collect::<String>().into(),
            ("#", None, _) => value.len().to_string().into(),
            // Only Flux removes what matches a pattern.
            ("#" | "##" | "%" | "%%", Some(_), _) => {
                let why = "it has an expression with a pattern of a shell".to_owned();
                return Err(EvaluationError::Undetermined(why));
            }
            (":", Some(offset), length) => substring(value, offset, length)?,
            ("/" | "//", Some(pattern), with) => {
                let most = if operator == "/" { 1 } else { usize::MAX };
                self.replaced(value, pattern, with.unwrap_or_default(), most)?
            }
            ("/#", Some(pattern), Some(with)) if value.starts_with(pattern) => {
                self.replaced(value, pattern, with, 1)?
            }
            ("/%", Some(pattern), Some(with)) if value.ends_with(pattern) => {
                [&value[..value.len() - pattern.len()], with].concat()
            }
            ("/#" | "/%", Some(_), _) => value.to_vec(),
            _ if value.is_empty() => arguments.concat(),
            _ => value.to_vec(),
        })
    }

    fn replaced(
        &mut self,
        value: &[u8],
        pattern: &[u8],
        with: &[u8],
        most: usize,
    ) -> StepResult<Vec<u8>> {
        let (Ok(value), Ok(pattern), Ok(with)) =
            (std::str::from_utf8(value), std::str::from_utf8(pattern), std::str::from_utf8(with))
        else {
            return Err(refused());
        };
        let count = value.matches(pattern).take(most).count();
        self.spend(count.saturating_mul(with.len()))?;
        Ok(value.replacen(pattern, with, most).into_bytes())
    }
}

fn is_default(operator: &str) -> bool {
    !matches!(operator, "," | ",," | "^" | "^^" | ":") && !operator.starts_with(['#', '%', '/'])
}

fn with_first(text: &str, change: fn(char) -> char) -> Vec<u8> {
    let mut chars = text.chars();
    let first = chars.next().map(change);
    first.into_iter().chain(chars).collect::<String>().into()
}

/// Go maps characters one to one.
fn uppercase(char: char) -> char {
    let mut upper = char.to_uppercase();
    upper.next().filter(|_| upper.len() == 0).unwrap_or(char)
}

fn lowercase(char: char) -> char {
    let mut lower = char.to_lowercase();
    lower.next().filter(|_| lower.len() == 0).unwrap_or(char)
}

/// Returns the bytes from an offset on. A number that cannot be parsed changes nothing.
fn substring(value: &[u8], offset: &[u8], length: Option<&[u8]>) -> StepResult<Vec<u8>> {
    let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<i64>().ok();
    let size = value.len() as i64;
    let Some(offset) = number(offset) else { return Ok(value.to_vec()) };
    let offset = if offset < 0 { size.saturating_add(offset).max(0) } else { offset };
    let end = match length.map(number) {
        None => size,
        Some(None) => return Ok(value.to_vec()),
        // A negative length counts from the end. Older versions of Flux fail.
        Some(Some(length)) if length < 0 => match size.saturating_add(length) {
            end if end < offset => return Ok(Vec::new()),
            end => end,
        },
        // Flux panics at an overflow.
        Some(Some(length)) => offset.wrapping_add(length).min(size),
    };
    if end >= size && offset >= size {
        return Ok(Vec::new());
    }
    let range = usize::try_from(offset).ok().zip(usize::try_from(end).ok());
    let part = range.and_then(|(offset, end)| value.get(offset..end));
    part.map(<[u8]>::to_vec).ok_or_else(refused)
}
