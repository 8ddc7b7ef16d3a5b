//! Moving refs that other processes move, too.

use crate::model::{Code, Error, Result};

/// How often it is tried to move refs that other processes keep moving: whenever one process has to try again,
/// another one has succeeded.
const MAX_ATTEMPTS: usize = 20;

/// Runs `attempt`, which reads refs and then moves them, again while another process moves or locks one of
/// them in between.
pub fn retried<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 1..MAX_ATTEMPTS {
        match attempt() {
            Err(error) if is_lost_race(&error) => {}
            ended => return ended,
        }
    }
    attempt()
}

/// Returns `true` if another process was faster, so that another attempt may succeed. A hook that refuses would
/// refuse again, and a process whose lock is this old was waited for already.
pub fn is_lost_race(error: &Error) -> bool {
    let has = |name| error.details().contains_key(name);
    match error.code() {
        Code::RefMoved => !has("hook"),
        Code::Locked => !has("age_seconds"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the attempts of a command that meets this error each time.
    fn attempts(error: impl Fn() -> Error) -> usize {
        let mut count = 0;
        let ended = retried(|| -> Result<()> {
            count += 1;
            Err(error())
        });
        assert_eq!(ended.unwrap_err().code(), error().code());
        count
    }

    #[test]
    fn only_a_lost_race_is_run_again_and_not_for_ever() {
        let of = |code| move || Error::new(code, "it failed");
        assert_eq!(attempts(of(Code::RefMoved)), MAX_ATTEMPTS);
        assert_eq!(attempts(of(Code::Locked)), MAX_ATTEMPTS);
        assert_eq!(attempts(of(Code::Io)), 1);
        assert_eq!(attempts(|| of(Code::RefMoved)().detail("hook", "x")), 1);
        assert_eq!(attempts(|| of(Code::Locked)().detail("age_seconds", 9)), 1);
        let mut left = 3;
        let third = retried(|| {
            left -= 1;
            if left > 0 { Err(of(Code::RefMoved)()) } else { Ok(left) }
        });
        assert_eq!(third.unwrap(), 0);
    }
}
