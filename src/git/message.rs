//! The message of a commit, and the trailers at its end.

use gix::bstr::ByteSlice as _;

use crate::model::{Code, Result, ResultExt as _};

use super::{Oid, Repo};

impl Repo {
    /// Reads the message of a commit; what is not UTF-8 is replaced.
    ///
    /// # Errors
    /// `object-missing`.
    pub fn message_of(&self, commit: Oid) -> Result<String> {
        let missing = || format!("cannot read commit {commit}");
        let found = self.inner.find_commit(commit.0);
        let found = found.or_code(Code::ObjectMissing, missing)?;
        let message = found
            .message_raw()
            .or_code(Code::RepositoryBroken, missing)?;
        Ok(message.to_str_lossy().into_owned())
    }
}

/// Reads the values of a trailer: lines `key: value` of the last paragraph.
pub fn trailer_values<'a>(message: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    let text = message.trim_end();
    let (_, last) = text.rsplit_once("\n\n").unwrap_or(("", ""));
    last.lines().filter_map(move |line| {
        let (name, value) = line.split_once(':')?;
        let value = value.trim();
        (name.eq_ignore_ascii_case(key) && !value.is_empty()).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(message: &str) -> Vec<&str> {
        trailer_values(message, "Colony-Decision").collect()
    }

    #[test]
    fn trailers_stand_in_the_last_paragraph_only() {
        let message =
            "subject\n\nColony-Decision: no\n\ncolony-decision: a\nOther: b\nColony-Decision:c\n";
        assert_eq!(values(message), ["a", "c"]);
        assert!(values("Colony-Decision: a subject").is_empty());
        assert!(values("").is_empty());
    }
}
