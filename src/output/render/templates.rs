//! Built-in templates, and a repo's own templates that replace them.

mod own;

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, ErrorKind, Template, UndefinedBehavior, Value};

use super::bounds::{self, BoundedSource, TemplateRejection};
use super::json::tojson;
use super::yaml_block::block;
use crate::base::finding::{Code, Finding, Place};
use crate::base::layout::outputs::OUTPUTS;
use crate::base::text::{embedded, joined};
use crate::input::settings::outputs::OutputSettings;

pub use own::alike;

/// Returns the names of the built-in templates, which are paths below `templates/`, in order.
pub fn names() -> impl Iterator<Item = &'static str> {
    embedded::templates().map(|(name, _)| name)
}

/// Returns the text of a built-in template.
pub fn embedded(name: &str) -> Option<&'static str> {
    embedded::templates().find(|(known, _)| *known == name).map(|(_, text)| text)
}

/// Start of the names of templates that render a value of a host's metadata: nothing for no value.
pub(super) const METADATA: &str = "of ";

/// Directory for templates of the repo that only other templates include.
pub(super) const PARTIALS: &str = "partials/";

/// All templates by name.
pub struct Templates {
    environment: Environment<'static>,
    syntax: SyntaxConfig,
    /// Original texts, with the rewritten texts that are compiled.
    sources: BTreeMap<String, (String, BoundedSource)>,
    /// The repo's template directory.
    directory: Utf8PathBuf,
    /// The repo's own templates by name.
    replaced: BTreeMap<String, Arc<Utf8Path>>,
}

impl Templates {
    /// Returns the built-in templates, with some replaced by `own`, and those of `outputs`: text by
    /// file, all below `directory`.
    ///
    /// Reports files that are invalid or that replace no template.
    pub fn new(
        directory: &Utf8Path,
        own: Vec<(Utf8PathBuf, String)>,
        outputs: &[OutputSettings],
    ) -> (Self, Vec<Finding>) {
        let mut environment = Environment::new();
        // A misspelled value must be an error, not an empty text.
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        // Errors have a column only in debug mode.
        environment.set_debug(true);
        let mut syntax = SyntaxConfig::builder();
        syntax.keep_trailing_newline(true).trim_blocks(true).lstrip_blocks(true);
        let syntax = syntax.build().unwrap_or_default();
        environment.set_syntax(syntax.clone());
        // JSON is valid YAML, and quoted, so every value is read as its own type.
        environment.set_auto_escape_callback(|name| match Utf8Path::new(name).extension() {
            Some("yaml") => AutoEscape::Json,
            // In an output, YAML for other programs than Kubernetes.
            Some("yml") if name.starts_with(OUTPUTS) => AutoEscape::Json,
            _ if name.starts_with(METADATA) => AutoEscape::Custom(METADATA.into()),
            _ => AutoEscape::None,
        });
        environment.add_filter("block", block);
        environment.add_filter("tojson", tojson);
        let is_built_in = own.is_empty() && !outputs.iter().any(OutputSettings::adds_metadata);
        if is_built_in {
            // Built-in templates make what their values require, and no more. Few are needed, so they
            // are compiled when they are.
            environment.set_loader(|name| Ok(embedded(name).map(str::to_owned)));
        } else {
            bounds::apply(&mut environment);
        }
        let (sources, replaced) = (BTreeMap::new(), BTreeMap::new());
        let mut templates =
            Self { environment, syntax, sources, directory: directory.to_owned(), replaced };
        let mut findings = Vec::new();
        // Own templates could include a built-in one any number of times.
        let built_in = embedded::templates().filter(|_| !is_built_in);
        findings.extend(built_in.filter_map(|(name, text)| templates.add(name, text.to_owned())));
        for (file, text) in own {
            let Ok(name) = file.strip_prefix(directory) else { continue };
            let name = name.as_str().to_owned();
            if let Some(finding) = own::misplaced(directory, &file, &name, outputs) {
                findings.push(finding);
                continue;
            }
            templates.replaced.insert(name.clone(), Arc::from(file.as_path()));
            // Compiling needs the stack, and so does dropping the replaced template.
            match bounds::on_large_stack(|| templates.add(&name, text)) {
                Ok(found) => findings.extend(found),
                Err(error) => findings.push(templates.unfit(&name, &error.to_string(), None)),
            }
        }
        (templates, findings)
    }

    fn add(&mut self, name: &str, text: String) -> Option<Finding> {
        let edited = match bounds::edited(&text, &self.syntax) {
            Ok(edited) => edited,
            Err(TemplateRejection { message, at }) => {
                // The built-in template must not replace it silently.
                self.environment.remove_template(name);
                return Some(self.unfit(name, &message, at.map(|at| position(&text, at))));
            }
        };
        let compiled = self.environment.add_template_owned(name.to_owned(), edited.text.clone());
        self.sources.insert(name.to_owned(), (text, edited));
        compiled.err().map(|error| self.finding(name, &error, None))
    }

    /// Reports a template that exceeds a limit.
    fn unfit(&self, name: &str, message: &str, at: Option<(usize, usize)>) -> Finding {
        self.failure(name, message, at.map(|(line, column)| (line, Some(column))))
            .help("shorten it: docs/reference/limits.md has the limits of templates")
    }

