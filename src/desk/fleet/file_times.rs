//! The times of the files that change with almost any work: a few calls for each clone find out that something is new.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::agents::agent_places;
use crate::model::Result;
use crate::store::Session;
use crate::store::files::places::HookPlaces;
use crate::store::files::shared_root::SharedRoot;

/// The files in a git directory.
const IN_GIT_DIR: [&str; 4] = ["HEAD", "index", "logs/HEAD", "refs/heads/fork"];

/// One file as it was: its time, size and number; `None` if there is none.
type FileTime = Option<(i64, i64, u64, u64)>;

/// The files of a desk, as they were.
pub struct FileTimes(Vec<(PathBuf, FileTime)>);

impl FileTimes {
    /// Looks at all files of a desk.
    pub fn of(session: &Session) -> Result<FileTimes> {
        let repo = &session.repo;
        // Where hooks note that they ran is the same in each clone.
        let fired_here = HookPlaces::of(repo).fired();
        let fired = fired_here.strip_prefix(repo.common_dir()).map(Path::to_owned).ok();
        let clones = agent_places::clones_here(session)?.into_iter();
        let git_dirs = clones.map(|clone| clone.path.join(".git"));
        let inside = |git_dir: PathBuf| {
            let files = IN_GIT_DIR.iter().map(Path::new).chain(fired.as_deref());
            files.map(|file| git_dir.join(file)).collect::<Vec<_>>()
        };
        let mut paths: Vec<PathBuf> =
            git_dirs.chain([repo.git_dir().to_owned()]).flat_map(inside).collect();
        paths.push(repo.common_dir().join("refs/heads"));
        paths.push(SharedRoot::of(&session.world)?.agents());
        Ok(FileTimes(paths.into_iter().map(|path| (path.clone(), time_of(&path))).collect()))
    }

    /// Looks at them again; returns `true` if one has changed since.
    pub fn have_changed(&self) -> bool {
        self.0.iter().any(|(path, before)| time_of(path) != *before)
    }
}

fn time_of(path: &Path) -> FileTime {
    let metadata = path.symlink_metadata().ok()?;
    Some((metadata.mtime(), metadata.mtime_nsec(), metadata.size(), metadata.ino()))
}
