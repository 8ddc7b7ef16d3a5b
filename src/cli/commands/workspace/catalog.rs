//! `git colony catalog`

use clap::Subcommand;

use crate::cli::actions::{Effect, Group, action, same};
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Opening, Run, Stop};
use crate::git::Checkout;
use crate::model::time::Moment;
use crate::model::world::Plane;
use crate::model::{Result, World};
use crate::store::yaml_problem::YamlProblem;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;
use crate::workspace::catalog::{self, CatalogCheckReport, CatalogReport, CatalogState};
use crate::workspace::catalog_edit::{self, Addition, CatalogChangeReport, Change, Changed};
use crate::workspace::checkout::catalog::resolve::{Reach, Workspace};
use crate::workspace::checkout::catalog::{AccessMode, CatalogRepository};

use super::query;

/// List and change the repositories that belong to this workspace
///
/// The catalog is '.colony/repositories.yaml', else '.vox/repositories.yaml'. 'git colony catalog query' asks the repositories in it,
/// and no others: no directory is searched for repositories.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    command: Option<CatalogCommand>,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum CatalogCommand {
    List(ListArgs),
    Add(AddArgs),
    Remove(RemoveArgs),
    Focus(FocusArgs),
    Check(CheckArgs),
    Refresh(RefreshArgs),
    Query(query::Args),
}

/// List the repositories, and what each row resolves to (default)
#[derive(Debug, Default, clap::Args)]
struct ListArgs {
    /// Show them as they were when the catalog was refreshed last
    #[arg(long)]
    cached: bool,
}

/// Add a repository to the catalog
///
/// Edits the file in the working tree, and creates it if there is none; nothing is committed. 'undo' reverts it.
/// A checkout in this workspace is added by its relative path, any other by its absolute one.
#[derive(Debug, clap::Args)]
struct AddArgs {
    /// The root of a checkout, or a URL
    #[arg(value_name = "PATH|URL")]
    place: String,
    /// Declare ID (default: nothing for a checkout, the id of the project for a URL)
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Show it as NAME (default: the last part of the path or URL)
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Reach it by MODE (default: that of a git host, for a URL)
    #[arg(long, value_name = "MODE", value_enum)]
    mode: Option<Mode>,
    /// Show the change of the file, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Remove a repository from the catalog
///
/// Edits the file in the working tree; the repository itself stays as it is. 'undo' reverts it.
#[derive(Debug, clap::Args)]
struct RemoveArgs {
    /// Its id, name or path
    #[arg(value_name = "REPOSITORY")]
    repository: String,
    /// Show the change of the file, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Name the repository that is meant first
///
/// Without REPOSITORY it is this workspace again. Edits the file in the working tree. 'undo' reverts it.
#[derive(Debug, clap::Args)]
struct FocusArgs {
    /// Its id, name or path
    #[arg(value_name = "REPOSITORY")]
    repository: Option<String>,
    /// Show the change of the file, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Report every problem of the catalog, with line and column
///
/// Also rows that do not resolve, and ids that are not those of the checkouts. The exit code is 1 if there is a
/// problem.
#[derive(Debug, clap::Args)]
struct CheckArgs {}

/// Resolve the repositories, and keep the answer for 'catalog list --cached'
#[derive(Debug, clap::Args)]
struct RefreshArgs {}

/// How a repository is reached.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
enum Mode {
    /// A checkout on this machine
    Local,
    /// A server of the Model Context Protocol
    RemoteMcp,
    /// A git host
    RemoteGitHost,
    /// A search service
    RemoteSearchService,
}

impl From<Mode> for AccessMode {
    fn from(mode: Mode) -> AccessMode {
        match mode {
            Mode::Local => AccessMode::Local,
            Mode::RemoteMcp => AccessMode::RemoteMcp,
            Mode::RemoteGitHost => AccessMode::RemoteGitHost,
            Mode::RemoteSearchService => AccessMode::RemoteSearchService,
        }
    }
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("catalog", Section::Inspect, Screen::All)
        .example("git colony catalog add .", "this repository is one of them")
        .example("git colony catalog", "its repositories, and where they are")
        .example("git colony catalog check", "every problem in it, with its line")
        .answers::<CatalogReport>()
        .below([
            Declaration::of("catalog list").answers::<CatalogReport>().action(
                action("catalog_list", Group::Repository, Effect::Reads)
                    .about("List the repositories that queries ask")
                    .takes(&[same("cached").about("As the last refresh found them")]),
            ),
            Declaration::of("catalog refresh").answers::<CatalogReport>().action(
                action("catalog_refresh", Group::Repository, Effect::Adds)
                    .about("Resolve these repositories again"),
            ),
            Declaration::of("catalog add").answers::<CatalogChangeReport>(),
            Declaration::of("catalog check").answers::<CatalogCheckReport>(),
            Declaration::of("catalog focus").answers::<CatalogChangeReport>(),
            Declaration::of("catalog remove").answers::<CatalogChangeReport>(),
            query::declaration(),
        ])
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let command = args.command;
    match command.unwrap_or(CatalogCommand::List(ListArgs::default())) {
        CatalogCommand::List(args) => {
            let (world, checkout) = face.checkout()?;
            let state = if args.cached { CatalogState::Cached } else { CatalogState::Now };
            let reach = face.reach(&checkout)?;
            face.answer(&catalog::list(workspace(&world, &checkout, &reach), state)?)
        }
        CatalogCommand::Query(args) => query::run(face, args),
        CatalogCommand::Refresh(_) => {
            let (world, checkout) = face.checkout()?;
            let reach = face.reach(&checkout)?;
            face.answer(&catalog::refresh(workspace(&world, &checkout, &reach))?)
        }
        CatalogCommand::Check(_) => {
            let (world, checkout) = face.checkout()?;
            let reach = face.reach(&checkout)?;
            face.answer(&catalog::check(workspace(&world, &checkout, &reach))?)
        }
        CatalogCommand::Add(args) => {
            let addition = Addition {
                place: args.place,
                id: args.id,
                name: args.name,
                mode: args.mode.map(AccessMode::from),
            };
            change(face, &Change::Add(addition), args.dry_run.into())
        }
        CatalogCommand::Remove(args) => {
            change(face, &Change::Remove(args.repository), args.dry_run.into())
        }
        CatalogCommand::Focus(args) => {
            change(face, &Change::Focus(args.repository), args.dry_run.into())
        }
    }
}

/// Puts together what the catalog of a checkout is read with.
pub(in crate::cli) fn workspace<'a>(
    world: &'a World,
    checkout: &'a Checkout,
    reach: &'a Reach,
) -> Workspace<'a> {
    Workspace { world, checkout, reach }
}

impl Face<'_> {
    /// Returns the places that a catalog may lead to: for a call by MCP those that the user allows.
    pub(in crate::cli) fn reach(&self, checkout: &Checkout) -> Result<Reach> {
        Ok(match self.env.world.plane {
            Plane::Cli => Reach::Anywhere,
            Plane::Mcp | Plane::Web if checkout.git_root.is_some() => {
                Reach::Below(self.session(Opening::InMemory)?.settings.catalog_roots)
            }
            Plane::Mcp | Plane::Web => Reach::Below(Vec::new()),
        })
    }
}

