//! Lines of YAML: which have content, and to which entry the comments between them belong.

use std::ops::Range;

/// One line.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) start: usize,
    /// Behind the line ending.
    pub(super) end: usize,
    /// The position of the first character that is not a space.
    pub(super) content: usize,
    pub(super) column: usize,
    pub(super) kind: Kind,
    /// Where the comment above begins that belongs to this line.
    pub(super) lead: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Blank,
    Comment,
    Content,
}

pub(super) struct Lines<'t> {
    text: &'t str,
    pub(super) all: Vec<Line>,
}

impl<'t> Lines<'t> {
    pub(super) fn of(text: &'t str) -> Option<Lines<'t>> {
        let mut all = Vec::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let column = line.len() - line.trim_start_matches(' ').len();
            let rest = line.get(column..)?.trim_end();
            let kind = match rest.chars().next() {
                None => Kind::Blank,
                Some('#') => Kind::Comment,
                // A document start before everything else has no effect.
                Some('-') if rest == "---" && all.iter().all(Line::is_trivia) => Kind::Blank,
                Some(_) => Kind::Content,
            };
            if rest.starts_with('\t') || line.trim_end_matches(['\n', '\r']).contains('\r') {
                return None;
            }
            all.push(Line {
                start,
                end: start + line.len(),
                content: start + column,
                column,
                kind,
                lead: start,
            });
            start += line.len();
        }
        let mut lines = Lines { text, all };
        lines.find_leads();
        Some(lines)
    }

    /// Decides for each line of content which of the comments above belong to it.
    fn find_leads(&mut self) {
        let mut is_first = true;
        for number in 0..self.all.len() {
            let lead = self.lead_of(number, is_first);
            if let Some(line) = self.all.get_mut(number)
                && line.kind == Kind::Content
            {
                line.lead = lead;
                is_first = false;
            }
        }
    }

    fn lead_of(&self, number: usize, is_first: bool) -> usize {
        let above = self.all.get(..number).unwrap_or_default();
        let count = above.iter().rev().take_while(|line| line.is_trivia()).count();
        let trivia = above.split_at(above.len() - count).1;
        let line = self.all.get(number);
        let (start, column) = line.map_or((0, 0), |line| (line.start, line.column));
        // A comment indented further belongs to the entry above; the head of a file to the file.
        let belongs_above = |line: &Line| match line.kind {
            Kind::Comment => line.column > column,
            _ => is_first,
        };
        let own = trivia.iter().rposition(belongs_above).map_or(0, |at| at + 1);
        trivia.get(own).map_or(start, |line| line.start)
    }

    pub(super) fn get(&self, number: usize) -> Option<&Line> {
        self.all.get(number)
    }

    /// Returns the first line of content from `number` on.
    pub(super) fn next_content(&self, number: usize) -> Option<usize> {
        let rest = self.all.get(number..)?;
        let at = rest.iter().position(|line| line.kind == Kind::Content)?;
        Some(number + at)
    }

    /// Returns where the entry on a line begins; behind the last line, where the comments of the
    /// file begin.
    pub(super) fn boundary(&self, number: usize) -> usize {
        if let Some(line) = self.get(number) {
            return line.lead;
        }
        let is_inner = |line: &&Line| match line.kind {
            Kind::Content => true,
            Kind::Comment => line.column > 0,
            Kind::Blank => false,
        };
        let last = self.all.iter().rev().find(is_inner);
        last.map_or(0, |line| line.end)
    }

    pub(super) fn at(&self, range: Range<usize>) -> &'t str {
        self.text.get(range).unwrap_or_default()
    }
}

impl Line {
    fn is_trivia(&self) -> bool {
        self.kind != Kind::Content
    }
}
