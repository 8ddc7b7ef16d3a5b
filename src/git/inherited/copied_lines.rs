//! Lines of a file of the checkout's git directory in the same file of a clone: between two marks, before the lines of
//! the clone, so that those win.

use std::ops::Range;

const BEGIN: &[u8] = b"# lines of the checkout, renewed by git-colony: begin\n";
const END: &[u8] = b"# lines of the checkout: end\n";

/// A file whose lines are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopiedFile {
    /// The ignore rules that are not committed.
    Exclude,
    /// The attributes that are not committed.
    Attributes,
}

impl CopiedFile {
    /// Each of them.
    pub const ALL: [CopiedFile; 2] = [CopiedFile::Exclude, CopiedFile::Attributes];

    /// Returns its path below the common git directory.
    pub fn path(self) -> &'static str {
        match self {
            CopiedFile::Exclude => "info/exclude",
            CopiedFile::Attributes => "info/attributes",
        }
    }
}

/// Returns the content of a file of a clone with these lines of the checkout.
pub fn with_copied_lines(before: &[u8], lines: &[u8]) -> Vec<u8> {
    let own = without_copied_lines(before);
    if lines.is_empty() {
        return own;
    }
    let end: &[u8] = if lines.ends_with(b"\n") { b"" } else { b"\n" };
    [BEGIN, lines, end, END, &own].concat()
}

/// Returns where the lines of the checkout end; 0 without any.
pub fn end_of_copied_lines(bytes: &[u8]) -> usize {
    place(bytes).map_or(0, |place| place.end)
}

fn without_copied_lines(bytes: &[u8]) -> Vec<u8> {
    let own = place(bytes).and_then(|place| {
        let (before, after) = (bytes.get(..place.start)?, bytes.get(place.end..)?);
        Some([before, after].concat())
    });
    own.unwrap_or_else(|| bytes.to_vec())
}

/// Returns the place of the lines of the checkout with their marks.
fn place(bytes: &[u8]) -> Option<Range<usize>> {
    let find = |text: &[u8], mark: &[u8]| text.windows(mark.len()).position(|part| part == mark);
    let begin = find(bytes, BEGIN)?;
    let end = begin + find(bytes.get(begin..)?, END)? + END.len();
    Some(begin..end)
}
