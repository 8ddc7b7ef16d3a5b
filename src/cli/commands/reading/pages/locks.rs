//! `git colony pages lock`, `pages unlock` and `pages extend`

use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Run, Stop};
use crate::map::residency::page_locks::{
    self, ExtendReport, FailedPage, LockReport, LockedPage, UnlockReport,
};
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::PAGES;

/// Lock pages, so that they stay in the resident set
///
/// A lock holds a page in the resident set of the agent that has locked it, resident now or later; the locks of
/// others hold it in theirs. A locked page stays readable when its files change, by 'pages show', which then
/// names the pages that have its files. A second lock never ends a lock earlier. Locks end on their own, with
/// 'pages unlock', and with 'agents remove'.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct LockArgs {
    /// Their ids, or unique prefixes of them
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// For S seconds, at most a year
    #[arg(long, value_name = "S", default_value_t = 300.0, allow_negative_numbers = true)]
    ttl: f64,
    /// The reason, for those who ask who holds a page
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
    /// Show what would be done, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Delete one's own locks on pages
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct UnlockArgs {
    /// Their ids, or unique prefixes of them
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Show what would be done, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Extend one's own lock on a page
///
/// A lock that has ended is not extended: take a new one with 'pages lock'. No lock ends later than a year from now,
/// however often it is extended.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ExtendArgs {
    /// Its id, or a unique prefix of it
    #[arg(value_name = "ID")]
    id: String,
    /// By S seconds
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    by: f64,
    /// Show what would be done, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn lock_declaration() -> Declaration {
    Declaration::of("pages lock").answers::<LockReport>().action(
        action("lock_pages", Group::Pages, Effect::Adds)
            .about(
                "Lock pages, so that they stay in your resident set and readable when their files \
                 change",
            )
            .takes(&[
                PAGES.required(),
                as_arg("ttl_s", "ttl").about("At most a year"),
                same("reason").plain(),
            ]),
    )
}

pub(super) fn unlock_declaration() -> Declaration {
    Declaration::of("pages unlock").answers::<UnlockReport>().action(
        action("unlock_pages", Group::Pages, Effect::Adds)
            .about("Delete your own locks on pages")
            .takes(&[PAGES.required()]),
    )
}

pub(super) fn extend_declaration() -> Declaration {
    Declaration::of("pages extend").answers::<ExtendReport>().action(
        action("extend_lock", Group::Pages, Effect::Adds)
            .about("Extend your own lock on a page that is still held")
            .takes(&[
                as_arg("page_id", "id").about("Or a unique prefix").required(),
                as_arg("additional_s", "by").plain().required(),
            ]),
    )
}

pub(super) fn lock(face: &mut Face<'_>, args: &LockArgs) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    let report = page_locks::lock(&session, &args.ids, args.ttl, &args.reason)?;
    face.answer(&report)
}

pub(super) fn unlock(face: &mut Face<'_>, args: &UnlockArgs) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    let report = page_locks::unlock(&session, &args.ids)?;
    face.answer(&report)
}

pub(super) fn extend(face: &mut Face<'_>, args: &ExtendArgs) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    let report = page_locks::extend(&session, &args.id, args.by)?;
    face.answer(&report)
}

fn verb(dry_run: bool, would: &'static str, did: &'static str) -> &'static str {
    if dry_run { would } else { did }
}

/// Names the flag whose value an error is about, by its name in messages.
fn flag_note(error: &str, name: &str, flag: &str) -> Option<String> {
    let is_about = error.split(' ').next() == Some(name);
    is_about.then(|| format!("{name} is the value of '{flag}'"))
}

fn failed_part(failed: &[FailedPage]) -> String {
    match failed.len() {
        0 => String::new(),
        count => format!(", {count} failed"),
    }
}

fn failed_row(page: &FailedPage) -> Vec<String> {
    vec![page.page_id.clone(), page.error.clone()]
}

fn outcome(failed: &[FailedPage]) -> Outcome {
    if failed.is_empty() { Outcome::Yes } else { Outcome::No }
}

impl Answer for LockReport {
    fn message(&self) -> String {
        let verb = verb(self.dry_run, "would lock", "locked");
        let count = text::count(self.locked.len(), "page");
        format!("{verb} {count}{}", failed_part(&self.failed))
    }

    fn narration(&self) -> Vec<String> {
        let absent_ids: Vec<String> = self
            .locked
            .iter()
            .filter(|page| !page.resident)
            .map(|page| super::short(page.page_id))
            .collect();
        let absent = (!absent_ids.is_empty()).then(|| {
            let ids = text::list(&absent_ids);
            format!(
                "not resident: {ids}; the lock holds it once 'git colony pages request' loads it"
            )
        });
        let errors = self.failed.iter().map(|page| &page.error);
        let flag = errors.filter_map(|error| flag_note(error, page_locks::LOCK_SECONDS, "--ttl"));
        absent.into_iter().chain(flag.take(1)).collect()
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let row = |page: &LockedPage| {
            let until = format!("until {}", page.locked_until);
            vec![super::short(page.page_id), until]
        };
        let locked = self.locked.iter().map(row);
        text::table(&locked.chain(self.failed.iter().map(failed_row)).collect::<Vec<_>>())
    }

    fn outcome(&self) -> Outcome {
        outcome(&self.failed)
    }
}

impl Answer for UnlockReport {
    fn message(&self) -> String {
        let verb = verb(self.dry_run, "would unlock", "unlocked");
        let count = text::count(self.unlocked.len(), "page");
        let already = match self.already_unlocked.len() {
            0 => String::new(),
            count => format!(", {count} not locked before"),
        };
        format!("{verb} {count}{already}{}", failed_part(&self.failed))
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        text::table(&self.failed.iter().map(failed_row).collect::<Vec<_>>())
    }

    fn outcome(&self) -> Outcome {
        outcome(&self.failed)
    }
}

impl Answer for ExtendReport {
    fn narration(&self) -> Vec<String> {
        let problem = self.problem.as_ref();
        let note = problem.and_then(|why| flag_note(why, page_locks::ADDED_SECONDS, "--by"));
        note.into_iter().collect()
    }

    fn message(&self) -> String {
        match (&self.problem, &self.locked_until) {
            (Some(problem), _) => problem.clone(),
            (None, until) => {
                let verb = verb(self.dry_run, "would be locked", "locked");
                format!("{verb} until {}", until.as_deref().unwrap_or_default())
            }
        }
    }

    fn outcome(&self) -> Outcome {
        if self.extended { Outcome::Yes } else { Outcome::No }
    }
}
