//! Repos and small helpers that the same modules of `integration` and `external` begin with.

pub mod agents;
pub mod applied_in_full;
pub mod changing_inventory;
pub mod ci_formats;
pub mod command_line;
pub mod delivered;
pub mod diffing;
pub mod diffing_json;
pub mod git;
pub mod gitops_wiring;
pub mod giving_back;
pub mod inputs;
pub mod inputs_network_data;
pub mod losses;
pub mod preparing_repos;
pub mod preparing_repos_agents;
pub mod provisionings;
pub mod refusing_settings;
pub mod report_page;
pub mod sites;
pub mod traps;
pub mod validating;
