//! The files of a resource as they were read last: the id of the content that a file with this size, time and inode has.
//! So a file that has not changed is not read again.
//!
//! They are lists in the order of paths, each in one value: all of it is needed at once. No text is stored.

use rusqlite::{OptionalExtension as _, params};

use crate::git::worktree::safe_open::{EntryKind, FileStat};
use crate::model::RepoPath;
use crate::store::cache::database::Unusable;

use super::State;

/// A file that was changed in the last moments before it was read, in nanoseconds, is read again: the clock of a file
/// system may be too coarse to show a second change.
const MIN_AGE: i64 = 3_000_000_000;

/// Whose files they are.
#[derive(Clone, Copy, Debug)]
pub struct ReadingsOf<'a> {
    /// The id of the checkout.
    pub repository: &'a str,
    /// The project.
    pub project: &'a str,
    /// Its resource.
    pub resource: &'a str,
    /// Which of its files.
    pub part: ReadingsPart,
}

/// A part of the files of a resource: those that are in no tier may be many more than the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadingsPart {
    /// The files that are in a tier.
    InTiers,
    /// All others.
    Rest,
}

/// A file as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading<'a> {
    /// Its path from the location of the resource.
    pub path: &'a [u8],
    /// The id of its content.
    pub hash: &'a str,
    /// What the system said of it.
    pub stat: FileStat,
    /// The size of its text.
    pub bytes: u64,
    /// The number of passages of its text.
    pub passages: u64,
}

impl Reading<'_> {
    /// Returns `true` if a later change is certain to show; `now`, in nanoseconds, is when the file was read.
    pub fn is_certain(&self, now: i64) -> bool {
        now.saturating_sub(self.stat.modified.max(self.stat.changed)) >= MIN_AGE
    }
}

/// The files of a resource, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    packed: Vec<u8>,
}

/// Finds files in the order of their paths.
pub struct ReadingCursor<'a> {
    rest: &'a [u8],
    next: Option<Reading<'a>>,
}

impl Readings {
    /// Adds a file, which comes after all others.
    pub fn add(&mut self, reading: Reading<'_>) {
        let FileStat { kind: _, size_bytes, modified, changed, inode } = reading.stat;
        let lengths = (u16::try_from(reading.path.len()), u8::try_from(reading.hash.len()));
        let (Ok(path), Ok(hash)) = lengths else {
            return;
        };
        self.packed.extend(path.to_le_bytes());
        self.packed.extend(reading.path);
        self.packed.push(hash);
        self.packed.extend(reading.hash.as_bytes());
        for number in [size_bytes, inode, reading.bytes, reading.passages] {
            self.packed.extend(number.to_le_bytes());
        }
        for time in [modified, changed] {
            self.packed.extend(time.to_le_bytes());
        }
    }

    /// Begins to find files.
    pub fn cursor(&self) -> ReadingCursor<'_> {
        let mut cursor = ReadingCursor { rest: &self.packed, next: None };
        cursor.advance();
        cursor
    }
}

impl<'a> ReadingCursor<'a> {
    /// Returns a file. Each path comes after those that were asked for before.
    pub fn find(&mut self, path: &RepoPath) -> Option<Reading<'a>> {
        while self.next.is_some_and(|reading| reading.path < path.as_bytes()) {
            self.advance();
        }
        self.next.filter(|reading| reading.path == path.as_bytes())
    }

    /// Damaged bytes end early.
    fn advance(&mut self) {
        self.next = self.read();
    }

    fn read(&mut self) -> Option<Reading<'a>> {
        let length = u16::from_le_bytes(self.take()?);
        let path = self.split(usize::from(length))?;
        let [length] = self.take()?;
        let hash = std::str::from_utf8(self.split(usize::from(length))?).ok()?;
        let mut numbers = [0; 4];
        for number in &mut numbers {
            *number = u64::from_le_bytes(self.take()?);
        }
        let [size_bytes, inode, bytes, passages] = numbers;
        Some(Reading {
            path,
            hash,
            stat: FileStat {
                kind: EntryKind::File,
                size_bytes,
                modified: i64::from_le_bytes(self.take()?),
                changed: i64::from_le_bytes(self.take()?),
                inode,
            },
            bytes,
            passages,
        })
    }

    fn take<const LENGTH: usize>(&mut self) -> Option<[u8; LENGTH]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*taken)
    }

    fn split(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }
}

impl State {
    /// Returns the files of a resource as they were read last.
    pub fn readings(&mut self, of: ReadingsOf<'_>) -> Result<Readings, Unusable> {
        self.read(|connection| {
            let sql = "SELECT files FROM readings
                WHERE repository = ?1 AND project = ?2 AND resource = ?3 AND part = ?4";
            let mut statement = connection.prepare_cached(sql)?;
            let key = params![of.repository, of.project, of.resource, of.part as u8];
            let packed = statement.query_row(key, |row| row.get(0)).optional()?;
            Ok(Readings { packed: packed.unwrap_or_default() })
        })
    }

    /// Stores the files of a resource in place of the earlier ones.
    pub fn put_readings(
        &mut self,
        of: ReadingsOf<'_>,
        readings: &Readings,
    ) -> Result<(), Unusable> {
        self.update(|connection| {
            let sql = "INSERT OR REPLACE INTO readings VALUES (?1, ?2, ?3, ?4, ?5)";
            let mut statement = connection.prepare_cached(sql)?;
            let packed = &readings.packed;
            let part = of.part as u8;
            statement.execute(params![of.repository, of.project, of.resource, part, packed])?;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 100 * MIN_AGE;

    fn reading(path: &str, changed: i64) -> Reading<'_> {
        Reading {
            path: path.as_bytes(),
            hash: "0123",
            stat: FileStat { kind: EntryKind::File, size_bytes: 7, modified: 1, changed, inode: 9 },
            bytes: 7,
            passages: 1,
        }
    }

    #[test]
    fn files_are_found_in_the_order_of_their_paths() {
        let mut readings = Readings::default();
        for path in ["a", "b/c", "d"] {
            readings.add(reading(path, 2));
        }
        let mut cursor = readings.cursor();
        let mut find = |path: &str| cursor.find(&RepoPath::from(path)).is_some();
        let is_found = ["0", "a", "b", "b/c", "c", "d", "e"].map(&mut find);
        assert_eq!(is_found, [false, true, false, true, false, true, false]);
        assert_eq!(readings.cursor().next, Some(reading("a", 2)));
    }

    #[test]
    fn a_file_that_has_just_changed_is_read_again() {
        for (age, is_kept) in [(MIN_AGE, true), (MIN_AGE - 1, false), (-MIN_AGE, false)] {
            assert_eq!(reading("a", NOW - age).is_certain(NOW), is_kept, "{age}");
        }
    }

    #[test]
    fn damaged_bytes_end_early() {
        let mut readings = Readings::default();
        for path in ["a", "b"] {
            readings.add(reading(path, 2));
        }
        readings.packed.pop();
        let mut cursor = readings.cursor();
        assert!(cursor.find(&RepoPath::from("a")).is_some());
        assert!(cursor.find(&RepoPath::from("b")).is_none());
    }
}
