//! `git colony sync`

use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use serde::{Serialize, Serializer};

use crate::agents::colony::taking_part;
use crate::cli::actions::{Effect, Group, action, same};
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Run, Stop, typed_path};
use crate::model::RepoPath;
use crate::model::text::shell_word;
use crate::model::time::Moment;
use crate::store::operation::last_act;
use crate::sync::{self, Direction, Request, SyncReport, SyncResult, SyncedRef, Way};
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Share forks, named checkpoints and records with a remote
///
/// Copies the user's or agent's forks (branch and record), named checkpoints, and shared records below
/// refs/colony/. Remote branches follow as with 'git fetch'; local branches never move. Nothing is
/// published before a person has given --push for the remote, once: until then sync lists what it would
/// publish. Checkpoints and forks that appear to contain a secret are not pushed. With -v every ref is
/// listed; if the remote refuses one, the others are still pushed, and the exit code is 1.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The remote (default: origin)
    #[arg(value_name = "REMOTE")]
    remote: Option<String>,
    /// Only fetch
    #[arg(long, conflicts_with = "push")]
    fetch: bool,
    /// Only push, and consent to pushing for later syncs too, until the URL of the remote changes
    #[arg(long)]
    push: bool,
    /// Publish PATH, or everything below it, even if it looks like a secret
    #[arg(long, value_name = "PATH", conflicts_with = "fetch")]
    allow_secret: Vec<PathBuf>,
    /// Ask the remote for its refs, show what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("sync", Section::Collaborate, Screen::All)
        .example("git colony sync -n", "show what would be shared")
        .example("git colony sync --fetch", "fetch what others share, push nothing")
        .answers::<SyncReport>()
        .action(
            action("sync", Group::Repository, Effect::Publishes)
                .takes(&[same("remote"), same("fetch").about("Only fetch from it")]),
        )
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    // What agents have committed is sent as well.
    taking_part::gather(&session);
    let mut allow_secrets = Vec::new();
    for path in &args.allow_secret {
        allow_secrets.push(typed_path::repo_path(&session, path)?);
        // As a hint has it, which says it from the top.
        allow_secrets.push(RepoPath::new(path.as_os_str().as_bytes()));
    }
    let request = Request {
        remote: args.remote,
        allow_secrets,
        way: match (args.fetch, args.push) {
            (true, _) => Way::Fetch,
            (_, true) => Way::Push,
            _ => Way::Both,
        },
    };
    let report = sync::sync(&session, &request)?;
    if report.refs.iter().any(|row| has_travelled(row.result)) {
        let way_back = "git colony sync -n   # compares both sides; transferred refs stay";
        last_act::note(&session, "sync".to_owned(), way_back.to_owned());
    }
    face.answer(&SyncAnswer { report, shows_all: face.verbose })
}

/// Returns `true` if a ref has moved here or on the remote.
fn has_travelled(result: SyncResult) -> bool {
    use SyncResult::{Created, Deleted, Fetched, Merged, Pushed, Queued};
    matches!(result, Fetched | Created | Pushed | Merged | Queued | Deleted)
}

/// The results in the order they are counted in, with their words.
const SAID: &[(SyncResult, &str)] = &[
    (SyncResult::Fetched, "fetched"),
    (SyncResult::Created, "created"),
    (SyncResult::Pushed, "pushed"),
    (SyncResult::Merged, "merged"),
    (SyncResult::Queued, "queued"),
    (SyncResult::Deleted, "deleted"),
    (SyncResult::Behind, "behind"),
    (SyncResult::Rejected, "rejected"),
    (SyncResult::RefusedByServer, "refused by the server"),
    (SyncResult::Conflict, "in conflict"),
    (SyncResult::Invalid, "invalid"),
    (SyncResult::KeptHome, "not pushed"),
    (SyncResult::KeptHere, "kept here"),
    (SyncResult::NotOwned, "not owned"),
];

fn said(result: SyncResult) -> &'static str {
    let words = SAID.iter().find(|(known, _)| *known == result);
    words.map_or("up to date", |(_, said)| said)
}

/// The maximum number of refs that stayed where they were and are shown with the reason.
const MAX_SHOWN: usize = 5;

/// The report for people: what came in, what went out, what waits; each ref with `--verbose` only.
struct SyncAnswer {
    report: SyncReport,
    shows_all: bool,
}

impl Serialize for SyncAnswer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.report.serialize(serializer)
    }
}

impl Answer for SyncAnswer {
    fn message(&self) -> String {
        let mut counts = self.counts(|_| true);
        if !self.report.branch_changed.is_empty() {
            let branches = text::count(self.report.branch_changed.len(), "remote branch");
            counts.push(format!("{branches} moved"));
        }
        self.full_sentence(&counts)
    }

    /// Without the parts that the lines below have.
    fn line(&self) -> String {
        self.sentence(&self.counts(|result| !has_travelled(result)))
    }
    fn body(&self, _now: &Moment) -> Vec<String> {
        let report = &self.report;
        let mut lines = vec![format!("  at {}", report.url)];
        if report.push_url != report.url {
            lines.push(format!("  pushes go to {}", report.push_url));
        }
        if !self.shows_all {
            lines.extend(self.sums());
        }
        lines.extend(self.rows());
        if !report.refspecs_left.is_empty() {
            let specs = report.refspecs_left.join(" ");
            lines.push(format!(
                "  left to 'git fetch', for it moves more than remote branches: {specs}"
            ));
        }
        if let Some(waiting) = &report.waiting {
            let (counts, urls) = (text::list(&waiting.counts()), waiting.urls.join(" and "));
            lines.push(format!("  not published: {counts}, to {urls}"));
            lines.push(format!("    hint: {}", waiting.command));
        }
        if let Some(branch) = &report.branch_ahead {
            lines.push(format!("  not synced: {}", branch.to_text(&report.remote)));
            lines.push(format!("    hint: {}", branch.command));
        }
        lines
    }

