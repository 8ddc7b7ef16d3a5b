//! Edits inside submodules: git reports them, and no snapshot of the repository around them has them.

use std::collections::BTreeMap;

use crate::git::{ObjectWrites, Repo, plain_file};
use crate::model::{Code, RepoPath, Result, World};

use super::scan::Scan;

/// The edits of a submodule that git reports, as `submodule.<name>.ignore` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reported {
    /// Changed and untracked files.
    All,
    /// Changed files.
    Changed,
    /// None.
    None,
}

impl Reported {
    fn parse(value: &[u8]) -> Option<Reported> {
        match value {
            b"none" => Some(Reported::All),
            b"untracked" => Some(Reported::Changed),
            b"dirty" | b"all" => Some(Reported::None),
            _ => None,
        }
    }
}

impl Repo {
    /// Lists those of some submodules that are set up here and have edits which git reports, in their own submodules
    /// too. One that cannot be read counts as one with edits. Each is opened like a repository that others control.
    pub(super) fn edited_submodules(
        &self,
        world: &World,
        present: &[RepoPath],
    ) -> Result<Vec<RepoPath>> {
        let mut edited = Vec::new();
        if present.is_empty() {
            return Ok(edited);
        }
        let rules = self.reported_edits();
        let usual = self.reported_by("diff.ignoreSubmodules");
        for path in present {
            world.interrupt.check()?;
            let folder = path.under(self.workdir());
            let reported = rules.get(path).copied().or(usual).unwrap_or(Reported::All);
            let is_set_up = folder.join(".git").symlink_metadata().is_ok();
            if reported == Reported::None || !is_set_up {
                continue;
            }
            let inner = Repo::open_foreign(world, &folder, ObjectWrites::InMemory);
            let scan = inner.and_then(|inner| inner.scan(&world.standing_in(&folder)));
            let has_edits = match scan {
                Ok(scan) => scan.has_edits(reported),
                Err(error) if error.code() == Code::Interrupted => return Err(error),
                // Nobody knows, and edits that are not named may be lost.
                Err(_) => true,
            };
            if has_edits {
                edited.push(path.clone());
            }
        }
        Ok(edited)
    }

    /// Reads the settings of submodules in `.gitmodules` and, above these, in the configuration.
    fn reported_edits(&self) -> BTreeMap<RepoPath, Reported> {
        let file = plain_file::read(self.workdir().join(".gitmodules")).unwrap_or_default();
        let meta = gix::config::file::Metadata::from(gix::config::Source::Api);
        let options = gix::config::file::init::Options::default();
        let Ok(file) = gix::config::File::from_bytes_no_includes(&file, meta, options) else {
            return BTreeMap::new();
        };
        let sections = file.sections_by_name("submodule").into_iter().flatten();
        let rules = sections.filter_map(|section| {
            let path = section.value("path")?;
            let name = section.header().subsection_name()?.to_string();
            let own = self.reported_by(&format!("submodule.{name}.ignore"));
            let in_file = || Reported::parse(&section.value("ignore")?);
            Some((RepoPath::from(&**path), own.or_else(in_file)?))
        });
        rules.collect()
    }

    fn reported_by(&self, key: &str) -> Option<Reported> {
        Reported::parse(self.config_values(key).last()?.as_bytes())
    }
}

impl Scan {
    fn has_edits(&self, reported: Reported) -> bool {
        let changed = !self.staged.is_empty()
            || !self.unstaged.is_empty()
            || !self.conflicts.is_empty()
            || !self.edited_submodules.is_empty();
        changed || (reported == Reported::All && !self.untracked.is_empty())
    }
}
