//! Translates the SIP operator's HAProxy templates into one template of sipgen's.

use crate::api::names::Role;
use crate::finding::{Code, Finding};
use crate::render::templates::embedded;
use crate::site::{OperatorsTemplate, Site};

use super::go_template::translate;

/// The template that replaces them.
pub(super) const TEMPLATE: &str = "loadbalancer/haproxy.cfg";

/// What sipgen's Deployment relies on, which no template of the operator has.
const PROBES: &str = "
# For probes and Prometheus.
frontend metrics
  mode http
  bind {{ \":::\" ~ metrics_port ~ \" v4v6\" if ipv6 else \"*:\" ~ metrics_port }}
  timeout client 10s
  monitor-uri /healthz
  http-request use-service prometheus-exporter if { path /metrics }
  http-request return status 404
";

/// Translates the templates of a site; `None` if it has none. A finding says what has no
/// counterpart.
pub(super) fn translated(site: &Site) -> Result<Option<String>, Vec<Finding>> {
    if site.operators_templates.is_empty() {
        return Ok(None);
    }
    let mut findings = Vec::new();
    let mut part = |role| {
        let mut role_templates = site
            .operators_templates
            .iter()
            .filter(|template| template.role == role);
        let first = role_templates.next()?;
        let others: Vec<&OperatorsTemplate> = role_templates
            .filter(|template| template.text.trim_end() != first.text.trim_end())
            .collect();
        if !others.is_empty() {
            let finding = Finding::new(
                Code::Untranslatable,
                format!(
                    "the HAProxy templates for {role} hosts differ: sipgen has one for all clusters"
                ),
            );
            let places = [first].into_iter().chain(others);
            findings.push(
                places
                    .fold(finding, |finding, template| finding.at(template.place.clone()))
                    .help("write one template that tells the clusters apart by `cluster.namespace` and `cluster.name`"),
            );
            return None;
        }
        match translate(&first.text) {
            Ok(text) => Some(text),
            Err(refused) => {
                findings.push(
                    Finding::new(
                        Code::Untranslatable,
                        format!(
                            "the template cannot be translated: {}, in its line {}",
                            refused.reason, refused.line
                        ),
                    )
                    .at(first.place.clone())
                    .help("rewrite this action, or the whole template by hand: docs/operations/from-sip-operator.md lists the counterparts"),
                );
                None
            }
        }
    };
    let (control_plane, worker) = (part(Role::ControlPlane), part(Role::Worker));
    if !findings.is_empty() {
        return Err(findings);
    }
    let complete = |text: Option<String>| match text {
        Some(text) if text.contains("/healthz") => text,
        Some(text) => format!("{}\n{PROBES}", text.trim_end()),
        // The operator's own template is the other one.
        None => embedded(TEMPLATE).unwrap_or_default().to_owned(),
    };
    Ok(Some(format!(
        "{{% if check == \"kube-apiserver\" %}}\n{}{{% else %}}\n{}{{% endif %}}\n",
        complete(control_plane),
        complete(worker),
    )))
}
