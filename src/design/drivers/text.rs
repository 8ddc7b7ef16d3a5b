//! Merges lines where that is clean, and writes conflict markers around the rest.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Files with more pairs of changes are not merged by lines: that would take too long.
const MAX_PAIRS: usize = 10_000_000;

/// The labels of conflict markers, and their length.
#[derive(Clone, Debug)]
pub struct Marks {
    /// The label behind the opening marker.
    pub ours: String,
    /// The label behind the closing marker.
    pub theirs: String,
    /// The number of characters of a marker.
    pub length: usize,
}

impl Default for Marks {
    fn default() -> Self {
        Marks { ours: "ours".to_owned(), theirs: "theirs".to_owned(), length: 7 }
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// One change of a text: the lines that are deleted, the lines that are added.
struct Change<'t> {
    old: Range<usize>,
    new: Vec<&'t str>,
}

fn changes<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<Change<'t>> {
    let operations = capture_diff_slices(Algorithm::Myers, old, new);
    let changed = operations.iter().filter(|operation| !matches!(operation, DiffOp::Equal { .. }));
    changed
        .map(|operation| Change {
            old: operation.old_range(),
            new: new.get(operation.new_range()).expect("the operations cover the lines").to_vec(),
        })
        .collect()
}

/// Merges line by line; `None` if changes of both sides touch each other.
pub(super) fn merge(base: &str, ours: &str, theirs: &str) -> Option<String> {
    let (base, ours, theirs) = (lines(base), lines(ours), lines(theirs));
    let mut all = changes(&base, &ours);
    let count = all.len();
    all.extend(changes(&base, &theirs));
    let (by_ours, by_theirs) = all.split_at(count);
    if by_ours.len().saturating_mul(by_theirs.len()) > MAX_PAIRS {
        return None;
    }
    let touch = |change: &Change<'_>, other: &Change<'_>| {
        change.old.start <= other.old.end && other.old.start <= change.old.end
    };
    let alike = |change: &Change<'_>, other: &Change<'_>| {
        change.old == other.old && change.new == other.new
    };
    let mut merged: Vec<&Change<'_>> = by_ours.iter().collect();
    for change in by_theirs {
        let mut near = by_ours.iter().filter(|other| touch(change, other));
        match (near.next(), near.next()) {
            (None, _) => merged.push(change),
            (Some(other), None) if alike(change, other) => {}
            _ => return None,
        }
    }
    merged.sort_by_key(|change| change.old.start);
    let mut out = String::new();
    let mut at = 0;
    for change in merged {
        out.extend(base.get(at..change.old.start)?.iter().copied());
        out.extend(change.new.iter().copied());
        at = change.old.end;
    }
    out.extend(base.get(at..)?.iter().copied());
    Some(out)
}

/// Returns the text with conflict markers around each difference.
pub(super) fn marked(ours: &str, theirs: &str, marks: &Marks) -> String {
    let end = if ours.contains("\r\n") { "\r\n" } else { "\n" };
    let (old, new) = (lines(ours), lines(theirs));
    let mark = |sign: &str, label: &str| {
        let line = format!("{} {label}", sign.repeat(marks.length));
        format!("{}{end}", line.trim_end())
    };
    let mut out = String::new();
    let put = |out: &mut String, lines: &[&str]| {
        out.extend(lines.iter().copied());
        if !out.ends_with('\n') && !lines.is_empty() {
            out.push_str(end);
        }
    };
    for operation in capture_diff_slices(Algorithm::Myers, &old, &new) {
        let old_lines = old.get(operation.old_range()).expect("the operations cover the lines");
        let new_lines = new.get(operation.new_range()).expect("the operations cover the lines");
        if matches!(operation, DiffOp::Equal { .. }) {
            out.extend(old_lines.iter().copied());
            continue;
        }
        out.push_str(&mark("<", &marks.ours));
        put(&mut out, old_lines);
        out.push_str(&mark("=", ""));
        put(&mut out, new_lines);
        out.push_str(&mark(">", &marks.theirs));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_that_touch_are_not_merged() {
        assert_eq!(merge("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n").as_deref(), Some("A\nb\nC\n"));
        assert_eq!(merge("a\nb\n", "A\nb\n", "a\nB\n"), None);
        assert_eq!(merge("a\n", "a\nb\n", "a\nc\n"), None);
        assert_eq!(merge("a\n", "a\nb\n", "a\nb\n").as_deref(), Some("a\nb\n"));
    }

    #[test]
    fn marks_stand_on_lines_of_their_own() {
        assert_eq!(
            marked("a\nb", "a\nc", &Marks::default()),
            "a\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n"
        );
    }
}
