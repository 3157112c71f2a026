//! Templates that may be made to break programs, in bounded time and memory.
//!
//! A repo's templates come with every merge request. minijinja counts the steps of a rendering, but one step may make a
//! text of any length out of others: `a ~ a` doubles it. So templates are rewritten before they are compiled
//! (`source`): what may make large values calls functions that count the bytes (`values`). A child process with a limit
//! of memory would need none of that, but its results would differ between machines.

mod source;
mod values;

use minijinja::machinery::Span;
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, ErrorKind};

pub(super) use source::Edited;

/// How many bytes a template may have.
const LARGEST: usize = 256 << 10;
/// How many operators, names of attributes, filters and brackets may stand between `{{` and `}}`. Parsing them takes
/// the stack.
const OPERATORS: usize = 200;
/// How many `elif` a template may have: each stands in the one before it.
const ALTERNATIVES: usize = 100;
/// How many steps a rendering may take.
pub(super) const STEPS: u64 = 2_000_000;
/// How many bytes a rendering may make: what it writes, and all texts and lists on the way.
const BYTES: usize = 16 << 20;
/// How deep values may be nested.
const DEEPEST: usize = 32;
/// How deep templates may include each other, and macros call each other: ten is what an include costs, and six a call.
const RECURSION: usize = 200;
/// How large the stack is on which a repo's own templates are compiled and rendered. It is for many times what those
/// bounds come to.
pub(super) const STACK: usize = 32 << 20;

/// Bounds what the templates of an environment may do.
pub(super) fn apply(environment: &mut Environment<'static>) {
    environment.set_fuel(Some(STEPS));
    environment.set_recursion_limit(RECURSION);
    values::apply(environment);
}

/// Rewrites a template so that it counts what it makes.
pub(super) fn edited(text: &str, syntax: &SyntaxConfig) -> Result<Edited, Unfit> {
    source::edited(text, syntax)
}

/// Runs something on a stack that is large enough for any template within the bounds.
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

/// Why a template is not compiled, and the byte of its text where that is.
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
