//! Rewrites templates: what an operation creates passes through a counting function.

use minijinja::machinery::ast::{BinOp, BinOpKind, Call, CallArg, Expr, Spanned, Stmt};
use minijinja::machinery::{Token, parse, tokenize};
use minijinja::syntax::SyntaxConfig;

use super::{ALTERNATIVES, LARGEST, OPERATORS, TemplateRejection, end_of, start_of};

/// Maximum size in bytes of a text between two tags that is not counted. The limit on steps bounds
/// these.
const SHORT: usize = 16;

/// The rewritten text of a template. Its lines match the original.
#[derive(Debug)]
pub(in crate::output::render) struct BoundedSource {
    pub(in crate::output::render) text: String,
    edits: Vec<SourceEdit>,
}

#[derive(Debug)]
struct SourceEdit {
    /// Offset in the original text.
    at: usize,
    inserted: String,
}

impl BoundedSource {
    /// Converts an offset in the rewritten text to one in the original.
    pub(in crate::output::render) fn original(&self, at: usize) -> usize {
        let mut moved = 0_usize;
        for edit in &self.edits {
            let start = edit.at + moved;
            if at < start {
                break;
            }
            // An offset in inserted text maps to the position of the insertion.
            if at < start + edit.inserted.len() {
                return edit.at;
            }
            moved += edit.inserted.len();
        }
        at - moved
    }
}

/// Rewrites a template so that it counts its allocations.
pub(in crate::output::render) fn edited(
    text: &str,
    syntax: &SyntaxConfig,
) -> Result<BoundedSource, TemplateRejection> {
    if text.len() > LARGEST {
        let message =
            format!("it has {} bytes, more than the limit of {} KiB", text.len(), LARGEST >> 10);
        return Err(TemplateRejection { message, at: None });
    }
    check_tokens(text, syntax)?;
    // Let the compiler report syntax errors.
    let Ok(template) = parse(text, "", syntax.clone()) else {
        return Ok(BoundedSource { text: text.to_owned(), edits: Vec::new() });
    };
    let mut editor = Editor { text, edits: Vec::new(), unfit: None };
    editor.statement(&template);
    if let Some(unfit) = editor.unfit {
        return Err(unfit);
    }
    let mut edits = editor.edits;
    // The sort must be stable: insertions at one position are in tree order, outer calls first.
    edits.sort_by_key(|edit| edit.at);
    let mut rewritten = String::with_capacity(text.len() * 2);
    let mut copied = 0;
    for edit in &edits {
        rewritten.push_str(text.get(copied..edit.at).unwrap_or_default());
        rewritten.push_str(&edit.inserted);
        copied = edit.at;
    }
    rewritten.push_str(text.get(copied..).unwrap_or_default());
    Ok(BoundedSource { text: rewritten, edits })
}

/// Limits what the parser handles by recursion, without parsing.
fn check_tokens(text: &str, syntax: &SyntaxConfig) -> Result<(), TemplateRejection> {
    let (mut operators, mut alternatives) = (0, 0);
    for token in tokenize(text, false, syntax.clone()) {
        let Ok((token, span)) = token else { return Ok(()) };
        let rejected = |message: String| Err(TemplateRejection::new(message, start_of(span)));
        match token {
            Token::VariableStart | Token::BlockStart => operators = 0,
            Token::Ident("elif") => alternatives += 1,
            Token::Ident(name) if name.starts_with("__") => {
                return rejected(format!("`{name}`: names that begin with `__` are sipgen's own"));
            }
            Token::Ident("not" | "and" | "or" | "if" | "else" | "is" | "in") => operators += 1,
            Token::Ident(_)
            | Token::Str(_)
            | Token::String(_)
            | Token::Int(_)
            | Token::Int128(_)
            | Token::Float(_)
            | Token::Comma
            | Token::Colon
            | Token::TemplateData(_) => {}
            _ => operators += 1,
        }
        if operators > OPERATORS {
            let message = format!("an expression has more than {OPERATORS} operators and brackets");
            return rejected(message);
        }
        if alternatives > ALTERNATIVES {
            return rejected(format!("it has more than {ALTERNATIVES} `elif`"));
        }
    }
    Ok(())
}

