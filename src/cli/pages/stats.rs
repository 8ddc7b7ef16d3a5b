//! `git colony pages stats`

use crate::flow::pages::{self, PageStatsReport, ScopeStats};
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::super::{Face, Run, Stop};

/// Count pages, records and tokens of each scope
#[derive(Debug, clap::Args)]
pub(in super::super) struct Args {}

pub(super) fn run(face: &mut Face<'_>, _args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(Run::ForReal)?;
    let report = pages::stats(&session)?;
    face.answer(&report)
}

impl Answer for PageStatsReport {
    fn message(&self) -> String {
        let pages = usize::try_from(self.total.pages).unwrap_or(usize::MAX);
        format!(
            "{}, {} tokens",
            text::count(pages, "page"),
            self.total.tokens
        )
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let row = |scope: &ScopeStats| {
            vec![
                scope.scope_id.clone(),
                format!("{} pages", scope.pages),
                format!("{} records", scope.records),
                format!("{} tokens", scope.tokens),
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
