//! Validates a SIPCluster of an older generation: converts it, then checks the result.

use yaml_serde::Value;

use super::legacy::{self, Conversion};
use crate::base::api::names::ClusterKey;
use crate::base::api::sipcluster::{KIND, SIPClusterSpec};
use crate::base::finding::{Code, Finding, Origin};
use crate::input::decode::unknown_fields::OF_SIPCLUSTER;
use crate::input::decode::unreadable;
use crate::input::load::{ParseError, in_plain_words};
use crate::site::request::decode_spec::fitting;
use crate::site::request::documents::{
    ClusterDocument, RequestContext, RequestSpec, ValidatedRequest,
};

/// A SIPCluster of an older generation.
pub(super) struct LegacySpec {
    /// The whole document.
    pub(super) document: Value,
    /// Set if it may be a template of another tool.
    pub(super) may_be_template: bool,
}

impl RequestSpec for LegacySpec {
    fn check(
        &self,
        mut document: ClusterDocument,
        context: &RequestContext<'_>,
    ) -> ValidatedRequest {
        let written = self.document.clone();
        let conversion = legacy::convert(written, &document.origin, context.topology_labels());
        if self.may_be_template && !conversion.errors.is_empty() {
            return None;
        }
        let mut findings = vec![legacy_generation(&document.key, &conversion, &document.origin)];
        findings.extend(conversion.unknown.iter().chain(&conversion.errors).cloned());
        document.origin = document.origin.read_as(conversion.moved.clone());
        let spec = if conversion.errors.is_empty() {
            let (spec, found) =
                decode_converted(conversion.document["spec"].clone(), &document.origin);
            findings.extend(found);
            spec
        } else {
            None
        };
        let cluster = spec.and_then(|spec| {
            let (cluster, found) = super::check(&spec, &document, context);
            let valid = !found.iter().any(Finding::is_error);
            findings.extend(found);
            valid.then_some(cluster)
        });
        let findings = findings.into_iter().map(|finding| finding.for_cluster(&document.key));
        let findings = findings.collect();
        let mut request = document.into_request(cluster);
        request.former_name = request.former_name.or_else(|| conversion.former_name.clone());
        request.older = Some(Box::new(conversion));
        Some((request, findings))
    }
}

fn legacy_generation(key: &ClusterKey, conversion: &Conversion, origin: &Origin) -> Finding {
    let generation = conversion.generation;
    let renamed = conversion.former_name.as_ref().map_or(String::new(), |former| {
        format!("; it is called {} and no longer `{former}`", key.name)
    });
    Finding::new(
        Code::OlderGeneration,
        format!("the SIPCluster {key} is of the generation of {generation}, and is read as one of today{renamed}"),
    )
    .at(origin.at(["spec"]))
    .help("`sipgen migrate` prints it in today's form; docs/operations/migrating.md says what becomes of each field")
}

/// Decodes the converted spec of an older SIPCluster.
fn decode_converted(spec: Value, origin: &Origin) -> (Option<Box<SIPClusterSpec>>, Vec<Finding>) {
    fitting(OF_SIPCLUSTER.misfit(&spec, origin), || {
        yaml_serde::from_value(spec).map_err(|error| {
            let error = ParseError {
                message: in_plain_words(&error.to_string()),
                line: None,
                column: None,
            };
            unreadable(&origin.as_written(), &error, KIND)
        })
    })
}
