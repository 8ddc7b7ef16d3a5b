//! `git colony pages resident`

use crate::cli::actions::{Effect, Group, action, same};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Opening, Stop};
use crate::map::residency::resident_pages::{
    self, LeftOutPage, LeftOutReason, ResidentPage, ResidentReport,
};
use crate::model::time::Moment;
use crate::page::page_text::Headings;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// List the resident pages of an agent, or print them for a prompt
///
/// In the order in which they were loaded: pages that stay are first and new ones come last, so that a prompt made
/// of them keeps its beginning. With --format, standard output has nothing but the text of the pages, with at
/// most 'colony.context.budgetTokens' tokens; notes go to standard error. A page whose files have changed since
/// is stale and stays readable; the list names its successors.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Print the pages as FORMAT: json, an object for each record, or text, as it stands in the files
    #[arg(long, value_name = "FORMAT")]
    format: Option<super::show::Format>,
}

pub(super) fn declaration() -> Declaration {
    Declaration::of("pages resident").answers::<ResidentReport>().action(
        action("get_resident_pages", Group::Pages, Effect::Reads)
            .about("List your resident pages, or print them for a prompt by 'format'")
            .takes(&[
                same("format").about("json: an object for each record; text: as in the files")
            ]),
    )
}

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(Opening::Read)?;
    let rendering = args.format.map(|format| format.rendering(Headings::Parts));
    let report = resident_pages::list(&session, rendering)?;
    face.answer(&report)
}

impl Answer for ResidentReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let count = text::count(self.count, "resident page");
        format!("{count}, {} of {} tokens", self.used_tokens, self.budget_tokens)
    }

    fn line(&self) -> String {
        // Standard output is for a prompt then: the text and no note on it.
        match self.text {
            Some(_) => String::new(),
            None => self.message(),
        }
    }

    fn narration(&self) -> Vec<String> {
        let stale = self
            .pages
            .iter()
            .filter(|page| page.stale == Some(true))
            .filter(|_| self.text.is_some())
            .map(stale_line);
        stale.chain(self.left_out.iter().map(left_out_line)).collect()
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        if self.text.is_some() {
            return Vec::new();
        }
        let rows = self.pages.iter().map(row).collect::<Vec<_>>();
        text::table(&rows)
    }

    fn verbatim(&self) -> Option<&str> {
        self.text.as_deref()
    }
}

fn row(page: &ResidentPage) -> Vec<String> {
    let files = match page.files.as_slice() {
        [first] => first.to_string(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
        [] => String::new(),
    };
    let mut notes = Vec::new();
    if page.pinned {
        notes.push("pinned".to_owned());
    }
    notes.extend(page.locks.iter().map(super::lock_note));
    if page.stale == Some(true) {
        notes.push(format!("stale{}", successors(page)));
    }
    let id = super::short(page.page_id);
    vec![id, page.tokens.to_string(), files, notes.join(", ")]
}

fn successors(page: &ResidentPage) -> String {
    let ids: Vec<String> = page.successors.iter().copied().map(super::short).collect();
    match ids.as_slice() {
        [] => String::new(),
        some => format!(": now {}", text::list(some)),
    }
}

fn stale_line(page: &ResidentPage) -> String {
    let id = super::short(page.page_id);
    format!("{id} is stale{}", successors(page))
}

fn left_out_line(page: &LeftOutPage) -> String {
    let why = match page.reason {
        LeftOutReason::OverBudget => "the text would have more tokens than the budget",
        LeftOutReason::ObjectMissing => "an object of it is missing",
    };
    format!("{} is left out: {why}", super::short(page.page_id))
}
