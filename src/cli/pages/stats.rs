//! `git colony pages stats`

use crate::cli::{Face, Run, Stop};
use crate::flow::pages::{self, PageStatsReport, ScopeStats};
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Count pages, records and tokens of each scope
///
/// The pages that 'map --worktree' made are a scope of their own.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {}

pub(super) fn run(face: &mut Face<'_>, _args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(Run::ForReal)?;
    let report = pages::stats(&session)?;
    face.answer(&report)
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
        format!("{pages}, {tokens}")
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let row = |scope: &ScopeStats| {
            vec![
                scope.scope_id.clone(),
                counted(scope.pages, "page"),
                counted(scope.records, "record"),
                counted(scope.tokens, "token"),
                if scope.stale {
                    "stale".to_owned()
                } else {
                    String::new()
                },
            ]
        };
        let rows: Vec<_> = self.scopes.iter().map(row).collect();
        text::table(&rows)
    }
}
