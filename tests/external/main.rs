//! Hands the output to the programs that read it in production: kustomize, sops, HAProxy, sshd, Dex, Ansible, Chromium,
//! an API server, Flux and others. `tests/tools/install` installs them; a missing one fails its tests.

#![allow(unreachable_pub, clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod agents;
mod ansible;
mod applied_in_full;
mod artefacts;
mod auth;
mod auth_login;
mod bmc_credentials;
mod bound_objects;
mod changing_inventory;
mod ci_examples;
mod ci_formats;
mod cluster_api;
mod command_line;
mod connectors;
mod custom_resources;
mod delivered;
mod diffing;
mod documentation;
mod faults;
mod git;
mod gitops_layouts;
mod gitops_wiring;
mod giving_back;
mod included_hosts;
mod inputs;
mod installers;
mod instructions;
mod jump_hosts;
mod jump_hosts_keys;
mod jump_hosts_odd_bmcs;
mod jump_hosts_power;
mod jump_hosts_ssh;
mod kustomize;
mod live;
mod load_balancers;
mod losses;
// The benchmark's sites.
#[allow(dead_code)]
#[path = "../../benches/site/objects.rs"]
mod objects;
mod older_generations;
mod options;
mod outputs;
mod pod_limits;
mod preparing_repos;
mod provisionings;
mod refusing_services;
mod refusing_settings;
mod report_page;
mod scanners;
mod schemas;
mod sites;
#[path = "../support/mod.rs"]
mod support;
#[allow(dead_code)]
#[path = "../../benches/site/synthetic.rs"]
mod synthetic;
mod taking_snapshots;
mod traps;
mod validating;