    fn outcome(&self) -> Outcome {
        if self.report.refs.iter().any(is_refused) { Outcome::No } else { Outcome::Yes }
    }
}

impl SyncAnswer {
    /// Counts the refs of some results, as text.
    fn counts(&self, wanted: impl Fn(SyncResult) -> bool) -> Vec<String> {
        let count = |result| self.report.refs.iter().filter(|row| row.result == result).count();
        let wanted = SAID.iter().filter(|(result, _)| wanted(*result));
        let counts = wanted.map(|(result, said)| (count(*result), said));
        let counted = counts.filter(|(count, _)| *count > 0);
        counted.map(|(count, said)| format!("{count} {said}")).collect()
    }

    /// Returns the sentence with these counts, and what did not travel.
    fn full_sentence(&self, counts: &[String]) -> String {
        let report = &self.report;
        let waiting = report.waiting.as_ref().map(|waiting| {
            format!("{} not published, without consent", text::list(&waiting.counts()))
        });
        let branch = report.branch_ahead.as_ref().map(|branch| branch.to_text(&report.remote));
        let sentence = [Some(self.sentence(counts)), waiting, branch];
        sentence.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Returns the sentence with these counts.
    fn sentence(&self, counts: &[String]) -> String {
        let report = &self.report;
        let has_moved = report.refs.iter().any(|row| has_travelled(row.result))
            || !report.branch_changed.is_empty();
        let would = if report.dry_run { "would sync" } else { "synced" };
        match (counts.is_empty(), &report.waiting) {
            (false, _) => format!("{would} with '{}': {}", report.remote, text::list(counts)),
            (true, _) if has_moved => format!("{would} with '{}'", report.remote),
            (true, None) => format!("up to date with '{}'", report.remote),
            (true, Some(_)) => format!("nothing new on '{}'", report.remote),
        }
    }

    /// Returns a line for what came in and one for what went out, where there is any.
    fn sums(&self) -> Vec<String> {
        let report = &self.report;
        let mut came = report.moved(Direction::Fetch).to_texts();
        if !report.branch_changed.is_empty() {
            came.push(text::count(report.branch_changed.len(), "remote branch"));
        }
        let agents: Vec<&str> =
            report.agent_changed.iter().map(|agent| agent.name.as_str()).collect();
        if !agents.is_empty() {
            let count = text::count(agents.len(), "agent");
            came.push(format!("work of {count} ({})", text::first_of(&agents)));
        }
        let went = report.moved(Direction::Push).to_texts();
        let line = |(side, counts): (&str, Vec<String>)| {
            (!counts.is_empty()).then(|| format!("  {side} {}", text::list(&counts)))
        };
        let sides = if report.dry_run {
            [("would come in:", came), ("would go out: ", went)]
        } else {
            [("came in: ", came), ("went out:", went)]
        };
        sides.into_iter().filter_map(line).collect()
    }

    /// Returns a line for each ref that is shown, with its reason and its hint.
    fn rows(&self) -> Vec<String> {
        use SyncResult::{Unpublished, UpToDate};
        let report = &self.report;
        let is_news = |row: &&SyncedRef| !matches!(row.result, UpToDate | Unpublished);
        let shown =
            |row: &&SyncedRef| is_news(row) && (self.shows_all || !has_travelled(row.result));
        let mut rows: Vec<&SyncedRef> = report.refs.iter().filter(shown).collect();
        let mut more = 0;
        if !self.shows_all && rows.len() > MAX_SHOWN {
            // What needs a person comes first.
            rows.sort_by_key(|row| !is_refused(row));
            more = rows.len() - MAX_SHOWN;
            rows.truncate(MAX_SHOWN);
        }
        let cells_of = |row: &&SyncedRef| {
            let reason = row.reason.clone().unwrap_or_default();
            vec![format!("  {}", said(row.result)), row.name.short(), reason]
        };
        let cells = text::table(&rows.iter().map(cells_of).collect::<Vec<_>>());
        let mut lines = Vec::new();
        let mut next = rows.iter().skip(1).map(|row| &row.hint);
        for (row, line) in rows.iter().zip(cells) {
            lines.push(line);
            // A hint that several share is printed once.
            let is_last = next.next() != Some(&row.hint);
            let hint = row.hint.as_ref().filter(|_| is_last);
            lines.extend(hint.map(|hint| format!("    hint: {hint}")));
        }
        if more > 0 {
            let remote = shell_word(&report.remote);
            lines.push(format!("  and {more} more: git colony sync {remote} -n -v"));
        }
        if self.shows_all {
            lines.extend(report.branch_changed.iter().map(|branch| {
                format!(
                    "  moved  {}  {} -> {}",
                    branch.name,
                    text::short(branch.old),
                    text::short(branch.new)
                )
            }));
        }
        lines
    }
}

/// Returns `true` for a ref that a person has to do something about.
fn is_refused(row: &SyncedRef) -> bool {
    use SyncResult::{Conflict, RefusedByServer, Rejected};
    matches!(row.result, Conflict | Rejected | RefusedByServer)
}
