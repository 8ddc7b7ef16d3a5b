//! The context of a question, of files, or of everything: which passages are wanted, and its text.

use std::collections::BTreeSet;

use super::candidates::{Candidate, Searched};
use super::context::{ContextPart, NextFile, PartOrigin};
use super::packer::{Chosen, HEADING_TOKENS, Offer, PackedFiles, Packer, Place, Wanted};
use super::question_ranks::Added;
use crate::flow::pages::page_graph;
use crate::model::{Code, Error, RepoPath, Result};
use crate::page::pages::PageId;
use crate::search::licence;
use crate::search::passages::PAGE_BREAK;
use crate::search::query::{Query, Syntax};
use crate::search::ranked::Ranked;
use crate::text::headed::headed;
use crate::text::readers::Format;
use crate::text::tokenizer::Tokenizer;

/// The share of the budget, in hundredths, that names the next files.
const NEXT_SHARE: usize = 5;

/// A smaller budget is for passages alone; what they leave of it names files.
const MIN_BUDGET_OF_NEXT: usize = 1_000;

/// The share of what files leave of the budget, in hundredths, for the definitions of what they use.
const DEFINITIONS_SHARE: usize = 60;

/// The line above the next files.
const NEXT_HEADING: &str = "further files that match, the best first";

/// The text of a context.
pub(super) struct Fitted {
    pub(super) text: String,
    pub(super) parts: Vec<ContextPart>,
    pub(super) next: Vec<NextFile>,
    /// The number of passages that did not fit.
    pub(super) left_out: usize,
    /// The smallest budget, about, for one of them, if none fits.
    pub(super) needed: Option<usize>,
}

/// The files that are searched, and what of them is not printed.
struct SearchedPassages<'a, 's> {
    searched: &'a Searched<'s>,
    resident: BTreeSet<PageId>,
}

impl PackedFiles for SearchedPassages<'_, '_> {
    fn offer(&mut self, wanted: &Wanted, _room: usize) -> Result<Offer> {
        self.searched.session.world.interrupt.check()?;
        let (document, passage) = wanted.place;
        let ranked = Ranked { document, passage, score: 0.0 };
        let mut candidate = self.searched.candidate(&ranked)?;
        let text = self.searched.text(&candidate)?;
        if wanted.from != PartOrigin::Requested && !leave_out_licence(&mut candidate, &text) {
            return Ok(Offer::Nothing);
        }
        let start = candidate.passage.range().start;
        if !self.resident.is_empty() {
            let page = self.searched.page_with(&candidate, &text, start)?;
            if page.is_some_and(|page| self.resident.contains(&page)) {
                return Ok(Offer::Nothing);
            }
        }
        Ok(Offer::Passage(candidate.passage, text, None))
    }

    fn passage_count(&self, file: usize) -> Result<usize> {
        Ok(self.searched.passage_count(file))
    }
}

/// The choice of passages.
pub(super) struct Packing<'a, 's> {
    searched: &'a Searched<'s>,
    packer: Packer<SearchedPassages<'a, 's>>,
    budget: usize,
    /// The question, and all passages that match it, the best first.
    ranked: Option<(Query, Vec<Ranked>)>,
    /// Whether a passage of whole files did not fit.
    is_full: bool,
}

impl<'a, 's> Packing<'a, 's> {
    /// Begins a choice; pages that the agent has already are left out.
    pub(super) fn new(
        searched: &'a Searched<'s>,
        budget: usize,
        resident: BTreeSet<PageId>,
    ) -> Packing<'a, 's> {
        let files = SearchedPassages { searched, resident };
        let packer = Packer::new(files, budget);
        Packing { searched, packer, budget, ranked: None, is_full: false }
    }

    /// Chooses the passages that a question is about, and their surroundings. Part of the budget stays free for the names
    /// of further files.
    pub(super) fn answer(&mut self, question: &str) -> Result<()> {
        let query = Query::parse(question, Syntax::Data);
        let ranked = self.searched.rank_with_history(&query, Added::Related)?;
        if self.budget >= MIN_BUDGET_OF_NEXT {
            self.packer.keep_free(self.budget * NEXT_SHARE / 100);
        }
        let from = PartOrigin::Match;
        self.packer.fill(ranked.iter().map(|it| wanted(it, from)))?;
        self.ranked = Some((query, ranked));
        Ok(())
    }

