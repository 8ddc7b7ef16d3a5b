//! Tools of this repository and of those it imports: list, find, create.
//!
//! Listing never fetches. A new tool is one commit of its files and of its line in the registry,
//! and nothing else; nothing is written outside of its own, previously empty, directory.

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::commit::scaffold;
use crate::git::Oid;
use crate::git::worktree::scan::Scan;
use crate::model::id::OperationId;
use crate::model::{Code, Error, RepoPath, Result};
use crate::setup::scaffolds::{self, uuid};
use crate::setup::tool_entry::ToolEntry;
use crate::setup::tool_spec::ToolSpec;
use crate::setup::tooling_imports::{self, ImportProblem};
use crate::setup::{tool_registry, tool_score};
use crate::store::Session;
use crate::store::operation::Kind;

/// A tool that can be used here.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Tool {
    /// Its entry in the registry.
    pub entry: ToolEntry,
    /// Whether it belongs to this repository; an imported tool can only be used.
    pub writable: bool,
    /// The git remote it is imported from.
    pub remote: Option<String>,
}

/// The tools that can be used here.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ToolsReport {
    /// Those of this repository first, in the order of their registries.
    pub tools: Vec<Tool>,
    /// Their number.
    pub count: usize,
    /// The imports that could not be read.
    pub problems: Vec<ImportProblem>,
}

/// A tool and its score.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Match {
    /// Its entry in the registry.
    pub entry: ToolEntry,
    /// From 0.05 to 1; 1 is an exact capability.
    pub score: f64,
    /// Whether it belongs to this repository; an imported tool can only be used.
    pub writable: bool,
    /// The git remote it is imported from.
    pub remote: Option<String>,
}

/// The tools that match a query.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FindReport {
    /// The query.
    pub query: String,
    /// The tools, the best first; equal scores by name, ours first.
    pub matches: Vec<Match>,
    /// Their number.
    pub count: usize,
    /// The imports that could not be read.
    pub problems: Vec<ImportProblem>,
}

/// The tools to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolFilter {
    /// All that can be used.
    All,
    /// Those of this repository.
    Writable,
}

/// A tool that was created.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NewReport {
    /// Its place: `subdir_in_monorepo:<path>`.
    pub target: String,
    /// Its directory.
    pub relative_path: RepoPath,
    /// The commit that holds its files and its entry; `None` in a dry run.
    pub sha: Option<Oid>,
    /// Its files, sorted.
    pub files_created: Vec<RepoPath>,
    /// Its entry in the registry.
    pub tool_entry: ToolEntry,
    /// Those of its files that an ignore rule of the repository matches: git tracks them
    /// nevertheless, but not new files beside them.
    pub ignored: Vec<RepoPath>,
    /// The operation; `None` in a dry run.
    pub op: Option<OperationId>,
    /// True if nothing was done because of a dry run.
    pub dry_run: bool,
}

/// Lists the tools.
pub fn list(session: &Session) -> Result<ToolsReport> {
    let (tools, problems) = known(session, ToolFilter::All)?;
    Ok(ToolsReport { count: tools.len(), tools, problems })
}

/// Finds the tools that match a query.
pub fn find(session: &Session, query: &str, which: ToolFilter) -> Result<FindReport> {
    let (tools, problems) = known(session, which)?;
    let scored = tools.into_iter().map(|tool| Match {
        score: tool_score::score(query, &tool.entry),
        entry: tool.entry,
        writable: tool.writable,
        remote: tool.remote,
    });
    let mut matches: Vec<Match> = scored.filter(|hit| hit.score >= tool_score::MIN_SCORE).collect();
    // A stable sort: ours come before imported ones with the same score.
    matches.sort_by(|a, b| {
        let by_score = b.score.total_cmp(&a.score);
        by_score.then_with(|| a.entry.name.cmp(&b.entry.name))
    });
    Ok(FindReport { query: query.to_owned(), count: matches.len(), matches, problems })
}

fn known(session: &Session, which: ToolFilter) -> Result<(Vec<Tool>, Vec<ImportProblem>)> {
    let own = tool_registry::read(&session.repo)?.into_iter();
    let mut tools: Vec<Tool> =
        own.map(|entry| Tool { entry, writable: true, remote: None }).collect();
    if which == ToolFilter::Writable {
        return Ok((tools, Vec::new()));
    }
    let (imported, problems) = tooling_imports::read(&session.repo);
    tools.extend(imported.into_iter().map(|tool| Tool {
        entry: tool.entry,
        writable: false,
        remote: Some(tool.remote),
    }));
    Ok((tools, problems))
}