    /// Reports a template that fails, at its line and column, as far as they are known.
    fn failure(&self, name: &str, reason: &str, at: Option<(usize, Option<usize>)>) -> Finding {
        let message = format!("the template {name} cannot be rendered: {reason}");
        let place = self.replaced.get(name).map(|file| match at {
            Some((line, column)) => Place::Spot(file.clone(), line, column),
            None => Place::File(file.clone()),
        });
        Finding::new(Code::TemplateFails, message).at_each(place)
    }

    /// Renders a template. The finding names template and line; the caller adds the cluster.
    pub(super) fn render(&self, name: &str, context: Value) -> Result<String, Box<Finding>> {
        let render = || {
            let template = self.environment.get_template(name);
            let text = template.and_then(|template| template.render(&context));
            text.map_err(|error| Box::new(self.finding(name, &error, Some(&context))))
        };
        if self.replaced.is_empty() { render() } else { self.on_large_stack(name, render)? }
    }

    /// Renders a template of an output once for each context. The error is that of the first one that
    /// fails, with its index.
    pub(super) fn render_each(
        &self,
        name: &str,
        contexts: impl Iterator<Item = Value> + Send,
    ) -> Result<Vec<String>, (usize, Box<Finding>)> {
        let render = || self.render_all(name, self.environment.get_template(name), contexts);
        self.on_large_stack(name, render).map_err(|finding| (0, finding))?
    }

    /// Renders a template whose text is in the settings once for each context.
    pub(super) fn render_text(
        &self,
        name: &str,
        text: &str,
        contexts: impl Iterator<Item = Value> + Send,
    ) -> Result<Vec<String>, (usize, Box<Finding>)> {
        let name = format!("{METADATA}{name}");
        let render = || {
            let edited = bounds::edited(text, &self.syntax)
                .map_err(|rejection| (0, Box::new(self.unfit(&name, &rejection.message, None))))?;
            let template = self.environment.template_from_named_str(&name, &edited.text);
            self.render_all(&name, template, contexts)
        };
        self.on_large_stack(&name, render).map_err(|finding| (0, finding))?
    }

    fn on_large_stack<T: Send>(
        &self,
        name: &str,
        render: impl FnOnce() -> T + Send,
    ) -> Result<T, Box<Finding>> {
        bounds::on_large_stack(render)
            .map_err(|error| Box::new(self.unfit(name, &error.to_string(), None)))
    }

    fn render_all(
        &self,
        name: &str,
        template: Result<Template<'_, '_>, minijinja::Error>,
        contexts: impl Iterator<Item = Value>,
    ) -> Result<Vec<String>, (usize, Box<Finding>)> {
        let failed = |error: minijinja::Error, context: Option<&Value>| {
            Box::new(self.finding(name, &error, context))
        };
        let template = template.map_err(|error| (0, failed(error, None)))?;
        let (mut texts, mut steps, mut bytes) = (Vec::new(), 0, 0);
        for (index, context) in contexts.enumerate() {
            let rendered = template.render_captured(context.clone());
            let rendered = rendered.map_err(|error| (index, failed(error, Some(&context))))?;
            steps += rendered.state().fuel_levels().map_or(0, |(consumed, _)| consumed);
            let text = rendered.into_output();
            bytes += text.len();
            if let Some(message) = bounds::excess(steps, bytes) {
                return Err((index, Box::new(self.unfit(name, &message, None))));
            }
            texts.push(text);
        }
        Ok(texts)
    }

    /// Returns the column of an error, from 1, in characters.
    fn column(&self, name: &str, error: &minijinja::Error) -> Option<usize> {
        let (text, edited) = self.sources.get(name)?;
        let (_, column) = position(text, edited.original(error.range()?.start));
        Some(column)
    }

    fn finding(&self, name: &str, error: &minijinja::Error, context: Option<&Value>) -> Finding {
        let error = innermost(error);
        let name = error.name().unwrap_or(name);
        let detail = error.detail().map_or(String::new(), |detail| format!(": {detail}"));
        let reason = match error.kind() {
            ErrorKind::OutOfFuel => format!("it takes more than {} steps", bounds::STEPS),
            kind => format!("{kind}{detail}"),
        };
        let at = error.line().map(|line| (line, self.column(name, error)));
        let finding = self.failure(name, &reason, at);
        if !self.replaced.contains_key(name) {
            // A built-in template fails because of what one of the repo's own passes to it, or by a
            // bug.
            return finding.help(format!("the repo's templates are in {}", self.directory));
        }
        let values =
            context.map_or(String::new(), |context| format!(", here:\n{}", at_hand(context)));
        let documented = if name.starts_with(OUTPUTS) { OUTPUTS } else { name };
        finding.help(format!("run `sipgen template values {documented}` for its values{values}"))
    }
}

/// Converts a byte offset to line and column from 1, the column in characters.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// Returns the cause in the included template. The outer error only names the include.
fn innermost(error: &minijinja::Error) -> &minijinja::Error {
    error.source().and_then(|source| source.downcast_ref()).map_or(error, innermost)
}

/// Formats the values of a template, one per line, long ones shortened.
fn at_hand(context: &Value) -> String {
    const LONGEST: usize = 80;
    let line = |key: Value| {
        let text = serde_json::to_string(&context.get_item(&key).ok()?).ok()?;
        let cut: String = text.chars().take(LONGEST).collect();
        let dots = if cut.len() < text.len() { "…" } else { "" };
        Some(format!("{key} = {cut}{dots}"))
    };
    joined(context.try_iter().into_iter().flatten().filter_map(line), "\n")
}
