//! `git colony pages request`

use std::time::Duration;

use crate::cli::actions::{Effect, Group, How, action, as_arg, how, same};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Run, Stop};
use crate::map::residency::page_request::{self, HeldPage, PageRequest, PageRequestReport};
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::PAGES;

/// How long to wait for other processes if `--timeout` does not say it.
const USUAL_TIMEOUT: Duration = Duration::from_secs(30);

/// Make pages resident: put them into an agent's context
///
/// The resident set of an agent has at most 'colony.context.budgetTokens' tokens. Where the budget requires it,
/// other pages leave: those of the lowest priority first, of these the least recently used. Locked pages and
/// those of pinned sources stay. Either all requested pages become resident, or nothing changes and the answer
/// names the pages that are missing or in the way (exit code 1). A request is an access; 'pages show' is none.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Their ids, or unique prefixes of them
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Pages of a lower priority leave first
    #[arg(long, value_name = "N", default_value_t = 10, allow_negative_numbers = true)]
    priority: i32,
    /// Lock the pages for S seconds, too
    #[arg(long = "lock", value_name = "S", allow_negative_numbers = true)]
    lock_duration: Option<f64>,
    /// The reason for the lock
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
    /// Show what would leave, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn declaration() -> Declaration {
    Declaration::of("pages request").answers::<PageRequestReport>().action(
        action("request_pages", Group::Pages, Effect::Adds)
            .about(
                "Put pages into your resident set: all or none; the least recently used leave, \
                 unless locked or pinned",
            )
            .takes(&[
                PAGES,
                how("timeout_s", How::Number("timeout", None)).about("For a lock"),
                same("priority"),
                as_arg("lock_duration_s", "lock_duration").about("Lock them, too"),
                as_arg("lock_reason", "reason").plain(),
            ]),
    )
}

pub(super) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    let report = page_request::request(
        &session,
        &PageRequest {
            ids: args.ids,
            priority: i64::from(args.priority),
            timeout: session.settings.timeout.unwrap_or(USUAL_TIMEOUT),
            lock_seconds: args.lock_duration,
            reason: args.reason,
        },
    )?;
    face.answer(&report)
}

impl Answer for PageRequestReport {
    fn message(&self) -> String {
        if let Some(problem) = &self.problem {
            return problem.clone();
        }
        if self.fault_id.is_none() {
            return "no pages requested".to_owned();
        }
        if !self.missing.is_empty() {
            let missing = text::count(self.missing.len(), "page");
            return format!("nothing loaded: {missing} missing");
        }
        let budget = self.budget_tokens;
        if let Some(wanted) = self.wanted_tokens {
            let held: u64 = self.held.iter().map(|page| page.tokens).sum();
            return format!(
                "nothing loaded: {wanted} tokens do not fit into {budget}, of which locks and pins hold {held}"
            );
        }
        let verb = if self.dry_run { "would load" } else { "loaded" };
        let loaded = self.page_ids.len() - self.already_resident;
        let used = self.used_tokens.unwrap_or_default();
        let mut parts = vec![format!("{verb} {}", text::count(loaded, "page"))];
        if self.already_resident > 0 {
            parts.push(format!("{} resident before", self.already_resident));
        }
        if !self.evicted.is_empty() {
            parts.push(format!("{} evicted", self.evicted.len()));
        }
        format!("{}; {used} of {budget} tokens", parts.join(", "))
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let missing = self.missing.iter().map(|page| vec![page.page_id.clone(), page.why()]);
        let held = self.held.iter().map(held_row);
        text::table(&missing.chain(held).collect::<Vec<_>>())
    }

    fn outcome(&self) -> Outcome {
        if self.loaded { Outcome::Yes } else { Outcome::No }
    }
}

fn held_row(page: &HeldPage) -> Vec<String> {
    let by = match &page.lock {
        Some(lock) => super::lock_note(lock),
        None => "pinned".to_owned(),
    };
    let tokens = format!("{} tokens", page.tokens);
    vec![super::short(page.page_id), tokens, by]
}
