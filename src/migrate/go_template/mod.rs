//! Translates HAProxy templates of the SIP operator, which are Go templates, to minijinja.
//!
//! The result renders the same configuration apart from blank lines and indentation, which HAProxy
//! ignores. Variables are replaced by their values, because a `{% set %}` ends with its block.
//! No crate does this: those with a parser of Go templates are unmaintained and only render.
//!
//! * `lexer`: actions, and the white space around them.
//! * `expression`: pipelines inside of actions.

mod expression;
mod lexer;

use std::collections::BTreeMap;

use expression::{JinjaExpression, TemplateData, TemplateScope, translated};
use lexer::{Action, Piece, declared, pieces};

/// The reason why a template cannot be translated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Untranslatable {
    /// Line in the template, from 1.
    pub(super) line: usize,
    /// The cause.
    pub(super) reason: String,
}

/// Translates a template.
///
/// # Errors
///
/// The first action without counterpart.
pub(super) fn translate(source: &str) -> Result<String, Untranslatable> {
    let mut translation = Translation {
        text: String::new(),
        blocks: Vec::new(),
        scope: TemplateScope {
            dot: JinjaExpression::root(),
            variables: BTreeMap::new(),
        },
    };
    let at = |line, reason| Untranslatable { line, reason };
    for Piece { text, action } in pieces(source)? {
        translation.literal(text);
        if let Some(action) = action {
            let translated = translation.action(&action);
            translated.map_err(|reason| at(action.line, reason))?;
        }
    }
    match translation.blocks.last() {
        None => Ok(translation.text),
        Some(block) => Err(at(
            source.matches('\n').count() + 1,
            format!("`{}` without `end`", block.keyword()),
        )),
    }
}

/// A block that waits for its `end`.
enum Block {
    If(TemplateScope),
    /// `with` is an `if` with another `.`.
    With(TemplateScope),
    For(TemplateScope),
}

impl Block {
    fn keyword(&self) -> &'static str {
        match self {
            Block::If(_) => "if",
            Block::With(_) => "with",
            Block::For(_) => "range",
        }
    }

    fn outside(&self) -> &TemplateScope {
        match self {
            Block::If(scope) | Block::With(scope) | Block::For(scope) => scope,
        }
    }
}

struct Translation {
    text: String,
    blocks: Vec<Block>,
    scope: TemplateScope,
}

/// Nesting of blocks at which translation ends. minijinja has a limit of its own.
const DEEPEST: usize = 50;

impl Translation {
    /// Appends text outside of actions. What minijinja would read as a tag becomes a string.
    fn literal(&mut self, text: &str) {
        // minijinja would remove a line break behind a tag.
        if text.starts_with(['\n', '\r'])
            && let Some(tag) = self.text.strip_suffix(" %}")
        {
            self.text = format!("{tag} +%}}");
        }
        let mut start = 0;
        for (at, _) in text.match_indices('{') {
            let tag = text.get(at..at + 2).unwrap_or_default();
            if at >= start && (tag == "{%" || tag == "{#") {
                self.text.push_str(&text[start..at]);
                self.text.push_str(&format!("{{{{ \"{tag}\" }}}}"));
                start = at + tag.len();
            }
        }
        self.text.push_str(&text[start..]);
    }

    fn action(&mut self, action: &Action<'_>) -> Result<(), String> {
        let keyword = action.keyword();
        let rest = &action.body[keyword.len()..];
        match keyword {
            _ if action.is_comment() => {
                let comment = action.body.trim_start_matches("/*").trim_end_matches("*/");
                if action.has_line {
                    let comment = comment.replace("#}", "# }");
                    self.text.push_str(&format!("{{#{comment}#}}\n"));
                }
                Ok(())
            }
            "if" => {
                let condition = translated(rest, &self.scope)?;
                self.open(Block::If(self.scope.clone()))?;
                self.tag(&format!("if {}", condition.text), action);
                Ok(())
            }
            "with" => {
                let (name, value) = declared(rest);
                let value = translated(value, &self.scope)?;
                self.open(Block::With(self.scope.clone()))?;
                self.tag(&format!("if {}", value.text), action);
                if let Some(name) = name {
                    self.scope.variables.insert(name.to_owned(), value.clone());
                }
                self.scope.dot = value;
                Ok(())
            }
            "range" => self.range(rest, action),
            "else" => self.otherwise(rest, action),
            "end" => {
                let block = self.blocks.pop().ok_or("`end` without a block")?;
                let tag = match block {
                    Block::If(_) | Block::With(_) => "endif",
                    Block::For(_) => "endfor",
                };
                self.scope = block.outside().clone();
                self.tag(tag, action);
                Ok(())
            }
            "define" | "template" | "block" | "break" | "continue" => {
                Err(format!("`{keyword}` has no counterpart here"))
            }
            _ => self.value(action),
        }
    }

