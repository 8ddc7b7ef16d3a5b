//! The context of a question, of files, or of everything: which passages are wanted, and its text.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::map::pages::page_graph;
use crate::model::{Code, Error, RepoPath, Result};
use crate::page::pages::PageId;
use crate::search::index::licence;
use crate::search::index::postings::IndexedPassage;
use crate::search::index::query::{Query, Syntax};
use crate::search::index::ranked::Ranked;
use crate::text::headed::headed;
use crate::text::readers::Format;
use crate::text::tokenizer::Tokenizer;

use super::candidates::{Candidate, Searched};
use super::context::{ContextPart, NextFile, PartOrigin};
use super::named::Definition;
use super::parts::{Question, written};
use super::passage_choice::{HEADING_TOKENS, Offer, PackedFiles, Packer, Place, Wanted};
use super::question_ranks::Added;

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
    /// The identifier that the question consists of, if no file has it.
    pub(super) absent: Option<String>,
}

/// The files that are searched, and what of them is not printed.
struct SearchedPassages<'a, 's> {
    searched: &'a Searched<'s>,
    resident: BTreeSet<PageId>,
    /// Of the passages of this definition, only it.
    only: Option<Definition>,
}

impl PackedFiles for SearchedPassages<'_, '_> {
    fn offer(&mut self, wanted: &Wanted, _room: usize) -> Result<Offer> {
        self.searched.session.world.interrupt.check()?;
        let (document, passage) = wanted.place;
        let mut candidate = self.searched.candidate(&ranked_at(wanted.place))?;
        let text = self.searched.shown_text(&candidate)?;
        if wanted.from != PartOrigin::Requested && !leave_out_licence(&mut candidate, &text) {
            return Ok(Offer::Nothing);
        }
        if let Some(definition) = &self.only
            && document == definition.document
            && definition.passages.contains(&passage)
        {
            leave_out_others(&mut candidate.passage, &text, &definition.range);
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
    /// The identifier that it consists of, if no file has it.
    absent: Option<String>,
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
        let files = SearchedPassages { searched, resident, only: None };
        let packer = Packer::new(files, budget);
        Packing { searched, packer, budget, ranked: None, absent: None, is_full: false }
    }

    /// Chooses the passages that a question is about, and their surroundings. Part of the budget stays free for the names
    /// of further files.
    pub(super) fn answer(&mut self, question: &str) -> Result<()> {
        let query = Query::parse(question, Syntax::Data);
        let ranked = self.searched.rank_with_history(&query, Added::Related)?;
        self.keep_free_for_next();
        let all = || ranked.iter().map(|passage| wanted(passage, PartOrigin::Match));
        self.packer.fill(all())?;
        if let Some(definition) = self.searched.definition(question, &ranked)?
            && self.begin_with(definition, &ranked)?
        {
            self.packer.fill(all())?;
        }
        self.absent = self.searched.absent_name(question)?;
        self.ranked = Some((query, ranked));
        Ok(())
    }

    fn keep_free_for_next(&mut self) {
        if self.budget >= MIN_BUDGET_OF_NEXT {
            self.packer.keep_free(self.budget * NEXT_SHARE / 100);
        }
    }

    /// Begins the choice again with a definition that it has cut, if all of it fits; returns `true` if it did.
    fn begin_with(&mut self, definition: Definition, ranked: &[Ranked]) -> Result<bool> {
        let document = definition.document;
        let mut places = definition.passages.clone().map(|passage| (document, passage));
        if places.all(|(_, passage)| self.packer.has(document, Some(passage))) {
            return Ok(false);
        }
        let candidate =
            self.searched.candidate(&ranked_at((document, definition.passages.start)))?;
        let text = self.searched.shown_text(&candidate)?;
        let body = text.get(definition.range.clone()).unwrap_or_default();
        let room = self.packer.budget().saturating_sub(HEADING_TOKENS);
        if Tokenizer::default().count(body) > room {
            return Ok(false);
        }
        let passages = definition.passages.clone();
        let resident = std::mem::take(&mut self.packer.files.resident);
        let files = SearchedPassages { searched: self.searched, resident, only: Some(definition) };
        self.packer = Packer::new(files, self.budget);
        self.keep_free_for_next();
        let scores: BTreeMap<usize, f32> = ranked
            .iter()
            .filter(|ranked_passage| ranked_passage.document == document)
            .map(|ranked_passage| (ranked_passage.passage, ranked_passage.score))
            .collect();
        for passage in passages {
            let (score, from) = match scores.get(&passage) {
                Some(score) => (f64::from(*score), PartOrigin::Match),
                None => (0.0, PartOrigin::Surroundings),
            };
            self.packer.add(&Wanted { place: (document, passage), score, from })?;
        }
        Ok(true)
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
        for definition in &definitions {
            if self.packer.used() >= share {
                break;
            }
            self.packer.add(&wanted(definition, PartOrigin::Definition))?;
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
        related.sort_by(|neighbor, other| other.weight.total_cmp(&neighbor.weight));
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
        let asked = Question {
            query: self.ranked.as_ref().map(|(query, _)| query),
            absent: self.absent.as_deref(),
            budget: self.budget,
        };
        let (text, parts) =
            self.packer.fitted(self.budget, |packer| written(searched, &asked, packer))?;
        let mut fitted = Fitted {
            text,
            needed: self.packer.needed.filter(|_| parts.is_empty()),
            parts,
            next: Vec::new(),
            left_out: self.packer.left_out,
            absent: self.absent.take(),
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
        for passage in ranked {
            if !named.insert(passage.document) {
                continue;
            }
            self.searched.session.world.interrupt.check()?;
            let file = self.searched.next_file(query, passage)?;
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

fn ranked_at((document, passage): Place) -> Ranked {
    Ranked { document, passage, score: 0.0 }
}

fn wanted(ranked: &Ranked, from: PartOrigin) -> Wanted {
    let place = (ranked.document, ranked.passage);
    Wanted { place, score: f64::from(ranked.score), from }
}

/// Leaves out what of a passage is not within a range of the text.
fn leave_out_others(passage: &mut IndexedPassage, text: &str, range: &Range<usize>) {
    let small = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let start = passage.range().start.max(range.start);
    let before = text.get(passage.range().start..start).unwrap_or_default();
    passage.first_line += small(before.matches('\n').count());
    passage.start = small(start);
    passage.end = passage.end.min(small(range.end));
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
