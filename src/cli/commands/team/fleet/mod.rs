//! `git colony` without a command. `fleet` is its name where one is needed: in actions, reports and help.

mod below;
mod cells;
pub mod screen;
mod table;

use std::collections::BTreeSet;

use crate::cli::actions::{Effect, Group, action};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Opening, Stop};
use crate::desk::fleet::{self, Activity, FleetReport, Row, Upstream, Whose};
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::layout::Block;
use crate::ui::text;
use crate::ui::theme::{Line, Role, Span};

use super::agents::answers;
use table::{Desk, NARROW};

/// Show agents and forks: progress, clashes, and what to merge next
///
/// A line per agent and per fork: its commits with the lines that they add and delete ('2c +31 -4'), the
/// number of uncommitted paths ('1*'), the subject of its newest commit or a merge in progress, when it was
/// last active or the state that its hooks reported, with the program that works in its clone, and how it
/// would merge into its target branch. Then who is merged, the paths in which forks clash, removed agents
/// with work that is not here, and the next command: merge what merges cleanly, then settle the smallest
/// conflict. Work that 'agents hold' holds back is not suggested. 'git colony' alone is the same, with the same
/// options.
#[derive(Debug, Default, clap::Args)]
#[command(hide = true)]
pub(in crate::cli) struct Args {
    /// Show agents and forks as a screen with keys that follows all changes; '?' lists the keys
    #[arg(long)]
    watch: bool,
    /// Show the agents of other checkouts of this repository, too
    #[arg(long)]
    everywhere: bool,
}

impl Args {
    /// Adds the options that were given before the command, or without one.
    pub(in crate::cli) fn add(&mut self, other: &Args) {
        self.watch |= other.watch;
        self.everywhere |= other.everywhere;
    }

    /// Returns the first flag that is given.
    pub(in crate::cli) fn flag(&self) -> Option<&'static str> {
        let flags = [(self.watch, "--watch"), (self.everywhere, "--everywhere")];
        flags.into_iter().find(|(is_given, _)| *is_given).map(|(_, flag)| flag)
    }
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("fleet")
        .example("git colony", "the agents, their clashes, and what to merge next")
        .example("git colony --everywhere --json", "with those of other checkouts, for a program")
        .answers::<FleetReport>()
        .action(action("fleet", Group::Agents, Effect::Reads).about(
            "See what other agents changed and who works on what: all agents and forks, conflicts \
             between forks, what to merge next",
        ))
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    // The clashes that are computed are cached for the next command.
    if args.watch {
        screen::refuse_without_terminal(face)?;
    }
    let session = face.session_among_others(Opening::Read, &[])?;
    let whose = if args.everywhere { Whose::Everyone } else { Whose::ThisCheckout };
    let report = fleet::fleet(&session, whose)?;
    if args.watch {
        return screen::run(face, session, report, whose);
    }
    face.answer(&report)
}

impl Answer for FleetReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn narration(&self) -> Vec<String> {
        // Those have a row.
        let others = self.damaged.iter().filter(|clone| !clone.is_unusable());
        answers::damaged(others)
    }

    fn message(&self) -> String {
        let changed = match self.changed {
            0 => "nothing uncommitted".to_owned(),
            count => format!("{} uncommitted", text::count(count, "path")),
        };
        let names = self.agents.iter().filter_map(|row| row.agent.as_ref());
        let agents = match names.collect::<BTreeSet<_>>().len() {
            0 => String::new(),
            count => format!(", {}", text::count(count, "agent")),
        };
        let asking = self.agents.iter().filter(|row| row.state == Activity::Asks).count();
        let asking = match asking {
            0 => String::new(),
            1 => ", 1 asks".to_owned(),
            count => format!(", {count} ask"),
        };
        let done = match self.agents.iter().filter(|row| has_done_work(row)).count() {
            0 => String::new(),
            count => format!(", {count} done"),
        };
        let upstream = self.upstream.as_ref().and_then(apart).unwrap_or_default();
        format!("{}: {changed}{upstream}{agents}{asking}{done}", self.branch)
    }

    fn headline(&self) -> Line {
        let message = self.message();
        let rest = message.strip_prefix(&self.branch).unwrap_or_default();
        let branch = Span::new(Role::Heading, &self.branch);
        Line(vec![branch, rest.to_owned().into()])
    }

    fn blocks(&self, now: &Moment) -> Vec<Block> {
        let desk = Desk::of(self, now);
        let mut blocks: Vec<Block> = desk.above.iter().cloned().map(Block::Line).collect();
        let table = desk.table(now);
        if !table.is_empty() {
            blocks.push(Block::Ordered(table, &NARROW));
        }
        blocks.extend(desk.merged_line().map(Block::Line));
        blocks.extend(desk.below.into_iter().map(Block::Line));
        blocks
    }
}

/// Returns `true` for an agent who is done with work that is not merged yet.
fn has_done_work(row: &Row) -> bool {
    row.done.is_some() && row.commits > 0
}

/// Returns the commits between a branch and the one that it follows; `None` without any.
fn apart(upstream: &Upstream) -> Option<String> {
    let Upstream { name, ahead, behind } = upstream;
    match (ahead, behind) {
        (0, 0) => None,
        (_, 0) => Some(format!(", {ahead} ahead of {name}")),
        (0, _) => Some(format!(", {behind} behind {name}")),
        _ => Some(format!(", {ahead} ahead of {name} and {behind} behind")),
    }
}
