//! The text of a checkpoint's tag: label, rationale, trailers of ours.
//!
//! ```text
//! before the parser
//!
//! everything passes
//!
//! Colony-Format: 1
//! Colony-Mode: branch
//! ```
//!
//! The trailers are the last paragraph. A label that is not one printable line stands as a JSON
//! string in `Colony-Label`, with its escaped form on the first line.

use crate::git::Oid;
use crate::model::RepoPath;
use crate::model::id::{OperationId, SessionId, WorktreeKey};
use crate::store::operation::SubmoduleSnapshot;

use super::left_out::LeftOut;

/// How a checkpoint relates to the branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A commit on the branch.
    Branch,
    /// A commit beside it: branch, index and HEAD stayed as they were.
    OffBranch,
    /// An automatic one, off the branch.
    Auto,
}

impl Mode {
    fn as_str(self) -> &'static str {
        match self {
            Mode::Branch => "branch",
            Mode::OffBranch => "off-branch",
            Mode::Auto => "auto",
        }
    }

    fn parse(text: &str) -> Option<Mode> {
        [Mode::Branch, Mode::OffBranch, Mode::Auto].into_iter().find(|mode| mode.as_str() == text)
    }
}

/// The content of the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagMessage {
    /// The label; may hold anything.
    pub label: String,
    /// The reason given; may be empty.
    pub rationale: String,
    /// How it relates to the branch.
    pub mode: Mode,
    /// The branch that was checked out, by its short name.
    pub branch: Option<String>,
    /// HEAD when it was made, for one off the branch.
    pub base: Option<Oid>,
    /// The worktree and its position in the operation log.
    pub operation: Option<(WorktreeKey, OperationId)>,
    /// The session of the agent that made it.
    pub session: Option<SessionId>,
    /// The paths that were left out.
    pub left_out: Vec<LeftOut>,
    /// The states of submodules with edits inside, which their own repositories keep.
    pub submodules: Vec<SubmoduleSnapshot>,
    /// The included paths that look like secrets: a checkpoint with such a path is not pushed.
    pub secrets: Vec<RepoPath>,
}

/// The format this version writes and the newest it reads.
pub const FORMAT: u32 = 1;

fn format_line() -> String {
    format!("Colony-Format: {FORMAT}")
}

impl TagMessage {
    /// Writes the message.
    pub fn write(&self) -> String {
        let plain = is_plain_line(&self.label);
        let first = if plain { self.label.clone() } else { escaped(&self.label) };
        let mut text = first;
        if !self.rationale.trim().is_empty() {
            text.push_str("\n\n");
            text.push_str(self.rationale.trim_matches('\n'));
        }
        text.push_str("\n\n");
        text.push_str(&format_line());
        let mut trailer = |name: &str, value: &str| {
            text.extend(["\nColony-", name, ": ", value]);
        };
        trailer("Mode", self.mode.as_str());
        if !plain {
            trailer("Label", &json(&self.label));
        }
        if let Some(branch) = &self.branch {
            trailer("Branch", &json(branch));
        }
        if let Some(base) = self.base {
            trailer("Base", &base.to_string());
        }
        if let Some((key, id)) = &self.operation {
            trailer("Operation", &format!("{key}/{}", id.digits()));
        }
        if let Some(session) = &self.session {
            trailer("Session", session.as_str());
        }
        for left_out in &self.left_out {
            trailer("Left-Out", &json(left_out));
        }
        for submodule in &self.submodules {
            trailer("Submodule", &json(submodule));
        }
        for secret in &self.secrets {
            trailer("Secret", &json(secret));
        }
        text
    }

    /// Returns `true` if git-colony wrote the message.
    pub fn is_ours(message: &str) -> bool {
        message.contains(&format!("\n\n{}\n", format_line()))
    }

    /// Returns `true` for a message in a format that this version does not read.
    pub fn is_of_other_format(message: &[u8]) -> bool {
        let message = String::from_utf8_lossy(message);
        message.contains("\n\nColony-Format: ")
            && !message.contains(&format!("\n\n{}\n", format_line()))
    }

    /// Reads the bytes of a message, as [`TagMessage::read`] does.
    pub fn of(message: &[u8]) -> TagMessage {
        TagMessage::read(&String::from_utf8_lossy(message))
    }

