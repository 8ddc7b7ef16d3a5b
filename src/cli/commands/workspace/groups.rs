//! `git colony status groups`

use std::path::PathBuf;

use crate::cli::actions::{Effect, Group, action, same};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Opening, Stop, typed_path};
use crate::model::time::Moment;
use crate::model::{Code, Error};
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;
use crate::workspace::checkout::groups::GroupSource;
use crate::workspace::groups::{self, GroupAgent, GroupRow, GroupsReport};

use super::id;

/// List the parts of this checkout, or find the part of a path
///
/// The groups are those that '.colony/colony.toml' or 'Vox.toml' names, else the members of the Cargo workspace, of
/// the Node workspace, and so on. A path belongs to the first group with a matching pattern.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Find the group of PATH
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Show which agents change files of each group
    #[arg(long)]
    agents: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("status groups")
        .example("git colony status groups --agents", "who works in which part")
        .example("git colony status groups a.txt dir", "the parts of these paths")
        .answers::<GroupsReport>()
        .action(
            action("list_groups", Group::Repository, Effect::Reads)
                .about("List the parts of this checkout, or find the part of each path")
                .takes(&[
                    same("paths").plain(),
                    same("agents").about("With the agents that change files of each"),
                ]),
        )
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let (world, checkout) = face.checkout()?;
    let typed = args.paths.iter().map(|path| typed_path::below(&world, &checkout.root, path));
    let paths = typed.collect::<Result<Vec<_>, _>>()?;
    let (groups_read, mut report) = groups::groups(&world, &checkout, &paths)?;
    if args.agents {
        if !checkout.has_git() {
            let message = "--agents needs a git repository, and this directory is in none";
            return Err(Error::new(Code::NotARepository, message).into());
        }
        let session = face.session(Opening::InMemory)?;
        groups::add_agents(&session, &groups_read, &mut report)?;
    }
    face.answer(&report)
}

impl Answer for GroupsReport {
    fn is_listing(&self) -> bool {
        self.resolved.is_empty()
    }

    fn message(&self) -> String {
        let source = match self.groups.first().map(|group| group.source) {
            Some(GroupSource::Config) => "named by the repository",
            Some(GroupSource::Cargo) => "the members of the Cargo workspace",
            Some(GroupSource::Node) => "the packages of Node",
            Some(GroupSource::Python) => "the Python project",
            Some(GroupSource::Go) => "the Go module",
            Some(GroupSource::Crates) => "the crates without a workspace",
            Some(GroupSource::Default) | None => "the whole checkout",
        };
        format!("{}: {source}", text::count(self.count, "group"))
    }

    fn narration(&self) -> Vec<String> {
        self.warnings.iter().map(id::warning).collect()
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        if !self.resolved.is_empty() {
            let rows = self.resolved.iter().map(|path_row| {
                let group = path_row.group.clone().unwrap_or("-".to_owned());
                vec![path_row.path.to_string(), group]
            });
            return text::table(&rows.collect::<Vec<_>>());
        }
        let row = |group: &GroupRow| {
            let last = match &group.agents {
                Some(agents) => named(agents),
                None => group.patterns.join(" "),
            };
            vec![group.name.clone(), last]
        };
        let mut rows: Vec<_> = self.groups.iter().map(row).collect();
        if let Some(outside) = self.outside.as_ref().filter(|agents| !agents.is_empty()) {
            rows.push(vec!["(no group)".to_owned(), named(outside)]);
        }
        text::table(&rows)
    }
}

fn named(agents: &[GroupAgent]) -> String {
    let label =
        |agent: &GroupAgent| format!("{} ({})", agent.agent, text::count(agent.files, "file"));
    let names: Vec<String> = agents.iter().map(label).collect();
    names.join(", ")
}
