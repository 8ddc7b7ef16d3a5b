//! The files of a plan, as passages are chosen from them. A file is read only where that decides.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::model::Result;
use crate::search::index::postings::IndexedPassage;
use crate::search::passage_choice::{Offer, PackedFiles, Wanted, is_too_large};
use crate::store::Session;
use crate::text::tokenizer::Tokenizer;

use super::task_file::TaskFile;
use super::task_files::{Room, TaskFiles};

/// A smaller passage of a larger file, in tokens, is left out: it says nothing without its surroundings.
const MIN_TOKENS: usize = 10;

/// The files of a plan, and what its view may still show.
pub(super) struct PlanPassages<'a> {
    session: &'a Session,
    pub(super) files: &'a TaskFiles,
    limits: BTreeMap<String, Room>,
    /// Whether a file has changed since the command looked at it.
    pub(super) has_changed: bool,
}

impl<'a> PlanPassages<'a> {
    pub(super) fn new(session: &'a Session, files: &'a TaskFiles) -> PlanPassages<'a> {
        PlanPassages { session, files, limits: files.limits.clone(), has_changed: false }
    }

    /// Returns the passage at a place, with its tokens if they are known; `None` if its file has changed.
    fn passage(
        &self,
        file: &TaskFile,
        number: usize,
    ) -> Result<Option<(IndexedPassage, Option<usize>)>> {
        if let Some((passage, tokens)) = file.whole().filter(|_| number == 0) {
            return Ok(Some((passage, Some(tokens))));
        }
        let matched = file.matches.get(&number).map(|file_match| file_match.passage);
        let passage = match matched.filter(|_| file.tier.is_none()) {
            None => file.passage(self.session, number)?,
            known => known,
        };
        Ok(passage.map(|passage| (passage, None)))
    }

    /// Offers the passage at a place of a file; `None` if the file has changed.
    fn offer_of(&self, file: &TaskFile, number: usize, room: usize) -> Result<Option<Offer>> {
        let Some((passage, known)) = self.passage(file, number)? else {
            return Ok(None);
        };
        if is_too_large(passage, room) || known.is_some_and(|tokens| tokens > room) {
            return Ok(Some(Offer::TooLarge));
        }
        let Some(text) = file.text(self.session)? else {
            return Ok(None);
        };
        let body = text.get(passage.range()).unwrap_or_default();
        let tokens = known.unwrap_or_else(|| Tokenizer::default().count(body));
        // All of a file needs no surroundings.
        let is_all = passage.range().len() as u64 >= file.bytes;
        if tokens == 0 || (tokens < MIN_TOKENS && !is_all) {
            return Ok(Some(Offer::Nothing));
        }
        Ok(Some(Offer::Passage(passage, Rc::clone(text), Some(tokens))))
    }
}

impl PackedFiles for PlanPassages<'_> {
    fn offer(&mut self, wanted: &Wanted, room: usize) -> Result<Offer> {
        self.session.world.interrupt.check()?;
        let (file, number) = wanted.place;
        let Some(file) = self.files.files.get(file) else {
            return Ok(Offer::Nothing);
        };
        let offer = self.offer_of(file, number, room)?;
        self.has_changed |= offer.is_none();
        Ok(offer.unwrap_or(Offer::Nothing))
    }

    fn passage_count(&self, file: usize) -> Result<usize> {
        let file = self.files.files.get(file);
        let count = file.map(|file| file.passage_count(self.session)).transpose()?;
        Ok(count.flatten().unwrap_or_default())
    }

    fn admits(&mut self, file: usize) -> bool {
        let file = self.files.files.get(file);
        let limit = file.and_then(|file| Some((file, self.limits.get_mut(&file.project)?)));
        limit.is_none_or(|(file, limit)| limit.take(file.bytes))
    }
}
