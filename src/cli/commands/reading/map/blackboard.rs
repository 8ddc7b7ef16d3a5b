//! `git colony map blackboard`

use crate::cli::actions::{Effect, Group, action, same};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Run, Stop};
use crate::map::map_blackboard::{self, MapBlackboardReport, Request};
use crate::map::mapping::MapStatus;
use crate::map::residency;
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Map the keys of a blackboard, as a scope of its own
///
/// Each key is one record, with its value; a key in conflict has all of its values. The settings in effect here
/// limit the pages. The scope is this worktree's own, and is stale when the blackboard changes.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The blackboard
    scope: String,
    /// Call the scope ID (default: the blackboard, a colon and the namespace)
    #[arg(long, value_name = "ID")]
    scope_id: Option<String>,
    /// End the default scope id with NAME
    #[arg(long, value_name = "NAME", default_value = "blackboard")]
    namespace: String,
    /// Show what would be mapped, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn declaration() -> Declaration {
    Declaration::of("map blackboard").answers::<MapBlackboardReport>().action(
        action("mmap_blackboard_scope", Group::Pages, Effect::Adds).takes(&[
            same("scope"),
            same("scope_id").about("Default: the blackboard, a colon and the namespace"),
            same("namespace").about("Ends the default scope id"),
        ]),
    )
}

pub(super) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let session = face.session(if args.dry_run { Run::Dry } else { Run::ForReal })?;
    let request = Request { scope: args.scope, scope_id: args.scope_id, namespace: args.namespace };
    let report = map_blackboard::map(&session, &request)?;
    residency::warn_of_pins(&session)?;
    face.answer(&report)
}

impl Answer for MapBlackboardReport {
    fn message(&self) -> String {
        let count = |number| usize::try_from(number).unwrap_or(usize::MAX);
        let keys = text::count(count(self.size.records), "key");
        let pages = text::count(count(self.size.pages), "page");
        let what = match self.status {
            MapStatus::AlreadyMapped if self.op.is_some() => super::RECORDED.to_owned(),
            MapStatus::AlreadyMapped => super::NOTHING.to_owned(),
            _ => format!("{} new, {} gone", self.size.pages_added, self.size.pages_removed),
        };
        let would = if self.dry_run { "; nothing was written" } else { "" };
        let (scope, tokens) = (&self.scope_id, self.size.tokens);
        let left_out = super::make::left_out_count(self.left_out_count);
        format!("'{scope}': {keys}, {pages}, {tokens} tokens, {what}{left_out}{would}")
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let mut lines = super::make::without_record(&self.left_out, self.left_out_count);
        let conflicts = self.conflicts.iter();
        lines.extend(conflicts.map(|key| format!("in conflict: {key}")));
        let unreadable = self.unreadable.iter();
        lines.extend(unreadable.map(|entry| format!("not used: {}: {}", entry.name, entry.reason)));
        lines
    }

    fn outcome(&self) -> Outcome {
        if self.unreadable.is_empty() { Outcome::Yes } else { Outcome::No }
    }
}
