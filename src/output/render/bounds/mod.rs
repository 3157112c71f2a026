//! Renders untrusted templates in bounded time and memory.
//!
//! A repo's templates come with every merge request. minijinja limits the steps of a rendering, but
//! one step may create a text of any length: `a ~ a` doubles it. So these templates, and built-in
//! ones that they may include, are rewritten before they are compiled (`source`): operations that
//! may create large values call functions that count bytes (`values`). A child process with a memory limit would not need this, but its results would
//! differ between machines.

mod source;
mod values;

use std::borrow::Cow;

use minijinja::machinery::Span;
use minijinja::{Environment, Error, ErrorKind};

pub(super) use source::{BoundedSource, edited};

/// Maximum size of a template in bytes.
const LARGEST: usize = 256 << 10;
/// Maximum number of operators, attributes, filters and brackets between `{{` and `}}`. Parsing
/// them is recursive.
const OPERATORS: usize = 200;
/// Maximum number of `elif` in a template. Each is nested in the previous one.
const ALTERNATIVES: usize = 100;
/// Maximum number of steps of a rendering.
pub(super) const STEPS: u64 = 2_000_000;
/// Maximum number of bytes that a rendering may allocate: its output, and all intermediate texts
/// and lists.
const BYTES: usize = 16 << 20;
/// Maximum nesting depth of values.
const DEEPEST: usize = 32;
/// Maximum nesting depth, in units: an include costs 10, a macro call 6.
const RECURSION: usize = 200;
/// Stack size in bytes for compiling and rendering a repo's own templates, many times what the
/// limits require.
pub(super) const STACK: usize = 32 << 20;

/// Maximum number of steps of all renderings of a template for the hosts of a cluster.
const STEPS_FOR_HOSTS: u64 = 10 * STEPS;
/// Maximum number of bytes that a template makes for the hosts of a cluster.
const BYTES_FOR_HOSTS: usize = 4 * BYTES;

/// Returns which limit of the renderings for hosts is exceeded.
pub(super) fn excess(steps: u64, bytes: usize) -> Option<String> {
    let excess = match (steps > STEPS_FOR_HOSTS, bytes > BYTES_FOR_HOSTS) {
        (true, _) => format!("takes more than {STEPS_FOR_HOSTS} steps"),
        (false, true) => format!("makes more than {} MiB", BYTES_FOR_HOSTS >> 20),
        (false, false) => return None,
    };
    Some(format!("it {excess} for the hosts of a cluster"))
}

/// Limits the templates of an environment.
pub(super) fn apply(environment: &mut Environment<'static>) {
    environment.set_fuel(Some(STEPS));
    environment.set_recursion_limit(RECURSION);
    values::apply(environment);
}

/// Calls a function on a stack that suffices for any template within the limits.
pub(super) fn on_large_stack<T: Send>(run: impl FnOnce() -> T + Send) -> std::io::Result<T> {
    std::thread::scope(|scope| {
        let handle = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run)?;
        handle.join().map_err(|_| std::io::Error::other("the thread has panicked"))
    })
}

/// Reason why a template is rejected, with the byte offset of the cause.
#[derive(Debug)]
pub(super) struct TemplateRejection {
    pub(super) message: String,
    pub(super) at: Option<usize>,
}

impl TemplateRejection {
    fn new(message: impl Into<String>, at: usize) -> Self {
        Self { message: message.into(), at: Some(at) }
    }
}

fn start_of(span: Span) -> usize {
    span.start_offset as usize
}

fn end_of(span: Span) -> usize {
    span.end_offset as usize
}

fn too_much() -> Error {
    invalid_operation(format!("the template makes more than {} MiB", BYTES >> 20))
}

fn invalid_operation(message: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}
