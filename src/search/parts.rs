//! The text of a context: for each run of passages a line with its source, and its lines.

use crate::model::Result;
use crate::search::index::passages::PAGE_BREAK;
use crate::search::index::query::Query;
use crate::search::index::ranked::Ranked;
use crate::text::headed::headed;
use crate::text::tokenizer::Tokenizer;

use super::candidates::{Candidate, Searched};
use super::context::{ContextPart, PartOrigin};
use super::hits::matching_line;
use super::passage_choice::{Chosen, PackedFiles, Packer, Place};
use super::{absence, section_names};

/// The share of the budget that the line about a name that does not occur may take: one in this many.
const NOTE_SHARE: usize = 8;

/// What the text says of its question.
pub(super) struct Question<'a> {
    pub(super) query: Option<&'a Query>,
    /// The identifier that it consists of, if no file has it.
    pub(super) absent: Option<&'a str>,
    pub(super) budget: usize,
}

impl Question<'_> {
    /// Returns the line that says that the name does not occur, unless it is much of the budget.
    fn note(&self) -> Option<String> {
        let note = format!("{}; the nearest matches follow\n", absence(self.absent?));
        let is_small = Tokenizer::default().count(&note) * NOTE_SHARE <= self.budget;
        is_small.then_some(note)
    }
}

/// Writes the parts, and describes them.
pub(super) fn written(
    searched: &Searched<'_>,
    asked: &Question<'_>,
    packer: &Packer<impl PackedFiles>,
) -> Result<(String, Vec<ContextPart>)> {
    let (mut text, mut parts) = (String::new(), Vec::new());
    // A page of a document has a part of its own.
    for (place, run) in packer.runs(|chosen| chosen.body().starts_with(PAGE_BREAK)) {
        if let Some(part) = part(searched, asked.query, place, &run)? {
            let written = headed(&source(&part), &body(&run));
            parts.push(ContextPart { tokens: Tokenizer::default().count(&written), ..part });
            text.push_str(&written);
        }
    }
    if let Some(note) = asked.note().filter(|_| !parts.is_empty()) {
        text.insert_str(0, &note);
    }
    Ok((text, parts))
}

/// Describes consecutive passages of a document.
fn part(
    searched: &Searched<'_>,
    query: Option<&Query>,
    place: Place,
    run: &[&Chosen],
) -> Result<Option<ContextPart>> {
    let (Some(first), Some(last)) = (run.first(), run.last()) else {
        return Ok(None);
    };
    let (document, passage) = place;
    let first_of_run = searched.candidate(&Ranked { document, passage, score: 0.0 })?;
    let candidate = Candidate { passage: first.passage, ..first_of_run };
    let range = first.passage.range().start..last.passage.range().end;
    let body = first.text.get(range.clone()).unwrap_or_default();
    let place = searched.place(&candidate, &first.text, range.start)?;
    let path = &candidate.document.document.path;
    let matching = query.and_then(|query| place_of_match(query, run));
    let section = matching.and_then(|at| section_names::section(path, &first.text, at));
    let last_line = body.lines().count().saturating_sub(1);
    let scores = run.iter().filter_map(|chosen| chosen.score);
    Ok(Some(ContextPart {
        path: candidate.document.document.path.clone(),
        scope_id: searched.scope_of(&candidate),
        page_id: searched.page_with(&candidate, &first.text, range.start)?,
        start_line: place.line,
        end_line: place.line.map(|line| line + last_line),
        page: place.page,
        section: section.or(place.section),
        start: range.start,
        end: range.end,
        tokens: 0,
        score: scores.max_by(f64::total_cmp),
        uncommitted: searched.above.is_uncommitted(candidate.id),
        from: run.iter().map(|chosen| chosen.from).min().unwrap_or(first.from),
        fragment_id: None,
        tier: None,
    }))
}

/// Returns the place of the line that matches best, in the best passage of some that follow each other.
fn place_of_match(query: &Query, run: &[&Chosen]) -> Option<usize> {
    let matching = run.iter().filter(|chosen| chosen.from == PartOrigin::Match);
    let score = |chosen: &Chosen| chosen.score.unwrap_or_default();
    let best = matching
        .reduce(|chosen, other| if score(other) > score(chosen) { other } else { chosen })?;
    let line = matching_line(query, best.body())?;
    let before = best.body().split_inclusive('\n').take(line).map(str::len);
    Some(best.passage.range().start + before.sum::<usize>())
}

/// Returns the source of a part, as the line above it has it.
fn source(part: &ContextPart) -> String {
    let ContextPart { path, page, .. } = part;
    let place = match (part.start_line.zip(part.end_line), page) {
        (Some((first, last)), _) => format!(":{first}-{last}"),
        (None, Some(page)) => format!(", page {page}"),
        (None, None) => String::new(),
    };
    let section = part.section.as_ref().map_or_else(String::new, |section| format!(" ({section})"));
    let state = if part.uncommitted { " (uncommitted)" } else { "" };
    format!("{path}{place}{section}{state}")
}

fn body(run: &[&Chosen]) -> String {
    run.iter().map(|chosen| chosen.body().trim_start_matches(PAGE_BREAK)).collect()
}