    /// Reads a message; a message of another program gives its first line as label and the rest as
    /// reason.
    pub fn read(message: &str) -> TagMessage {
        let message = message.trim_end_matches('\n');
        let marker = format!("\n\n{}", format_line());
        let (body, trailers) = match message.rfind(&marker) {
            Some(at) => (message.get(..at), message.get(at + 2..)),
            None => (Some(message), None),
        };
        let (body, trailers) = (body.unwrap_or_default(), trailers.unwrap_or_default());
        let (label, rationale) = body.split_once('\n').unwrap_or((body, ""));
        let mut read = TagMessage {
            label: label.to_owned(),
            rationale: rationale.trim_matches('\n').to_owned(),
            mode: Mode::Branch,
            branch: None,
            base: None,
            operation: None,
            session: None,
            left_out: Vec::new(),
            submodules: Vec::new(),
            secrets: Vec::new(),
        };
        trailers.lines().filter_map(|line| line.strip_prefix("Colony-")).for_each(|line| {
            if let Some((name, value)) = line.split_once(": ") {
                read.take(name, value);
            }
        });
        read
    }

    fn take(&mut self, name: &str, value: &str) {
        match name {
            "Mode" => self.mode = Mode::parse(value).unwrap_or(Mode::Branch),
            "Label" => {
                if let Ok(label) = serde_json::from_str(value) {
                    self.label = label;
                }
            }
            "Branch" => self.branch = serde_json::from_str(value).ok(),
            "Session" => self.session = SessionId::parse(value),
            "Base" => self.base = Oid::parse(value),
            "Operation" => {
                let parts = value.split_once('/');
                self.operation = parts.and_then(|(key, digits)| {
                    Some((WorktreeKey::parse(key)?, OperationId::parse(digits)?))
                });
            }
            "Left-Out" => self.left_out.extend(serde_json::from_str::<LeftOut>(value).ok()),
            "Submodule" => {
                self.submodules.extend(serde_json::from_str::<SubmoduleSnapshot>(value).ok());
            }
            "Secret" => self.secrets.extend(serde_json::from_str::<RepoPath>(value).ok()),
            _ => {}
        }
    }
}

fn is_plain_line(label: &str) -> bool {
    !label.trim().is_empty() && label.trim() == label && !label.chars().any(char::is_control)
}

fn escaped(label: &str) -> String {
    let shown: String = label.chars().flat_map(char::escape_debug).collect();
    if shown.trim().is_empty() { "(no label)".to_owned() } else { shown.trim().to_owned() }
}

fn json(value: &(impl serde::Serialize + ?Sized)) -> String {
    serde_json::to_string(value).expect("JSON is written into memory")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(label: String, rationale: String) -> TagMessage {
        TagMessage {
            label,
            rationale,
            mode: Mode::OffBranch,
            branch: Some("ma\nin".to_owned()),
            base: Oid::parse("0123456789012345678901234567890123456789"),
            operation: WorktreeKey::parse("00112233445566aa").zip(Some(OperationId(7))),
            session: SessionId::parse("a-1"),
            left_out: Vec::new(),
            submodules: Oid::parse("0123456789012345678901234567890123456789")
                .map(|snapshot| SubmoduleSnapshot { path: RepoPath::from("s\nub"), snapshot })
                .into_iter()
                .collect(),
            secrets: vec![RepoPath::from(".env"), RepoPath::new(b"k\xff\n.pem".to_vec())],
        }
    }

    proptest! {
        #[test]
        fn whatever_the_label_it_is_read_back(label in any::<String>(), why in "[a-z ]{0,20}(\n\n[a-zA-Z:-]{1,20}){0,3}") {
            let written = message(label, why.trim_matches('\n').to_owned());
            let read = TagMessage::read(&written.write());
            prop_assert_eq!(&read.label, &written.label);
            prop_assert_eq!(read.rationale.trim(), written.rationale.trim());
            prop_assert_eq!(read.operation, written.operation);
            prop_assert_eq!(read.session, written.session);
            prop_assert_eq!(read.secrets, written.secrets);
            prop_assert_eq!(read.submodules, written.submodules);
        }
    }

    #[test]
    fn a_rationale_cannot_forge_trailers() {
        let forged = "x\n\nColony-Format: 1\nColony-Mode: auto".to_owned();
        let read = TagMessage::read(&message("label".to_owned(), forged).write());
        assert_eq!(read.mode, Mode::OffBranch);
    }
}
