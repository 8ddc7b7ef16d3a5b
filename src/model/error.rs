//! The one error type: a stable code for agents, one sentence for people, and the next command.
//!
//! A message names the intent and the problem, [`Untouched`] the state of the repository; hints are
//! commands that work when pasted. Codes are never renamed: readers of `--json` match on them.

use std::fmt;

use serde_json::{Map, Value};

use super::{Code, Untouched, full_disk, read_only_disk};

/// A `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// How the process ends when the error reaches the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Refused or failed: exit code 128.
    Failed,
    /// Wrong usage: exit code 129.
    Usage,
    /// Ended by a signal: exit code 128 + its number.
    Signal(i32),
}

/// An error, for people and for programs.
///
/// Boxed, so that a `Result` stays one word wide.
pub struct Error(Box<Inner>);

struct Inner {
    code: Code,
    message: String,
    untouched: Option<Untouched>,
    hint: Option<String>,
    detail: Map<String, Value>,
    verdict: Verdict,
    /// Whether the error was reported under another code, but is a full disk.
    is_of_disk: bool,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Creates an error that ends the process with exit code 128. A full disk is recognized and
    /// gets its own code.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let message = message.into();
        let is_of_disk = full_disk::is_behind(code, &message);
        let code = if is_of_disk { Code::NoSpace } else { code };
        Error(Box::new(Inner {
            code,
            message,
            untouched: code.untouched(),
            hint: code.hint().map(str::to_owned),
            detail: Map::new(),
            verdict: if code == Code::Usage { Verdict::Usage } else { Verdict::Failed },
            is_of_disk,
            source: None,
        }))
    }

    /// Sets the next command to try in place of the one of the code, unless the disk is full or read-only, which needs
    /// another hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        if self.0.is_of_disk {
            return self;
        }
        self.replace_hint(hint)
    }

    /// Sets the next command to try, replacing any other.
    #[must_use]
    pub fn replace_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Replaces the claim of the code; `None` claims nothing.
    #[must_use]
    pub fn untouched(mut self, what: impl Into<Option<Untouched>>) -> Self {
        self.0.untouched = what.into();
        self
    }

    /// Claims that nothing has changed.
    #[must_use]
    pub fn unchanged(self) -> Self {
        self.untouched(Untouched::Everything)
    }

    /// Adds a machine-readable field to `detail`.
    #[must_use]
    pub fn detail(mut self, name: &str, value: impl serde::Serialize) -> Self {
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        self.0.detail.insert(name.to_owned(), value);
        self
    }

    /// Prefixes the message of `tree-too-large` with the name of the tree.
    #[must_use]
    pub fn of_tree(mut self, name: &str) -> Self {
        if self.0.code == Code::TreeTooLarge {
            self.0.message = format!("'{name}': {}", self.0.message);
        }
        self
    }

    /// Adds the cause. If that is a full disk, replaces code and hint; if it is a read-only one, the hint.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let cause = cause.into();
        if full_disk::has_caused(self.0.code, cause.as_ref()) {
            self.0.code = Code::NoSpace;
            self.0.is_of_disk = true;
            self.0.hint = None;
        } else if read_only_disk::has_caused(cause.as_ref()) {
            self.0.is_of_disk = true;
            self.0.hint = Some(read_only_disk::HINT.to_owned());
        }
        self.0.source = Some(cause);
        self
    }

    /// Sets how the process ends.
    #[must_use]
    pub fn verdict(mut self, verdict: Verdict) -> Self {
        self.0.verdict = verdict;
        self
    }

    /// Returns an error for a failed file operation; a full disk has its own code.
    pub fn io(what: impl Into<String>, cause: std::io::Error) -> Self {
        Error::new(Code::Io, what).caused_by(cause)
    }

    /// Returns the stable code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// Puts the steps that were done before the failure first; the error then claims nothing.
    #[must_use]
    pub fn after(mut self, done: &str) -> Self {
        self.0.message = format!("{done}: {}", self.0.message);
        self.untouched(None)
    }

    /// Returns the message with the chain of causes and the claim, in one line.
    pub fn sentence(&self) -> String {
        match self.0.untouched {
            Some(what) => format!("{}; {}", self.message(), what.sentence()),
            None => self.message(),
        }
    }

    /// Returns the sentence for a line of that many columns: the claim, which most refusals share, yields to the message.
    pub fn sentence_within(&self, columns: usize) -> String {
        let sentence = self.sentence();
        if sentence.chars().count() <= columns { sentence } else { self.message() }
    }

    /// Returns the message with the chain of causes, in one line, to be put into another text.
    pub fn message(&self) -> String {
        let mut text = self.0.message.clone();
        let mut cause = self.0.source.as_deref().map(|s| s as &dyn std::error::Error);
        while let Some(error) = cause {
            let more = error.to_string();
            if !text.contains(&more) {
                text = format!("{text}: {more}");
            }
            cause = error.source();
        }
        text
    }

    /// Returns the next command to try.
    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Returns the claim of the error: the state that is untouched.
    pub fn left_untouched(&self) -> Option<Untouched> {
        self.0.untouched
    }

    /// Returns the machine-readable fields.
    pub fn details(&self) -> &Map<String, Value> {
        &self.0.detail
    }

    /// Returns how the process ends.
    pub fn ends_with(&self) -> Verdict {
        self.0.verdict
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.sentence(), self.0.code.as_str())?;
        self.0.hint.iter().try_for_each(|hint| write!(f, " (hint: {hint})"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

/// Gives a foreign error a code and a sentence.
pub trait ResultExt<T> {
    /// Wraps the error with `code` and the sentence from `message`.
    fn or_code<M: Into<String>>(self, code: Code, message: impl FnOnce() -> M) -> Result<T>;
}

impl<T, E: Into<Box<dyn std::error::Error + Send + Sync>>> ResultExt<T> for Result<T, E> {
    fn or_code<M: Into<String>>(self, code: Code, message: impl FnOnce() -> M) -> Result<T> {
        self.map_err(|cause| Error::new(code, message()).caused_by(cause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_untouched_follows_the_causes() {
        let cause = std::io::Error::other("the disk is on fire");
        let error = Error::io("cannot write", cause).unchanged();
        assert_eq!(error.message(), "cannot write: the disk is on fire");
        assert_eq!(error.sentence(), "cannot write: the disk is on fire; nothing has changed");
    }

    #[test]
    fn a_code_claims_what_is_untouched_and_the_error_corrects_it() {
        let error = Error::new(Code::UnmergedPaths, "2 paths in conflict");
        assert_eq!(error.left_untouched(), Some(Untouched::Everything));
        let error = error.untouched(Untouched::History);
        assert_eq!(error.sentence(), "2 paths in conflict; history has not changed");
        assert_eq!(error.untouched(None).sentence(), "2 paths in conflict");
    }

    #[test]
    fn on_a_read_only_disk_the_hint_names_the_tools() {
        let cause = std::io::Error::from(std::io::ErrorKind::ReadOnlyFilesystem);
        let error = Error::io("cannot open 'lock'", cause).hint("git colony doctor");
        assert!(error.hint_text().unwrap().contains("checkpoint_state"), "{error:?}");
        let again = Error::new(Code::Io, "cannot begin").caused_by(error);
        assert!(again.hint_text().unwrap().contains("checkpoint_state"), "{again:?}");
    }

    #[test]
    fn the_claim_yields_where_the_line_is_short() {
        let error = Error::new(Code::UnmergedPaths, "2 paths in conflict");
        assert_eq!(error.sentence_within(40), "2 paths in conflict; nothing has changed");
        assert_eq!(error.sentence_within(39), "2 paths in conflict");
    }

    #[test]
    fn an_error_after_a_change_claims_nothing() {
        let error =
            Error::new(Code::UnmergedPaths, "2 paths in conflict").after("1 of 2 undone; then");
        assert_eq!(error.sentence(), "1 of 2 undone; then: 2 paths in conflict");
    }

    #[test]
    fn what_git_or_the_disk_may_cause_halfway_claims_nothing() {
        for code in [Code::Io, Code::GitFailed, Code::NoSpace, Code::RefMoved, Code::Interrupted] {
            assert_eq!(code.untouched(), None);
        }
    }
}