/// Creates a tool; in a dry run, only plans that.
pub fn begin(session: &Session, spec: &ToolSpec) -> Result<NewReport> {
    scaffold::recover_first(session, Kind::ToolsNew)?;
    // A refusal comes before any lock.
    let planned = plan(session, spec)?;
    let paths = planned.request.files.iter().map(|(path, _)| path);
    scaffold::check(session, "create a tool", paths)?;
    let done = scaffold::commit_files(session, Kind::ToolsNew, || {
        plan(session, spec).map(|plan| Some(plan.request))
    })?;
    let directory = spec.directory();
    Ok(NewReport {
        target: format!("subdir_in_monorepo:{directory}"),
        relative_path: directory,
        sha: done.as_ref().map(|done| done.commit),
        files_created: planned.files,
        tool_entry: spec.entry(),
        ignored: planned.ignored,
        op: done.map(|done| done.op),
        dry_run: session.is_dry(),
    })
}

/// What would be committed.
struct Plan {
    request: scaffold::Request,
    files: Vec<RepoPath>,
    ignored: Vec<RepoPath>,
}

fn plan(session: &Session, spec: &ToolSpec) -> Result<Plan> {
    let (repo, world) = (&session.repo, &session.world);
    let scan = repo.scan(world)?;
    let directory = spec.directory();
    refuse_taken(session, &scan, &directory)?;
    let registry = committed_registry(session, &scan)?;
    let registry = tool_registry::with_entry(registry.as_deref(), &spec.entry())?;
    // The same in every clone at this commit, and different in every other repository.
    let commit = scan.head.commit().map(|commit| commit.to_string());
    let seed = format!("git-colony:{}:{directory}", commit.unwrap_or_default());
    let mut files = scaffolds::render(spec, &uuid::of_name(&seed))?;
    let paths: Vec<RepoPath> = files.iter().map(|(path, _)| path.clone()).collect();
    let visible = repo.retain_visible(world, scan.head_tree, &paths)?;
    let ignored = paths.iter().filter(|path| !visible.contains(path)).cloned().collect();
    files.push((tool_registry::PATH.into(), registry));
    let tool = format!("{}/{}", spec.purpose(), spec.name());
    let template = spec.template().as_str();
    Ok(Plan {
        request: scaffold::Request {
            summary: format!("tools new {tool}"),
            message: format!("bootstrap tool {tool} (template={template})"),
            files,
            form: scaffold::FileForm::Worktree,
        },
        files: paths,
        ignored,
    })
}

/// Refuses a place that is not empty: in the files, ignored or not, in HEAD, or in the index.
fn refuse_taken(session: &Session, scan: &Scan, directory: &RepoPath) -> Result<()> {
    let repo = &session.repo;
    for above in directory.ancestors() {
        if let Some(entry) = repo.leaf_in(scan.head_tree, &above)? {
            let what = if entry.is_submodule() { "a submodule" } else { "a file" };
            return Err(in_the_way(&above, directory, what));
        }
        if is_there(&above.join(&".git".into()).under(repo.workdir())) {
            let message =
                format!("'{above}' is a nested repository, and '{directory}' would be inside it");
            return Err(Error::new(Code::NestedRepository, message).detail("path", &above));
        }
        if scan.is_tracked(&above) {
            return Err(in_the_way(&above, directory, "tracked"));
        }
    }
    let mut in_index = scan
        .staged
        .iter()
        .map(|change| &change.path)
        .chain(&scan.unstaged)
        .chain(&scan.conflicts)
        .filter(|path| path.is_at_or_below(directory));
    if repo.entry_in(scan.head_tree, directory.as_path())?.is_some() || in_index.next().is_some() {
        return Err(taken(directory, "git tracks files there"));
    }
    let on_disk = directory.under(repo.workdir());
    let Ok(metadata) = std::fs::symlink_metadata(&on_disk) else {
        return Ok(());
    };
    if !metadata.is_dir() {
        return Err(in_the_way(directory, directory, "not a directory"));
    }
    let mut entries = std::fs::read_dir(&on_disk)
        .map_err(|e| Error::io(format!("cannot read '{directory}'"), e))?;
    match entries.next() {
        Some(_) => Err(taken(directory, "it is not empty")),
        None => Ok(()),
    }
}

fn is_there(path: &std::path::Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}

fn in_the_way(obstacle: &RepoPath, directory: &RepoPath, what: &str) -> Error {
    let message = format!("cannot create a tool at '{directory}': '{obstacle}' is {what}");
    Error::new(Code::PathInTheWay, message).detail("path", obstacle)
}

fn taken(directory: &RepoPath, why: &str) -> Error {
    let message = format!("cannot create a tool at '{directory}': {why}");
    Error::new(Code::ToolExists, message).hint("git colony tools").detail("path", directory)
}

/// Returns the committed registry; refuses if it differs in the index or the working tree.
fn committed_registry(session: &Session, scan: &Scan) -> Result<Option<Vec<u8>>> {
    let repo = &session.repo;
    let path = RepoPath::from(tool_registry::PATH);
    scaffold::refuse_uncommitted(session, scan, &path)?;
    match repo.leaf_in(scan.head_tree, &path)? {
        None => Ok(None),
        Some(entry) if entry.is_plain_file() => repo.read_blob(entry.id).map(Some),
        Some(_) => {
            Err(Error::new(Code::ToolRegistryInvalid, format!("'{path}' is not a regular file"))
                .detail("path", &path))
        }
    }
}
