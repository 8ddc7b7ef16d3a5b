//! Repositories that many tests begin with: built once in this process, by the real git and the real program,
//! then written from memory into the folder of each test.
//!
//! A copy has the bytes, modes and times that a repository built in its place would have. Where files name
//! their own place, they name that of the copy; the index has the stat data of the copied files.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use super::Sandbox;
use super::view::Ticks;
use super::write_program;

/// How much older the files of a copy are than its index: enough that no content has to be compared.
const AGE: Duration = Duration::from_secs(10);

/// A repository that is built when the first test asks for it.
pub(crate) struct Fixture {
    build: fn() -> Sandbox,
    made: OnceLock<Made>,
}

/// A sandbox in memory.
struct Made {
    /// The folder that it was built in.
    outside: PathBuf,
    ticks: Ticks,
    /// By paths below that folder, a folder before what is in it.
    entries: BTreeMap<PathBuf, Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Folder { mode: u32 },
    File { mode: u32, bytes: Vec<u8> },
    Link(PathBuf),
}

impl Fixture {
    pub(crate) const fn new(build: fn() -> Sandbox) -> Fixture {
        Fixture { build, made: OnceLock::new() }
    }

    /// Makes a sandbox with a copy of it.
    pub(crate) fn copy(&self) -> Sandbox {
        let made = self.made.get_or_init(|| Made::of(&(self.build)()));
        let sandbox = Sandbox::empty();
        made.write_into(&sandbox.outside());
        sandbox.set_ticks(made.ticks);
        sandbox
    }

    /// Fails where a copy is not what is built in its place.
    pub(crate) fn check(&self) {
        let copy = self.copy();
        assert!(copy.try_git(&["diff-files", "--quiet"]), "its index is stale");
        let copied = Made::of(&copy);
        let other = (self.build)();
        let built = Made::of(&other);
        assert_eq!(copied.ticks, built.ticks);
        let paths = |made: &Made| made.entries.keys().cloned().collect::<Vec<_>>();
        assert_eq!(paths(&copied), paths(&built));
        for (path, entry) in &built.entries {
            let moved = entry.moved(path, &built.outside, &copied.outside);
            // An index has times and inodes; what it says is compared below. A log of events has a random id.
            let own = ["index", "events-1.db"].map(OsStr::new);
            if !path.file_name().is_some_and(|name| own.contains(&name)) {
                let (copied, built) = (copied.entries[path].in_order(path), moved.in_order(path));
                assert_eq!(copied, built, "{}", path.display());
            }
        }
        assert_eq!(copy.git(&["ls-files", "-s", "-v"]), other.git(&["ls-files", "-s", "-v"]));
    }
}

impl Made {
    fn of(sandbox: &Sandbox) -> Made {
        // Files that are not as the index has them would seem to be so in a copy.
        sandbox.git(&["update-index", "--refresh"]);
        let outside = sandbox.outside();
        let mut entries = BTreeMap::new();
        read(&outside, &outside, &mut entries);
        Made { outside, ticks: sandbox.ticks(), entries }
    }

    fn write_into(&self, outside: &Path) {
        let past = SystemTime::now() - AGE;
        let mut indexes = Vec::new();
        for (path, entry) in &self.entries {
            let place = outside.join(path);
            match entry.moved(path, &self.outside, outside) {
                // The folder of the repository stands already.
                Entry::Folder { mode } => {
                    fs::create_dir_all(&place).unwrap();
                    fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
                }
                Entry::Link(target) => symlink(target, &place).unwrap(),
                Entry::File { bytes, .. } if path.ends_with(".git/index") => {
                    indexes.push((place, bytes));
                }
                Entry::File { mode, bytes } if mode & 0o111 != 0 => {
                    write_program(&place, &bytes);
                    fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
                    fs::File::open(&place).unwrap().set_modified(past).unwrap();
                }
                Entry::File { mode, bytes } => {
                    let mut file = fs::OpenOptions::new();
                    let file = file.write(true).create_new(true).mode(mode).open(&place);
                    let mut file = file.unwrap();
                    std::io::Write::write_all(&mut file, &bytes).unwrap();
                    file.set_modified(past).unwrap();
                }
            }
        }
        for (place, mut bytes) in indexes {
            renew_stat_data(&mut bytes, place.parent().unwrap().parent().unwrap());
            fs::write(&place, bytes).unwrap();
        }
    }
}

impl Entry {
    /// Itself; of settings the lines in order, as git-lfs writes its own in any.
    fn in_order(&self, path: &Path) -> Entry {
        let mut entry = self.clone();
        if let (Entry::File { bytes, .. }, true) = (&mut entry, path.ends_with("config")) {
            let mut lines: Vec<_> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
            lines.sort_unstable();
            *bytes = lines.concat();
        }
        entry
    }

    /// What it is in another folder: texts that name their place name that one.
    fn moved(&self, path: &Path, from: &Path, to: &Path) -> Entry {
        let is_object = path.components().any(|part| part.as_os_str() == "objects");
        let text = |bytes: &[u8]| {
            let text = std::str::from_utf8(bytes).ok()?;
            Some(text.replace(from.to_str()?, to.to_str()?).into_bytes())
        };
        let mut entry = self.clone();
        if let (Entry::File { bytes, .. }, false) = (&mut entry, is_object) {
            *bytes = text(bytes).unwrap_or_else(|| bytes.clone());
        }
        entry
    }
}

fn read(root: &Path, folder: &Path, entries: &mut BTreeMap<PathBuf, Entry>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let mode = metadata.mode() & 0o7777;
        let found = if metadata.is_symlink() {
            Entry::Link(fs::read_link(&path).unwrap())
        } else if metadata.is_dir() {
            read(root, &path, entries);
            Entry::Folder { mode }
        } else {
            let bytes = fs::read(&path).unwrap();
            Entry::File { mode, bytes }
        };
        entries.insert(path.strip_prefix(root).unwrap().to_owned(), found);
    }
}

/// Gives the entries of an index the stat data that its files have now.
fn renew_stat_data(index: &mut [u8], worktree: &Path) {
    /// What comes before the path of an entry, and where its mode stands in that.
    const HEAD: usize = 62;
    const FIELDS: usize = 6;
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
    assert_eq!(number(&index[4..8]), 2, "an index of another version");
    let mut at = 12;
    for _ in 0..number(&index[8..12]) {
        let length = index[at + HEAD..].iter().position(|byte| *byte == 0);
        let length = length.unwrap();
        let path = OsStr::from_bytes(&index[at + HEAD..at + HEAD + length]);
        let found = fs::symlink_metadata(worktree.join(path)).unwrap();
        let fields: [i64; FIELDS] = [
            found.ctime(),
            found.ctime_nsec(),
            found.mtime(),
            found.mtime_nsec(),
            found.dev().cast_signed(),
            found.ino().cast_signed(),
        ];
        for (field, place) in fields.iter().zip(index[at..].chunks_exact_mut(4)) {
            // git keeps the low 32 bits.
            place.copy_from_slice(&field.to_be_bytes()[4..]);
        }
        // Entries are padded with one to eight zeros.
        at += (HEAD + length + 8) & !7;
    }
    let (content, checksum) = index.split_at_mut(index.len() - 20);
    checksum.copy_from_slice(&<sha1::Sha1 as sha1::Digest>::digest(content));
}
