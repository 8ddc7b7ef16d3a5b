//! The index file as it is on disk: read once, checked against its checksum while it is parsed, shared until it is
//! changed.

use std::io::Read;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use gix::index::decode::Options;

use crate::git::Repo;
use crate::git::plain_file::{Symlinks, open_in};
use crate::model::text::shell_word;
use crate::model::{Code, Result, ResultExt as _};

use super::Checksum;
use super::fingerprint::fingerprint_of;

const CANNOT: &str = "cannot read the index";

/// The size below which a thread costs more than the checksum.
const SMALL_BYTES: u64 = 64 << 10;

/// The bytes that are read at once for the checksum.
const CHUNK_BYTES: usize = 128 << 10;

/// A parsed index. Its clones are one index until one of them is changed.
#[derive(Clone)]
pub(in crate::git) struct SharedIndex(Arc<Parsed>);

struct Parsed {
    file: gix::index::File,
    fingerprint: OnceLock<String>,
}

impl SharedIndex {
    /// Returns its fingerprint, which is computed once.
    pub(super) fn fingerprint(&self) -> String {
        self.0.fingerprint.get_or_init(|| fingerprint_of(&self.0.file)).clone()
    }

    /// Returns the index itself; copies it if it is shared.
    pub(in crate::git) fn into_file(self) -> gix::index::File {
        Arc::try_unwrap(self.0).map_or_else(|shared| shared.file.clone(), |parsed| parsed.file)
    }
}

impl From<gix::index::File> for SharedIndex {
    fn from(file: gix::index::File) -> SharedIndex {
        SharedIndex(Arc::new(Parsed { file, fingerprint: OnceLock::new() }))
    }
}

impl Clone for Parsed {
    /// Copies it to be changed.
    fn clone(&self) -> Parsed {
        Parsed { file: self.file.clone(), fingerprint: OnceLock::new() }
    }
}

impl Deref for SharedIndex {
    type Target = gix::index::File;

    fn deref(&self) -> &gix::index::File {
        &self.0.file
    }
}

impl DerefMut for SharedIndex {
    fn deref_mut(&mut self) -> &mut gix::index::File {
        let parsed = Arc::make_mut(&mut self.0);
        parsed.fingerprint = OnceLock::new();
        &mut parsed.file
    }
}

impl Repo {
    /// Does some work that ends in a look at the index, and reads the index meanwhile on another thread. A failure to
    /// read it is left to that look.
    pub fn with_index_ahead<T>(&self, work: impl FnOnce() -> T) -> T {
        let Ok(other) = self.for_thread() else {
            return work();
        };
        std::thread::scope(|scope| {
            let reading = scope.spawn(move || {
                let index = other.shared_index().ok()?;
                if other.keeps_objects() {
                    // An operation records it.
                    index.fingerprint();
                }
                other.read_index.take()
            });
            let done = work();
            if let Ok(Some(read)) = reading.join() {
                self.read_index.replace(Some(read));
            }
            done
        })
    }

    /// Explains why the index cannot be read, and how it is made again: only what was staged is lost.
    fn explained<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
        &self,
        read: std::result::Result<gix::index::File, E>,
    ) -> Result<gix::index::File> {
        read.or_code(Code::RepositoryBroken, || CANNOT).map_err(|error| {
            let root = shell_word(&self.workdir().to_string_lossy());
            error.hint(format!("git -C {root} read-tree HEAD   # your files stay as they are"))
        })
    }

    /// Reads the index from disk, and checks it against its checksum on another thread meanwhile.
    pub(super) fn open_index_file(&self) -> Result<gix::index::File> {
        let (hash, path) = (self.inner.object_hash(), self.index_path());
        let checked_by_gix = || self.explained(self.inner.open_index());
        let is_small = path.metadata().is_ok_and(|metadata| metadata.len() < SMALL_BYTES);
        if is_small || self.index_is_split() || self.config_bool("index.skipHash") == Some(true) {
            return checked_by_gix();
        }
        let (parsed, whole) = std::thread::scope(|scope| {
            let checking = scope.spawn(|| stored_checksum(hash, &path));
            let parsed = gix::index::File::at(&path, hash, true, Options::default());
            (parsed, checking.join().ok().and_then(std::io::Result::ok).flatten())
        });
        let parsed = self.explained(parsed)?;
        // An index without a checksum is read as it is. Another one may have taken its place meanwhile.
        match parsed.checksum() {
            Some(stored) if whole.as_deref() != Some(stored.as_slice()) => checked_by_gix(),
            _ => Ok(parsed),
        }
    }
}

