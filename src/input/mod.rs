//! A repo as typed documents.

pub(crate) mod decode;
pub mod git;
pub mod kustomize;
pub mod load;
pub mod settings;
