//! Explains a full disk: git and git-lfs report it in many ways, or not at all.

use crate::git::full_disk::is_full;
use crate::model::text::shell_word;
use crate::model::{Code, Error, full_disk};
use crate::store::Session;

/// Their message when a file may not grow.
const WORDS: &str = "file too large";

/// Replaces the error if the disk was full; called before anything is cleaned up.
pub(super) fn explain(session: &Session, error: Error) -> Error {
    let may_be = matches!(
        error.code(),
        Code::NoSpace | Code::GitFailed | Code::Io | Code::RefMoved | Code::Locked
    );
    let folder = session.repo.common_dir();
    let stderr = error.details().get("stderr").and_then(|said| said.as_str());
    let said = format!("{} {}", error.message(), stderr.unwrap_or_default());
    let is_full =
        full_disk::is_told(&said) || said.to_ascii_lowercase().contains(WORDS) || is_full(folder);
    if !may_be || !(is_full || error.code() == Code::NoSpace) {
        return error;
    }
    Error::new(
        Code::NoSpace,
        format!("no space is left to rewrite history in: {}", error.message()),
    )
    .unchanged()
    .hint(format!(
        "df -h {}   # with more room, run the command again",
        shell_word(&folder.display().to_string())
    ))
}
