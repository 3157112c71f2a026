//! The inputs of a site and its previous output, joined.

pub mod assembly;
pub mod delivery;
pub mod hypothesis;
pub mod inventory;
pub mod previous;
pub mod request;
pub mod sites;

pub use assembly::Site;
