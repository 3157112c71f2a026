//! Hands the output to the programs that read it in production: kustomize, sops, HAProxy, sshd, Dex, Ansible, Chromium,
//! an API server, Flux and others. `tests/tools/install` installs them; a missing one fails its tests.

#![allow(unreachable_pub, clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod ansible;
mod auth;
mod auth_login;
mod bmc_credentials;
mod ci_examples;
mod cluster_api;
mod faults;
mod gitops_layouts;
mod installers;
mod jump_hosts;
mod jump_hosts_keys;
mod jump_hosts_odd_bmcs;
mod jump_hosts_power;
mod jump_hosts_ssh;
mod kustomize;
mod live;
mod load_balancers;
mod schemas;
#[path = "../support/mod.rs"]
mod support;
mod taking_snapshots;
