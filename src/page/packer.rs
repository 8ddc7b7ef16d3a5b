//! Packs the records of a directory into pages.
//!
//! A page has a maximum number of records and of tokens. A record that nearly fills a page gets its
//! own. The others stay in the order of their paths and are cut in two ways. A page always begins
//! where the hash of a name is the lowest within a certain distance: such a place depends only on
//! its neighborhood, so a change on one side does not affect the other. Between two such places a
//! page ends at the lowest hash among the places where it is full enough.

use std::ops::Range;

/// Changes whenever the same records might be packed differently; part of the recipe of a scope.
pub const VERSION: u32 = 2;

/// A record this full, in hundredths of a page, has a page of its own. Nearly all parts of long files
/// are: an edit of one changes no page with other files.
const ALONE_FROM: usize = 60;

/// A page may end when it is at least this full, in hundredths.
const FULL_FROM: usize = 65;

/// The distance to both sides within which a hash must be the lowest for a page to begin there
/// unconditionally, in hundredths of a page. A larger one makes fuller pages, a smaller one keeps
/// changes more local.
const RADIUS: usize = 55;

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
    let shared_items: Vec<Item<'_>> = shared
        .iter()
        .filter_map(|&index| items.get(index).copied())
        .collect();
    for stretch in stretches(&shared_items, limits) {
        let mut from = stretch.start;
        while from < stretch.end {
            let page = next_page(&shared_items, from..stretch.end, limits);
            pages.push(shared.get(page.clone()).unwrap_or_default().to_vec());
            from = page.end;
        }
    }
    pages.sort_unstable();
    pages
}

/// Returns the stretches that are packed separately.
fn stretches(items: &[Item<'_>], limits: Limits) -> Vec<Range<usize>> {
    let radius = limits.tokens * RADIUS / 100;
    // Even a tiny record takes up a share of a page.
    let least = limits.tokens / limits.records.max(1);
    let mut end = 0;
    let places: Vec<(usize, [u8; 8])> = items
        .iter()
        .map(|item| {
            let start = end;
            end += item.tokens.max(least);
            (start, hash(item.name))
        })
        .collect();
    let begins = |&at: &usize| {
        let Some((&(place, own), after)) = places.get(at..).and_then(<[_]>::split_first) else {
            return false;
        };
        let before = places.get(..at).unwrap_or_default();
        let near = |&&(other, _): &&(usize, [u8; 8])| other.abs_diff(place) < radius;
        let mut before = before.iter().rev().take_while(near);
        let mut after = after.iter().take_while(near);
        before.all(|&(_, hash)| hash >= own) && after.all(|&(_, hash)| hash > own)
    };
    let mut starts: Vec<usize> = std::iter::once(0)
        .chain((1..items.len()).filter(begins))
        .collect();
    starts.push(items.len());
    starts
        .windows(2)
        .filter_map(|pair| Some(*pair.first()?..*pair.last()?))
        .collect()
}

/// Returns the first page of a stretch.
fn next_page(items: &[Item<'_>], stretch: Range<usize>, limits: Limits) -> Range<usize> {
    let Range { start, end } = stretch;
    let (mut tokens, mut to, mut earliest) = (0, start, None);
    while let Some(item) = items.get(to).filter(|_| to < end) {
        let full = tokens + item.tokens > limits.tokens || to - start == limits.records;
        if full && to > start {
            break;
        }
        let enough = tokens * 100 >= limits.tokens * FULL_FROM
            || (to - start) * 100 >= limits.records * FULL_FROM;
        if enough && to > start && earliest.is_none() {
            earliest = Some(to);
        }
        tokens += item.tokens;
        to += 1;
    }
    if to == end {
        return start..end;
    }
    let cut = (earliest.unwrap_or(to)..=to)
        .rev()
        .min_by_key(|&at| items.get(at).map(|item| hash(item.name)));
    start..cut.unwrap_or(to)
}

fn hash(name: &[u8]) -> [u8; 8] {
    let mut hash = [0; 8];
    blake3::Hasher::new()
        .update(name)
        .finalize_xof()
        .fill(&mut hash);
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pages(records: &[(String, usize)], limits: Limits) -> Vec<Vec<usize>> {
        let items: Vec<Item<'_>> = records
            .iter()
            .map(|(name, tokens)| Item {
                name: name.as_bytes(),
                tokens: *tokens,
            })
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
        let limits = Limits {
            records: 20,
            tokens: 4096,
        };
        let named: Vec<(String, usize)> = (0..400)
            .map(|n| (format!("file{n:04}"), 150 + n * 7919 % 500))
            .collect();
        let ids = |records: &[(String, usize)]| -> Vec<Vec<String>> {
            let name = |at: usize| records[at].0.clone();
            let pages = pages(records, limits);
            pages
                .into_iter()
                .map(|page| page.into_iter().map(name).collect())
                .collect()
        };
        let before = ids(&named);
        let mut worst = 0;
        for at in (0..400).step_by(7) {
            let mut more = named.clone();
            more.insert(at, (format!("file{at:04}+"), 300));
            let after = ids(&more);
            worst = worst.max(after.iter().filter(|page| !before.contains(page)).count());
        }
        assert!(worst <= 4, "{worst}");
    }
}
