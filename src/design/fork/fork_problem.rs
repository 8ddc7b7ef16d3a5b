//! What cannot be told of one line of work, so that the others are told all the same.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Code, Error, Result};

/// Why something of a line of work cannot be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ForkProblem {
    /// What is wrong: an error code.
    pub code: &'static str,
    /// The same in words.
    pub reason: String,
}

impl ForkProblem {
    /// Takes an error for a problem of what was looked at, where it is one of its content: too large, damaged,
    /// gone.
    ///
    /// # Errors
    /// Every other error.
    pub fn of(error: Error) -> Result<ForkProblem> {
        match error.code() {
            Code::TreeTooLarge | Code::ObjectMissing | Code::RepositoryBroken => {
                Ok(ForkProblem::told(&error))
            }
            _ => Err(error),
        }
    }

    /// Takes any error for a problem of what was looked at.
    pub fn told(error: &Error) -> ForkProblem {
        ForkProblem {
            code: error.code().as_str(),
            reason: error.message(),
        }
    }

    /// Separates what was found from why it could not be.
    ///
    /// # Errors
    /// What is no problem of the content.
    pub fn or<T>(found: Result<T>) -> Result<std::result::Result<T, ForkProblem>> {
        match found {
            Ok(found) => Ok(Ok(found)),
            Err(error) => ForkProblem::of(error).map(Err),
        }
    }

    /// Returns it for people, in one line.
    pub fn words(&self) -> String {
        format!("{}: {}", self.code, self.reason)
    }
}
