//! The ground of the tour: a temporary copy of the current repository.
//!
//! The copy borrows objects, has one commit of its own, and lies in a folder of its own with its hub, its agents and
//! its configuration. Nothing is fetched, the user's configuration is not read, and the repository itself is only
//! read. Files that configure git or git-colony are not copied, so no filter, driver, hook or command runs.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::git::object::NewCommit;
use crate::git::process::Git;
use crate::git::{ObjectWrites, Oid, Repo, TreeEntry};
use crate::model::progress::Progress;
use crate::model::world::UserConfiguration;
use crate::model::{RepoPath, Result, World};
use crate::store::files::atomic;

/// The maximum number of files in the copy.
const MAX_FILES: usize = 1_000;
/// The maximum number of bytes in the copy.
const MAX_BYTES: u64 = 16 << 20;
/// The maximum size of the file that the agents change.
const MAX_TEXT: u64 = 1 << 20;

/// Names that configure git, at any depth.
const GIT_NAMES: [&[u8]; 2] = [b".gitattributes", b".gitmodules"];
/// Names that configure git-lfs and git-colony, at the top.
const TOP_NAMES: [&[u8]; 4] = [b".colony", b".vox", b".lfsconfig", b".colonyignore"];

/// The copy for the tour.
pub struct Ground {
    /// The path of the copy.
    pub path: PathBuf,
    /// A text file at the top, which the tour damages and both agents change.
    pub file: String,
    /// A name at the top that no file has.
    pub unused: String,
    /// The number of its files.
    pub files: usize,
    /// The number of files in HEAD of the repository.
    pub all_files: usize,
    text: String,
    world: World,
}

/// Makes the copy below `folder`.
pub fn prepare(world: &World, folder: &Path) -> Result<Ground> {
    let source = Repo::open(world, ObjectWrites::InMemory)?;
    let path = folder.join("copy");
    let world = apart(world, folder)?;
    let mut git = Git::new(&world);
    git.current_dir(folder)
        .args(["init", "--quiet", "--template=", "--initial-branch=main"])
        .arg(&path)
        .run_checked("make a copy")?;
    borrow_objects(&source, &path)?;
    let mut inside = world.standing_in(&path);
    inside.variables.insert("PWD".into(), path.clone().into());
    let copy = Repo::open(&inside, ObjectWrites::Durable)?;
    let (files, all_files) = chosen_files(&source)?;
    let (file, text) = text_file(&source, &files)
        .unwrap_or_else(|| (unused_name(&files, "NOTES.md"), "A first line.\n".to_owned()));
    let commit = first_commit(&inside, &copy, &files, (&file, &text))?;
    inside.interrupt.check()?;
    let (branch, id) = (copy.head()?.moving_ref().to_string(), commit.to_string());
    copy.git(&inside).args(["update-ref", &branch, &id]).run_checked("make a branch")?;
    copy.git(&inside).args(["read-tree", "-m", "-u", &branch]).run_checked("write the files")?;
    Ok(Ground {
        path,
        unused: unused_name(&files, "scratch"),
        files: files.len(),
        all_files,
        file,
        text,
        world,
    })
}

/// Returns the world of the tour: the user's configuration and variables have no part in it, and shared data are below
/// `folder`.
fn apart(world: &World, folder: &Path) -> Result<World> {
    let mut apart = world.standing_in(folder);
    apart.variables.retain(|name, _| {
        let name = name.to_string_lossy();
        name == "GIT_EXEC_PATH" || !(name.starts_with("GIT_") || name.starts_with("COLONY_"))
    });
    let configuration = folder.join("gitconfig");
    // No process may outlive the tour.
    let settings = b"[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n";
    atomic::write_plainly(&configuration, settings)?;
    let home = folder.join("home");
    atomic::make_directory(&home)?;
    let of_git = |name: &str, value: &str| (name.into(), value.into());
    apart.variables.extend([
        of_git("GIT_CONFIG_NOSYSTEM", "1"),
        of_git("GIT_TERMINAL_PROMPT", "0"),
        of_git("GIT_AUTHOR_NAME", "Tour"),
        of_git("GIT_AUTHOR_EMAIL", "tour@localhost"),
        of_git("GIT_COMMITTER_NAME", "Tour"),
        of_git("GIT_COMMITTER_EMAIL", "tour@localhost"),
    ]);
    let variables: [(OsString, PathBuf); 5] = [
        ("GIT_CONFIG_GLOBAL".into(), configuration),
        ("COLONY_SHARED_ROOT".into(), folder.join("shared")),
        ("XDG_CACHE_HOME".into(), home.join("cache")),
        ("XDG_CONFIG_HOME".into(), home.join("config")),
        ("HOME".into(), home),
    ];
    let places = variables.map(|(name, path)| (name, path.into_os_string()));
    apart.variables.extend(places);
    apart.user_configuration = UserConfiguration::Ignored;
    apart.progress = Progress::unwanted();
    apart.stdout_is_terminal = false;
    apart.started_in = None;
    Ok(apart)
}

fn borrow_objects(source: &Repo, path: &Path) -> Result<()> {
    let objects = source.common_dir().join("objects");
    let mut line = std::os::unix::ffi::OsStrExt::as_bytes(objects.as_os_str()).to_vec();
    line.push(b'\n');
    atomic::write_plainly(&path.join(".git/objects/info/alternates"), &line)
}