struct Editor<'a> {
    text: &'a str,
    edits: Vec<SourceEdit>,
    unfit: Option<TemplateRejection>,
}

impl<'a> Editor<'a> {
    fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.edits.push(SourceEdit { at, inserted: text.into() });
    }

    /// Rejects a template whose text does not match its syntax tree.
    fn refuse(&mut self, at: usize) {
        let unfit = TemplateRejection::new("its expression is not supported: rewrite it", at);
        self.unfit.get_or_insert(unfit);
    }

    /// Visits a statement, then its expressions, then the statements inside it.
    fn statement(&mut self, statement: &Stmt<'a>) {
        let (expressions, bodies): (Vec<&Expr<'a>>, Vec<&Vec<Stmt<'a>>>) = match statement {
            Stmt::Template(template) => (vec![], vec![&template.children]),
            Stmt::EmitExpr(emitted) => (vec![&emitted.expr], vec![]),
            Stmt::EmitRaw(emitted) => return self.raw(emitted.raw),
            Stmt::ForLoop(each) => {
                self.called("__items(", &each.iter);
                (each.filter_expr.iter().collect(), vec![&each.body, &each.else_body])
            }
            Stmt::IfCond(condition) => {
                (vec![&condition.expr], vec![&condition.true_body, &condition.false_body])
            }
            Stmt::WithBlock(with) => {
                (with.assignments.iter().map(|(_, value)| value).collect(), vec![&with.body])
            }
            Stmt::Set(set) => match set.target {
                Expr::GetAttr(_) => return self.kept(end_of(set.target.span()), &set.expr),
                _ => (vec![&set.expr], vec![]),
            },
            Stmt::SetBlock(set) => (set.filter.iter().collect(), vec![&set.body]),
            Stmt::AutoEscape(block) => (vec![&block.enabled], vec![&block.body]),
            Stmt::FilterBlock(block) => (vec![&block.filter], vec![&block.body]),
            Stmt::Block(block) => (vec![], vec![&block.body]),
            Stmt::Import(import) => (vec![&import.expr], vec![]),
            Stmt::FromImport(import) => (vec![&import.expr], vec![]),
            Stmt::Extends(extends) => (vec![&extends.name], vec![]),
            Stmt::Include(include) => (vec![&include.name], vec![]),
            Stmt::Macro(defined) => (defined.defaults.iter().collect(), vec![&defined.body]),
            Stmt::CallBlock(block) => {
                self.call(&block.call);
                (block.macro_decl.defaults.iter().collect(), vec![&block.macro_decl.body])
            }
            Stmt::Do(done) => return self.call(&done.call),
        };
        expressions.into_iter().for_each(|expression| self.expression(expression));
        bodies.into_iter().flatten().for_each(|statement| self.statement(statement));
    }

    fn expression(&mut self, expression: &Expr<'a>) {
        match expression {
            Expr::Var(_) | Expr::Const(_) => {}
            Expr::Slice(slice) => {
                self.insert(self.start(expression), "__made(");
                self.expression(&slice.expr);
                let bounds = [&slice.start, &slice.stop, &slice.step];
                bounds.into_iter().flatten().for_each(|bound| self.expression(bound));
                self.insert(end_of(slice.span()), ")");
            }
            Expr::UnaryOp(operation) => self.expression(&operation.expr),
            Expr::BinOp(operation) => match operation.op {
                BinOpKind::Concat | BinOpKind::Add => self.sum("__made(", operation),
                BinOpKind::Mul => {
                    self.insert(start_of(operation.span()), "__made(");
                    self.called("__factor(", &operation.left);
                    self.called("__factor(", &operation.right);
                    self.insert(end_of(operation.span()), ")");
                }
                BinOpKind::ScAnd | BinOpKind::ScOr => {
                    self.expression(&operation.left);
                    self.expression(&operation.right);
                }
                // Comparisons and `in` may read both operands completely.
                _ => {
                    self.called("__weighed(", &operation.left);
                    self.called("__weighed(", &operation.right);
                }
            },
            Expr::Compare(compared) => {
                self.called("__weighed(", &compared.expr);
                let others = compared.ops.iter();
                others.for_each(|operation| self.called("__weighed(", &operation.expr));
            }
            Expr::IfExpr(choice) => {
                self.expression(&choice.true_expr);
                self.expression(&choice.test_expr);
                choice.false_expr.iter().for_each(|otherwise| self.expression(otherwise));
            }
            Expr::Filter(filter) => {
                filter.expr.iter().for_each(|value| self.expression(value));
                self.arguments(&filter.args);
            }
            Expr::Test(test) => {
                if test.args.is_empty() {
                    self.expression(&test.expr);
                } else {
                    self.called("__weighed(", &test.expr);
                }
                self.arguments(&test.args);
            }
            Expr::GetAttr(attribute) => self.expression(&attribute.expr),
            Expr::GetItem(item) => {
                if matches!(item.subscript_expr, Expr::Const(_)) {
                    self.expression(&item.expr);
                } else {
                    // Indexing may read a text from its start.
                    self.called("__text(", &item.expr);
                }
                self.expression(&item.subscript_expr);
            }
            Expr::Call(call) => self.call(call),
            Expr::List(list) => self.literal(expression, &list.items, &[]),
            Expr::Tuple(tuple) => self.literal(expression, &tuple.items, &[]),
            Expr::Map(map) => self.literal(expression, &map.keys, &map.values),
        }
    }

    /// Returns the start of an expression without its parentheses. Most spans begin at the last
    /// operand.
    fn start(&self, expression: &Expr<'a>) -> usize {
        let own = start_of(expression.span());
        let first = match expression {
            Expr::Var(_) | Expr::Const(_) | Expr::List(_) | Expr::Map(_) => return own,
            // The span of a tuple without brackets begins at its second item.
            Expr::Tuple(tuple) => match tuple.items.first() {
                Some(first) if own > self.start(first) => first,
                _ => return own,
            },
            Expr::UnaryOp(operation) => {
                // `a is not b` and `a not in b` are unary operations as well.
                let is_prefix =
                    self.text.get(own..).is_some_and(|text| text.starts_with(['-', 'n']));
                let inner = self.start(&operation.expr);
                return if is_prefix && own < inner { own } else { inner };
            }
            Expr::BinOp(operation) => match operation.op {
                BinOpKind::Eq
                | BinOpKind::Ne
                | BinOpKind::Lt
                | BinOpKind::Lte
                | BinOpKind::Gt
                | BinOpKind::Gte
                | BinOpKind::In => &operation.left,
                _ => return own,
            },
            Expr::Compare(compared) => &compared.expr,
            Expr::IfExpr(choice) => &choice.true_expr,
            Expr::Filter(filter) => match &filter.expr {
                Some(value) => value,
                None => return own,
            },
            Expr::Test(test) => &test.expr,
            Expr::GetAttr(attribute) => &attribute.expr,
            Expr::GetItem(item) => &item.expr,
            Expr::Slice(slice) => &slice.expr,
            Expr::Call(call) => &call.expr,
        };
        // The first operand is followed by its own closing parentheses, then by the rest of the
        // expression.
        let behind = self.text.get(end_of(first.span())..).unwrap_or_default();
        let closing = behind.chars().take_while(|c| *c == ')' || c.is_whitespace());
        let closed = closing.filter(|c| *c == ')').count();
        let mut before = self.text.get(..self.start(first)).unwrap_or_default();
        for _ in 0..closed {
            before = before.trim_end();
            before = before.strip_suffix('(').unwrap_or(before);
        }
        before.len()
    }

    fn call(&mut self, call: &Spanned<Call<'a>>) {
        self.expression(&call.expr);
        self.arguments(&call.args);
    }

    fn arguments(&mut self, arguments: &[CallArg<'a>]) {
        for argument in arguments {
            let (CallArg::Pos(value)
            | CallArg::Kwarg(_, value)
            | CallArg::PosSplat(value)
            | CallArg::KwargSplat(value)) = argument;
            self.expression(value);
        }
    }

    /// Wraps an operand in a call of a function.
    fn called(&mut self, function: &str, operand: &Expr<'a>) {
        if matches!(operand, Expr::Const(_)) {
            return;
        }
        self.insert(self.start(operand), function);
        self.expression(operand);
        self.insert(end_of(operand.span()), ")");
    }

    /// Wraps a list, tuple or mapping in a counting call. Literals of constants are no larger than
    /// the template and need none.
    fn literal(&mut self, literal: &Expr<'a>, items: &[Expr<'a>], values: &[Expr<'a>]) {
        let parts = items.iter().chain(values);
        if parts.clone().all(|part| matches!(part, Expr::Const(_))) {
            return;
        }
        let start = self.start(literal);
        let is_bracketed =
            self.text.get(start..).is_some_and(|text| text.starts_with(['[', '(', '{']))
                && items.first().is_none_or(|first| start < self.start(first));
        let (open, close) = if is_bracketed { ("__made(", ")") } else { ("__made((", "))") };
        self.insert(start, open);
        parts.for_each(|part| self.expression(part));
        self.insert(end_of(literal.span()), close);
    }

    /// Wraps a concatenation. In a chain such as `a ~ b ~ c`, only the last result is counted
    /// completely.
    fn sum(&mut self, function: &str, operation: &Spanned<BinOp<'a>>) {
        self.insert(start_of(operation.span()), function);
        match &operation.left {
            Expr::BinOp(left) if matches!(left.op, BinOpKind::Concat | BinOpKind::Add) => {
                self.sum("__weighed(", left);
            }
            left => self.expression(left),
        }
        self.expression(&operation.right);
        self.insert(end_of(operation.span()), ")");
    }

    /// Wraps a value that is stored in a namespace, because it outlives a loop.
    fn kept(&mut self, target_end: usize, value: &Expr<'a>) {
        let find = |from: usize, text: &str| Some(from + self.text.get(from..)?.find(text)?);
        let value_end = end_of(value.span());
        let (Some(assigned), Some(end)) = (find(target_end, "="), find(value_end, "%}")) else {
            return self.refuse(target_end);
        };
        let before = self.text.get(value_end..end).unwrap_or_default();
        let end = value_end + before.trim_end_matches(['-', '+']).trim_end().len();
        self.insert(assigned + 1, "__kept((");
        self.expression(value);
        self.insert(end, "))");
    }

    /// Counts a text between two tags, by a tag that is inserted before it.
    fn raw(&mut self, raw: &str) {
        if raw.len() <= SHORT {
            return;
        }
        let at = (raw.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        if self.text.get(at..at.wrapping_add(raw.len())) != Some(raw) {
            return self.refuse(0);
        }
        let counted = format!("{{{{ __text({}) }}}}", raw.len());
        let before = self.text.get(..at).unwrap_or_default().trim_end();
        let before =
            before.strip_suffix("%}").map(|before| before.trim_end_matches(['-', '+']).trim_end());
        if !before.is_some_and(|before| before.ends_with("raw") && !before.ends_with("endraw")) {
            return self.insert(at, counted);
        }
        // A tag between `{% raw %}` and `{% endraw %}` is text, so the raw block is split between
        // two characters. Neither may be white space, which tags may trim.
        let mut before = ' ';
        let between = raw.char_indices().find_map(|(index, c)| {
            let fits = !before.is_whitespace() && !c.is_whitespace() && before != '{';
            before = c;
            fits.then_some(index)
        });
        match between {
            Some(index) => self.insert(at + index, format!("{{% endraw %}}{counted}{{% raw %}}")),
            None => self.refuse(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn rewritten(text: &str) -> String {
        edited(text, &SyntaxConfig::default()).unwrap().text
    }

    #[test]
    fn what_may_grow_becomes_a_call() {
        for (text, expected) in [
            ("{{ a ~ b ~ c }}", "{{ __made(__weighed(a ~ b) ~ c) }}"),
            ("{{ (a ~ b) ~ (c) }}", "{{ __made((__weighed(a ~ b)) ~ (c)) }}"),
            ("{{ a ~ b|upper ~ c.d[e] }}", "{{ __made(__weighed(a ~ b|upper) ~ __text(c.d)[e]) }}"),
            ("{{ a + b * 2 }}", "{{ __made(a + __made(__factor(b) * 2)) }}"),
            (
                "{{ a * b * c }}",
                "{{ __made(__factor(__made(__factor(a) * __factor(b))) * __factor(c)) }}",
            ),
            ("{{ [a, 1] }}{{ [1, 2] }}", "{{ __made([a, 1]) }}{{ [1, 2] }}"),
            ("{{ {'x': a}.x }}", "{{ __made({'x': a}).x }}"),
            ("{{ (a, b)[0] }}", "{{ __made((a, b))[0] }}"),
            ("{{ a.b[1:][0] }}", "{{ __made(a.b[1:])[0] }}"),
            ("{{ (a ~ b)|upper == c }}", "{{ __weighed((__made(a ~ b))|upper) == __weighed(c) }}"),
            ("{{ ((a)) . b == 1 }}", "{{ __weighed(((a)) . b) == 1 }}"),
            ("{{ a not in b and not c }}", "{{ __weighed(a) not in __weighed(b) and not c }}"),
            (
                "{{ x if a is not none else -y.z ~ 1 }}",
                "{{ x if a is not none else __made(-y.z ~ 1) }}",
            ),
            (
                "{{ a is eq(b) or f(c)(d) < 1 }}",
                "{{ __weighed(a) is eq(b) or __weighed(f(c)(d)) < 1 }}",
            ),
            (
                "{% for x in (a if b else c + d) %}{% endfor %}",
                "{% for x in (__items(a if b else __made(c + d))) %}{% endfor %}",
            ),
            ("{% for x in a|b %}{% endfor %}", "{% for x in __items(a|b) %}{% endfor %}"),
            ("{% set n.x = (a) -%}", "{% set n.x =__kept(( (a))) -%}"),
            ("{% set n.x = a if b else (c) %}", "{% set n.x =__kept(( a if b else (c))) %}"),
            ("{% set x = a, b %}", "{% set x = __made((a, b)) %}"),
            (
                "{% macro m(x=a ~ 'b') %}{% endmacro %}",
                "{% macro m(x=__made(a ~ 'b')) %}{% endmacro %}",
            ),
            (
                "\n  sixteen bytes and more {{ a }}",
                "{{ __text(26) }}\n  sixteen bytes and more {{ a }}",
            ),
            (
                "{% raw %}a {{ b }} sixteen{% endraw %}",
                "{% raw %}a {{ b }{% endraw %}{{ __text(17) }}{% raw %}} sixteen{% endraw %}",
            ),
        ] {
            assert_eq!(rewritten(text), expected, "{text}");
        }
    }

    #[test]
    fn a_place_in_the_rewritten_text_has_one_in_the_original() {
        let text = "{{ a ~ b.c }} {{ d }}";
        let edited = edited(text, &SyntaxConfig::default()).unwrap();
        for word in ["a", "b.c", "d }}"] {
            let at = edited.text.rfind(word).unwrap();
            assert_eq!(edited.original(at), text.rfind(word).unwrap(), "{word}");
        }
    }

    #[test]
    fn what_would_take_the_stack_is_not_parsed() {
        for text in [
            format!("{{{{ {}a }}}}", "not ".repeat(50_000)),
            format!("{{{{ {}1 }}}}", "-".repeat(50_000)),
            format!("{{{{ {}a }}}}", "(".repeat(50_000)),
            format!("{{{{ a{} }}}}", ".b".repeat(50_000)),
            format!("{{{{ a{} }}}}", "|b".repeat(50_000)),
            format!("{{{{ a{} }}}}", " + a".repeat(50_000)),
            format!("{{{{ a{} }}}}", " if b else a".repeat(20_000)),
            format!("{{% if a %}}{}", "{% elif a %}".repeat(20_000)),
            "x".repeat(LARGEST + 1),
            "{% set __text = 1 %}".to_owned(),
        ] {
            assert!(
                edited(&text, &SyntaxConfig::default()).is_err(),
                "{}",
                &text[..40.min(text.len())]
            );
        }
    }
}
