//! Files promoted from the knowledge base to a literature source of the map, and demoted: one commit of the map.
//!
//! The records of promoted files stay until they are cleared, and nothing is mapped or ingested here.

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::commit::{new_files, scaffold};
use crate::git::Oid;
use crate::knowledge::stored::sources::Sources;
use crate::model::id::OperationId;
use crate::model::text::{count, typed_word};
use crate::model::{Code, Error, RepoPath, Result};
use crate::repo_map::load::{MapSource, PATH, load};
use crate::repo_map::promotion::{self, Changed, Direction, Files, Refusal, Target};
use crate::repo_map::resolve::scope_id;
use crate::repo_map::routing::{Route, Routing};
use crate::repo_map::row::Destination;
use crate::repo_map::schema::RepoMap;
use crate::repo_map::show::MapState;
use crate::store::Session;
use crate::store::files::text_diff;
use crate::store::operation::Kind;
use crate::text::readers::Format;

use super::list_files;

/// The maximum number of documents that the command to clear them names one by one.
const MAX_NAMED: usize = 5;

/// A file that was named, or is below a directory that was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RoutedFile {
    /// Its path.
    pub path: RepoPath,
    /// Where it goes now.
    pub ingest_to: Destination,
    /// The routing row that says so, from 1.
    pub row: usize,
    /// Whether it went elsewhere before.
    pub moved: bool,
}

/// The result of `promote` and `demote`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PromotionReport {
    /// The files, by path.
    pub paths: Vec<RoutedFile>,
    /// The number of those that moved.
    pub count: usize,
    /// The change of the map, as a unified diff; empty if it says so already.
    pub diff: String,
    /// Promoted files that no literature source reads: pages have them only by another source.
    pub unread: Vec<RepoPath>,
    /// The names of literature sources that were added.
    pub sources_added: Vec<String>,
    /// Whether a source has a scope of another name now: that of an only source named 'default' is shorter.
    pub scopes_renamed: bool,
    /// The commands that delete the records of promoted files from the knowledge base.
    pub clear: Vec<String>,
    /// The commit; null if the map says so already, and in a dry run.
    pub commit: Option<Oid>,
    /// The operation.
    pub op: Option<OperationId>,
    /// Whether nothing was written.
    pub dry_run: bool,
}

/// Moves files and directories of HEAD; in a dry run, says what would change.
pub fn route(
    session: &Session,
    direction: Direction,
    paths: &[RepoPath],
) -> Result<PromotionReport> {
    session.refuse_reader()?;
    let (kind, verb) = match direction {
        Direction::Promote => (Kind::Promote, "promote"),
        Direction::Demote => (Kind::Demote, "demote"),
    };
    scaffold::recover_first(session, kind)?;
    // A refusal comes before any lock.
    let mut planned = plan(session, direction, paths)?;
    let mut done = None;
    if planned.has_changed() {
        scaffold::check(session, verb, [&RepoPath::from(PATH)])?;
        new_files::check_allowed(session, &[RepoPath::from(PATH)])?;
        done = scaffold::commit_files(session, kind, || {
            planned = plan(session, direction, paths)?;
            let what = match paths {
                [path] => format!("'{path}'"),
                many => count(many.len(), "path"),
            };
            let request = scaffold::Request {
                summary: format!("{verb} {what}"),
                message: match direction {
                    Direction::Promote => format!("Promote {what} to a literature source"),
                    Direction::Demote => format!("Demote {what} to the knowledge base"),
                },
                files: vec![(PATH.into(), planned.after.text.clone().into_bytes())],
                // The text is that of HEAD.
                form: scaffold::FileForm::Stored,
            };
            Ok(planned.has_changed().then_some(request))
        })?;
    }
    Ok(PromotionReport {
        count: planned.files.iter().filter(|file| file.moved).count(),
        diff: planned.diff(),
        unread: match direction {
            Direction::Promote => planned.unread(),
            Direction::Demote => Vec::new(),
        },
        sources_added: planned.sources_added(),
        scopes_renamed: planned.renames_scopes(),
        clear: match direction {
            Direction::Promote => planned.commands_to_clear(session)?,
            Direction::Demote => Vec::new(),
        },
        paths: planned.files,
        commit: done.as_ref().map(|done| done.commit),
        op: done.map(|done| done.op),
        dry_run: session.is_dry(),
    })
}

/// A change of the map that is not written yet.
struct Plan {
    text: String,
    map: RepoMap,
    after: Changed,
    files: Vec<RoutedFile>,
}

