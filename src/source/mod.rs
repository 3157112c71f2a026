//! Where documents come from: the files of a repo, cut into documents, each with the place it came from.
//!
//! * `files`: the files there are, on the disk or in git; `git` reads those of a revision and those that are staged.
//! * `scan`: hands each document of some files to its reader, in parallel.
//! * `split`: cuts a file's text into documents and lists into their items, without parsing.
//! * `document`: one document, and how it is parsed.
//! * `position`: a route of keys in a document; `texts` makes line and column of it when a message needs them.
//!
//! What the documents mean is not known here.

pub mod document;
pub mod files;
mod git;
pub mod position;
pub mod scan;
mod split;
pub mod texts;

pub use document::{Document, ParseError};
pub use files::{Files, Kind, ReadError};
pub use git::GitError;
pub use position::{Origin, Place, Position, Step};
pub use scan::{FirstLook, mentions};
pub use texts::Texts;
