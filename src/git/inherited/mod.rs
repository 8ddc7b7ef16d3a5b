//! What a clone has of the checkout it was made from: settings about files, ignore rules and attributes of its git
//! directory. git gives them to each worktree; a clone gets copies, which are renewed when the checkout changes.
//!
//! The settings are a file of ours that the configuration of the clone includes first, so that its own settings win.
//! Nothing that names a remote, a credential or a person is in it. Only files that belong to this user, and that nobody
//! else may write to, are copied.

mod configuration;
mod copied_lines;
mod key_list;
mod own_settings;
mod owned_file;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::git::Repo;
use crate::model::World;

pub use configuration::{Signing, filters_of};
pub use copied_lines::{CopiedFile, end_of_copied_lines, with_copied_lines};
pub use own_settings::running_setting;
use owned_file::Sources;
pub use owned_file::is_own;

/// The file of settings, below the git directory of a clone.
pub const CONFIG_FILE: &str = "colony/checkout.config";

/// The line of the configuration of a clone that includes it. git resolves the path from the folder of the
/// configuration, so it survives a move.
pub const INCLUDE: &str = "[include]\n\tpath = colony/checkout.config\n";

/// The beginning of the line that names the checkout.
const CHECKOUT: &str = "# checkout: ";

/// The beginning of a line about a file that was read.
const SOURCE: &str = "# source: ";

/// What a clone gets of its checkout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inherited {
    /// The text of [`CONFIG_FILE`].
    pub config: String,
    /// The lines of `info/exclude` and `info/attributes`.
    pub lines: Vec<(CopiedFile, Vec<u8>)>,
    /// Files that were not used, because others could change them.
    pub refused: Vec<PathBuf>,
}

impl Inherited {
    /// Returns what a clone without a checkout gets.
    pub fn of_nothing(signing: Signing) -> Inherited {
        let config = configuration::signing_lines(signing);
        Inherited { config, ..Inherited::default() }
    }

    /// Reads it from a checkout.
    pub fn of(world: &World, checkout: &Repo, signing: Signing) -> Inherited {
        let mut sources = Sources::default();
        let settings = configuration::read(world, checkout, signing, &mut sources);
        let mut lines = Vec::new();
        for file in CopiedFile::ALL {
            let path = checkout.common_dir().join(file.path());
            if let Some(bytes) = sources.read(&path).filter(|bytes| !bytes.is_empty()) {
                lines.push((file, bytes));
            }
        }
        sources.note(&checkout.git_dir().join("config.worktree"));
        sources.note(&checkout.common_dir().join("hooks"));
        let mut config = String::from(
            "# Written by git-colony from the checkout of this clone, and renewed when that changes.\n\
             # A setting of the clone itself belongs into 'config': it wins.\n",
        );
        writeln!(config, "{CHECKOUT}{}", shown(checkout.workdir())).ok();
        for (path, stamp) in sources.stamps() {
            writeln!(config, "{SOURCE}{stamp} {}", shown(path)).ok();
        }
        config.push_str(&settings);
        Inherited { config, lines, refused: sources.refused() }
    }
}

/// Returns `true` if the configuration of a clone takes in its file of settings.
pub fn includes_settings(config: &[u8]) -> bool {
    String::from_utf8_lossy(config).contains(CONFIG_FILE)
}

/// Returns the checkout that a file of settings names, if one of the files that it was made from has changed since, or
/// the configuration of the clone does not take it in any more.
pub fn changed_checkout(settings: &str, config: &[u8]) -> Option<PathBuf> {
    let path = |text: &str| PathBuf::from(serde_json::from_str::<String>(text).unwrap_or_default());
    let checkout = settings.lines().find_map(|line| line.strip_prefix(CHECKOUT)).map(path)?;
    let mut sources = settings.lines().filter_map(|line| line.strip_prefix(SOURCE));
    let has_changed = sources.any(|line| {
        let parts = line.split_once(' ');
        parts.is_none_or(|(stamp, file)| owned_file::stamp(&path(file)) != stamp)
    });
    let is_stale = has_changed || !includes_settings(config);
    (is_stale && checkout.is_dir()).then_some(checkout)
}

/// Formats a path as JSON: on one line, whatever is in it.
fn shown(path: &Path) -> String {
    serde_json::Value::from(path.to_string_lossy()).to_string()
}