    /// Appends a value, or remembers a variable.
    fn value(&mut self, action: &Action<'_>) -> Result<(), String> {
        let body = action.body;
        if let (Some(name), value) = declared(body) {
            let value = translated(value, &self.scope)?;
            self.scope.variables.insert(name.to_owned(), value);
            return Ok(());
        }
        let is_assignment = body.starts_with('$')
            && body
                .split_once('=')
                .is_some_and(|(name, _)| !name.contains(['"', '`', '|']));
        if is_assignment {
            return Err("a variable that changes has no counterpart".to_owned());
        }
        let value = translated(body, &self.scope)?;
        if value.data != TemplateData::Other {
            return Err("a whole list or object is printed".to_owned());
        }
        self.text.push_str(&format!("{{{{ {} }}}}", value.text));
        Ok(())
    }

    fn range(&mut self, rest: &str, action: &Action<'_>) -> Result<(), String> {
        let (names, list) = match rest.split_once(":=") {
            Some((names, list)) => (names, list),
            None => ("", rest),
        };
        let list = translated(list, &self.scope)?;
        let names: Vec<&str> = names
            .split(',')
            .map(|name| name.trim().trim_start_matches('$'))
            .filter(|name| !name.is_empty())
            .collect();
        let (index, item) = match names.as_slice() {
            [] => (None, None),
            [item] => (None, Some(*item)),
            [index, item] => (Some(*index).filter(|index| *index != "_"), Some(*item)),
            _ => return Err("`range` with more than two variables".to_owned()),
        };
        let data = list.data.item();
        // Nested loops have variables of different names.
        let level = self
            .blocks
            .iter()
            .filter(|block| matches!(block, Block::For(_)))
            .count();
        let mut name = match data {
            TemplateData::Server => "server".to_owned(),
            TemplateData::Port => "port".to_owned(),
            _ => "item".to_owned(),
        };
        let is_taken = |name: &str| {
            let taken = |value: &JinjaExpression| value.text.split('.').next() == Some(name);
            taken(&self.scope.dot) || self.scope.variables.values().any(taken)
        };
        if is_taken(&name) {
            name = format!("{name}_{level}");
        }
        self.open(Block::For(self.scope.clone()))?;
        let own = JinjaExpression::atom(name.clone(), data);
        let mut tag = format!("for {name} in {}", list.text);
        if let Some(index) = index {
            // `loop` of an inner loop is another one.
            let counter = format!("{name}_index");
            tag = format!("{tag} %}}{{% set {counter} = loop.index0");
            let value = JinjaExpression::atom(counter, TemplateData::Other);
            self.scope.variables.insert(index.to_owned(), value);
        }
        if let Some(item) = item {
            self.scope.variables.insert(item.to_owned(), own.clone());
        }
        self.scope.dot = own;
        self.tag(&tag, action);
        Ok(())
    }

    fn otherwise(&mut self, rest: &str, action: &Action<'_>) -> Result<(), String> {
        let block = self.blocks.last().ok_or("`else` without a block")?;
        let outside = block.outside().clone();
        let tag = match (block, rest.trim().split_once(char::is_whitespace)) {
            (_, None) if rest.trim().is_empty() => "else".to_owned(),
            (Block::If(_), Some(("if", condition))) => {
                format!("elif {}", translated(condition, &outside)?.text)
            }
            _ => return Err(format!("`else {}` has no counterpart here", rest.trim())),
        };
        self.scope = outside;
        self.tag(&tag, action);
        Ok(())
    }

    fn open(&mut self, block: Block) -> Result<(), String> {
        if self.blocks.len() == DEEPEST {
            return Err("too many nested blocks".to_owned());
        }
        self.blocks.push(block);
        Ok(())
    }

