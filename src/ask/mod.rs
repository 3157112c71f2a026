//! Answers to questions about a site, as data for reports.

pub mod capacity;
pub mod difference;
pub mod drain;
pub mod overview;
pub mod what_if;
