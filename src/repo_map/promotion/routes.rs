//! The routing rows: which of them change when files move.

use crate::model::{RepoPath, Result};
use crate::repo_map::routing::{Route, Routing, parse_globs};
use crate::repo_map::row::Destination;

use super::draft::Draft;
use super::edit::{Edit, GlobList, RowAt};
use super::target::Target;
use super::{Files, same};

/// Routes the chosen files to a source.
pub(super) fn to_a_source(draft: &mut Draft, files: Files<'_>) -> Result<()> {
    let is_there = |route: &Route| matches!(route, Route::Vcm { .. });
    let moving = not_yet(draft, files, is_there)?;
    for row in rows(draft, Destination::Vcm) {
        for target in &moving {
            draft.remove_negated(GlobList::Paths(row), target);
        }
    }
    for row in rows(draft, Destination::KnowledgeBase) {
        let list = GlobList::Paths(row);
        if is_confined(draft, row, &moving) {
            if matches_any_of(draft, list, &moving, files)? {
                draft.apply(Edit::Send(row, Destination::Vcm));
            }
            continue;
        }
        for target in &moving {
            draft.leave_out(list, target, files)?;
        }
    }
    let rest = not_yet(draft, files, is_there)?;
    add(draft, &rest, Destination::Vcm);
    Ok(())
}

/// Routes the chosen files to the knowledge base.
pub(super) fn to_the_knowledge_base(draft: &mut Draft, files: Files<'_>) -> Result<()> {
    let is_there = |route: &Route| matches!(route, Route::KnowledgeBase { .. });
    let moving = not_yet(draft, files, is_there)?;
    for row in rows(draft, Destination::KnowledgeBase) {
        for target in &moving {
            draft.remove_negated(GlobList::Paths(row), target);
        }
    }
    let mut confined = Vec::new();
    for row in rows(draft, Destination::Vcm) {
        let list = GlobList::Paths(row);
        if is_confined(draft, row, &moving) {
            if matches_any_of(draft, list, &moving, files)? {
                confined.push(row);
            }
            continue;
        }
        for target in &moving {
            draft.leave_out(list, target, files)?;
        }
    }
    // From the last on: the rows before keep their numbers.
    for row in confined.into_iter().rev() {
        let at = RowAt::Route(row);
        let is_ours = is_as_written_here(draft, row, &moving);
        if is_ours && goes_without(draft, row, files.all.iter())? && !draft.has_comment(at) {
            draft.apply(Edit::RemoveRow(at));
            continue;
        }
        for target in &moving {
            if goes_without(draft, row, files.of(target))? {
                draft.remove_named(GlobList::Paths(row), target, files)?;
            }
        }
        draft.apply(Edit::Send(row, Destination::KnowledgeBase));
    }
    let mut rest = Vec::new();
    for target in not_yet(draft, files, is_there)? {
        match row_that_left_out(draft, target, files)? {
            Some(row) => draft.take_in(GlobList::Paths(row), target, files)?,
            None => rest.push(target),
        }
    }
    add_row(draft, &rest, Destination::KnowledgeBase);
    Ok(())
}

/// Returns the targets of which a file is not where it shall be.
fn not_yet<'a>(
    draft: &Draft,
    files: Files<'a>,
    is_there: impl Fn(&Route) -> bool,
) -> Result<Vec<&'a Target>> {
    let routing = Routing::of(&draft.map)?;
    let targets = files.targets.iter();
    let is_missing =
        |target: &&Target| files.of(target).any(|file| !is_there(&routing.route(file)));
    Ok(targets.filter(is_missing).collect())
}

fn rows(draft: &Draft, to: Destination) -> Vec<usize> {
    let rows = draft.map.knowledge_routing.iter().enumerate();
    rows.filter(|(_, row)| row.ingest_to == to).map(|(index, _)| index).collect()
}

/// Returns `true` if a row can match nothing but the targets, now and in future.
fn is_confined(draft: &Draft, row: usize, targets: &[&Target]) -> bool {
    let globs = GlobList::Paths(row).globs(&draft.map).iter();
    let mut positive = globs.filter(|glob| !glob.starts_with('!'));
    positive.all(|glob| targets.iter().any(|target| target.confines(glob)))
}

fn matches_any_of(
    draft: &Draft,
    list: GlobList,
    targets: &[&Target],
    files: Files<'_>,
) -> Result<bool> {
    for target in targets {
        if draft.matches_any(list, target, files)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns `true` if a promotion may have written a row: it says nothing but the names of targets.
fn is_as_written_here(draft: &Draft, row: usize, targets: &[&Target]) -> bool {
    let root = RepoPath::default();
    let globs = GlobList::Paths(row).globs(&draft.map).iter();
    let is_ours = |glob: &String| targets.iter().any(|target| target.glob(&root) == *glob);
    let route = draft.map.knowledge_routing.get(row);
    route.is_some_and(|row| row.profile.is_none()) && globs.into_iter().all(is_ours)
}

/// Returns `true` if those of the files that a row matches go to the knowledge base without it as they would with it.
fn goes_without<'a>(
    draft: &Draft,
    row: usize,
    mut files: impl Iterator<Item = &'a RepoPath>,
) -> Result<bool> {
    let (mut without, mut sent) = (draft.map.clone(), draft.map.clone());
    Edit::RemoveRow(RowAt::Route(row)).apply(&mut without);
    Edit::Send(row, Destination::KnowledgeBase).apply(&mut sent);
    let (without, sent) = (Routing::of(&without)?, Routing::of(&sent)?);
    Ok(files.all(|file| {
        let route = without.route(file);
        let is_there = matches!(route, Route::KnowledgeBase { .. });
        let is_its_own = sent.row_matches(row + 1, file) == Some(true);
        !is_its_own || (is_there && same(&route, &sent.route(file)))
    }))
}

/// Returns the first row of the knowledge base that would match all files of a target without its negated globs.
fn row_that_left_out(draft: &Draft, target: &Target, files: Files<'_>) -> Result<Option<usize>> {
    for row in rows(draft, Destination::KnowledgeBase) {
        let globs = GlobList::Paths(row).globs(&draft.map).iter();
        let positive: Vec<String> = globs.filter(|glob| !glob.starts_with('!')).cloned().collect();
        let positive = parse_globs(&positive)?;
        if files.of(target).all(|file| !positive.covering(file).is_empty()) {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// Adds targets to the last row with a destination, or as a new row.
fn add(draft: &mut Draft, targets: &[&Target], to: Destination) {
    match rows(draft, to).last() {
        Some(row) if !targets.is_empty() => {
            draft.apply(Edit::Add(GlobList::Paths(*row), globs_of(targets)));
        }
        _ => add_row(draft, targets, to),
    }
}

fn add_row(draft: &mut Draft, targets: &[&Target], to: Destination) {
    if !targets.is_empty() {
        draft.apply(Edit::AddRoute(globs_of(targets), to));
    }
}

fn globs_of(targets: &[&Target]) -> Vec<String> {
    let root = RepoPath::default();
    targets.iter().map(|target| target.glob(&root)).collect()
}
