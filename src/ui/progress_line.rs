//! One line on the terminal that shows the progress of long work, and is erased when anything else is printed.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::model::escape;
use crate::model::progress::{Step, Unit};

use super::text;

/// Work that ends within this time shows no line.
const SHOW_AFTER: Duration = Duration::from_millis(500);

/// The minimum time between two changes of the line.
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);

/// Goes back to the beginning of the line and empties it.
const CLEAR: &str = "\r\x1b[K";

/// The state of the line.
#[derive(Debug, Default)]
pub struct ProgressLine {
    began: Option<Instant>,
    shown: Option<Instant>,
}

impl ProgressLine {
    /// Returns the text to write when a step is made; mostly empty.
    pub fn step(&mut self, step: &Step<'_>, now: Instant) -> String {
        match step {
            Step::Ended => {
                self.began = None;
                self.clear().to_owned()
            }
            Step::Said(text) => self.shown(now, || (*text).to_owned()),
            Step::Files { what, done } => self.shown(now, || format!("{what}: {done} files")),
            Step::Part { what, done, total, unit } => self.shown(now, || {
                let part = match unit {
                    Unit::Commits => format!("{done} of {total} commits"),
                    Unit::Bytes => format!("{} of {}", text::size(*done), text::size(*total)),
                };
                format!("{what}: {part}")
            }),
        }
    }

    fn shown(&mut self, now: Instant, text: impl FnOnce() -> String) -> String {
        let began = *self.began.get_or_insert(now);
        let since = |then: Instant| now.saturating_duration_since(then);
        let is_due = self.shown.is_none_or(|shown| since(shown) >= REDRAW_INTERVAL);
        if since(began) < SHOW_AFTER || !is_due {
            return String::new();
        }
        self.shown = Some(now);
        let mut line = CLEAR.to_owned();
        // Writing to a string cannot fail.
        write!(line, "{}", escape::line(&text())).ok();
        line
    }

    /// Returns the text that erases the line if it is shown.
    pub fn clear(&mut self) -> &'static str {
        self.shown.take().map_or("", |_| CLEAR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_comes_late_seldom_and_goes_at_the_end() {
        let mut line = ProgressLine::default();
        let start = Instant::now();
        let mut at = |millis: u64, done: Option<usize>| {
            let what = "map\x1b x";
            let step = done.map_or(Step::Ended, |done| Step::Files { what, done });
            line.step(&step, start + Duration::from_millis(millis))
        };
        assert_eq!(at(0, Some(1)), "");
        assert_eq!(at(499, Some(2)), "");
        let shown = at(500, Some(3));
        assert_eq!(shown, format!("{CLEAR}{}", escape::line("map\x1b x: 3 files")));
        assert!(!shown.trim_start_matches(CLEAR).contains('\x1b'));
        assert_eq!(at(599, Some(4)), "");
        assert!(at(600, Some(5)).ends_with(": 5 files"));
        assert_eq!(at(601, None), CLEAR);
        assert_eq!(at(602, None), "");
        assert_eq!(at(5000, Some(1)), "", "other work starts again");
    }

    #[test]
    fn control_bytes_in_the_words_of_a_program_are_not_shown() {
        let mut line = ProgressLine::default();
        let start = Instant::now();
        line.step(&Step::Said("10%"), start);
        let shown = line.step(&Step::Said("20%\x1b[2J"), start + SHOW_AFTER);
        assert_eq!(shown, format!("{CLEAR}20%\\x1b[2J"));
        assert_eq!(line.clear(), CLEAR);
    }

    #[test]
    fn a_part_of_a_whole_is_told_in_its_unit() {
        let start = Instant::now();
        let shown = |unit| {
            let mut line = ProgressLine::default();
            let step = Step::Part { what: "w", done: 2048, total: 4096, unit };
            line.step(&step, start);
            line.step(&step, start + SHOW_AFTER)
        };
        assert_eq!(shown(Unit::Commits), format!("{CLEAR}w: 2048 of 4096 commits"));
        let wanted = format!("{CLEAR}w: {} of {}", text::size(2048), text::size(4096));
        assert_eq!(shown(Unit::Bytes), wanted);
    }
}
