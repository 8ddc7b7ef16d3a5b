//! `git colony sync`

use crate::flow::sync::{self, Request, SyncReport, SyncResult, SyncedRef, Way};
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::{Face, Run, Stop};

/// Bring forks, named checkpoints and records to a remote, and those of others here
///
/// What travels: the forks of whoever acts, branch and record; named checkpoints; the records below
/// refs/colony/ that are meant to. Remote branches follow as with 'git fetch'; branches here never
/// move. What looks like a secret keeps a checkpoint or fork at home. Each ref is told of; one that the
/// remote refuses stops no other, and the exit code is 1 then.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The remote (default: origin)
    #[arg(value_name = "REMOTE")]
    remote: Option<String>,
    /// Only bring here what the remote has
    #[arg(long, conflicts_with = "push")]
    fetch: bool,
    /// Only bring to the remote what is here
    #[arg(long)]
    push: bool,
    /// Ask the remote what it has, say what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    let request = Request {
        remote: args.remote,
        way: match (args.fetch, args.push) {
            (true, _) => Way::Fetch,
            (_, true) => Way::Push,
            _ => Way::Both,
        },
    };
    let report = if args.dry_run {
        sync::preview(&session, &request)?
    } else {
        sync::sync(&session, &request)?
    };
    face.answer(&report)
}

/// The results in the order they are counted in, and how they are said.
const SAID: &[(SyncResult, &str)] = &[
    (SyncResult::Fetched, "fetched"),
    (SyncResult::Created, "created"),
    (SyncResult::Pushed, "pushed"),
    (SyncResult::Merged, "merged"),
    (SyncResult::Deleted, "deleted"),
    (SyncResult::Behind, "behind"),
    (SyncResult::Rejected, "rejected"),
    (SyncResult::RefusedByServer, "refused by the server"),
    (SyncResult::Conflict, "in conflict"),
    (SyncResult::Invalid, "invalid"),
    (SyncResult::KeptHome, "kept home"),
    (SyncResult::KeptHere, "kept here"),
    (SyncResult::NotOwned, "not owned"),
];

fn said(result: SyncResult) -> &'static str {
    let found = SAID.iter().find(|(known, _)| *known == result);
    found.map_or("up to date", |(_, said)| said)
}

impl Answer for SyncReport {
    fn message(&self) -> String {
        let count = |result| self.refs.iter().filter(|row| row.result == result).count();
        let counts = SAID.iter().map(|(result, said)| (count(*result), said));
        let mut counts: Vec<String> = counts
            .filter(|(count, _)| *count > 0)
            .map(|(count, said)| format!("{count} {said}"))
            .collect();
        if !self.branch_changed.is_empty() {
            let branches = text::count(self.branch_changed.len(), "remote branch");
            counts.push(format!("{branches} moved"));
        }
        if counts.is_empty() {
            return format!("up to date with '{}'", self.remote);
        }
        let would = if self.dry_run { "would sync" } else { "synced" };
        format!("{would} with '{}': {}", self.remote, text::list(&counts))
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let told = |row: &&SyncedRef| row.result != SyncResult::UpToDate;
        let rows: Vec<&SyncedRef> = self.refs.iter().filter(told).collect();
        let cells = |row: &&SyncedRef| {
            let reason = row.reason.clone().unwrap_or_default();
            vec![format!("  {}", said(row.result)), row.name.short(), reason]
        };
        let cells = text::table(&rows.iter().map(cells).collect::<Vec<_>>());
        let mut lines = vec![format!("  at {}", self.url)];
        if self.push_url != self.url {
            lines.push(format!("  pushes go to {}", self.push_url));
        }
        for (row, line) in rows.iter().zip(cells) {
            lines.push(line);
            let hint = row.hint.as_ref();
            lines.extend(hint.map(|hint| format!("    hint: {hint}")));
        }
        let branches = self.branch_changed.iter().map(|branch| {
            format!(
                "  moved  {}  {} -> {}",
                branch.name,
                text::short(branch.old),
                text::short(branch.new)
            )
        });
        lines.extend(branches);
        lines
    }

    fn outcome(&self) -> Outcome {
        use SyncResult::{Conflict, RefusedByServer, Rejected};
        let refused = |row: &SyncedRef| matches!(row.result, Conflict | Rejected | RefusedByServer);
        if self.refs.iter().any(refused) {
            Outcome::No
        } else {
            Outcome::Yes
        }
    }
}
