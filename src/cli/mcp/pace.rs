//! Progress as a client wants it: ever more, and not too often.
//!
//! A call has several works, each of which counts from the start, on several threads. What a client hears only
//! rises, as the protocol has it: a work that follows another counts from where that one ended.

use std::time::{Duration, Instant};

/// How long a client hears nothing after a step, but for the beginning of another work.
const INTERVAL: Duration = Duration::from_millis(100);

/// A report of progress: of which work, how much is done, of how much.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ProgressReport {
    pub(super) done: f64,
    pub(super) total: Option<f64>,
    pub(super) what: String,
}

/// What a client has heard of a call.
#[derive(Default)]
pub(super) struct Pace {
    /// What the works before have done.
    before: f64,
    last: Option<(ProgressReport, Instant)>,
}

impl Pace {
    /// Returns what a client hears of a step; `None` if it is not more than before, or too early.
    pub(super) fn next(&mut self, step: &ProgressReport, now: Instant) -> Option<ProgressReport> {
        if let Some((last, heard)) = &self.last {
            let is_early = now.saturating_duration_since(*heard) < INTERVAL;
            if last.what != step.what {
                self.before = last.done;
            } else if is_early || self.before + step.done <= last.done {
                return None;
            }
        }
        let report = ProgressReport {
            done: self.before + step.done,
            total: step.total.map(|total| self.before + total),
            what: step.what.clone(),
        };
        let is_more = self.last.as_ref().is_none_or(|(last, _)| report.done > last.done);
        is_more.then(|| {
            self.last = Some((report.clone(), now));
            report
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(what: &str, done: f64) -> ProgressReport {
        ProgressReport { done, total: Some(10.0), what: what.to_owned() }
    }

    #[test]
    fn progress_only_rises_and_not_too_often() {
        let mut pace = Pace::default();
        let start = Instant::now();
        let mut heard = Vec::new();
        let steps = [
            ("a", 1.0, 0),
            ("a", 2.0, 50),
            ("a", 4.0, 150),
            ("a", 3.0, 300),
            ("b", 1.0, 310),
            ("b", 9.0, 500),
        ];
        for (what, done, milliseconds) in steps {
            let now = start + Duration::from_millis(milliseconds);
            heard.extend(pace.next(&step(what, done), now));
        }
        let heard: Vec<_> =
            heard.iter().map(|report| (report.what.as_str(), report.done, report.total)).collect();
        let expected = [
            ("a", 1.0, Some(10.0)),
            ("a", 4.0, Some(10.0)),
            ("b", 5.0, Some(14.0)),
            ("b", 13.0, Some(14.0)),
        ];
        assert_eq!(heard, expected);
    }
}
