//! `info/attributes`, which ranks above all attributes files of directories in git; gix ranks it above that of the
//! root only, so it is asked first.
//!
//! Its lines may use macros of the root file. Macros of the user's own attributes files are left to gix: a line with
//! one of these has the rank that gix gives it. So has a line that takes a macro away (`-NAME`), as far as lines of
//! directories set that macro.

use std::path::Path;

use gix::attrs::Search;
use gix::attrs::search::{Match, MetadataCollection, Outcome};
use gix::bstr::BStr;
use gix::glob::pattern::Case;
use gix::index::entry::Mode;

use crate::git::Repo;
use crate::git::plain_file::{self, Symlinks};
use crate::git::worktree::safe_open::MAX_RULES_BYTES;
use crate::model::{Code, Result, ResultExt as _};

use super::rule_files;

/// The macro that git defines itself.
const BUILT_IN: &[u8] = b"[attr]binary -diff -merge -text\n";

/// One attribute, looked up in the lines of `info/attributes`.
pub(super) struct InfoAttributes {
    search: Search,
    case: Case,
    outcome: Outcome,
}

impl InfoAttributes {
    /// Reads the file; `None` if there is none. `root` is the text of the attributes file of the root.
    pub(super) fn read(
        repo: &Repo,
        attribute: &str,
        root: impl FnOnce() -> Vec<u8>,
    ) -> Result<Option<InfoAttributes>> {
        let path = repo.common_dir().join("info/attributes");
        let read = plain_file::find(&path, Symlinks::Followed, MAX_RULES_BYTES);
        let own = rule_files::content(&path.to_string_lossy(), read)?;
        if own.is_empty() {
            return Ok(None);
        }
        let mut text = BUILT_IN.to_vec();
        let root = root();
        let is_macro = |line: &&[u8]| line.trim_ascii_start().starts_with(b"[attr]");
        for line in root.split(|byte| *byte == b'\n').filter(is_macro) {
            text.extend(line);
            text.push(b'\n');
        }
        text.extend(own);
        let (mut search, mut names) = (Search::default(), MetadataCollection::default());
        let base = Some(Path::new("/"));
        let source = Path::new("/.gitattributes").to_owned();
        search
            .add_patterns_buffer(&text, source, base, &mut names, true)
            .or_code(Code::RepositoryBroken, || {
                format!("cannot read the attributes in '{}'", path.display())
            })?;
        let mut outcome = Outcome::default();
        outcome.initialize_with_selection(&names, [attribute]);
        let folds = repo.config_bool("core.ignorecase") == Some(true);
        Ok(Some(InfoAttributes {
            search,
            case: if folds { Case::Fold } else { Case::Sensitive },
            outcome,
        }))
    }

    /// Looks up a path; returns `true` if a line decides about it.
    pub(super) fn decides(&mut self, path: &[u8], mode: Mode) -> bool {
        let is_directory = mode.is_submodule() || mode.is_sparse();
        self.outcome.reset();
        self.search.pattern_matching_relative_path(
            BStr::new(path),
            self.case,
            Some(is_directory),
            &mut self.outcome,
        );
        self.deciding_line().is_some()
    }

    /// Returns the line that decides about the path that was looked up last.
    pub(super) fn deciding_line(&self) -> Option<Match<'_>> {
        // An attribute without a line is listed, too, with no source.
        let mut lines = self.outcome.iter_selected();
        lines.find(|line| line.location.source.is_some())
    }
}
