//! Damaged checkpoints: their tag is garbage, or the object it points to is missing or not a
//! commit.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::RefName;
use crate::model::{Code, Error, text};

/// A ref of a checkpoint that does not lead to a commit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DamagedCheckpoint {
    /// Its id, taken from the name of the ref.
    pub checkpoint_id: String,
    /// The ref.
    #[serde(rename = "ref")]
    #[schemars(with = "String")]
    pub name: RefName,
    /// The problem.
    pub reason: String,
}

impl DamagedCheckpoint {
    /// Returns a line for people, with the command that deletes the ref.
    pub fn to_text(&self) -> String {
        let name = text::shell_word(&self.name.to_string());
        format!(
            "damaged, {}: {}; git update-ref -d {name} deletes it",
            self.checkpoint_id, self.reason
        )
    }

    pub(in crate::design) fn refusal(&self) -> Error {
        let (id, name) = (&self.checkpoint_id, self.name.to_string());
        let message = format!("checkpoint '{id}' is damaged: {}", self.reason);
        let name = text::shell_word(&name);
        Error::new(Code::RepositoryBroken, message)
            .unchanged()
            .detail("name", id)
            .hint(format!("git update-ref -d {name}   # deletes its ref"))
    }
}
