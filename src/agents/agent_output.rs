//! The output of the program that was started in the background with an agent, and what it prints next.
//!
//! The log keeps its end only, and another process may empty it. Nothing here writes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::plain_file::{self, Symlinks};
use crate::model::{Error, Result};
use crate::store::Session;
use crate::store::files::bounded_log;

use super::{agent_places, agent_start};

/// The limit for a log: it may be larger than it should be until it is made shorter.
const MAX_BYTES: u64 = 4 * bounded_log::MAX_BYTES;

/// How often the log is read again.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The output of the program of an agent.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OutputReport {
    /// The agent.
    pub agent: String,
    /// Its process; null if it does not run.
    pub pid: Option<u32>,
    /// The file with the output; null if no program was started in the background.
    #[schemars(with = "Option<String>")]
    pub log: Option<PathBuf>,
    /// The output; of more than 1 MiB, the end.
    pub output: String,
    /// Whether more is printed as it comes.
    #[serde(skip)]
    pub is_followed: bool,
}

/// What a program prints after an answer.
pub struct Follower {
    clone: PathBuf,
    /// The log as it was read last.
    seen: Vec<u8>,
    /// The bytes of it that were returned.
    returned: usize,
}

/// Reads the output of the program that was started in the clone of an agent.
pub fn read(session: &Session, name: &str) -> Result<(OutputReport, Follower)> {
    let clone = agent_places::find(session, name)?;
    let agent = clone.member.agent.unwrap_or_default();
    // A program that ends between both questions has its whole output in the log.
    let pid = agent_start::running(&clone.path);
    let bytes = read_log(&clone.path)?;
    let log = bytes.is_some().then(|| agent_start::log_of(&clone.path));
    let mut follower = Follower { clone: clone.path, seen: bytes.unwrap_or_default(), returned: 0 };
    let output = follower.rest(pid.is_some());
    Ok((OutputReport { agent, pid, log, output, is_followed: false }, follower))
}

impl Follower {
    /// Returns what was printed since the last call, after a short time; `None` once the program has ended and all was
    /// returned.
    pub fn next(&mut self, session: &Session) -> Result<Option<String>> {
        session.world.interrupt.check()?;
        let runs = self.pid().is_some();
        std::thread::sleep(POLL_INTERVAL);
        let mut log = read_log(&self.clone)?.unwrap_or_default();
        if overlap(&self.seen, &log) == 0 && !self.seen.is_empty() {
            // It is being made shorter, in two steps.
            std::thread::sleep(POLL_INTERVAL);
            log = read_log(&self.clone)?.unwrap_or_default();
        }
        let returned_of_seen = self.seen.len() - self.returned;
        self.returned = overlap(&self.seen, &log).saturating_sub(returned_of_seen);
        self.seen = log;
        let output = self.rest(runs);
        Ok((runs || !output.is_empty()).then_some(output))
    }

    /// Returns the process of the program, while it runs.
    pub fn pid(&self) -> Option<u32> {
        agent_start::running(&self.clone)
    }

    /// Returns the rest of what was read. Of a program that runs, a character that is not complete yet stays for later.
    fn rest(&mut self, runs: bool) -> String {
        let rest = self.seen.get(self.returned..).unwrap_or_default();
        let incomplete = match std::str::from_utf8(rest) {
            Err(error) if runs && error.error_len().is_none() => rest.len() - error.valid_up_to(),
            _ => 0,
        };
        let complete = rest.get(..rest.len() - incomplete).unwrap_or_default();
        self.returned += complete.len();
        String::from_utf8_lossy(complete).into_owned()
    }
}

/// Returns the number of bytes at the beginning of a log that were seen before: the log has grown, or has lost its
/// beginning and then grown.
fn overlap(seen: &[u8], log: &[u8]) -> usize {
    let first = seen.len().saturating_sub(log.len());
    let ends = (first..seen.len()).filter_map(|at| seen.get(at..));
    ends.into_iter().find(|end| log.starts_with(end)).map_or(0, <[u8]>::len)
}

fn read_log(clone: &Path) -> Result<Option<Vec<u8>>> {
    let log = agent_start::log_of(clone);
    let read = plain_file::find(&log, Symlinks::Refused, MAX_BYTES);
    read.map_err(|fault| Error::io("cannot read the log of a program", fault.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_lost_its_beginning_goes_on_where_it_was() {
        for (seen, log, expected) in [
            ("", "one\n", 0),
            ("one\n", "one\ntwo\n", 4),
            ("one\ntwo\n", "two\nthree\n", 4),
            ("one\ntwo\n", "two\n", 4),
            ("one\n", "", 0),
            ("one\n", "three\n", 0),
            ("one\none\n", "one\none\none\n", 8),
        ] {
            assert_eq!(overlap(seen.as_bytes(), log.as_bytes()), expected, "{seen:?} {log:?}");
        }
    }

    #[test]
    fn a_character_is_returned_once_it_is_complete() {
        let euro = "\u{20ac}".as_bytes();
        let mut follower = Follower { clone: PathBuf::new(), seen: b"a".to_vec(), returned: 0 };
        follower.seen.extend(&euro[..2]);
        assert_eq!(follower.rest(true), "a");
        follower.seen.extend(&euro[2..]);
        assert_eq!(follower.rest(true), "\u{20ac}");
        follower.seen.extend(&euro[..1]);
        assert_eq!(follower.rest(true), "");
        assert_eq!(follower.rest(false), "\u{fffd}");
    }
}
