//! Pipelines of Go templates as minijinja expressions.

use std::collections::BTreeMap;

/// A value as a minijinja expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Expression {
    /// Text in minijinja's syntax.
    pub(super) text: String,
    /// Data behind it, which decides what its fields are called.
    pub(super) data: Data,
    /// True if it needs no parentheses next to an operator.
    is_atom: bool,
}

/// Data that the SIP operator gives to its HAProxy templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Data {
    /// The outermost `.`, which has no counterpart of its own.
    Root,
    /// `.Servers`
    Servers,
    /// An item of `.Servers`.
    Server,
    /// `.ContainerPorts`
    Ports,
    /// An item of `.ContainerPorts`.
    Port,
    /// Any other value.
    Other,
}

impl Data {
    /// Returns the items of a list.
    pub(super) fn item(self) -> Self {
        match self {
            Data::Servers => Data::Server,
            Data::Ports => Data::Port,
            _ => Data::Other,
        }
    }

    /// Returns the name and the data of a field.
    fn field(self, name: &str) -> Option<(&'static str, Data)> {
        Some(match (self, name) {
            (Data::Root, "Servers") => ("servers", Data::Servers),
            (Data::Root, "ContainerPorts") => ("ports", Data::Ports),
            (Data::Server | Data::Port, "Name") => ("name", Data::Other),
            (Data::Server, "IP") => ("address", Data::Other),
            (Data::Port, "ContainerPort") => ("port", Data::Other),
            _ => return None,
        })
    }
}

impl Expression {
    pub(super) fn atom(text: impl Into<String>, data: Data) -> Self {
        Self {
            text: text.into(),
            data,
            is_atom: true,
        }
    }

    /// The outermost `.`.
    pub(super) fn root() -> Self {
        Self::atom("", Data::Root)
    }

    fn compound(text: String) -> Self {
        Self {
            text,
            data: Data::Other,
            is_atom: false,
        }
    }

    fn operand(&self) -> String {
        if self.is_atom {
            self.text.clone()
        } else {
            format!("({})", self.text)
        }
    }

    fn field(&self, name: &str) -> Result<Self, String> {
        let (field, data) = self
            .data
            .field(name)
            .ok_or_else(|| format!("`.{name}` has no counterpart"))?;
        Ok(if self.data == Data::Root {
            Self::atom(field, data)
        } else {
            Self::atom(format!("{}.{field}", self.text), data)
        })
    }
}

/// Names in scope: variables without `$`, and the current `.`.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    pub(super) dot: Expression,
    pub(super) variables: BTreeMap<String, Expression>,
}

/// Translates a pipeline. The error says what has no counterpart.
pub(super) fn translated(source: &str, scope: &Scope) -> Result<Expression, String> {
    let tokens = tokens(source)?;
    let mut parser = Parser {
        rest: &tokens,
        scope,
        depth: 0,
    };
    let value = parser.pipeline()?;
    match parser.rest.first() {
        None => Ok(value),
        Some(token) => Err(format!("unexpected `{}`", token.shown())),
    }
}

/// Nesting of parentheses at which translation ends, so that no text exhausts the stack.
const DEEPEST: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// A path: `.`, `.Servers`, `$`, `$server.IP`.
    Path(String),
    /// A function.
    Function(String),
    /// A string, without quotes.
    Text(String),
    /// A number.
    Number(String),
    Open,
    Close,
    Pipe,
}

impl Token {
    fn shown(&self) -> &str {
        match self {
            Token::Path(text) | Token::Function(text) | Token::Text(text) | Token::Number(text) => {
                text
            }
            Token::Open => "(",
            Token::Close => ")",
            Token::Pipe => "|",
        }
    }
}

fn tokens(source: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = source.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            '|' => (Token::Pipe, 1),
            '"' | '`' => quoted(rest)?,
            _ => {
                let ends = |c: char| c.is_whitespace() || "()|\"`".contains(c);
                let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
                let token = match first {
                    '.' | '$' => Token::Path(word.to_owned()),
                    '-' | '0'..='9' if word.parse::<i64>().is_ok() => {
                        Token::Number(word.to_owned())
                    }
                    c if c.is_alphabetic() => Token::Function(word.to_owned()),
                    _ => return Err(format!("`{word}` has no counterpart")),
                };
                (token, word.len())
            }
        };
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

/// Reads a string literal at the start of a text. Returns its value and its length in the source.
fn quoted(rest: &str) -> Result<(Token, usize), String> {
    let unclosed = || "a string without its closing quote".to_owned();
    if let Some(raw) = rest.strip_prefix('`') {
        let length = raw.find('`').ok_or_else(unclosed)?;
        return Ok((Token::Text(raw[..length].to_owned()), length + 2));
    }
    let mut end = None;
    let mut is_escaped = false;
    for (index, c) in rest.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => {
                end = Some(index + 1);
                break;
            }
            _ => {}
        }
    }
    let literal = &rest[..end.ok_or_else(unclosed)?];
    // The escapes that Go and JSON share are those that people use.
    let text = serde_json::from_str(literal)
        .map_err(|_| format!("the string {literal} has no counterpart"))?;
    Ok((Token::Text(text), literal.len()))
}

struct Parser<'a> {
    rest: &'a [Token],
    scope: &'a Scope,
    depth: usize,
}

