//! Where documents come from: the files of a repo, cut into documents, each with the place it came from.
//!
//! * `files`: the files there are, on the disk or in git; `git` reads those of a revision and those that are staged,
//!   `worktree` asks git about those on the disk, and `submodules` finds the repos within a repo.
//! * `part`: the part of the files that one site reads, and `site_files`, which reads by it.
//! * `links`: where symbolic links lead.
//! * `scan`: hands each document of some files to its reader, in parallel.
//! * `kind`, `encoding` and `mentions`: entries of directories, encodings of texts, and words in them.
//! * `split`: cuts a file's text into documents and lists into their items, without parsing.
//! * `copy`: a copy of a repo's files with some of them changed.
//! * `document`: one document, and how it is parsed.
//! * `kustomize` and `sops`: what those programs make of files; `program` runs them.
//! * `plain`: scalars without quotes, of which other programs may make something else.
//! * `texts`: line and column of a route of keys when a message needs them, by `lookup` among the document's `nodes`,
//!   and the lines that a message shows, by `quoting`, which knows what must not be seen.
//!
//! What the documents mean is not known here.

mod copy;
pub mod document;
mod encoding;
pub mod files;
mod git;
mod kind;
pub(crate) mod kustomize;
mod links;
mod lookup;
mod mentions;
mod nodes;
mod part;
mod plain;
mod program;
mod quoting;
pub mod scan;
mod site_files;
pub(crate) mod sops;
mod split;
mod submodules;
pub mod texts;
mod worktree;

pub use copy::Copied;
pub use document::{Document, ParseError};
pub(crate) use document::{documents, in_plain_words, objects};
pub(crate) use files::may_hold_resources;
pub use files::{Files, ReadError, Stream};
pub use kind::Kind;
pub use mentions::mentions;
pub(crate) use nodes::{Entry, Nodes};
pub use part::Part;
pub(crate) use plain::{Plain, Reading, is_of_base_60, read_by_others};
pub(crate) use quoting::is_of_secret;
pub use scan::FirstLook;
pub(crate) use scan::{scan_made, scan_stream};
pub use texts::{Excerpt, Texts};
