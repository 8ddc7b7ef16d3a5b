//! `git colony clones colony`

use schemars::JsonSchema;
use serde::Serialize;

use crate::agents::colony::colonies;
use crate::cli::actions::{Effect, Group, action};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Stop};
use crate::clones::hub::colonies::Colony;
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Record where the repository of a colony is
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Action {
    /// List the colonies (the default)
    List,
    /// Show one
    Show {
        /// Its name (default: 'default', or the only one)
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// Record the repository of a colony; the current checkout takes part from now on
    #[command(override_usage = "git colony clones colony set [OPTIONS] [NAME] <URL>")]
    Set {
        /// Its name, if it is not 'default', and where the repository is
        #[arg(value_names = ["NAME", "URL"], num_args = 1..=2, required = true)]
        name_and_url: Vec<String>,
        /// The branch that clones start on
        #[arg(long, value_name = "BRANCH")]
        branch: Option<String>,
        /// The commit that clones start at
        #[arg(long, value_name = "COMMIT")]
        commit: Option<String>,
        /// Show what would be recorded, and record nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
}

/// The colonies that are known.
#[derive(Serialize, JsonSchema)]
struct ColoniesReport {
    /// By name.
    colonies: Vec<Colony>,
    /// How many.
    count: usize,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("clones colony")
        .example(
            "git colony clones colony set demo https://example.com/demo.git",
            "note where a colony is",
        )
        .example("git colony clones colony show demo", "look it up")
        .answers::<ColoniesReport>()
        .below([
            Declaration::of("clones colony list").answers::<ColoniesReport>().action(
                action("list_colonies", Group::Agents, Effect::Reads)
                    .about("List the colonies and their repositories"),
            ),
            Declaration::of("clones colony set").answers::<Colony>(),
            Declaration::of("clones colony show").answers::<Colony>(),
        ])
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    match args.action {
        None | Some(Action::List) => {
            let colonies = colonies::list(&face.world()?)?;
            let count = colonies.len();
            face.answer(&ColoniesReport { colonies, count })
        }
        Some(Action::Show { name }) => {
            let colony = colonies::show(&face.world()?, name.as_deref())?;
            face.answer(&colony)
        }
        Some(Action::Set { name_and_url, branch, commit, dry_run }) => {
            let (world, session) = face.session_if_any()?;
            let (name, url) = match name_and_url.as_slice() {
                [name, url] => (Some(name.as_str()), url.as_str()),
                [url, ..] => (None, url.as_str()),
                [] => (None, ""),
            };
            let wanted = colonies::WantedColony { name, url, branch, commit, dry_run };
            let colony = colonies::set(&world, session.as_ref(), wanted)?;
            face.answer(&colony)
        }
    }
}

impl Answer for Colony {
    fn message(&self) -> String {
        let branch =
            self.branch.as_ref().map_or_else(String::new, |branch| format!(", branch {branch}"));
        format!("{}: {}{branch}", self.name, self.origin_url)
    }
}

impl Answer for ColoniesReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        match self.count {
            0 => "no colonies: git colony clones colony set URL".to_owned(),
            1 => "1 colony".to_owned(),
            count => format!("{count} colonies"),
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let row = |colony: &Colony| {
            vec![
                format!("  {}", colony.name),
                colony.origin_url.clone(),
                colony.branch.clone().unwrap_or_default(),
            ]
        };
        text::table(&self.colonies.iter().map(row).collect::<Vec<_>>())
    }
}
