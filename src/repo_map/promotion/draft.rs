//! A map that is being changed: its rows and its text, edit by edit.

use crate::model::{RepoPath, Result};
use crate::repo_map::routing::parse_globs;
use crate::repo_map::schema::RepoMap;
use crate::source::globs::{GlobVerdict, Globs};

use super::edit::{Edit, GlobList, RowAt};
use super::target::Target;
use super::{Changed, Files, Refusal, map_text};

/// A map that is being changed.
pub(super) struct Draft {
    /// What it says.
    pub(super) map: RepoMap,
    /// Its text; `None` after an edit that the text cannot take.
    text: Option<String>,
    edits: Vec<Edit>,
}

impl Draft {
    pub(super) fn new(text: &str, map: &RepoMap) -> Draft {
        Draft { map: map.clone(), text: Some(text.to_owned()), edits: Vec::new() }
    }

    pub(super) fn apply(&mut self, edit: Edit) {
        edit.apply(&mut self.map);
        self.text = self.text.take().and_then(|text| map_text::apply(&text, &edit));
        self.edits.push(edit);
    }

    /// Returns `true` if a row has a comment, which would be lost with it.
    pub(super) fn has_comment(&self, row: RowAt) -> bool {
        let text = self.text.as_deref();
        text.is_some_and(|text| map_text::has_comment(text, row))
    }

    /// Returns the reason why this draft is not written.
    pub(super) fn refusal(&self, why: String) -> Refusal {
        Refusal { why, wanted: self.edits.iter().map(Edit::describe).collect() }
    }

    /// Reads the text again.
    pub(super) fn finish(self) -> std::result::Result<Changed, Refusal> {
        let wanted = without_faults(self.map.clone());
        let says_so = |text: String| {
            let map = RepoMap::read(text.as_bytes()).map?;
            (without_faults(map.clone()) == wanted).then_some(Changed { text, map })
        };
        if let Some(changed) = self.text.clone().and_then(says_so) {
            return Ok(changed);
        }
        let why = "it is written in a way that is not edited here: only lists and rows of plain lines, or within one line";
        Err(self.refusal(why.to_owned()))
    }

    /// Makes a list match the files of a target, and no others.
    pub(super) fn take_in(
        &mut self,
        list: GlobList,
        target: &Target,
        files: Files<'_>,
    ) -> Result<()> {
        self.remove_negated(list, target);
        // A directory is also the files to come.
        let is_whole = !target.is_directory || self.names_whole(list, target);
        if !is_whole || !self.matches_all(list, target, files)? {
            let glob = target.glob(&self.start(list));
            self.apply(Edit::Add(list, vec![glob]));
        }
        Ok(())
    }

    /// Returns `true` if a glob of a list names a directory, or one above it.
    fn names_whole(&self, list: GlobList, target: &Target) -> bool {
        let start = self.start(list);
        let above = target
            .path
            .ancestors()
            .chain([start.clone()])
            .filter(|path| path.below(&start).is_some())
            .map(|path| Target { path, is_directory: true });
        let wholes: Vec<Target> = above.chain([target.clone()]).collect();
        let names = |glob: &String| {
            glob == "**" || wholes.iter().any(|whole| whole.is_named_by(glob, &start))
        };
        list.globs(&self.map).iter().any(names)
    }

    /// Makes a list match no file of a target, and all others as before.
    pub(super) fn leave_out(
        &mut self,
        list: GlobList,
        target: &Target,
        files: Files<'_>,
    ) -> Result<()> {
        self.remove_named(list, target, files)?;
        if self.matches_any(list, target, files)? {
            let glob = format!("!{}", target.glob(&self.start(list)));
            self.apply(Edit::Add(list, vec![glob]));
        }
        Ok(())
    }

    /// Removes the globs of a list that match exactly a target, if it then matches none of its files.
    pub(super) fn remove_named(
        &mut self,
        list: GlobList,
        target: &Target,
        files: Files<'_>,
    ) -> Result<()> {
        let start = self.start(list);
        let globs = list.globs(&self.map);
        let is_named = |glob: &String| target.is_named_by(glob, &start);
        let rest: Vec<String> = globs.iter().filter(|glob| !is_named(glob)).cloned().collect();
        let rest = parse_globs(&rest)?;
        let mut own = files.of(target);
        if own.any(|file| matches(&rest, &start, file)) {
            return Ok(());
        }
        self.remove_where(list, is_named);
        Ok(())
    }

    /// Removes the globs of a list that leave out exactly a target.
    pub(super) fn remove_negated(&mut self, list: GlobList, target: &Target) {
        let start = self.start(list);
        self.remove_where(list, |glob| {
            let negated = glob.strip_prefix('!');
            negated.is_some_and(|glob| target.is_named_by(glob, &start))
        });
    }

    fn remove_where(&mut self, list: GlobList, is_gone: impl Fn(&String) -> bool) {
        let globs = list.globs(&self.map).iter().enumerate();
        let gone: Vec<usize> = globs.filter(|(_, glob)| is_gone(glob)).map(|(at, _)| at).collect();
        for index in gone.into_iter().rev() {
            let has_comment = |text: &String| map_text::glob_has_comment(text, list, index);
            if !self.text.as_ref().is_some_and(has_comment) {
                self.apply(Edit::Remove(list, index));
            }
        }
    }

    fn matches_all(&self, list: GlobList, target: &Target, files: Files<'_>) -> Result<bool> {
        let matched = self.matched(list, target, files)?;
        Ok(matched.into_iter().all(|is_matched| is_matched))
    }

    pub(super) fn matches_any(
        &self,
        list: GlobList,
        target: &Target,
        files: Files<'_>,
    ) -> Result<bool> {
        Ok(self.matched(list, target, files)?.contains(&true))
    }

    /// Returns for each file of a target whether a list matches it.
    fn matched(&self, list: GlobList, target: &Target, files: Files<'_>) -> Result<Vec<bool>> {
        let (globs, start) = (parse_globs(list.globs(&self.map))?, self.start(list));
        let own = files.of(target);
        Ok(own.map(|file| matches(&globs, &start, file)).collect())
    }

    /// Returns the directory that the globs of a list are relative to.
    pub(super) fn start(&self, list: GlobList) -> RepoPath {
        let row = match list.row() {
            RowAt::Route(_) => None,
            RowAt::Source(row) => self.map.sources.get(row),
        };
        row.and_then(|row| row.start_dir.clone()).unwrap_or_default()
    }
}

fn matches(globs: &Globs, start: &RepoPath, file: &RepoPath) -> bool {
    let below = file.below(start).map(RepoPath::new);
    below.is_some_and(|below| globs.verdict(&below) == GlobVerdict::In)
}

/// Returns a map without the faults of its rows, whose positions move with the lines above them, and without lists
/// that exclude nothing.
fn without_faults(mut map: RepoMap) -> RepoMap {
    for row in &mut map.sources {
        row.fault = None;
        row.exclude_globs = row.exclude_globs.take().filter(|globs| !globs.is_empty());
    }
    map
}
