//! Where the cursor of the terminal is: found out by asking it. So it is known whether a command has printed anything.

use std::fs::File;
use std::io::Write as _;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long a terminal may take for its answer; some never answer.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(200);

/// The maximum number of bytes that are read for an answer: keys may come before it.
const MAX_ANSWER: usize = 256;

/// Asks a terminal in raw mode for the row and column of its cursor, counted from 1.
pub(super) fn ask(terminal: &mut File) -> Option<(u16, u16)> {
    terminal.write_all(b"\x1b[6n").ok()?;
    let end = Instant::now() + ANSWER_TIMEOUT;
    let mut answer = Vec::new();
    while answer.len() < MAX_ANSWER {
        let left = Timespec::try_from(end.saturating_duration_since(Instant::now())).ok()?;
        let stdin = rustix::stdio::stdin();
        let mut input = [PollFd::new(&stdin, PollFlags::IN)];
        if poll(&mut input, Some(&left)).ok()? == 0 {
            return None;
        }
        let mut byte = [0];
        if rustix::io::read(stdin, &mut byte).ok()? == 0 {
            return None;
        }
        answer.extend(byte);
        if let Some(place) = read(&answer) {
            return Some(place);
        }
    }
    None
}

/// Reads an answer, `ESC [ row ; column R`, behind any keys.
fn read(answer: &[u8]) -> Option<(u16, u16)> {
    let text = std::str::from_utf8(answer).ok()?;
    let (_, place) = text.strip_suffix('R')?.rsplit_once("\x1b[")?;
    let (row, column) = place.split_once(';')?;
    Some((row.parse().ok()?, column.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn an_answer_is_found_behind_keys() {
        assert_eq!(read(b"\x1b[12;1R"), Some((12, 1)));
        assert_eq!(read(b"jj\x1b[A\x1b[3;40R"), Some((3, 40)));
        for no in ["", "R", "\x1b[12;1", "\x1b[12R", "\x1b[;R", "\x1b[99999;1R"] {
            assert_eq!(read(no.as_bytes()), None, "{no:?}");
        }
    }
}
