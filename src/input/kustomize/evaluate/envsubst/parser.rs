//! Parser of expressions, with the deviations of envsubst from a shell.

use std::ops::Range;

use super::{StepResult, refused, too_large};

/// Limit on nested expressions.
const MAX_DEPTH: usize = 100;

pub(super) enum TemplatePart {
    Text(Vec<u8>),
    Expression(VariableExpression),
}

/// `${variable}` or `${variable operator arguments}`.
pub(super) struct VariableExpression {
    pub(super) variable: String,
    pub(super) operator: String,
    pub(super) arguments: Vec<TemplatePart>,
    pub(super) source: Range<usize>,
}

/// Returns whether a text has a character that ends at this offset within it.
type Accepts<'a> = &'a dyn Fn(char, usize) -> bool;

const END: char = '\0';
const OPEN: &[u8] = b"${";
/// The characters that escape others in a replacement.
const ESCAPES: &str = "$\\";

pub(super) struct EnvsubstParser<'t> {
    text: &'t [u8],
    at: usize,
    /// Width of the last character that was read. envsubst goes back by it, even after it looked at
    /// another one.
    width: usize,
    depth: usize,
}

impl<'t> EnvsubstParser<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        EnvsubstParser { text: text.as_bytes(), at: 0, width: 0, depth: 0 }
    }

    fn rest(&self) -> &'t [u8] {
        &self.text[self.at.min(self.text.len())..]
    }

    fn read(&mut self) -> char {
        let rest = self.rest();
        let first = &rest[..rest.len().min(4)];
        let chunk = first.utf8_chunks().next();
        let (char, width) = match chunk.map(|chunk| chunk.valid().chars().next()) {
            None => (END, 0),
            Some(None) => (char::REPLACEMENT_CHARACTER, 1),
            Some(Some(char)) => (char, char.len_utf8()),
        };
        self.width = width;
        self.at += self.width;
        char
    }

    fn unread(&mut self) {
        self.at -= self.width;
    }

    fn peek(&mut self) -> char {
        let char = self.read();
        self.unread();
        char
    }

    /// Parses text up to an expression, or to what it does not accept. Before another `$`, `$` has no
    /// meaning if it is among `escapes`; so has `\` before `/` and `\`.
    fn text(&mut self, escapes: &str, accepts: Accepts<'_>) -> StepResult<Vec<u8>> {
        let start = self.at;
        let mut text = Vec::new();
        loop {
            let from = self.at;
            if from > start && self.rest().starts_with(OPEN) {
                return Ok(text);
            }
            let char = self.read();
            let is_escape = char != END
                && escapes.contains(char)
                && match self.peek() {
                    '$' => char == '$',
                    '/' | '\\' => char == '\\',
                    _ => false,
                };
            if is_escape {
                // The escaping character is dropped, and the next one has no meaning.
                text.push(self.text[self.at]);
                self.at += 1;
            } else if char != END && accepts(char, self.at - start) {
                text.extend_from_slice(&self.text[from..self.at]);
            } else if from == start {
                return Err(refused());
            } else {
                self.unread();
                return Ok(text);
            }
        }
    }

    pub(super) fn parts(&mut self) -> StepResult<Vec<TemplatePart>> {
        let mut parts = Vec::new();
        while self.peek() != END {
            parts.push(self.argument("$", &|_, _| true)?);
        }
        Ok(parts)
    }

    fn word(&mut self, accepts: Accepts<'_>) -> StepResult<String> {
        Ok(String::from_utf8_lossy(&self.text("", accepts)?).into_owned())
    }

    /// Parses the rest of an expression, after its `${`.
    fn expression(&mut self) -> StepResult<VariableExpression> {
        let start = self.at - OPEN.len();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_large());
        }
        let is_of_name: Accepts<'_> = &|char, _| char.is_alphanumeric() || char == '_';
        let (variable, operator, arguments);
        if self.peek() == '#' {
            operator = self.word(&|char, at| char == '#' && at == 1)?;
            variable = self.word(is_of_name)?;
            arguments = Vec::new();
        } else {
            variable = self.word(is_of_name)?;
            operator = self.operator()?;
            arguments = self.arguments(&operator)?;
        }
        if self.read() != '}' {
            return Err(refused());
        }
        self.depth -= 1;
        Ok(VariableExpression { variable, operator, arguments, source: start..self.at })
    }

    fn operator(&mut self) -> StepResult<String> {
        let first = self.peek();
        let second = match first {
            ':' => {
                self.read();
                let next = self.peek();
                // envsubst goes back by the width of the character that it looked at.
                self.unread();
                if matches!(next, '=' | '-' | '?' | '+') { "=-?+" } else { "" }
            }
            '=' => "",
            ',' | '^' => ",^",
            '/' => "/#%",
            '#' => "#",
            '%' => "%",
            _ => return Ok(String::new()),
        };
        self.word(&|char, at| match at {
            1 => char == first,
            2 => second.contains(char),
            _ => false,
        })
    }

    fn arguments(&mut self, operator: &str) -> StepResult<Vec<TemplatePart>> {
        let mut arguments = Vec::new();
        match operator.chars().next() {
            None | Some(',' | '^') => {}
            Some('#' | '%') => arguments.push(self.argument("", &|char, _| char != '}')?),
            Some('/') => {
                // The pattern may even have a `}`.
                arguments.push(self.argument(ESCAPES, &|char, _| char != '/')?);
                self.word(&|char, _| char == '/')?;
                if self.peek() != '}' {
                    arguments.push(self.argument(ESCAPES, &|char, _| char != '}')?);
                }
            }
            Some(_) if operator == ":" => {
                arguments.push(self.argument("", &|char, _| char != ':' && char != '}')?);
                if self.peek() != '}' {
                    self.word(&|char, _| char == ':')?;
                    arguments.push(self.argument("", &|char, _| char != '}')?);
                }
            }
            Some(_) => {
                while self.peek() != '}' {
                    arguments.push(self.argument("", &|char, _| char != '}')?);
                }
            }
        }
        Ok(arguments)
    }

    /// Parses an expression, or text as [`Self::text`] does.
    fn argument(&mut self, escapes: &str, accepts: Accepts<'_>) -> StepResult<TemplatePart> {
        if self.rest().starts_with(OPEN) {
            self.at += OPEN.len();
            return self.expression().map(TemplatePart::Expression);
        }
        self.text(escapes, accepts).map(TemplatePart::Text)
    }
}