/// Returns the checksum of an index file; `None` if the file is damaged, or there is none.
fn stored_checksum(hash: gix::hash::Kind, path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    let file = open_in(rustix::fs::CWD, path.as_os_str(), Symlinks::Followed, u64::MAX)?;
    file.map_or(Ok(None), |mut file| checksum_if_whole(hash, &mut file))
}

/// Returns the checksum that a file ends with, if it is that of all bytes before.
fn checksum_if_whole(
    hash: gix::hash::Kind,
    file: &mut impl Read,
) -> std::io::Result<Option<Vec<u8>>> {
    let length = hash.len_in_bytes();
    let mut checksum = Checksum::of(hash);
    let mut buffer = vec![0; CHUNK_BYTES];
    // The last bytes read so far may be the checksum.
    let mut held = 0;
    loop {
        let read = file.read(buffer.get_mut(held..).unwrap_or_default())?;
        held += read;
        let content = held.saturating_sub(length);
        if read == 0 {
            let stored = buffer.get(content..held).unwrap_or_default().to_vec();
            return Ok((checksum.finish().as_deref() == Some(&*stored)).then_some(stored));
        }
        checksum.update(buffer.get(..content).unwrap_or_default());
        buffer.copy_within(content..held, 0);
        held -= content;
    }
}

#[cfg(test)]
mod tests {
    use gix::index::State;
    use gix::index::entry::{Flags, Mode, Stat};

    use super::*;

    const HASH: gix::hash::Kind = gix::hash::Kind::Sha1;

    fn index_of(paths: &[&str]) -> SharedIndex {
        let mut state = State::new(HASH);
        for path in paths {
            let id = gix::ObjectId::empty_blob(HASH);
            let path = gix::bstr::BStr::new(path);
            state.dangerously_push_entry(Stat::default(), id, Flags::empty(), Mode::FILE, path);
        }
        gix::index::File::from_state(state, "index").into()
    }

    #[test]
    fn a_changed_copy_leaves_the_others_as_they_were() {
        let index = index_of(&["a", "b"]);
        let before = index.fingerprint();
        let mut other = index.clone();
        other.remove_entries(|number, _, _| number == 0);
        assert_eq!((index.entries().len(), other.entries().len()), (2, 1));
        assert_eq!(index.fingerprint(), before);
        assert_eq!(other.fingerprint(), index_of(&["b"]).fingerprint());
        assert_ne!(other.fingerprint(), before);
        assert_eq!(other.into_file().entries().len(), 1);
    }

    #[test]
    fn a_checksum_guards_every_byte() {
        /// Reads as from a file that comes in pieces.
        struct Pieces<'a>(&'a [u8]);

        impl Read for Pieces<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                let most = buffer.len().min(7);
                self.0.read(&mut buffer[..most])
            }
        }

        let mut bytes = b"DIRC and what follows".to_vec();
        let mut checksum = Checksum::of(HASH);
        checksum.update(&bytes);
        let stored = checksum.finish().unwrap();
        bytes.extend(&stored);
        let whole = |mut bytes: &[u8]| checksum_if_whole(HASH, &mut bytes).unwrap();
        assert_eq!(whole(&bytes), Some(stored.clone()));
        assert_eq!(checksum_if_whole(HASH, &mut Pieces(&bytes)).unwrap(), Some(stored));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(whole(&damaged), None);
            assert_eq!(whole(&bytes[..at]), None);
        }
        let long = vec![1; 2 * CHUNK_BYTES + 5];
        let mut checksum = Checksum::of(HASH);
        checksum.update(&long);
        let stored = checksum.finish().unwrap();
        assert_eq!(whole(&[long, stored.clone()].concat()), Some(stored));
    }
}
