//! A problem with one fork; the other forks are reported nevertheless.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Code, Error, Result};

/// Why something about a fork is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ForkProblem {
    /// An error code.
    pub code: &'static str,
    /// The same as text.
    pub reason: String,
    /// The next command; `None` where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl ForkProblem {
    /// Turns an error about the content of a fork into a problem: too large, damaged, missing.
    pub fn of(error: Error) -> Result<ForkProblem> {
        match error.code() {
            Code::TreeTooLarge | Code::ObjectMissing | Code::RepositoryBroken => {
                Ok(ForkProblem::of_error(&error))
            }
            _ => Err(error),
        }
    }

    /// Turns any error into a problem.
    pub fn of_error(error: &Error) -> ForkProblem {
        let hint = error.hint_text().map(str::to_owned);
        ForkProblem { code: error.code().as_str(), reason: error.message(), hint }
    }

    /// Separates a result from a problem.
    pub fn or<T>(result: Result<T>) -> Result<std::result::Result<T, ForkProblem>> {
        match result {
            Ok(value) => Ok(Ok(value)),
            Err(error) => ForkProblem::of(error).map(Err),
        }
    }

    /// Returns it as text for people, in one line.
    pub fn to_text(&self) -> String {
        format!("{}: {}", self.code, self.reason)
    }
}
