//! Checkpoints that lead to no commit: their tag is garbage, or what it points to is gone or no commit.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::RefName;
use crate::model::{Code, Error, text};

/// A ref of a checkpoint that leads to no commit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DamagedCheckpoint {
    /// As its name says.
    pub checkpoint_id: String,
    /// The ref.
    #[serde(rename = "ref")]
    #[schemars(with = "String")]
    pub name: RefName,
    /// What is wrong.
    pub reason: String,
}

impl DamagedCheckpoint {
    /// Returns a line for people, with what takes the ref away.
    pub fn words(&self) -> String {
        let name = text::shell_word(&self.name.to_string());
        format!(
            "damaged, {}: {}; git update-ref -d {name} deletes it",
            self.checkpoint_id, self.reason
        )
    }

    pub(in crate::design) fn refusal(&self) -> Error {
        let (id, name) = (&self.checkpoint_id, self.name.to_string());
        let message = format!(
            "checkpoint '{id}' is damaged: {}; nothing has changed",
            self.reason
        );
        let name = text::shell_word(&name);
        Error::new(Code::RepositoryBroken, message)
            .detail("name", id)
            .hint(format!("git update-ref -d {name}   # deletes its ref"))
    }
}
