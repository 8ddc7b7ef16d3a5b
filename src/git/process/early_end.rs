//! Why a program that gave no exit code, or was stopped, ended.

use std::fmt;
use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use super::attend::{ChildResult, Terms};

/// Why a program ended before its own end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyEnd {
    /// It took longer than this.
    Late(Duration),
    /// It printed more than this many bytes.
    Loud(u64),
    /// A signal ended it.
    Signal(i32),
}

impl EarlyEnd {
    /// Determines the reason; `None` for a program that ended by itself. A limit comes first: reaching one sends a
    /// signal as well.
    pub(super) fn of(attended: &ChildResult, limits: &Limits) -> Option<EarlyEnd> {
        if attended.status.success() {
            return None;
        }
        let is_full = |bytes: &[u8], most: u64| bytes.len() as u64 >= most;
        let is_loud = is_full(&attended.stdout, limits.most_output_bytes)
            || is_full(&attended.stderr, limits.most_error_bytes);
        match limits.most_time.filter(|_| attended.is_late) {
            Some(time) => Some(EarlyEnd::Late(time)),
            // One byte more than allowed is read, to notice that there is more.
            None if is_loud => Some(EarlyEnd::Loud(limits.most_output_bytes.saturating_sub(1))),
            None => attended.status.signal().map(EarlyEnd::Signal),
        }
    }
}

impl fmt::Display for EarlyEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EarlyEnd::Late(time) => write!(f, "it took longer than {} seconds", time.as_secs()),
            EarlyEnd::Loud(bytes) if bytes % (1 << 20) == 0 => {
                write!(f, "it printed more than {} MiB", bytes >> 20)
            }
            EarlyEnd::Loud(bytes) => write!(f, "it printed more than {bytes} bytes"),
            EarlyEnd::Signal(number) => write!(f, "signal {number} ended it"),
        }
    }
}

/// The limits of [`Terms`], which the program is started with.
pub(super) struct Limits {
    most_output_bytes: u64,
    most_error_bytes: u64,
    most_time: Option<Duration>,
}

impl Limits {
    pub(super) fn of(terms: &Terms<'_>) -> Limits {
        Limits {
            most_output_bytes: terms.most_output_bytes,
            most_error_bytes: terms.most_error_bytes,
            most_time: terms.most_time,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::ExitStatus;

    use super::*;

    fn end(raw: i32, is_late: bool, printed: usize) -> Option<String> {
        let attended = ChildResult {
            status: ExitStatus::from_raw(raw),
            is_late,
            stdout: vec![0; printed],
            stderr: Vec::new(),
        };
        let limits = Limits {
            most_output_bytes: (1 << 20) + 1,
            most_error_bytes: u64::MAX,
            most_time: Some(Duration::from_secs(30)),
        };
        EarlyEnd::of(&attended, &limits).map(|end| end.to_string())
    }

    #[test]
    fn a_limit_comes_before_the_signal_that_it_sends() {
        let (killed, failed) = (9, 1 << 8);
        let late = Some("it took longer than 30 seconds");
        assert_eq!(end(15, true, 0).as_deref(), late);
        let loud = Some("it printed more than 1 MiB");
        assert_eq!(end(13, false, (1 << 20) + 1).as_deref(), loud);
        assert_eq!(end(failed, false, (1 << 20) + 1).as_deref(), loud);
        assert_eq!(end(killed, false, 5).as_deref(), Some("signal 9 ended it"));
        for (raw, printed) in [(0, (1 << 20) + 1), (failed, 5)] {
            assert_eq!(end(raw, false, printed), None);
        }
    }
}
