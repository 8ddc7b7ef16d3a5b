//! The map from old to new commits of a rewritten history, as text and as a table.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use crate::git::{Oid, Repo};

/// The map from old to new commits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectMap {
    ids: HashMap<Oid, Oid>,
    hex_len: usize,
}

impl ObjectMap {
    /// Makes a map of these ids.
    pub fn new(ids: HashMap<Oid, Oid>, repo: &Repo) -> ObjectMap {
        let hex_len = repo.hex_len();
        ObjectMap { ids, hex_len }
    }

    /// Returns the new id of a commit; `None` if it was not rewritten.
    pub fn get(&self, id: Oid) -> Option<Oid> {
        self.ids.get(&id).copied()
    }

    /// Returns the newest id of a commit, through any number of migrations.
    pub fn newest(&self, id: Oid) -> Option<Oid> {
        let mut newest = self.get(id)?;
        // Only a forged map has a cycle.
        for _ in 0..64 {
            let Some(next) = self.get(newest) else { break };
            newest = next;
        }
        Some(newest)
    }

    /// Returns the current commit for an id that was recorded at some time: its rewritten one, where that is
    /// here.
    pub fn current(&self, repo: &Repo, id: Oid) -> Oid {
        let new = self.newest(id);
        new.filter(|new| repo.object_size(*new).is_some()).unwrap_or(id)
    }

    /// Finds the rewritten commit by the beginning of its id; `None` where several match.
    pub(in crate::store) fn beginning(&self, hex: &str) -> Option<Oid> {
        /// The length that git requires of an abbreviated id.
        const MIN_LENGTH: usize = 4;
        let is_hex = hex.len() >= MIN_LENGTH && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        let hex = hex.to_ascii_lowercase();
        let mut ids = self.ids.keys().filter(|id| id.to_string().starts_with(&hex));
        let id = ids.next().filter(|_| is_hex)?;
        ids.next().is_none().then_some(*id)
    }

    /// Adds another map.
    pub fn extend(&mut self, other: ObjectMap) {
        self.hex_len = self.hex_len.max(other.hex_len);
        self.ids.extend(other.ids);
    }

    /// Records the new id of a commit.
    pub fn insert(&mut self, old: Oid, new: Oid) {
        self.ids.insert(old, new);
    }

    /// Removes a commit, and returns its new id.
    pub fn take(&mut self, id: Oid) -> Option<Oid> {
        self.ids.remove(&id)
    }

    /// Adds a later rewrite: maps the old commits to the results of both.
    pub fn then(&mut self, later: &HashMap<Oid, Oid>) {
        let between: HashSet<Oid> = self.ids.values().copied().collect();
        for new in self.ids.values_mut() {
            *new = later.get(new).copied().unwrap_or(*new);
        }
        let untouched = later.iter().filter(|(old, _)| !between.contains(old));
        self.ids.extend(untouched.map(|(old, new)| (*old, *new)));
    }

    /// Returns `true` if another map has a different result for a commit in both.
    pub fn contradicts(&self, other: &ObjectMap) -> bool {
        let differs = |(old, new): (&Oid, &Oid)| other.get(*old).is_some_and(|other| other != *new);
        self.ids.iter().any(differs)
    }

    /// Lists the new ids.
    pub fn new_ids(&self) -> impl Iterator<Item = Oid> {
        self.ids.values().copied()
    }

    /// Returns `true` if nothing was rewritten.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Returns the number of rewritten commits.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Replaces every full id of a rewritten commit in a text.
    pub fn translate(&self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let plain = rest.iter().position(u8::is_ascii_hexdigit);
            let (before, from) = rest.split_at(plain.unwrap_or(rest.len()));
            out.extend_from_slice(before);
            let digits = from.iter().position(|byte| !byte.is_ascii_hexdigit());
            let (word, after) = from.split_at(digits.unwrap_or(from.len()));
            match self.of_word(word) {
                Some(new) => out.extend_from_slice(new.to_string().as_bytes()),
                None => out.extend_from_slice(word),
            }
            rest = after;
        }
        out
    }

    fn of_word(&self, word: &[u8]) -> Option<Oid> {
        let text = std::str::from_utf8(word).ok().filter(|text| text.len() == self.hex_len)?;
        self.get(Oid::parse(text)?)
    }

    /// Lists the full ids in a text, of objects of any kind.
    pub fn ids_in(text: &[u8], hex_len: usize) -> Vec<Oid> {
        let words =
            text.split(|byte| !byte.is_ascii_hexdigit()).filter(|word| word.len() == hex_len);
        words.filter_map(|word| Oid::parse(std::str::from_utf8(word).ok()?)).collect()
    }

    pub(in crate::store) fn write(&self) -> Vec<u8> {
        let mut pairs: Vec<_> = self.ids.iter().collect();
        pairs.sort();
        let mut text = String::with_capacity(pairs.len() * (2 * self.hex_len + 2));
        for (old, new) in pairs {
            writeln!(text, "{old} {new}").ok();
        }
        text.into_bytes()
    }

    /// Adds the entries of a map's text; malformed ones are left out.
    pub fn read_into(&mut self, text: &[u8]) {
        let lines = text.split(|&byte| byte == b'\n');
        let pair = |line: &[u8]| {
            let (old, new) = std::str::from_utf8(line).ok()?.split_once(' ')?;
            Oid::parse(old).zip(Oid::parse(new))
        };
        self.ids.extend(lines.filter_map(pair));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(digit: char) -> Oid {
        Oid::parse(&digit.to_string().repeat(40)).unwrap()
    }

    fn map() -> ObjectMap {
        ObjectMap { ids: [(oid('a'), oid('b')), (oid('b'), oid('c'))].into(), hex_len: 40 }
    }

    #[test]
    fn only_whole_ids_are_replaced() {
        let (old, new) = (oid('a').to_string(), oid('b').to_string());
        let text = format!("{old}, \"{old}\" {old}f x{old} {}\n", &old[..39]);
        let wanted = format!("{new}, \"{new}\" {old}f x{new} {}\n", &old[..39]);
        assert_eq!(map().translate(text.as_bytes()), wanted.as_bytes());
        assert_eq!(map().newest(oid('a')), Some(oid('c')));
    }

    #[test]
    fn two_rewrites_become_one_map() {
        let mut both =
            ObjectMap { ids: [(oid('1'), oid('2')), (oid('3'), oid('4'))].into(), hex_len: 40 };
        both.then(&[(oid('2'), oid('5')), (oid('6'), oid('7'))].into());
        let wanted = [(oid('1'), oid('5')), (oid('3'), oid('4')), (oid('6'), oid('7'))];
        assert_eq!(both.ids, wanted.into());
    }

    #[test]
    fn a_map_is_read_back() {
        let mut read = ObjectMap::default();
        read.read_into(&map().write());
        assert_eq!(read.ids, map().ids);
    }
}
