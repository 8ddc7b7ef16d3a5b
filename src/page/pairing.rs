//! Pairs the pages of two states of a scope, so that an edit is a page that changed, not one that
//! was deleted and one that was added.
//!
//! Two pages are a pair if they hold the same part; or else parts of a file between the same two
//! unchanged parts, in order; or else parts of the same file, in order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::model::RepoPath;
use crate::source::record::Record;

use super::pages::{Page, PageId};

/// The pages of two states that differ.
#[derive(Debug, Default)]
pub struct Differences<'a> {
    /// The pairs, in the order of the second state.
    pub changed: Vec<Pair<'a>>,
    /// Other pages of the second state.
    pub added: Vec<&'a Page>,
    /// Other pages of the first state.
    pub removed: Vec<&'a Page>,
}

/// A page of the first state and its successor in the second.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// The page of the first state.
    pub before: &'a Page,
    /// The page of the second state.
    pub after: &'a Page,
}

/// A part of a file, by its content.
type PartName<'a> = (&'a RepoPath, &'a str);

/// Compares two states of a scope.
pub fn compare<'a>(before: &'a [Page], after: &'a [Page]) -> Differences<'a> {
    let mut differences = Differences {
        changed: Vec::new(),
        added: missing_in(after, before),
        removed: missing_in(before, after),
    };
    let kept: BTreeSet<PartName<'_>> = &names(before) & &names(after);
    let (old, new) = (Gaps::of(before, &kept), Gaps::of(after, &kept));
    differences.pair(|record| name(record), |record| name(record));
    differences.pair(
        |record| Some((&record.path, old.before(record))),
        |record| Some((&record.path, new.before(record))),
    );
    differences.pair(|record| Some(&record.path), |record| Some(&record.path));
    let places = after.iter().enumerate();
    let order: BTreeMap<PageId, usize> = places.map(|(place, page)| (page.id, place)).collect();
    let place = |pair: &Pair<'_>| order.get(&pair.after.id).copied();
    differences.changed.sort_by_key(place);
    differences
}

impl<'a> Differences<'a> {
    /// Pairs each added page with the first removed one that has a record with an equal key.
    fn pair<K: Ord>(
        &mut self,
        old_key: impl Fn(&'a Record) -> Option<K>,
        new_key: impl Fn(&'a Record) -> Option<K>,
    ) {
        let mut by_key: BTreeMap<K, VecDeque<usize>> = BTreeMap::new();
        for (index, page) in self.removed.iter().enumerate() {
            for key in page.records.iter().filter_map(&old_key) {
                by_key.entry(key).or_default().push_back(index);
            }
        }
        let mut removed: Vec<Option<&Page>> = self.removed.drain(..).map(Some).collect();
        let mut partner = |page: &'a Page| {
            let mut keys = page.records.iter().filter_map(&new_key);
            keys.find_map(|key| {
                let candidates = by_key.get_mut(&key)?;
                std::iter::from_fn(|| candidates.pop_front())
                    .find_map(|index| removed.get_mut(index)?.take())
            })
        };
        let mut left = Vec::new();
        for after in self.added.drain(..) {
            match partner(after) {
                Some(before) => self.changed.push(Pair { before, after }),
                None => left.push(after),
            }
        }
        self.added = left;
        self.removed = removed.into_iter().flatten().collect();
    }
}

fn missing_in<'a>(pages: &'a [Page], others: &[Page]) -> Vec<&'a Page> {
    let known: BTreeSet<PageId> = others.iter().map(|page| page.id).collect();
    let is_new = |page: &&Page| !known.contains(&page.id);
    pages.iter().filter(is_new).collect()
}

fn name(record: &Record) -> Option<PartName<'_>> {
    Some((&record.path, record.part.as_deref()?))
}

fn names(pages: &[Page]) -> BTreeSet<PartName<'_>> {
    pages.iter().flat_map(|page| &page.records).filter_map(name).collect()
}

/// The starts of the unchanged parts of each file, in order.
struct Gaps<'a>(BTreeMap<&'a RepoPath, Vec<u64>>);

impl<'a> Gaps<'a> {
    fn of(pages: &'a [Page], kept: &BTreeSet<PartName<'_>>) -> Gaps<'a> {
        let mut starts: BTreeMap<&RepoPath, Vec<u64>> = BTreeMap::new();
        for record in pages.iter().flat_map(|page| &page.records) {
            if name(record).is_some_and(|name| kept.contains(&name)) {
                starts.entry(&record.path).or_default().push(record.start);
            }
        }
        for starts in starts.values_mut() {
            starts.sort_unstable();
        }
        Gaps(starts)
    }

    /// Counts the unchanged parts before a record of the same file.
    fn before(&self, record: &Record) -> usize {
        let starts = self.0.get(&record.path);
        starts.map_or(0, |starts| starts.partition_point(|&start| start < record.start))
    }
}
