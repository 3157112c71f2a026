//! Loads documents: reads the files of a repo and splits them into documents with their origins.
//!
//! * `files`: files on the disk or in git; `listing` lists them. `stored` has those of a revision, of the index or in
//!   memory, `worktree` asks git about files on the disk, and `submodules` finds repos within a repo.
//! * `part`: the part of the files that belongs to one site.
//! * `links`: targets of symbolic links; `history`: earlier texts of files.
//! * `scan`: parallel iteration over the documents of files.
//! * `kind`, `encoding` and `mentions`: types of directory entries, text encodings, and search for
//!   words.
//! * `split`: splits a text into documents and lists into items, without parsing.
//! * `document`: a document and its parsing; `parse_error`: why it fails; `notations`: values that YAML writes in several ways.
//! * `kustomize`: output of this program, which `program` runs; `sops`: texts that it encrypted;
//!   `foreign_format`: other files that are no manifests.
//! * `plain`: unquoted scalars that other programs read differently.
//! * `texts`: positions and excerpts for messages, by the `nodes` of documents. `quoting` decides
//!   which text may be shown.
//!
//! These modules do not know the meaning of documents.

pub mod document;
mod encoding;
mod file_objects;
pub mod files;
pub(crate) mod foreign_format;
mod history;
mod kind;
pub(crate) mod kustomize;
mod links;
mod listing;
mod mentions;
mod nodes;
mod notations;
mod parse_error;
mod part;
mod plain;
mod program;
mod quoting;
pub mod scan;
pub(crate) mod sops;
mod split;
mod stored;
mod submodules;
pub mod texts;
mod worktree;

pub use document::Document;
pub(crate) use file_objects::objects;
pub use files::{Files, ReadError, Stream};
pub use kind::EntryKind;
pub(crate) use listing::may_hold_resources;
pub use mentions::mentions;
pub use parse_error::ParseError;
pub(crate) use parse_error::in_plain_words;
pub use part::SitePart;
pub(crate) use plain::{OtherReading, PlainScalars, is_of_base_60, read_by_others};
pub(crate) use quoting::is_of_secret;
pub use scan::ScanResult;
pub(crate) use scan::{scan_made, scan_stream};
pub(crate) use split::{json_values, texts_of_documents};
pub use texts::{Excerpt, Texts};
