//! Pipelines of Go templates as minijinja expressions.

use std::collections::BTreeMap;

/// A value as a minijinja expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JinjaExpression {
    /// Text in minijinja's syntax.
    pub(super) text: String,
    /// Data behind it, which decides what its fields are called.
    pub(super) data: TemplateData,
    /// True if it needs no parentheses next to an operator.
    is_atom: bool,
}

/// Data that the SIP operator gives to its HAProxy templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TemplateData {
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

impl TemplateData {
    /// Returns the items of a list.
    pub(super) fn item(self) -> Self {
        match self {
            TemplateData::Servers => TemplateData::Server,
            TemplateData::Ports => TemplateData::Port,
            _ => TemplateData::Other,
        }
    }

    /// Returns the name and the data of a field.
    fn field(self, name: &str) -> Option<(&'static str, TemplateData)> {
        Some(match (self, name) {
            (TemplateData::Root, "Servers") => ("servers", TemplateData::Servers),
            (TemplateData::Root, "ContainerPorts") => ("ports", TemplateData::Ports),
            (TemplateData::Server | TemplateData::Port, "Name") => ("name", TemplateData::Other),
            (TemplateData::Server, "IP") => ("address", TemplateData::Other),
            (TemplateData::Port, "ContainerPort") => ("port", TemplateData::Other),
            _ => return None,
        })
    }
}

impl JinjaExpression {
    pub(super) fn atom(text: impl Into<String>, data: TemplateData) -> Self {
        Self {
            text: text.into(),
            data,
            is_atom: true,
        }
    }

    /// The outermost `.`.
    pub(super) fn root() -> Self {
        Self::atom("", TemplateData::Root)
    }

