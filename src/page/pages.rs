//! Pages: groups of records, named by their content.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::source::record::Record;

use super::packer::{self, Item, Limits};

/// Changes whenever the same records would have another id. Not with the rules of packing: a page
/// that holds the same records keeps its id.
pub const ID_FORMAT: u32 = 1;

/// The name of a page: a digest of the scope and the contents of its records.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId(pub [u8; 16]);

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for PageId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PageId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (least, most) =
            range(&text).ok_or_else(|| serde::de::Error::custom("not a page id"))?;
        let whole = (least == most).then_some(PageId(least));
        whole.ok_or_else(|| serde::de::Error::custom("not a page id"))
    }
}

/// Returns the lowest and the highest id that begin with some hex digits.
pub fn range(digits: &str) -> Option<([u8; 16], [u8; 16])> {
    let missing = 32_usize.checked_sub(digits.len())?;
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let given = u128::from_str_radix(digits, 16).ok().filter(|_| is_plain)?;
    // At least one digit is given: the shift is less than all bits.
    let lowest = given << (4 * missing);
    let highest = lowest | ((1 << (4 * missing)) - 1);
    Some((lowest.to_be_bytes(), highest.to_be_bytes()))
}

/// One page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// Its name.
    pub id: PageId,
    /// Its tokens: the sum over its records.
    pub tokens: u32,
    /// Its records, in the order of the paths.
    pub records: Vec<Record>,
}

/// Packs the records of a directory, sorted by path, the parts of a file in order.
pub fn pack(scope_id: &str, records: Vec<Record>, limits: Limits) -> Vec<Page> {
    let names: Vec<Vec<u8>> = records.iter().map(cut_name).collect();
    let items: Vec<Item<'_>> = names
        .iter()
        .zip(&records)
        .map(|(name, record)| Item { name, tokens: record.tokens as usize })
        .collect();
    let groups = packer::pack(&items, limits);
    let mut records: Vec<Option<Record>> = records.into_iter().map(Some).collect();
    let mut take = |at: usize| records.get_mut(at).and_then(Option::take);
    let pages = groups.into_iter().map(|group| {
        let records: Vec<Record> = group.into_iter().filter_map(&mut take).collect();
        Page {
            id: id(scope_id, &records),
            tokens: records.iter().map(|record| record.tokens).sum(),
            records,
        }
    });
    pages.collect()
}

/// Returns the packer's name for a record. The last part of a file keeps its name when its text
/// changes, so that an edit moves no cut.
fn cut_name(record: &Record) -> Vec<u8> {
    let is_later_part = record.part.is_some() && record.start > 0;
    let mark: &[u8] = if is_later_part { b"\0" } else { b"" };
    [record.path.as_bytes(), mark].concat()
}

fn id(scope_id: &str, records: &[Record]) -> PageId {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&ID_FORMAT.to_le_bytes());
    hasher.update(&(scope_id.len() as u64).to_le_bytes());
    hasher.update(scope_id.as_bytes());
    for record in records {
        record.identify(&mut hasher);
    }
    let mut id = [0; 16];
    hasher.finalize_xof().fill(&mut id);
    PageId(id)
}