impl Parser<'_> {
    fn next(&mut self) -> Option<Token> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first.clone())
    }

    /// Commands separated by `|`. Each passes its result to the next as the last argument.
    fn pipeline(&mut self) -> Result<Expression, String> {
        let mut value = self.command(None)?;
        while self.rest.first() == Some(&Token::Pipe) {
            self.next();
            value = self.command(Some(value))?;
        }
        Ok(value)
    }

    fn command(&mut self, piped: Option<Expression>) -> Result<Expression, String> {
        if let Some(Token::Function(name)) = self.rest.first().cloned()
            && !matches!(name.as_str(), "true" | "false" | "nil")
        {
            self.next();
            let mut arguments = Vec::new();
            while !matches!(self.rest.first(), None | Some(Token::Pipe | Token::Close)) {
                arguments.push(self.operand()?);
            }
            arguments.extend(piped);
            return call(&name, &arguments);
        }
        if piped.is_some() {
            return Err("a pipe into something that is not a function".to_owned());
        }
        self.operand()
    }

    fn operand(&mut self) -> Result<Expression, String> {
        match self.next() {
            Some(Token::Path(path)) => self.path(&path),
            Some(Token::Text(text)) => {
                let literal = serde_json::Value::from(text).to_string();
                Ok(Expression::atom(literal, Data::Other))
            }
            Some(Token::Number(number)) => Ok(Expression::atom(number, Data::Other)),
            Some(Token::Function(name)) => match name.as_str() {
                "true" | "false" => Ok(Expression::atom(name, Data::Other)),
                "nil" => Ok(Expression::atom("none", Data::Other)),
                _ => call(&name, &[]),
            },
            Some(Token::Open) => {
                self.depth += 1;
                if self.depth > DEEPEST {
                    return Err("too many nested parentheses".to_owned());
                }
                let value = self.pipeline()?;
                self.depth -= 1;
                match self.next() {
                    Some(Token::Close) => Ok(value),
                    _ => Err("a parenthesis that is not closed".to_owned()),
                }
            }
            Some(token @ (Token::Close | Token::Pipe)) => {
                Err(format!("unexpected `{}`", token.shown()))
            }
            None => Err("an empty pipeline".to_owned()),
        }
    }

    fn path(&self, path: &str) -> Result<Expression, String> {
        let (start, fields) = match path.strip_prefix('$') {
            Some(rest) => {
                let (name, fields) = rest.split_once('.').unwrap_or((rest, ""));
                let variable = match name {
                    "" => Some(Expression::root()),
                    name => self.scope.variables.get(name).cloned(),
                };
                (
                    variable.ok_or_else(|| format!("unknown variable `${name}`"))?,
                    fields,
                )
            }
            None => (self.scope.dot.clone(), path.trim_start_matches('.')),
        };
        let fields = fields.split('.').filter(|field| !field.is_empty());
        fields
            .into_iter()
            .try_fold(start, |value, field| value.field(field))
    }
}

/// Maximum number of arguments of a function, and of bytes of their expressions. Variables are
/// replaced by their values, so that each can double the length.
const MOST_ARGUMENTS: usize = 50;
const LONGEST: usize = 2000;

/// Translates a call of a predefined function.
fn call(name: &str, arguments: &[Expression]) -> Result<Expression, String> {
    let length: usize = arguments.iter().map(|argument| argument.text.len()).sum();
    if length > LONGEST || arguments.len() > MOST_ARGUMENTS {
        return Err("a value with a too long expression".to_owned());
    }
    let operator = |operator: &str| {
        let operands: Vec<String> = arguments.iter().map(Expression::operand).collect();
        Expression::compound(operands.join(operator))
    };
    Ok(match (name, arguments) {
        // `eq` compares the first argument with each of the others.
        ("eq", [first, others @ ..]) if !others.is_empty() => {
            let equal = |other: &Expression| format!("{} == {}", first.operand(), other.operand());
            let comparisons: Vec<String> = others.iter().map(equal).collect();
            Expression::compound(comparisons.join(" or "))
        }
        ("ne", [_, _]) => operator(" != "),
        ("lt", [_, _]) => operator(" < "),
        ("le", [_, _]) => operator(" <= "),
        ("gt", [_, _]) => operator(" > "),
        ("ge", [_, _]) => operator(" >= "),
        ("and", [_, ..]) => operator(" and "),
        ("or", [_, ..]) => operator(" or "),
        ("not", [one]) => Expression::compound(format!("not {}", one.operand())),
        ("len", [one]) => Expression::compound(format!("{}|length", one.operand())),
        ("index", [list, index]) => Expression::atom(
            format!("{}[{}]", list.operand(), index.text),
            list.data.item(),
        ),
        ("print", [_, ..]) => operator(" ~ "),
        ("printf", [format, values @ ..]) => formatted(&format.text, values)?,
        _ => return Err(format!("the function `{name}` has no counterpart here")),
    })
}

/// Translates a format with the verbs `%s`, `%d` and `%v` into a concatenation.
fn formatted(format: &str, values: &[Expression]) -> Result<Expression, String> {
    let format: String =
        serde_json::from_str(format).map_err(|_| "a format that is not a string".to_owned())?;
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut values = values.iter();
    let mut characters = format.chars();
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    while let Some(c) = characters.next() {
        match (c, characters.clone().next()) {
            ('%', Some('%')) => {
                characters.next();
                literal.push('%');
            }
            ('%', Some('s' | 'd' | 'v')) => {
                characters.next();
                let value = values
                    .next()
                    .ok_or_else(|| "a format with too few values".to_owned())?;
                if !literal.is_empty() {
                    parts.push(quoted(&std::mem::take(&mut literal)));
                }
                parts.push(value.operand());
            }
            ('%', _) => return Err(format!("the format {} has no counterpart", quoted(&format))),
            (c, _) => literal.push(c),
        }
    }
    if values.next().is_some() {
        return Err("a format with too many values".to_owned());
    }
    if !literal.is_empty() || parts.is_empty() {
        parts.push(quoted(&literal));
    }
    Ok(Expression::compound(parts.join(" ~ ")))
}