    /// Appends a tag. minijinja removes the line of a tag that stands alone; within a line, `+`
    /// keeps the space around it.
    fn tag(&mut self, tag: &str, action: &Action<'_>) {
        if action.has_line {
            self.text.push_str(&format!("{{% {tag} %}}\n"));
            return;
        }
        let line = self.text.rsplit('\n').next().unwrap_or_default();
        let open = if line.trim().is_empty() { "{%+" } else { "{%" };
        self.text.push_str(&format!("{open} {tag} %}}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_become_tags_and_fields_those_of_our_templates() {
        for (go, jinja) in [
            ("{{ len .Servers }}", "{{ servers|length }}"),
            (
                "{{ range .Servers }}\nserver {{ .Name }} {{ .IP }}:6443\n{{ end }}\n",
                "{% for server in servers %}\nserver {{ server.name }} {{ server.address }}:6443\n{% endfor %}\n",
            ),
            (
                "{{- $all := .Servers }}\n{{- range $i, $s := $all }}\n  {{ $s.Name }}{{ if eq $i 0 }} backup{{ end }}\n{{- end }}\n",
                "{% for server in servers %}{% set server_index = loop.index0 %}\n  {{ server.name }}{% if server_index == 0 %} backup{% endif +%}\n{% endfor %}\n",
            ),
            (
                "{{ range .ContainerPorts }}{{ range $.Servers }}{{ .Name }} {{ end }}{{ end }}",
                "{%+ for port in ports %}{% for server in servers %}{{ server.name }} {% endfor %}{% endfor %}",
            ),
            (
                "{{ if and (gt (len .Servers) 2) (not (eq 1 2 3)) }}a{{ else if .Servers }}b{{ else }}c{{ end }}",
                "{%+ if ((servers|length) > 2) and (not (1 == 2 or 1 == 3)) %}a{% elif servers %}b{% else %}c{% endif %}",
            ),
            (
                "{{ with index .Servers 0 }}{{ .Name | printf \"x-%s%%\" }}{{ end }}",
                "{%+ if servers[0] %}{{ \"x-\" ~ servers[0].name ~ \"%\" }}{% endif %}",
            ),
            ("log-format {%x%}\n", "log-format {{ \"{%\" }}x%}\n"),
            ("{{/* old */}}\nmode tcp\n", "{# old #}\nmode tcp\n"),
            (
                "a\n{{- if true -}}\nb\n{{- end }}\n",
                "a{% if true %}b{% endif +%}\n",
            ),
        ] {
            assert_eq!(translate(go).as_deref(), Ok(jinja), "{go}");
        }
    }

    #[test]
    fn what_has_no_counterpart_is_refused_at_its_line() {
        for (go, line, reason) in [
            ("a\n{{ .Image }}", 2, "`.Image` has no counterpart"),
            ("{{ define \"x\" }}", 1, "`define` has no counterpart here"),
            ("\n\n{{ if true }}", 3, "`if` without `end`"),
            ("{{ end }}", 1, "`end` without a block"),
            (
                "{{ urlquery .Servers }}",
                1,
                "the function `urlquery` has no counterpart here",
            ),
            (
                "{{ $x := 1 }}{{ $x = 2 }}",
                1,
                "a variable that changes has no counterpart",
            ),
            ("{{ . }}", 1, "a whole list or object is printed"),
            ("{{ $gone }}", 1, "unknown variable `$gone`"),
            (
                "{{ printf \"%05d\" 1 }}",
                1,
                "the format \"%05d\" has no counterpart",
            ),
            ("{{ .Servers", 1, "an action that is not closed"),
            ("{{ ((((1 }}", 1, "a parenthesis that is not closed"),
        ] {
            let refused = translate(go).unwrap_err();
            assert_eq!(
                (refused.line, refused.reason.as_str()),
                (line, reason),
                "{go}"
            );
        }
        let deep = "(".repeat(100_000);
        assert!(translate(&format!("{{{{ {deep} }}}}")).is_err());
        assert!(translate(&"{{ if true }}".repeat(100_000)).is_err());
        let doubling: String = (1..100)
            .map(|n| format!("{{{{ $v{n} := print $v{} $v{} }}}}", n - 1, n - 1))
            .collect();
        let refused = translate(&format!("{{{{ $v0 := len .Servers }}}}{doubling}")).unwrap_err();
        assert_eq!(refused.reason, "a value with a too long expression");
        assert!(translate(&"{%".repeat(100_000)).is_ok());
    }
}
