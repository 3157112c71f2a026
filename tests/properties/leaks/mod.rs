//! Nothing of an input acts on a terminal, a log or a CI runner, no credential is printed or written, and what is
//! written is read equally by every reader of YAML: for every position of every input.
//!
//! * `positions`: the texts and keys of an input, and how another one is put in their place.
//! * `channels`: all that sipgen says and writes of a repo.

mod canaries;
mod channels;
mod commands;
mod excerpts;
mod hostile;
mod positions;
mod readers;