type Files = BTreeMap<RepoPath, (TreeEntry, u64)>;

/// Takes files of HEAD until the copy is large enough; returns them and the number of all files.
fn chosen_files(source: &Repo) -> Result<(Files, usize)> {
    let tree = source.tree_of(source.head()?.commit())?;
    let (mut chosen, mut bytes, mut all) = (Files::new(), 0, 0);
    for change in source.list_tree(tree)? {
        let Some(entry) = change.new.filter(|entry| !entry.is_submodule()) else {
            continue;
        };
        all += 1;
        if chosen.len() == MAX_FILES || configures(&change.path) {
            continue;
        }
        // An object that is not here is not fetched.
        let size = source.object_size(entry.id);
        if let Some(size) = size.filter(|size| bytes + size <= MAX_BYTES) {
            bytes += size;
            chosen.insert(change.path, (entry, size));
        }
    }
    Ok((chosen, all))
}

/// Returns `true` if a file configures git, git-lfs or git-colony.
fn configures(path: &RepoPath) -> bool {
    let mut parts = path.as_bytes().split(|byte| *byte == b'/');
    let is =
        |part: &[u8], names: &[&[u8]]| names.iter().any(|name| part.eq_ignore_ascii_case(name));
    parts.clone().next().is_some_and(|top| is(top, &TOP_NAMES))
        || parts.any(|part| is(part, &GIT_NAMES))
}

/// Finds a text file at the top: a README, else the first one. A file in a folder could be reached through a symlink.
fn text_file(source: &Repo, files: &Files) -> Option<(String, String)> {
    let names = files.iter().filter_map(|(path, (entry, size))| {
        let name = std::str::from_utf8(path.as_bytes()).ok()?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let is_usable = entry.is_plain_file() && (1..MAX_TEXT).contains(size);
        let is_short = name.len() <= 24 && !name.starts_with('-') && name.chars().all(is_plain);
        (is_usable && is_short).then_some((name, entry.id))
    });
    let (readme, others): (Vec<_>, Vec<_>) =
        names.partition(|(name, _)| name.to_ascii_lowercase().starts_with("readme"));
    readme.into_iter().chain(others).take(20).find_map(|(name, id)| {
        let text = String::from_utf8(source.read_blob(id).ok()?).ok()?;
        let is_text = text.contains('\n') && !text.contains('\0');
        is_text.then(|| (name.to_owned(), text))
    })
}

/// Returns `name`, or one that begins with it, which neither a file nor a folder at the top has.
fn unused_name(files: &Files, name: &str) -> String {
    let tops: BTreeSet<_> = files
        .keys()
        .filter_map(|path| path.as_bytes().split(|byte| *byte == b'/').next())
        .map(<[u8]>::to_ascii_lowercase)
        .collect();
    let is_free = |name: &String| !tops.contains(name.to_ascii_lowercase().as_bytes());
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(is_free).expect("fewer names are taken than there are numbers")
}

/// Commits the files and the text without the history: a hub copies all objects of a commit.
fn first_commit(
    world: &World,
    copy: &Repo,
    files: &Files,
    (file, text): (&str, &str),
) -> Result<Oid> {
    let entries = files.iter().map(|(path, (entry, _))| (path, Some(*entry)));
    let tree = copy.edit_tree(copy.empty_tree(), entries)?;
    let path = RepoPath::from(file);
    let tree = if files.contains_key(&path) {
        tree
    } else {
        let blob = copy.write_blob(text.as_bytes())?;
        copy.edit_tree(tree, [(&path, Some(TreeEntry::file(blob)))])?
    };
    let identity = crate::git::identity::Identity::of_program();
    copy.write_commit(NewCommit {
        tree,
        parents: Vec::new(),
        signature: &identity.at(world),
        message: "A copy of the files, for the tour".to_owned(),
    })
}

impl Ground {
    /// Returns the world of one command of the tour that runs in `directory`.
    #[must_use]
    pub fn world_in(&self, directory: &Path) -> World {
        let mut world = self.world.standing_in(directory);
        world.variables.insert("PWD".into(), directory.into());
        world
    }

    /// Damages the copy as careless work does; returns the changes as shell commands.
    pub fn wreck(&self) -> Result<Vec<String>> {
        let Ground { path, file, unused, .. } = self;
        let folder = path.join(unused);
        atomic::remove_file(&path.join(file))?;
        atomic::make_directory(&folder)?;
        atomic::write_plainly(&folder.join("idea.txt"), b"half an idea\n")?;
        Ok(vec![
            format!("rm {file}"),
            format!("mkdir {unused} && echo 'half an idea' >{unused}/idea.txt"),
        ])
    }

    /// Changes the first line of the file in `directory`; returns the change as a shell command.
    pub fn change_first_line(&self, directory: &Path, end: &str) -> Result<String> {
        let (first, rest) = self.text.split_once('\n').unwrap_or((&self.text, ""));
        let changed = format!("{first}{end}\n{rest}");
        atomic::write_quickly(&directory.join(&self.file), changed.as_bytes())
            .map_err(|error| error.after("cannot change the copy"))?;
        Ok(format!("sed -i '1s/$/{end}/' {}", self.file))
    }
}