fn change(face: &mut Face<'_>, change: &Change, run: Run) -> Result<Outcome, Stop> {
    let session = face.session(run)?;
    face.answer(&catalog_edit::change(&session, change)?)
}

impl Answer for CatalogReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let here = self.repositories.iter().filter(|repository| repository.is_here()).count();
        let count = match self.count {
            1 => "1 repository".to_owned(),
            many => format!("{many} repositories"),
        };
        let when = match (self.cached, self.stale) {
            (false, _) => String::new(),
            (true, false) => format!(", as of {}", self.resolved_at),
            (true, true) => format!(", as of {}; the catalog has changed since", self.resolved_at),
        };
        format!("{count} in the catalog, {here} on this machine{when}")
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let row = |repository: &CatalogRepository| {
            let is_primary = repository.has_id(&self.primary_repository_id);
            let place = match (&repository.resolved_root, &repository.resolution_error) {
                (Some(root), _) => root.to_string(),
                (None, Some(error)) => error.clone(),
                (None, None) => repository.access.origin_url.clone().unwrap_or_default(),
            };
            vec![
                if is_primary { "*" } else { " " }.to_owned(),
                repository.display_name.clone(),
                repository.repository_id.clone().unwrap_or("-".to_owned()),
                repository.access.access_mode.as_str().to_owned(),
                place,
            ]
        };
        text::table(&self.repositories.iter().map(row).collect::<Vec<_>>())
    }
}

impl Answer for CatalogCheckReport {
    fn message(&self) -> String {
        let path = &self.manifest_path;
        match self.count {
            0 => format!("'{path}' is valid, and every repository resolves"),
            count => format!("{} in '{path}'", text::count(count, "problem")),
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let problems = self.problems.iter();
        problems.map(YamlProblem::sentence).collect()
    }

    fn outcome(&self) -> Outcome {
        if self.count == 0 { Outcome::Yes } else { Outcome::No }
    }
}

impl Answer for CatalogChangeReport {
    fn message(&self) -> String {
        let name = self.display_name.as_deref().unwrap_or_default();
        let would = if self.dry_run { "would have " } else { "" };
        match self.change {
            Changed::Added => format!("{would}added '{name}' to the catalog"),
            Changed::Removed => format!("{would}removed '{name}' from the catalog"),
            Changed::Focused => format!("{would}made '{name}' the primary repository"),
            Changed::Unfocused => format!("{would}made this workspace the primary repository"),
            Changed::Nothing => "the catalog says so already".to_owned(),
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        if self.dry_run {
            return self.diff.lines().map(str::to_owned).collect();
        }
        Vec::new()
    }

    fn narration(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.credentials_left_out {
            lines.push("the credentials in the URL were left out".to_owned());
        }
        if self.was_primary {
            lines.push("it was the primary repository; now the workspace is".to_owned());
        }
        lines
    }
}
