//! Recognizes a full disk by the kind of an error, or by the message of git, git-lfs or the system.

use std::error::Error as StdError;
use std::io::{Error as IoError, ErrorKind};

use super::Code;

/// The phrases that show it.
const WORDS: [&str; 2] = ["no space left on device", "disk quota exceeded"];

/// The codes under which messages are searched for these phrases; those of remotes are not.
const BY_WORDS: [Code; 7] = [
    Code::FilterFailed,
    Code::GitFailed,
    Code::Io,
    Code::Locked,
    Code::ObjectMissing,
    Code::RefMoved,
    Code::RepositoryBroken,
];

/// Returns `true` if a message reports a full local disk; a remote's does not count.
pub fn is_told(words: &str) -> bool {
    let words = words.to_ascii_lowercase();
    !words.contains("remote:") && WORDS.iter().any(|known| words.contains(known))
}

/// Returns `true` if an error with this code and message is due to a full disk.
pub(super) fn is_behind(code: Code, message: &str) -> bool {
    BY_WORDS.contains(&code) && is_told(message)
}

/// Returns `true` if the cause of an error with this code is a full disk. Errors that must be fixed
/// first, or can be avoided, keep their codes.
pub(super) fn has_caused(code: Code, cause: &(dyn StdError + 'static)) -> bool {
    if matches!(code, Code::RecoveryNeeded | Code::CacheUnusable) {
        return false;
    }
    let mut next = Some(cause);
    while let Some(cause) = next {
        let full = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded];
        let kind = cause.downcast_ref::<IoError>().map(IoError::kind);
        if kind.is_some_and(|kind| full.contains(&kind)) || is_behind(code, &cause.to_string()) {
            return true;
        }
        next = cause.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::model::{Code, Error, ResultExt as _};

    #[test]
    fn a_full_disk_has_its_own_code_however_deep() {
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let error = Err::<(), _>(full).or_code(Code::Io, || "cannot write").unwrap_err();
        assert_eq!(error.code(), Code::NoSpace);
    }

    #[test]
    fn the_words_of_git_and_of_a_filter_are_those_of_a_full_disk() {
        let said = "fatal: unable to write loose object file: No space left on device";
        for code in [Code::GitFailed, Code::FilterFailed, Code::RefMoved] {
            let error = Error::new(code, format!("cannot store 'a': {said}"))
                .hint("fix the file or its filter");
            assert_eq!((error.code(), error.hint_text()), (Code::NoSpace, None));
            let cause = std::io::Error::other(said);
            let error = Error::new(code, "cannot store 'a'").caused_by(cause);
            assert_eq!(error.code(), Code::NoSpace);
        }
        let remote = Error::new(Code::GitFailed, format!("cannot push: remote: {said}"));
        assert_eq!(remote.code(), Code::GitFailed);
        let named = Error::new(Code::PathNotFound, "no file 'No space left on device'");
        assert_eq!(named.code(), Code::PathNotFound);
    }
}