fn plan(session: &Session, direction: Direction, paths: &[RepoPath]) -> Result<Plan> {
    let repo = &session.repo;
    let scan = repo.scan(&session.world)?;
    let path = RepoPath::from(PATH);
    scaffold::refuse_uncommitted(session, &scan, &path)?;
    let loaded = load(repo, MapSource::Tree(scan.head_tree))?;
    let Some(bytes) = loaded.raw.filter(|_| loaded.has_file) else {
        let message = format!("HEAD has no '{PATH}', which would route files");
        return Err(Error::new(Code::PathNotFound, message).hint("git colony init").unchanged());
    };
    let map = crate::repo_map::load::require(repo, &MapState::Head)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (targets, all) = targets(session, scan.head_tree, direction, paths)?;
    let files = Files { all: &all, targets: &targets };
    let after =
        promotion::change(&text, &map, files, direction)?.map_err(|refusal| refused(&refusal))?;
    let (old, new) = (Routing::of(&map)?, Routing::of(&after.map)?);
    let chosen = all.iter().filter(|file| files.is_chosen(file));
    let routed = chosen.filter_map(|file| {
        let (ingest_to, row) = destination(&new.route(file))?;
        let was = destination(&old.route(file)).map(|destination| destination.0);
        Some(RoutedFile { path: file.clone(), ingest_to, row, moved: was != Some(ingest_to) })
    });
    Ok(Plan { files: routed.collect(), text, map, after })
}

fn destination(route: &Route) -> Option<(Destination, usize)> {
    match route {
        Route::Nowhere => None,
        Route::KnowledgeBase { row, .. } => Some((Destination::KnowledgeBase, *row)),
        Route::Vcm { row } => Some((Destination::Vcm, *row)),
    }
}

/// Returns what was named, and all files of a tree that a map may include.
fn targets(
    session: &Session,
    tree: Oid,
    direction: Direction,
    paths: &[RepoPath],
) -> Result<(Vec<Target>, Vec<RepoPath>)> {
    let objects = session.repo.objects();
    let mut all = Vec::new();
    list_files(session, &objects, tree, &RepoPath::default(), &mut |path, _| all.push(path))?;
    let mut targets: Vec<Target> = Vec::new();
    for path in paths {
        let entry = objects.at(tree, path)?;
        let target = Target {
            path: path.clone(),
            is_directory: path.as_bytes().is_empty()
                || entry.is_some_and(|entry| entry.is_directory()),
        };
        if !all.iter().any(|file| target.covers(file)) {
            let message = format!("HEAD has no file at or below '{path}' that a map may include");
            return Err(Error::new(Code::PathNotFound, message).unchanged());
        }
        if direction == Direction::Promote && !target.is_directory && Format::of(path).is_none() {
            let message = format!(
                "a literature source cannot read '{path}': it would be in no page and not in the knowledge base"
            );
            return Err(Error::new(Code::InvalidValue, message).unchanged());
        }
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    Ok((targets, all))
}

fn refused(refusal: &Refusal) -> Error {
    let mut message = format!("cannot change '{PATH}': {}", refusal.why);
    if !refusal.wanted.is_empty() {
        message = format!("{message}; wanted: {}", refusal.wanted.join("; "));
    }
    Error::new(Code::MapNotEditable, message)
        .detail("path", PATH)
        .detail("wanted", &refusal.wanted)
        .unchanged()
}

impl Plan {
    fn has_changed(&self) -> bool {
        self.text != self.after.text
    }

    fn diff(&self) -> String {
        text_diff::unified(PATH, Some(&self.text), Some(&self.after.text))
    }

    /// Returns `true` if a source that stays has a scope of another name.
    fn renames_scopes(&self) -> bool {
        let id = |map: &RepoMap, name: &str| scope_id(map, "", name);
        let stays = |name: &str| self.after.map.sources.iter().any(|row| row.name == name);
        let mut names = self.map.sources.iter().map(|row| row.name.as_str());
        names.any(|name| stays(name) && id(&self.map, name) != id(&self.after.map, name))
    }

    fn unread(&self) -> Vec<RepoPath> {
        let files = self.files.iter().filter(|file| file.moved);
        let unread = files.filter(|file| Format::of(&file.path).is_none());
        unread.map(|file| file.path.clone()).collect()
    }

    fn sources_added(&self) -> Vec<String> {
        let is_new = |name: &String| self.map.sources.iter().all(|row| row.name != *name);
        let names = self.after.map.sources.iter().map(|row| row.name.clone());
        names.filter(is_new).collect()
    }

    fn commands_to_clear(&self, session: &Session) -> Result<Vec<String>> {
        let sources = Sources::load(&session.repo)?;
        let known = sources.by_path();
        let files: Vec<&RoutedFile> =
            self.files.iter().filter(|file| known.contains_key(&file.path)).collect();
        let clear = "git colony knowledge clear";
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let is_plain =
            |letter: char| letter.is_alphanumeric() || letter == ' ' || letter.is_ascii_graphic();
        let can_be_typed = |file: &&RoutedFile| file.path.to_string().chars().all(is_plain);
        if files.len() <= MAX_NAMED && files.iter().all(can_be_typed) {
            let names = files.iter().map(|file| typed_word(&format!("repo:{}", file.path)));
            return Ok(vec![format!("{clear} -- {}", names.collect::<Vec<_>>().join(" "))]);
        }
        let mut rows: Vec<usize> = files.iter().map(|file| file.row).collect();
        rows.sort_unstable();
        rows.dedup();
        Ok(rows.iter().map(|row| format!("{clear} --row {row}")).collect())
    }
}
