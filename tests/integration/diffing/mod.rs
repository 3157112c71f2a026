//! What `sipgen diff` says of changes, in every format and of every kind of git repo.

mod dangers;
mod installers;
mod json;
mod lines;
mod markdown;
mod plan;
mod revisions;
mod words_elsewhere;

use crate::support::scenes::diffing::*;
use crate::support::{EDGE, Repo, Run, run};