    /// Chooses all passages.
    pub(super) fn pack_all(&mut self) -> Result<()> {
        for document in self.searched.all_documents() {
            self.add_document(document, PartOrigin::Requested)?;
        }
        Ok(())
    }

    /// Chooses the passages of files, then the definitions of what they use, then related files.
    pub(super) fn pack_paths(&mut self, paths: &[RepoPath]) -> Result<()> {
        let (mut pages, mut requested) = (BTreeSet::new(), BTreeSet::new());
        for path in paths {
            let documents = self.searched.documents_below(path)?;
            if documents.is_empty() {
                let message = format!("no mapped file is at or below '{path}'");
                return Err(Error::new(Code::PathNotFound, message).hint("git colony map tree"));
            }
            for document in documents {
                self.add_document(document, PartOrigin::Requested)?;
                pages.extend(self.searched.pages_of(document)?);
                requested.insert(document);
            }
        }
        // Where a file is cut that was asked for, nothing takes the place of its rest.
        if self.is_full {
            return Ok(());
        }
        let definitions = self.searched.definitions(&requested)?;
        let used = self.packer.used();
        let share = used + self.budget.saturating_sub(used) * DEFINITIONS_SHARE / 100;
        for it in &definitions {
            if self.packer.used() >= share {
                break;
            }
            self.packer.add(&wanted(it, PartOrigin::Definition))?;
        }
        for path in self.related(&pages)? {
            for document in self.searched.documents_below(&path)? {
                self.add_document(document, PartOrigin::Related)?;
            }
        }
        Ok(())
    }

    /// Returns the files of the pages that some pages are related to, the strongest relations first.
    fn related(&self, pages: &BTreeSet<(usize, PageId)>) -> Result<Vec<RepoPath>> {
        let opened = &self.searched.opened;
        let session = self.searched.session;
        let mut related = Vec::new();
        for (index, scope) in opened.scopes.iter().enumerate() {
            let of_scope = pages.iter().filter(|(scope, _)| *scope == index);
            let own: Vec<PageId> = of_scope.map(|(_, page)| *page).collect();
            if !own.is_empty() {
                let neighbors = page_graph::neighbors(session, &opened.table, scope, &own)?;
                related.extend(neighbors.into_iter().flatten());
            }
        }
        related.sort_by(|one, other| other.weight.total_cmp(&one.weight));
        Ok(related.into_iter().flat_map(|page| page.files).collect())
    }

    /// Adds a document; from the first passage that does not fit on, the rest is left out.
    fn add_document(&mut self, document: usize, from: PartOrigin) -> Result<()> {
        for passage in 0..self.searched.passage_count(document) {
            let before = self.packer.left_out;
            if !self.is_full {
                self.packer.add(&Wanted { place: (document, passage), score: 0.0, from })?;
                self.is_full = self.packer.left_out > before;
            } else if !self.packer.has(document, Some(passage)) {
                self.packer.left_out += 1;
            }
        }
        Ok(())
    }

    /// Writes the text, with the names of further files in what the passages leave of the budget.
    pub(super) fn fitted(mut self) -> Result<Fitted> {
        let searched = self.searched;
        let (text, parts) = self.packer.fitted(self.budget, |packer| written(searched, packer))?;
        let mut fitted = Fitted {
            text,
            needed: self.packer.needed.filter(|_| parts.is_empty()),
            parts,
            next: Vec::new(),
            left_out: self.packer.left_out,
        };
        if let Some((query, ranked)) = self.ranked.take() {
            self.name_next(&query, &ranked, &mut fitted)?;
        }
        Ok(fitted)
    }

