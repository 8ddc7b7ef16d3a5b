//! Ids of operations and worktrees, as types.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::secret_forms;

/// The position of an operation in its worktree's operation log, starting at 1.
///
/// Displayed as `op-12`; its ref ends in ten digits so that refs sort by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationId(pub u64);

impl OperationId {
    /// Returns the id after this one.
    #[must_use]
    pub fn next(self) -> Self {
        OperationId(self.0 + 1)
    }

    /// Returns the ten digits for names of refs and folders.
    pub fn digits(self) -> String {
        format!("{:010}", self.0)
    }

    /// Parses `op-12`, as people name one.
    pub fn of_name(text: &str) -> Option<Self> {
        Self::parse(text).filter(|_| text.starts_with("op-"))
    }

    /// Parses `op-12` or the ten digits of a ref name.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = match text.strip_prefix("op-") {
            Some(digits) => digits,
            None if text.len() == 10 => text,
            None => return None,
        };
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| digits.parse().ok().map(OperationId)).flatten()
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "op-{}", self.0)
    }
}

impl Serialize for OperationId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for OperationId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        OperationId::parse(&text).ok_or_else(|| serde::de::Error::custom("not an operation id"))
    }
}

impl schemars::JsonSchema for OperationId {
    fn schema_name() -> Cow<'static, str> {
        "OperationId".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "An operation of a worktree, in the order of its operation log.",
            "type": "string",
            "pattern": "^op-[0-9]+$",
        })
    }
}

/// The random name of a worktree: 16 hex digits, kept in its git directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct WorktreeKey(String);

impl WorktreeKey {
    /// Accepts exactly 16 lower-case hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        let valid =
            text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        valid.then(|| WorktreeKey(text.to_owned()))
    }

    /// Returns the key of a worktree that has none yet; no ref and no folder has it.
    pub fn unborn() -> Self {
        WorktreeKey("0".repeat(16))
    }

    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorktreeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for WorktreeKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        WorktreeKey::parse(&text).ok_or_else(|| serde::de::Error::custom("not a worktree key"))
    }
}

impl schemars::JsonSchema for WorktreeKey {
    fn schema_name() -> Cow<'static, str> {
        "WorktreeKey".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "The random name of a worktree.",
            "type": "string",
            "pattern": "^[0-9a-f]{16}$",
        })
    }
}

/// The id that an agent gives its session: short, only letters, digits and `-_.:`, and a letter or digit first, so that
/// it needs no quoting in a trailer and is never an option or a hidden file. A key or token is not an id: trailers are
/// published.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
pub struct SessionId(String);

impl SessionId {
    /// Parses an id; `None` if it does not have this form.
    pub fn parse(text: &str) -> Option<SessionId> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        let begins = text.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric);
        let fits = begins && text.len() <= 128 && text.bytes().all(plain);
        let fits = fits && secret_forms::redacted(text) == text;
        fits.then(|| SessionId(text.to_owned()))
    }

    /// Returns the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_the_id_of_a_session() {
        assert!(SessionId::parse("20260102T030405Z-00000001").is_some());
        for token in ["ghp_", "s:ghp_", "isghp_"] {
            let token = format!("{token}{}", "a1".repeat(18));
            assert_eq!(SessionId::parse(&token), None, "{token}");
        }
    }

    #[test]
    fn operation_ids_read_what_they_print() {
        let id = OperationId(12);
        assert_eq!(OperationId::parse(&id.to_string()), Some(id));
        assert_eq!(OperationId::parse(&id.digits()), Some(id));
        for bad in ["op-", "op-x", "12", "op--1", ""] {
            assert_eq!(OperationId::parse(bad), None, "{bad}");
        }
    }
}
