//! Where documents come from: the files of a worktree, cut into documents, each with the place it came from.
//!
//! * `scan`: finds the files and hands each document of a wanted kind to its reader, in parallel.
//! * `split`: cuts a file's text into documents and lists into their items, without parsing.
//! * `document`: one document, and how it is parsed.
//! * `position`: a route of keys in a document; `texts` makes line and column of it when a message needs them.
//!
//! What the documents mean is not known here.

pub mod document;
pub mod position;
pub mod scan;
mod split;
pub mod texts;

pub use document::{Document, ParseError};
pub use position::{Origin, Place, Position, Step};
pub use scan::{FirstLook, ReadError, Worktree, mentions};
pub use texts::Texts;