    fn compound(text: String) -> Self {
        Self {
            text,
            data: TemplateData::Other,
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
        Ok(if self.data == TemplateData::Root {
            Self::atom(field, data)
        } else {
            Self::atom(format!("{}.{field}", self.text), data)
        })
    }
}

/// Names in scope: variables without `$`, and the current `.`.
#[derive(Debug, Clone)]
pub(super) struct TemplateScope {
    pub(super) dot: JinjaExpression,
    pub(super) variables: BTreeMap<String, JinjaExpression>,
}

/// Translates a pipeline. The error says what has no counterpart.
pub(super) fn translated(source: &str, scope: &TemplateScope) -> Result<JinjaExpression, String> {
    let tokens = tokens(source)?;
    let mut parser = PipelineParser {
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
enum GoTemplateToken {
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

impl GoTemplateToken {
    fn shown(&self) -> &str {
        match self {
            GoTemplateToken::Path(text)
            | GoTemplateToken::Function(text)
            | GoTemplateToken::Text(text)
            | GoTemplateToken::Number(text) => text,
            GoTemplateToken::Open => "(",
            GoTemplateToken::Close => ")",
            GoTemplateToken::Pipe => "|",
        }
    }
}

fn tokens(source: &str) -> Result<Vec<GoTemplateToken>, String> {
    let mut tokens = Vec::new();
    let mut rest = source.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '(' => (GoTemplateToken::Open, 1),
            ')' => (GoTemplateToken::Close, 1),
            '|' => (GoTemplateToken::Pipe, 1),
            '"' | '`' => quoted(rest)?,
            _ => {
                let ends = |c: char| c.is_whitespace() || "()|\"`".contains(c);
                let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
                let token = match first {
                    '.' | '$' => GoTemplateToken::Path(word.to_owned()),
                    '-' | '0'..='9' if word.parse::<i64>().is_ok() => {
                        GoTemplateToken::Number(word.to_owned())
                    }
                    c if c.is_alphabetic() => GoTemplateToken::Function(word.to_owned()),
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
fn quoted(rest: &str) -> Result<(GoTemplateToken, usize), String> {
    let unclosed = || "a string without its closing quote".to_owned();
    if let Some(raw) = rest.strip_prefix('`') {
        let length = raw.find('`').ok_or_else(unclosed)?;
        return Ok((GoTemplateToken::Text(raw[..length].to_owned()), length + 2));
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
    Ok((GoTemplateToken::Text(text), literal.len()))
}

struct PipelineParser<'a> {
    rest: &'a [GoTemplateToken],
    scope: &'a TemplateScope,
    depth: usize,
}

impl PipelineParser<'_> {
    fn next(&mut self) -> Option<GoTemplateToken> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first.clone())
    }

    /// Commands separated by `|`. Each passes its result to the next as the last argument.
    fn pipeline(&mut self) -> Result<JinjaExpression, String> {
        let mut value = self.command(None)?;
        while self.rest.first() == Some(&GoTemplateToken::Pipe) {
            self.next();
            value = self.command(Some(value))?;
        }
        Ok(value)
    }

    fn command(&mut self, piped: Option<JinjaExpression>) -> Result<JinjaExpression, String> {
        if let Some(GoTemplateToken::Function(name)) = self.rest.first().cloned()
            && !matches!(name.as_str(), "true" | "false" | "nil")
        {
            self.next();
            let mut arguments = Vec::new();
            while !matches!(
                self.rest.first(),
                None | Some(GoTemplateToken::Pipe | GoTemplateToken::Close)
            ) {
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

    fn operand(&mut self) -> Result<JinjaExpression, String> {
        match self.next() {
            Some(GoTemplateToken::Path(path)) => self.path(&path),
            Some(GoTemplateToken::Text(text)) => {
                let literal = serde_json::Value::from(text).to_string();
                Ok(JinjaExpression::atom(literal, TemplateData::Other))
            }
            Some(GoTemplateToken::Number(number)) => {
                Ok(JinjaExpression::atom(number, TemplateData::Other))
            }
            Some(GoTemplateToken::Function(name)) => match name.as_str() {
                "true" | "false" => Ok(JinjaExpression::atom(name, TemplateData::Other)),
                "nil" => Ok(JinjaExpression::atom("none", TemplateData::Other)),
                _ => call(&name, &[]),
            },
            Some(GoTemplateToken::Open) => {
                self.depth += 1;
                if self.depth > DEEPEST {
                    return Err("too many nested parentheses".to_owned());
                }
                let value = self.pipeline()?;
                self.depth -= 1;
                match self.next() {
                    Some(GoTemplateToken::Close) => Ok(value),
                    _ => Err("a parenthesis that is not closed".to_owned()),
                }
            }
            Some(token @ (GoTemplateToken::Close | GoTemplateToken::Pipe)) => {
                Err(format!("unexpected `{}`", token.shown()))
            }
            None => Err("an empty pipeline".to_owned()),
        }
    }

    fn path(&self, path: &str) -> Result<JinjaExpression, String> {
        let (start, fields) = match path.strip_prefix('$') {
            Some(rest) => {
                let (name, fields) = rest.split_once('.').unwrap_or((rest, ""));
                let variable = match name {
                    "" => Some(JinjaExpression::root()),
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
fn call(name: &str, arguments: &[JinjaExpression]) -> Result<JinjaExpression, String> {
    let length: usize = arguments.iter().map(|argument| argument.text.len()).sum();
    if length > LONGEST || arguments.len() > MOST_ARGUMENTS {
        return Err("a value with a too long expression".to_owned());
    }
    let operator = |operator: &str| {
        let operands: Vec<String> = arguments.iter().map(JinjaExpression::operand).collect();
        JinjaExpression::compound(operands.join(operator))
    };
    Ok(match (name, arguments) {
        // `eq` compares the first argument with each of the others.
        ("eq", [first, others @ ..]) if !others.is_empty() => {
            let equal =
                |other: &JinjaExpression| format!("{} == {}", first.operand(), other.operand());
            let comparisons: Vec<String> = others.iter().map(equal).collect();
            JinjaExpression::compound(comparisons.join(" or "))
        }
        ("ne", [_, _]) => operator(" != "),
        ("lt", [_, _]) => operator(" < "),
        ("le", [_, _]) => operator(" <= "),
        ("gt", [_, _]) => operator(" > "),
        ("ge", [_, _]) => operator(" >= "),
        ("and", [_, ..]) => operator(" and "),
        ("or", [_, ..]) => operator(" or "),
        ("not", [one]) => JinjaExpression::compound(format!("not {}", one.operand())),
        ("len", [one]) => JinjaExpression::compound(format!("{}|length", one.operand())),
        ("index", [list, index]) => JinjaExpression::atom(
            format!("{}[{}]", list.operand(), index.text),
            list.data.item(),
        ),
        ("print", [_, ..]) => operator(" ~ "),
        ("printf", [format, values @ ..]) => formatted(&format.text, values)?,
        _ => return Err(format!("the function `{name}` has no counterpart here")),
    })
}

/// Translates a format with the verbs `%s`, `%d` and `%v` into a concatenation.
fn formatted(format: &str, values: &[JinjaExpression]) -> Result<JinjaExpression, String> {
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
    Ok(JinjaExpression::compound(parts.join(" ~ ")))
}
