//! Renders untrusted templates in bounded time and memory.
//!
//! A repo's templates come with every merge request. minijinja counts the steps of a rendering, but
//! one step may make a text of any length out of others: `a ~ a` doubles it. So templates are
//! rewritten before they are compiled (`source`): what may make large values calls functions that
//! count the bytes (`values`). A child process with a limit of memory would need none of that, but
//! its results would differ between machines.

mod source;
mod values;

use minijinja::machinery::Span;
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, ErrorKind};

pub(super) use source::Edited;

/// Largest template in bytes.
const LARGEST: usize = 256 << 10;
/// Most operators, attributes, filters and brackets between `{{` and `}}`. Parsing them is
/// recursive.
const OPERATORS: usize = 200;
/// Most `elif` of a template: each is nested in the one before.
const ALTERNATIVES: usize = 100;
/// Most steps of a rendering.
pub(super) const STEPS: u64 = 2_000_000;
/// Most bytes that a rendering may allocate: its output, and all intermediate texts and lists.
const BYTES: usize = 16 << 20;
/// Deepest nesting of values.
const DEEPEST: usize = 32;
/// Deepest nesting of includes, which cost ten, and macro calls, which cost six.
const RECURSION: usize = 200;
/// Stack on which a repo's own templates are compiled and rendered. It is many times what the
/// limits require.
pub(super) const STACK: usize = 32 << 20;

/// Limits the templates of an environment.
pub(super) fn apply(environment: &mut Environment<'static>) {
    environment.set_fuel(Some(STEPS));
    environment.set_recursion_limit(RECURSION);
    values::apply(environment);
}

/// Rewrites a template so that it counts what it allocates.
pub(super) fn edited(text: &str, syntax: &SyntaxConfig) -> Result<Edited, Unfit> {
    source::edited(text, syntax)
}

/// Calls a function on a stack that is large enough for any template within the limits.
pub(super) fn on_large_stack<T: Send>(run: impl FnOnce() -> T + Send) -> std::io::Result<T> {
    std::thread::scope(|scope| {
        let handle = std::thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, run)?;
        handle
            .join()
            .map_err(|_| std::io::Error::other("the thread has panicked"))
    })
}

/// Reason why a template is not compiled, with the byte offset of the cause.
#[derive(Debug)]
pub(super) struct Unfit {
    pub(super) message: String,
    pub(super) at: Option<usize>,
}

impl Unfit {
    fn new(message: impl Into<String>, at: usize) -> Self {
        Self {
            message: message.into(),
            at: Some(at),
        }
    }
}

fn start_of(span: Span) -> usize {
    span.start_offset as usize
}

fn end_of(span: Span) -> usize {
    span.end_offset as usize
}

fn too_much() -> Error {
    Error::new(
        ErrorKind::InvalidOperation,
        format!("the template makes more than {} MiB", BYTES >> 20),
    )
}
