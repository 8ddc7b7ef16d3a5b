//! Packs the records of a directory into pages.
//!
//! A page has a maximum number of records and of tokens (`colony.map.flushTokenBudget`). A record that nearly fills a
//! page gets its own. The others stay in the order of their paths and are cut as a long text is, see
//! [`places`]: where, depends on the hashes of names nearby, so a change moves only the pages near it.

use crate::source::parts::places::{self, Place, Score};

/// Changes whenever the same records might be packed differently; part of the recipe of a scope.
pub const VERSION: u32 = 3;

/// A record this full, in hundredths of a page, has a page of its own. Most parts of long files are: an edit
/// of one changes no page with other files.
const ALONE_FROM: usize = 60;

/// The limits of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Records.
    pub records: usize,
    /// Tokens, the sum over the records.
    pub tokens: usize,
}

/// A record, as the packer sees it.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// Its name: equal names give equal cuts.
    pub name: &'a [u8],
    /// Its tokens, with the frame.
    pub tokens: usize,
}

/// Packs records that are sorted by path. Each is in one page; a page is a list of indices, and
/// pages are sorted by their first record.
pub fn pack(items: &[Item<'_>], limits: Limits) -> Vec<Vec<usize>> {
    let alone = |item: &Item<'_>| item.tokens * 100 >= limits.tokens * ALONE_FROM;
    let (full, shared): (Vec<usize>, Vec<usize>) =
        (0..items.len()).partition(|&index| items.get(index).is_some_and(alone));
    let mut pages: Vec<Vec<usize>> = full.into_iter().map(|index| vec![index]).collect();
    let places = places_between(shared.iter().filter_map(|&index| items.get(index)), limits);
    let room = limits.tokens * limits.records;
    // A page on both sides is near enough: a larger radius makes pages hardly fuller.
    let mut ends = places::fixed(&places, room);
    ends.push(shared.len());
    let mut from = 0;
    for end in ends {
        for to in places::divide(&places, from..end, room) {
            pages.extend(shared.get(from..to).filter(|page| !page.is_empty()).map(<[_]>::to_vec));
            from = to;
        }
    }
    pages.sort_unstable();
    pages
}

/// Returns the places before each record, and the end, in shares of a token: one for each record that a page may
/// have. Even a tiny record takes up its share of a page, so that one with room for its tokens has room for its
/// records.
fn places_between<'a>(items: impl Iterator<Item = &'a Item<'a>>, limits: Limits) -> Vec<Place> {
    let mut at = 0_usize;
    let mut places = Vec::new();
    for item in items {
        let score = if places.is_empty() { Score::default() } else { score(item.name) };
        places.push(Place { at, score });
        at += (item.tokens * limits.records).max(limits.tokens);
    }
    let score = Score::default();
    places.push(Place { at, score });
    places
}

fn score(name: &[u8]) -> Score {
    let mut hash = [0; 8];
    blake3::Hasher::new().update(name).finalize_xof().fill(&mut hash);
    Score { class: 0, hash: u64::from_be_bytes(hash) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pages(records: &[(String, usize)], limits: Limits) -> Vec<Vec<usize>> {
        let items: Vec<Item<'_>> = records
            .iter()
            .map(|(name, tokens)| Item { name: name.as_bytes(), tokens: *tokens })
            .collect();
        pack(&items, limits)
    }

    proptest! {
        #[test]
        fn each_record_is_in_one_page_and_no_page_is_too_large(
            tokens in proptest::collection::vec(1_usize..1000, 0..200),
            records in 1_usize..30,
        ) {
            let named: Vec<(String, usize)> =
                tokens.iter().enumerate().map(|(n, &t)| (format!("f{n:04}"), t)).collect();
            let limits = Limits { records, tokens: 1000 };
            let pages = pages(&named, limits);
            let mut seen: Vec<usize> = pages.concat();
            for page in &pages {
                prop_assert!(!page.is_empty() && page.len() <= records);
                prop_assert!(page.iter().map(|&at| named[at].1).sum::<usize>() <= 1000);
            }
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..named.len()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_file_more_moves_the_pages_near_it_only() {
        let limits = Limits { records: 20, tokens: 4096 };
        let named: Vec<(String, usize)> =
            (0..400).map(|n| (format!("file{n:04}"), 150 + n * 7919 % 500)).collect();
        let ids = |records: &[(String, usize)]| -> Vec<Vec<String>> {
            let name = |at: usize| records[at].0.clone();
            let pages = pages(records, limits);
            pages.into_iter().map(|page| page.into_iter().map(name).collect()).collect()
        };
        let before = ids(&named);
        let mut worst = 0;
        for at in (0..400).step_by(7) {
            let mut more = named.clone();
            more.insert(at, (format!("file{at:04}+"), 300));
            let after = ids(&more);
            worst = worst.max(after.iter().filter(|page| !before.contains(page)).count());
        }
        assert!(worst <= 6, "{worst}");
    }
}
