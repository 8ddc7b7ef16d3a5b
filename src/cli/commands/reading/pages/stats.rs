//! `git colony pages stats`

use crate::cli::actions::{Effect, Group, action};
use crate::cli::commands::reading::scopes::SCOPE;
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Opening, Stop};
use crate::map::pages::page_stats::{self, PageStatsReport, ScopeStats};
use crate::map::residency::ResidencyStats;
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Count pages, records and tokens of each scope
///
/// The pages that 'map --worktree' made are a scope of their own, and are summed up apart. Resident pages and their
/// counts are those of the agent that asks: hits are requests of pages that were resident, faults of pages that were
/// not. A resident page is stale if the mapping no longer has it.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Only the scope ID, a prefix of it, or the name of its row
    #[arg(long, value_name = "ID")]
    scope: Option<String>,
}

pub(super) fn declaration() -> Declaration {
    Declaration::of("pages stats").answers::<PageStatsReport>().action(
        action("get_vcm_stats", Group::Pages, Effect::Reads)
            .about("Count pages, records and tokens by scope")
            .takes(&[SCOPE]),
    )
}

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(Opening::Read)?;
    let report = page_stats::stats(&session, args.scope.as_deref())?;
    face.answer(&report)
}

/// Formats the number of resident pages; `None` if there are none.
fn resident(stats: ResidencyStats) -> Option<String> {
    let stale = match stats.stale {
        0 => String::new(),
        stale => format!(" ({stale} stale)"),
    };
    (stats.resident > 0).then(|| format!("{} resident{stale}", stats.resident))
}

fn notes(scope: &ScopeStats) -> String {
    let stats = scope.stats.unwrap_or_default();
    let counts = [(stats.pinned, "pinned"), (stats.locked, "locked")]
        .into_iter()
        .filter(|(count, _)| *count > 0);
    let stale = scope.stale.then(|| "stale".to_owned());
    let counts = counts.map(|(count, word)| format!("{count} {word}"));
    stale.into_iter().chain(resident(stats)).chain(counts).collect::<Vec<_>>().join(", ")
}

fn counted(number: u64, word: &str) -> String {
    text::count(usize::try_from(number).unwrap_or(usize::MAX), word)
}

impl Answer for PageStatsReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        if let Some(nothing) = self.nothing {
            return super::nothing(nothing);
        }
        let size = |total: &ScopeStats| {
            let (pages, tokens) = (counted(total.pages, "page"), counted(total.tokens, "token"));
            format!("{pages}, {tokens}")
        };
        let private = self
            .worktree_total
            .as_ref()
            .map(|total| format!("; in the working tree {}", size(total)));
        let resident = self.stats.and_then(resident).map(|resident| format!("; {resident}"));
        format!(
            "{}{}{}",
            size(&self.total),
            private.unwrap_or_default(),
            resident.unwrap_or_default()
        )
    }

    fn narration(&self) -> Vec<String> {
        self.problem.iter().cloned().collect()
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let row = |scope: &ScopeStats| {
            vec![
                scope.scope_id.clone(),
                counted(scope.pages, "page"),
                counted(scope.records, "record"),
                counted(scope.tokens, "token"),
                notes(scope),
            ]
        };
        let rows: Vec<_> = self.scopes.iter().map(row).collect();
        text::table(&rows)
    }
}