    /// Names the next files by their best passages, as many as fit.
    fn name_next(&self, query: &Query, ranked: &[Ranked], fitted: &mut Fitted) -> Result<()> {
        let count = |text: &str| Tokenizer::default().count(text);
        let mut left = self.budget.saturating_sub(count(&fitted.text) + HEADING_TOKENS);
        let mut named = self.packer.files_of_chosen();
        for it in ranked {
            if !named.insert(it.document) {
                continue;
            }
            self.searched.session.world.interrupt.check()?;
            let file = self.searched.next_file(query, it)?;
            let Some(rest) = left.checked_sub(count(&file.written())) else {
                break;
            };
            left = rest;
            fitted.next.push(file);
        }
        while !fitted.next.is_empty() {
            let lines: String = fitted.next.iter().map(NextFile::written).collect();
            let whole = format!("{}{}", fitted.text, headed(NEXT_HEADING, &lines));
            if count(&whole) <= self.budget {
                fitted.text = whole;
                break;
            }
            fitted.next.pop();
        }
        Ok(())
    }
}

fn wanted(ranked: &Ranked, from: PartOrigin) -> Wanted {
    let place = (ranked.document, ranked.passage);
    Wanted { place, score: f64::from(ranked.score), from }
}

fn written(
    searched: &Searched<'_>,
    packer: &Packer<SearchedPassages<'_, '_>>,
) -> Result<(String, Vec<ContextPart>)> {
    let (mut text, mut parts) = (String::new(), Vec::new());
    // A page of a document has a part of its own.
    for (place, run) in packer.runs(|it| it.body().starts_with(PAGE_BREAK)) {
        if let Some(part) = part(searched, place, &run)? {
            let written = headed(&source(&part), &body(&run));
            parts.push(ContextPart { tokens: Tokenizer::default().count(&written), ..part });
            text.push_str(&written);
        }
    }
    Ok((text, parts))
}

/// Describes consecutive passages of a document.
fn part(searched: &Searched<'_>, place: Place, run: &[&Chosen]) -> Result<Option<ContextPart>> {
    let (Some(first), Some(last)) = (run.first(), run.last()) else {
        return Ok(None);
    };
    let (document, passage) = place;
    let found = searched.candidate(&Ranked { document, passage, score: 0.0 })?;
    let candidate = Candidate { passage: first.passage, ..found };
    let range = first.passage.range().start..last.passage.range().end;
    let body = first.text.get(range.clone()).unwrap_or_default();
    let place = searched.place(&candidate, &first.text, range.start)?;
    let last_line = body.lines().count().saturating_sub(1);
    let scores = run.iter().filter_map(|it| it.score);
    Ok(Some(ContextPart {
        path: candidate.document.document.path.clone(),
        scope_id: searched.scope_of(&candidate),
        page_id: searched.page_with(&candidate, &first.text, range.start)?,
        start_line: place.line,
        end_line: place.line.map(|line| line + last_line),
        page: place.page,
        section: place.section,
        start: range.start,
        end: range.end,
        tokens: 0,
        score: scores.max_by(f64::total_cmp),
        uncommitted: searched.above.is_uncommitted(candidate.id),
        from: run.iter().map(|it| it.from).min().unwrap_or(first.from),
        fragment_id: None,
        tier: None,
    }))
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

/// Leaves the licence at the beginning of a text out of a passage. Returns `false` if nothing is left of it.
fn leave_out_licence(candidate: &mut Candidate, text: &str) -> bool {
    let is_code = Format::of_knowledge(&candidate.document.document.path) == Some(Format::Code);
    let passage = &mut candidate.passage;
    if passage.start > 0 || !is_code {
        return true;
    }
    let end = licence::length(text);
    let lines = text.get(..end).unwrap_or_default().matches('\n').count();
    passage.start = u32::try_from(end).unwrap_or(u32::MAX);
    passage.first_line += u32::try_from(lines).unwrap_or(u32::MAX);
    passage.start < passage.end || end == 0
}

fn body(run: &[&Chosen]) -> String {
    run.iter().map(|it| it.body().trim_start_matches(PAGE_BREAK)).collect()
}
