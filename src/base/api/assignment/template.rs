//! Templates of labels: text with variables, such as `{{ cluster.name }}`.
//!
//! A template has no expressions, because assignments are read back from the labels of hosts: what a
//! variable stood for must follow from the text.

use std::str::FromStr;

use crate::base::api::names::Invalid;

/// A value that a template may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Variable {
    /// The cluster's name.
    ClusterName,
    /// The cluster's namespace.
    ClusterNamespace,
    /// `control-plane` or `worker`.
    Role,
    /// The role in SIP's words: `ControlPlane` or `Worker`.
    NodeType,
    /// The name of the MachineDeployment, or else the role.
    NodeSet,
}

impl FromStr for Variable {
    type Err = Invalid;

    fn from_str(name: &str) -> Result<Self, Invalid> {
        match name {
            "cluster.name" => Ok(Self::ClusterName),
            "cluster.namespace" => Ok(Self::ClusterNamespace),
            "role" => Ok(Self::Role),
            "node_type" => Ok(Self::NodeType),
            "node_set" => Ok(Self::NodeSet),
            _ => Err(Invalid::from(format!(
                "has `{{{{ {name} }}}}`, which is no variable: use cluster.name, cluster.namespace, role, node_type or node_set"
            ))),
        }
    }
}

impl Variable {
    /// Returns whether it is the same for all hosts of a cluster.
    pub(super) fn is_of_cluster(self) -> bool {
        matches!(self, Self::ClusterName | Self::ClusterNamespace)
    }
}

/// The key or the value of a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NameTemplate {
    pieces: Vec<TemplatePiece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePiece {
    Text(String),
    Variable(Variable),
}

/// A character that is in labels but not in names of objects, and therefore separates variables.
const SEPARATOR: char = '_';

impl FromStr for NameTemplate {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, after) = after.split_once("}}").ok_or("has `{{` without `}}`")?;
            if matches!(pieces.last(), Some(TemplatePiece::Variable(_)))
                && !before.contains(SEPARATOR)
            {
                return Err("needs a `_` between two variables".into());
            }
            if !before.is_empty() {
                pieces.push(TemplatePiece::Text(before.to_owned()));
            }
            pieces.push(TemplatePiece::Variable(name.trim().parse()?));
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(TemplatePiece::Text(rest.to_owned()));
        }
        Ok(Self { pieces })
    }
}

impl NameTemplate {
    /// Returns the text with the values of the variables.
    pub(super) fn render<'a>(&self, value: impl Fn(Variable) -> &'a str) -> String {
        let text = |piece| match piece {
            &TemplatePiece::Variable(variable) => value(variable),
            TemplatePiece::Text(text) => text,
        };
        self.pieces.iter().map(text).collect()
    }

    /// Returns the variables in order.
    pub(super) fn variables(&self) -> impl Iterator<Item = Variable> {
        self.pieces.iter().filter_map(|piece| match piece {
            TemplatePiece::Variable(variable) => Some(*variable),
            TemplatePiece::Text(_) => None,
        })
    }

    /// Returns the text of a template without variables.
    pub(super) fn constant(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [TemplatePiece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns the values of the variables in a rendered text; `None` if it is not one.
    pub(super) fn captures<'t>(&self, text: &'t str) -> Option<Vec<(Variable, &'t str)>> {
        let mut captures = Vec::new();
        let mut rest = text;
        let mut open = None;
        let last = self.pieces.len().checked_sub(1);
        for (index, piece) in self.pieces.iter().enumerate() {
            match (piece, open.take()) {
                (TemplatePiece::Variable(variable), _) => open = Some(*variable),
                (TemplatePiece::Text(text), None) => rest = rest.strip_prefix(text.as_str())?,
                (TemplatePiece::Text(text), Some(variable)) => {
                    let (value, after) = if Some(index) == last {
                        (rest.strip_suffix(text.as_str())?, "")
                    } else {
                        rest.split_once(text.as_str())?
                    };
                    captures.push((variable, value));
                    rest = after;
                }
            }
        }
        match open {
            Some(variable) => captures.push((variable, rest)),
            None if rest.is_empty() => {}
            None => return None,
        }
        let is_plain = |(_, value): &(Variable, &str)| !value.is_empty();
        captures.iter().all(is_plain).then_some(captures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> NameTemplate {
        text.parse().unwrap()
    }

    #[test]
    fn what_a_variable_stood_for_follows_from_the_text() {
        for (text, name, namespace, rendered) in [
            ("{{ cluster.name }}", "edge.lab-1", "a", "edge.lab-1"),
            ("x-{{cluster.name}}-x", "x-x", "a", "x-x-x-x"),
            ("{{ cluster.namespace }}_{{ cluster.name }}", "b-c", "a", "a_b-c"),
            ("{{ cluster.name }}a_a{{ cluster.namespace }}.", "a", "a", "aa_aa."),
        ] {
            let value = |variable| match variable {
                Variable::ClusterName => name,
                _ => namespace,
            };
            let template = template(text);
            assert_eq!(template.render(value), rendered);
            let captures = template.captures(rendered).unwrap();
            assert!(captures.iter().all(|(variable, found)| *found == value(*variable)), "{text}");
        }
        assert_eq!(template("a-{{ role }}").captures("b-worker"), None);
        assert_eq!(template("a-{{ role }}").captures("a-"), None);
        assert_eq!(template("a").captures("ab"), None);
    }

    #[test]
    fn mistakes_are_told() {
        for (text, part) in [
            ("{{ cluster.name", "without"),
            ("{{ name }}", "cluster.name"),
            ("{{ role | upper }}", "no variable"),
            ("{{ cluster.namespace }}-{{ cluster.name }}", "`_`"),
            ("{{ role }}{{ role }}", "`_`"),
        ] {
            let error = text.parse::<NameTemplate>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
