//! Reasons why a build has no result in memory, and the findings about them.

use camino::Utf8Path;

use crate::base::finding::{Code, Finding, Place};
use crate::base::layout;

/// The reason why a build has no result in memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationError {
    /// kustomize fails as well.
    #[error("`kustomize build` fails: {0}")]
    Refused(String),
    /// Only kustomize can build it.
    #[error("only kustomize can build it: {0}")]
    Beyond(String),
    /// kustomize builds it, but Flux fails.
    #[error("Flux cannot apply it: {0}")]
    Unapplied(String),
    /// It takes more steps or memory than evaluations have.
    #[error("it is too large to build: {0}")]
    TooLarge(String),
    /// Only the agent knows the result.
    #[error("only the agent can build it: {0}")]
    Undetermined(String),
}

/// The result of a step of an evaluation.
pub(super) type StepResult<T = ()> = Result<T, EvaluationError>;

/// Fails because kustomize fails as well.
pub(super) fn refuse<T>(why: impl Into<String>) -> StepResult<T> {
    Err(EvaluationError::Refused(why.into()))
}

/// Fails because only kustomize can build it.
pub(super) fn defer<T>(why: impl Into<String>) -> StepResult<T> {
    Err(EvaluationError::Beyond(why.into()))
}

/// The result of a step of a build, which knows the place of a failure.
pub(super) type BuildResult<T = ()> = Result<T, BuildFailure>;

/// A failed build.
pub(super) struct BuildFailure {
    pub(super) problem: EvaluationError,
    /// The place of the cause; `None` until a caller knows it.
    pub(super) place: Option<Box<Place>>,
    /// Set if another finding reports it already.
    pub(super) is_known: bool,
}

impl From<EvaluationError> for BuildFailure {
    fn from(problem: EvaluationError) -> Self {
        BuildFailure { problem, place: None, is_known: false }
    }
}

/// Adds places to failures.
pub(super) trait FailureAt<T> {
    /// Adds the place of a failure, unless the failed step has added one.
    fn at(self, place: &Place) -> BuildResult<T>;
}

impl<T, E: Into<BuildFailure>> FailureAt<T> for Result<T, E> {
    fn at(self, place: &Place) -> BuildResult<T> {
        self.map_err(|error| {
            let mut failure = error.into();
            failure.place.get_or_insert_with(|| Box::new(place.clone()));
            failure
        })
    }
}

impl BuildFailure {
    /// Returns the failure of a build that kustomize builds, but that Flux makes fail.
    pub(super) fn by_flux(self) -> Self {
        let problem = match self.problem {
            EvaluationError::Refused(why) => EvaluationError::Unapplied(why),
            other => other,
        };
        BuildFailure { problem, is_known: false, ..self }
    }

    /// Returns the finding about generated hosts in a directory's build, which is not compared with
    /// the plan.
    pub(super) fn uncompared(self, directory: &Utf8Path) -> Finding {
        let (directory, why) = (layout::directory_argument(directory), self.problem);
        let message =
            format!("`kustomize build {directory}` may change generated hosts, but {why}");
        let help = "compare it with the plan by `sipgen generate --check --build`";
        Finding::new(Code::DirectoryUnread, message).at_each(self.place.map(|it| *it)).help(help)
    }

    /// Returns the finding about the failed build of a directory, unless another finding reports it.
    /// `agent` is the object that applies it, with its file.
    pub(super) fn finding(
        self,
        directory: &Utf8Path,
        agent: Option<(&str, &Utf8Path)>,
    ) -> Option<Finding> {
        let directory = layout::directory_argument(directory);
        let file = self.place.as_ref().map(|place| place.file());
        let agent = agent.filter(|(_, object)| file.is_some_and(|file| **file == **object));
        let (code, message, help) = match (self.problem, agent) {
            (EvaluationError::Refused(why), Some((by, _))) => (
                Code::BuildRefused,
                format!("`{directory}` does not build with the fields of {by}: {why}"),
                "correct the field, or remove it; nothing is applied until then".to_owned(),
            ),
            (EvaluationError::Refused(why), None) => (
                Code::BuildRefused,
                format!("`kustomize build {directory}` fails: {why}"),
                format!(
                    "run `kustomize build {directory}` and fix its error; agents apply nothing of it until then"
                ),
            ),
            (EvaluationError::Beyond(why), _) => (
                Code::NotEvaluated,
                format!("only kustomize can build the hosts and requests of `{directory}`: {why}"),
                format!(
                    "add `- kustomization: {directory}` to `sources`, and sipgen runs kustomize for it"
                ),
            ),
            (EvaluationError::TooLarge(why), _) => (
                Code::NotEvaluated,
                format!("`{directory}` is too large to build: {why}"),
                "remove what multiplies its objects, step by step".to_owned(),
            ),
            (EvaluationError::Unapplied(why), _) => (
                Code::BuildRefused,
                format!("Flux cannot apply `{directory}`: {why}"),
                "correct it; Flux applies nothing of it until then".to_owned(),
            ),
            (EvaluationError::Undetermined(why), _) => (
                Code::NotEvaluated,
                format!("only its agent can build the hosts and requests of `{directory}`: {why}"),
                format!("write the result itself in `{directory}`"),
            ),
        };
        let place = self.place.map(|place| *place);
        (!self.is_known).then(|| Finding::new(code, message).at_each(place).help(help))
    }
}
