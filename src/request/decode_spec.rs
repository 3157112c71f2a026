//! The specs of requests and Softwares: read in one piece, or refused in words about their fields.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use yaml_serde::Value;

use super::provisioning::{misshapen, of_machines};
use super::sipcluster::legacy;
use crate::api::provisioning::{self, ProvisioningSpec, SoftwareSpec};
use crate::api::sipcluster::{self, SIPClusterSpec};
use crate::decode::forbidden_text::forbidden_texts;
use crate::decode::unknown_fields::{self, Fields, Misfit};
use crate::decode::unreadable;
use crate::finding::{Finding, Origin};
use crate::load::{Document, ParseError, in_plain_words};

/// What a request asks for.
pub(crate) enum Spec {
    /// In its current form.
    Current(Box<SIPClusterSpec>),
    /// In an older form: the document, and whether it may be another tool's template.
    Older(Box<Value>, bool),
    /// By machines.
    Provisioning(Box<ProvisioningSpec>),
    /// It cannot be read, which a finding says.
    Unreadable,
}

#[derive(Deserialize)]
struct WithSpec<T> {
    #[serde(default)]
    spec: Option<Box<T>>,
}

/// A document as a value whose spec has no text that must not reach a file, or what is wrong with it.
fn value(document: &Document<'_>, kind: &str) -> Result<Value, Vec<Finding>> {
    let origin = &document.origin;
    // Such as a key that stands twice where any key may stand, of which one would be ignored.
    let value = document.parse::<Value>().map_err(|error| {
        let finding = unknown_fields::too_large_number(&error, origin);
        vec![finding.unwrap_or_else(|| unreadable(origin, &error, kind))]
    })?;
    // First, and alone: other findings might show what must not be seen.
    let forbidden = forbidden_texts(&value["spec"], kind, origin);
    if forbidden.is_empty() {
        Ok(value)
    } else {
        Err(forbidden)
    }
}

/// What a SIPCluster asks for, and what is wrong with how it says so.
pub(crate) fn of_sipcluster(document: &Document<'_>) -> (Spec, Vec<Finding>) {
    let value = match value(document, sipcluster::KIND) {
        Ok(value) => value,
        Err(found) => return (Spec::Unreadable, found),
    };
    if legacy::is_older(&value["spec"]) {
        return (
            Spec::Older(Box::new(value), document.looks_like_template()),
            Vec::new(),
        );
    }
    let (spec, found) = read_spec(
        document,
        &value,
        &unknown_fields::OF_SIPCLUSTER,
        sipcluster::KIND,
    );
    (spec.map_or(Spec::Unreadable, Spec::Current), found)
}

/// What a Provisioning asks for, and what is wrong with how it says so.
pub(crate) fn of_provisioning(document: &Document<'_>) -> (Spec, Vec<Finding>) {
    let value = match value(document, provisioning::KIND) {
        Ok(value) => value,
        Err(found) => return (Spec::Unreadable, found),
    };
    let misshapen = misshapen(&value["spec"], &document.origin);
    if !misshapen.is_empty() {
        return (Spec::Unreadable, misshapen);
    }
    let (spec, mut found) = read_spec(
        document,
        &value,
        &unknown_fields::OF_PROVISIONING,
        provisioning::KIND,
    );
    found.extend(of_machines(document, &value["spec"]));
    (spec.map_or(Spec::Unreadable, Spec::Provisioning), found)
}

/// Which packages a Software asks for, and what is wrong with how it says so.
pub(crate) fn of_software(document: &Document<'_>) -> (Option<Box<SoftwareSpec>>, Vec<Finding>) {
    match value(document, provisioning::SOFTWARE_KIND) {
        Ok(value) => read_spec(
            document,
            &value,
            &unknown_fields::OF_SOFTWARE,
            provisioning::SOFTWARE_KIND,
        ),
        Err(found) => (None, found),
    }
}

fn read_spec<T: DeserializeOwned + Default>(
    document: &Document<'_>,
    value: &Value,
    fields: &Fields,
    kind: &str,
) -> (Option<Box<T>>, Vec<Finding>) {
    fitting(fields.misfit_of_object(value, &document.origin), || {
        let parsed = document
            .parse::<WithSpec<T>>()
            .map(|with| with.spec.unwrap_or_default());
        parsed.map_err(|error| {
            let finding = unknown_fields::too_large_number(&error, &document.origin);
            finding.unwrap_or_else(|| unreadable(&document.origin, &error, kind))
        })
    })
}

/// Reads an older SIPCluster's spec in the current form that it was given.
pub(crate) fn converted(spec: Value, origin: &Origin) -> (Spec, Vec<Finding>) {
    let (spec, found) = fitting(unknown_fields::OF_SIPCLUSTER.misfit(&spec, origin), || {
        yaml_serde::from_value(spec).map_err(|error| {
            let error = ParseError {
                message: in_plain_words(&error.to_string()),
                line: None,
                column: None,
            };
            unreadable(&origin.as_written(), &error, sipcluster::KIND)
        })
    });
    (spec.map_or(Spec::Unreadable, Spec::Current), found)
}

/// A spec, if its fields fit; and what is wrong with those.
fn fitting<T>(
    misfit: Misfit,
    parse: impl FnOnce() -> Result<Box<T>, Finding>,
) -> (Option<Box<T>>, Vec<Finding>) {
    let Misfit {
        mut unknown,
        wrong,
        unquoted,
    } = misfit;
    if !wrong.is_empty() {
        unknown.extend(wrong);
        return (None, unknown);
    }
    match parse() {
        Ok(spec) => (Some(spec), unknown),
        Err(error) => {
            // What the parser says of them, it says without their place.
            unknown.extend(if unquoted.is_empty() {
                vec![error]
            } else {
                unquoted
            });
            (None, unknown)
        }
    }
}
