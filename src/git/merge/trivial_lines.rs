//! Merges of text files that have only one possible result, whichever algorithm compares the lines.

use std::collections::HashMap;

/// The result of merging a file that both sides changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::git) enum Meeting {
    /// Both changes, one after the other.
    Clean(Vec<u8>),
    /// Both sides changed the same place differently.
    Conflict,
}

/// Merges two versions of a file; `None` if git's result is not certain.
pub(in crate::git) fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Meeting> {
    let files = [lines_of(base)?, lines_of(ours)?, lines_of(theirs)?];
    let [base, ours, theirs] = &files;
    let (our_stretch, their_stretch) = (Stretch::of(base, ours), Stretch::of(base, theirs));
    let counts = Counts::of(&files);
    if our_stretch.end <= their_stretch.start
        && counts.any_single(base.get(our_stretch.end..their_stretch.start)?)
    {
        return joined(base, ours, our_stretch, theirs, their_stretch).map(Meeting::Clean);
    }
    if their_stretch.end <= our_stretch.start
        && counts.any_single(base.get(their_stretch.end..our_stretch.start)?)
    {
        return joined(base, theirs, their_stretch, ours, our_stretch).map(Meeting::Clean);
    }
    is_conflict(&files, (our_stretch, their_stretch), &counts).then_some(Meeting::Conflict)
}

type Lines<'a> = Vec<&'a [u8]>;

/// Splits a text after each newline; `None` for a binary file.
fn lines_of(bytes: &[u8]) -> Option<Lines<'_>> {
    const MAX_BYTES: usize = 4 << 20;
    let ordinary = bytes.len() <= MAX_BYTES && bytes.ends_with(b"\n") && !bytes.contains(&0);
    ordinary.then(|| bytes.split_inclusive(|&byte| byte == b'\n').collect())
}

/// The lines of the base that one side replaced, and the number of lines after them.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: usize,
    end: usize,
    after: usize,
}

impl Stretch {
    /// Finds the lines between the common beginning and the common end.
    fn of(base: &Lines<'_>, side: &Lines<'_>) -> Stretch {
        let same = |(line, other): &(&&[u8], &&[u8])| line == other;
        let start = base.iter().zip(side).take_while(same).count();
        let most = base.len().min(side.len()) - start;
        let ends = base.iter().rev().zip(side.iter().rev());
        let after = ends.take(most).take_while(same).count();
        Stretch { start, end: base.len() - after, after }
    }
}

/// The number of occurrences of each line in each of three files.
struct Counts<'a>(HashMap<&'a [u8], [u32; 3]>);

impl<'a> Counts<'a> {
    fn of(files: &[Lines<'a>; 3]) -> Counts<'a> {
        let mut counts: HashMap<_, [u32; 3]> = HashMap::new();
        for (at, lines) in files.iter().enumerate() {
            for line in lines {
                if let Some(count) = counts.entry(*line).or_default().get_mut(at) {
                    *count += 1;
                }
            }
        }
        Counts(counts)
    }

    /// Returns `true` if a line occurs once in each file.
    fn is_single(&self, line: &[u8]) -> bool {
        self.0.get(line) == Some(&[1, 1, 1])
    }

    fn any_single(&self, lines: &[&[u8]]) -> bool {
        lines.iter().any(|line| self.is_single(line))
    }
}

/// Joins the first change, the lines between the changes, and the second change.
fn joined(
    base: &Lines<'_>,
    first: &Lines<'_>,
    first_stretch: Stretch,
    second: &Lines<'_>,
    second_stretch: Stretch,
) -> Option<Vec<u8>> {
    let parts = [
        first.get(..first.len() - first_stretch.after)?,
        base.get(first_stretch.end..second_stretch.start)?,
        second.get(second_stretch.start..)?,
    ];
    Some(parts.concat().concat())
}

/// Returns `true` if both sides changed exactly the same place, lines that occur once or an end of
/// the file enclose it, and none of its lines could be matched with each other.
fn is_conflict(
    files: &[Lines<'_>; 3],
    (our_stretch, their_stretch): (Stretch, Stretch),
    counts: &Counts<'_>,
) -> bool {
    let [base, ours, theirs] = files;
    let (start, end) =
        (our_stretch.start.min(their_stretch.start), our_stretch.end.max(their_stretch.end));
    let after = base.len() - end;
    let before = start.checked_sub(1).and_then(|at| base.get(at));
    let borders = before.into_iter().chain(base.get(end));
    if !borders.into_iter().all(|line| counts.is_single(line)) {
        return false;
    }
    let replaced = base.get(start..end).expect("changes are ranges of the base");
    let of = |side: &Lines<'_>| side.get(start..side.len() - after).map(<[_]>::concat);
    let (Some(our_part), Some(their_part)) = (of(ours), of(theirs)) else {
        return false;
    };
    // Where the base has no lines, both sides have added some.
    let both_act = !replaced.is_empty() || !(our_part.is_empty() || their_part.is_empty());
    let gone = |line: &&[u8]| {
        let rest = [ours, theirs].map(|side| side.get(start..side.len() - after));
        rest.iter().flatten().all(|part| !part.contains(line))
    };
    both_act && our_part != their_part && replaced.iter().all(gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: &str) -> Vec<u8> {
        lines.bytes().flat_map(|line| [line, b'\n']).collect()
    }

    fn merged(base: &str, ours: &str, theirs: &str) -> Option<Meeting> {
        merge(&text(base), &text(ours), &text(theirs))
    }

    #[test]
    fn changes_with_a_single_line_between_them_are_both_there() {
        let clean = |lines| Some(Meeting::Clean(text(lines)));
        assert_eq!(merged("abc", "xbc", "aby"), clean("xby"));
        assert_eq!(merged("abc", "abcz", "yabc"), clean("yabcz"));
        assert_eq!(merged("abcd", "acd", "abcxd"), clean("acxd"));
    }

    #[test]
    fn lines_that_occur_twice_hold_nothing_together() {
        assert_eq!(merged("abbc", "xbbc", "abby"), None);
        assert_eq!(merged("abc", "xbc", "abby"), None);
        assert_eq!(merged("ab", "xb", "ay"), None);
    }

    #[test]
    fn two_contents_of_one_place_are_a_conflict() {
        assert_eq!(merged("abc", "axc", "ayc"), Some(Meeting::Conflict));
        assert_eq!(merged("ab", "abx", "aby"), Some(Meeting::Conflict));
        assert_eq!(merged("abc", "ac", "ayc"), Some(Meeting::Conflict));
        // One side keeps a line of what the other replaces: git may treat the changes as separate.
        assert_eq!(merged("abcd", "axcd", "axyd"), None);
    }

    #[test]
    fn what_is_no_ordinary_text_is_for_git() {
        assert_eq!(merge(b"a\nb\nc\n", b"x\nb\nc\n", b"a\nb\ny"), None);
        assert_eq!(merge(b"a\nb\nc\n", b"\0\nb\nc\n", b"a\nb\ny\n"), None);
        assert_eq!(merge(b"", b"a\n", b"b\n"), None);
    }
}
