//! `git colony pages stats`

use crate::cli::{Face, Run, Stop};
use crate::flow::pages::page_stats::{self, PageStatsReport, ScopeStats};
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Count pages, records and tokens of each scope
///
/// The pages that 'map --worktree' made are a scope of their own. Resident pages and their counts are those of
/// the agent that asks: hits are requests of pages that were resident, faults of pages that were not.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {}

pub(super) fn run(face: &mut Face<'_>, _args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(Run::ForReal)?;
    let report = page_stats::stats(&session)?;
    face.answer(&report)
}

fn notes(scope: &ScopeStats) -> String {
    let stats = scope.stats.unwrap_or_default();
    let counts = [
        (stats.resident, "resident"),
        (stats.pinned, "pinned"),
        (stats.locked, "locked"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let stale = scope.stale.then(|| "stale".to_owned());
    let counts = counts.map(|(count, word)| format!("{count} {word}"));
    stale
        .into_iter()
        .chain(counts)
        .collect::<Vec<_>>()
        .join(", ")
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
        let total = &self.total;
        let (pages, tokens) = (counted(total.pages, "page"), counted(total.tokens, "token"));
        let resident = match &self.stats {
            Some(stats) if stats.resident > 0 => format!(", {} resident", stats.resident),
            _ => String::new(),
        };
        format!("{pages}, {tokens}{resident}")
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
