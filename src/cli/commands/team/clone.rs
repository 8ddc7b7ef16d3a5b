//! `git colony clones new`

use crate::agents::colony::clone::{self, CloneReport, CloneStatus, Request};
use crate::agents::colony::{clone_preview, setup_commands};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Stop};
use crate::model::{Code, Error};
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::agents::large_files;
use super::cone::ConeArgs;

/// Clone a repository for an agent, or for reading
///
/// The clone borrows its objects from the hub of the repository, which is made first if need be: from
/// URL, from the repository this runs in, or from the one that 'git colony clones colony set' has recorded.
/// 'git colony agents new' does the same for the repository here, and creates a fork.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Where the repository is (default: here, or the colony's)
    #[arg(value_name = "URL")]
    url: Option<String>,
    /// Make it for reading: it follows the remote and refuses changes
    #[arg(long)]
    read_only: bool,
    /// The name of its folder (default: the branch)
    #[arg(long, value_name = "FOLDER")]
    scope: Option<String>,
    /// The branch it is on (default: the current one, or the remote's)
    #[arg(long, value_name = "BRANCH")]
    branch: Option<String>,
    /// Leave its working tree empty
    #[arg(long)]
    no_checkout: bool,
    /// Large files: 'all' (the default), 'none', or paths
    #[arg(long, value_name = "all|none|PATH", num_args = 1)]
    lfs: Vec<String>,
    #[command(flatten)]
    cone: ConeArgs,
    /// Show what would be created, and create nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("clones new")
        .example("git colony clones new --read-only", "a clone to read in; prints the path")
        .example("git colony clones new --agent bob -n", "show where one without a fork would be")
        .answers::<CloneReport>()
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let (world, session) = face.session_if_any()?;
    let agent = face
        .flags
        .agent
        .clone()
        .or_else(|| world.text_variable("COLONY_AGENT").map(str::to_owned))
        .filter(|_| !args.read_only);
    if agent.is_none() && !args.read_only {
        let message = "the use of the clone is missing: --agent NAME or --read-only";
        let error = Error::new(Code::Usage, message).hint("git colony clones new --agent NAME");
        return Err(error.into());
    }
    let request = Request {
        url: args.url,
        agent,
        scope: args.scope,
        branch: args.branch,
        no_checkout: args.no_checkout,
        large_files: large_files(args.lfs),
        sparse: args.cone.cone(),
    };
    let report = if args.dry_run {
        clone_preview::preview(&world, session.as_ref(), &request)?
    } else {
        clone::clone(&world, session.as_ref(), &request)?
    };
    face.answer(&report)
}

impl Answer for CloneReport {
    fn message(&self) -> String {
        let url = self.url.as_deref().unwrap_or("this repository");
        if self.status == CloneStatus::Exists {
            return format!("'{url}' is already cloned for reading");
        }
        let did = if self.dry_run { "would clone" } else { "cloned" };
        let whose = match &self.agent {
            Some(agent) => format!("for agent '{agent}'"),
            None => "for reading".to_owned(),
        };
        format!("{did} '{url}' {whose}")
    }

    fn narration(&self) -> Vec<String> {
        let path = self.path.display().to_string();
        let name = self.agent.as_ref().unwrap_or(&path);
        let advice = setup_commands::advice(&self.commands, name);
        let follow = self.id.as_ref().filter(|_| self.status == CloneStatus::Exists).map(|id| {
            let commit = text::short(self.commit);
            format!("at {commit}; bring it up to date: git colony clones refresh {id}")
        });
        let mut lines = vec![self.message()];
        lines.extend(follow);
        [lines, advice].concat()
    }

    fn outcome(&self) -> Outcome {
        super::clones::outcome_of(&self.commands)
    }

    fn line(&self) -> String {
        self.path.display().to_string()
    }
}
