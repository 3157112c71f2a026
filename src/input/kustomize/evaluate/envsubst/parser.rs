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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScanToken {
    End,
    /// `${`
    Open,
    /// `}`
    Close,
    Text,
    Other,
}

/// The tokens that a scan recognizes.
#[derive(Clone, Copy, Default)]
struct ScanMode {
    open: bool,
    close: bool,
    /// Set if `$$` is an escape; with `has_backslash`, so are `\/` and `\\`.
    escapes: bool,
    has_backslash: bool,
}

const TEXT: ScanMode = ScanMode { open: false, close: false, escapes: false, has_backslash: false };

/// Returns whether a token of text has a character that ends at this offset within the token.
type Accepts = fn(char, usize) -> bool;

const END: char = '\0';

pub(super) struct EnvsubstParser<'t> {
    text: &'t [u8],
    at: usize,
    start: usize,
    /// Width of the last character that was read. envsubst goes back by it, even after it looked at
    /// another one.
    width: usize,
    token: Vec<u8>,
    depth: usize,
}

impl<'t> EnvsubstParser<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        EnvsubstParser {
            text: text.as_bytes(),
            at: 0,
            start: 0,
            width: 0,
            token: Vec::new(),
            depth: 0,
        }
    }

    fn read(&mut self) -> char {
        let rest = &self.text[self.at.min(self.text.len())..];
        let first = &rest[..rest.len().min(4)];
        let valid = first.utf8_chunks().next().map(|chunk| chunk.valid());
        let char = match valid.map(|valid| valid.chars().next()) {
            None => END,
            Some(char) => char.unwrap_or(char::REPLACEMENT_CHARACTER),
        };
        self.width = match (valid, char) {
            (None, _) => 0,
            (Some(""), _) => 1,
            (_, char) => char.len_utf8(),
        };
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

    fn scan(&mut self, mode: ScanMode, accepts: Accepts) -> ScanToken {
        self.start = self.at;
        self.token.clear();
        match self.read() {
            END => ScanToken::End,
            char if mode.open && self.opens(char) => ScanToken::Open,
            '}' if mode.close => ScanToken::Close,
            char if self.take_text(char, mode, accepts) => ScanToken::Text,
            _ => ScanToken::Other,
        }
    }

    fn opens(&mut self, char: char) -> bool {
        if char != '$' {
            return false;
        }
        let opens = self.read() == '{';
        if !opens {
            self.unread();
        }
        opens
    }

    fn take_text(&mut self, first: char, mode: ScanMode, accepts: Accepts) -> bool {
        let (mut char, mut from) = (first, self.start);
        loop {
            if self.is_escape(char, mode) {
                // The escaping character is dropped, and the next one has no meaning.
                self.token.push(self.text[self.at]);
                self.at += 1;
            } else if accepts(char, self.at - self.start) {
                self.token.extend_from_slice(&self.text[from..self.at]);
            } else if from == self.start {
                return false;
            } else {
                self.unread();
                return true;
            }
            from = self.at;
            char = self.read();
            if char == END {
                self.unread();
                return true;
            }
            if mode.open && self.opens(char) {
                self.at = from;
                return true;
            }
        }
    }

    fn is_escape(&mut self, char: char, mode: ScanMode) -> bool {
        mode.escapes
            && match char {
                '$' => self.peek() == '$',
                '\\' => mode.has_backslash && matches!(self.peek(), '/' | '\\'),
                _ => false,
            }
    }

    pub(super) fn parts(&mut self) -> StepResult<Vec<TemplatePart>> {
        let mode = ScanMode { open: true, escapes: true, ..TEXT };
        let mut parts = Vec::new();
        loop {
            match self.scan(mode, |_, _| true) {
                ScanToken::End => return Ok(parts),
                ScanToken::Open => parts.push(TemplatePart::Expression(self.expression()?)),
                _ => parts.push(TemplatePart::Text(std::mem::take(&mut self.token))),
            }
        }
    }

    fn expect(&mut self, mode: ScanMode, accepts: Accepts) -> StepResult<String> {
        match self.scan(mode, accepts) {
            ScanToken::Text => Ok(String::from_utf8_lossy(&self.token).into_owned()),
            _ => Err(refused()),
        }
    }

    fn close(&mut self) -> StepResult {
        if self.read() == '}' { Ok(()) } else { Err(refused()) }
    }

    /// Parses the rest of an expression, after its `${`.
    fn expression(&mut self) -> StepResult<VariableExpression> {
        let start = self.at - "${".len();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_large());
        }
        let is_of_name: Accepts = |char, _| char.is_alphanumeric() || char == '_';
        let mut arguments = Vec::new();
        let (variable, operator);
        if self.peek() == '#' {
            operator = self.expect(TEXT, |char, at| char == '#' && at == 1)?;
            variable = self.expect(TEXT, is_of_name)?;
            self.close()?;
        } else {
            variable = self.expect(TEXT, is_of_name)?;
            operator = match self.peek() {
                ':' => self.default_or_substring(&mut arguments)?,
                '=' => self.default(|char, at| char == '=' && at == 1, &mut arguments)?,
                ',' | '^' => {
                    let operator =
                        self.expect(TEXT, |char, at| matches!(char, ',' | '^') && at < 3)?;
                    self.close()?;
                    operator
                }
                '/' => self.replacement(&mut arguments)?,
                '#' => self.removal(|char, at| char == '#' && at < 3, &mut arguments)?,
                '%' => self.removal(|char, at| char == '%' && at < 3, &mut arguments)?,
                _ => {
                    self.close()?;
                    String::new()
                }
            };
        }
        self.depth -= 1;
        Ok(VariableExpression { variable, operator, arguments, source: start..self.at })
    }

    /// Parses an argument, up to what a token of text does not accept.
    fn argument(&mut self, mode: ScanMode, accepts: Accepts) -> StepResult<TemplatePart> {
        match self.scan(ScanMode { open: true, ..mode }, accepts) {
            ScanToken::Open => Ok(TemplatePart::Expression(self.expression()?)),
            ScanToken::Text => Ok(TemplatePart::Text(std::mem::take(&mut self.token))),
            _ => Err(refused()),
        }
    }

    fn default_or_substring(&mut self, arguments: &mut Vec<TemplatePart>) -> StepResult<String> {
        self.read();
        let next = self.peek();
        // envsubst goes back by the width of the character that it looked at.
        self.unread();
        if matches!(next, '=' | '-' | '?' | '+') {
            let accepts: Accepts = |char, at| match at {
                1 => char == ':',
                2 => matches!(char, '=' | '-' | '?' | '+'),
                _ => false,
            };
            return self.default(accepts, arguments);
        }
        let operator = self.expect(TEXT, |char, at| char == ':' && at == 1)?;
        arguments.push(self.argument(TEXT, |char, _| char != ':' && char != '}')?);
        let mode = ScanMode { close: true, ..TEXT };
        match self.scan(mode, |char, _| char == ':') {
            ScanToken::Close => return Ok(operator),
            ScanToken::Text => {}
            _ => return Err(refused()),
        }
        arguments.push(self.argument(TEXT, |char, _| char != '}')?);
        self.close()?;
        Ok(operator)
    }

    fn default(
        &mut self,
        accepts: Accepts,
        arguments: &mut Vec<TemplatePart>,
    ) -> StepResult<String> {
        let operator = self.expect(TEXT, accepts)?;
        while self.peek() != '}' {
            arguments.push(self.argument(TEXT, |char, _| char != '}')?);
        }
        self.close()?;
        Ok(operator)
    }

    fn removal(
        &mut self,
        accepts: Accepts,
        arguments: &mut Vec<TemplatePart>,
    ) -> StepResult<String> {
        let operator = self.expect(TEXT, accepts)?;
        arguments.push(self.argument(TEXT, |char, _| char != '}')?);
        self.close()?;
        Ok(operator)
    }

    fn replacement(&mut self, arguments: &mut Vec<TemplatePart>) -> StepResult<String> {
        let mode = ScanMode { escapes: true, has_backslash: true, ..TEXT };
        let operator = self.expect(TEXT, |char, at| match at {
            1 => char == '/',
            2 => matches!(char, '/' | '#' | '%'),
            _ => false,
        })?;
        // The pattern may even have a `}`.
        arguments.push(self.argument(mode, |char, _| char != '/')?);
        self.expect(TEXT, |char, _| char == '/')?;
        if self.peek() != '}' {
            arguments.push(self.argument(mode, |char, _| char != '}')?);
        }
        self.close()?;
        Ok(operator)
    }
}
