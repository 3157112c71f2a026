//! Runs sipgen in temporary git repos; needs no program but git and sipgen itself.
//!
//! Tests that need another program are in `external`, under the same module names.

#![allow(clippy::unwrap_used, clippy::panic)]

mod addresses;
mod agents;
mod applied_in_full;
mod assignment_labels;
mod auth_requests;
mod broken_builds;
mod capacity;
mod changing_inventory;
mod ci_formats;
mod cluster_api;
mod command_line;
mod configured_agents;
mod delivered;
mod diffing;
mod doctor;
mod documentation;
mod draining;
mod duplicate_keys;
mod evidence;
mod examples_in_repos;
mod explaining;
mod findings;
mod first_requests;
mod git;
mod gitops_objects;
mod gitops_wiring;
mod giving_back;
mod hostile_input;
mod hostile_sizes;
mod in_use;
mod inputs;
mod interruption;
mod keeping_secrets;
mod linting;
mod losses;
mod maintenance;
mod migrating;
mod older_generations;
mod options;
mod placement;

mod preparing_repos;
mod provisionings;
mod quotas;
mod real_builds;
mod reference;
mod refusing_clusters;
mod refusing_hosts;
mod refusing_services;
mod refusing_settings;
mod rendering;
mod report_page;
mod reservations;
mod rooms;
mod same_machines;
mod schemas;
mod sharing;
mod showing_machines;
mod sites;
mod status;
#[path = "../support/mod.rs"]
mod support;
mod template_bounds;
mod templates;
mod tolerating;
mod traps;
mod unread_inputs;
mod unschedulable;
mod upgrades;
mod validating;
mod what_if;
mod writing;
