//! Narration that waits while the terminal is a screen: a line in between would be written across it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use crate::model::interrupt::unpoisoned;

/// The maximum number of lines that wait; older ones are dropped.
const MAX_LINES: usize = 20;

/// The lines that wait; `None` while they are written at once.
#[derive(Clone, Debug, Default)]
pub struct HeldLines(Arc<Mutex<Option<VecDeque<String>>>>);

impl HeldLines {
    /// Keeps lines back from now on.
    pub fn begin(&self) {
        unpoisoned(&self.0).get_or_insert_default();
    }

    /// Keeps no more lines back, and returns those that waited.
    pub fn end(&self) -> Vec<String> {
        unpoisoned(&self.0).take().into_iter().flatten().collect()
    }

    /// Takes a line; returns `false` if it is to be written at once. One that waits already is not repeated.
    pub fn take(&self, line: &str) -> bool {
        let mut held = unpoisoned(&self.0);
        let Some(lines) = held.as_mut() else {
            return false;
        };
        if !lines.iter().any(|waiting| waiting == line) {
            lines.push_back(line.to_owned());
        }
        if lines.len() > MAX_LINES {
            lines.pop_front();
        }
        true
    }

    /// Returns the newest line that waits.
    pub fn newest(&self) -> Option<String> {
        unpoisoned(&self.0).as_ref()?.back().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_wait_until_they_may_be_written() {
        let held = HeldLines::default();
        assert!(!held.take("at once"));
        held.begin();
        for number in 0..30 {
            assert!(held.take(&format!("line {number}")) && held.take(&format!("line {number}")));
        }
        assert_eq!(held.newest().as_deref(), Some("line 29"));
        let lines = held.end();
        assert_eq!((lines.len(), lines[0].as_str()), (MAX_LINES, "line 10"));
        assert!(!held.take("at once") && held.end().is_empty());
    }
}
