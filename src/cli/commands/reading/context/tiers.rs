//! `git colony context list`, `stats`, `gc` and `flush`

use crate::cli::declaration::Declaration;
use crate::cli::{Face, Opening, Run, Stop};
use crate::context::fragment_list::{self, FragmentRow, FragmentsReport, ListRequest};
use crate::context::tier_upkeep::{self, ProjectTiers, TierChangeReport, TierStatsReport};
use crate::model::time::Moment;
use crate::store::settings::projects::ContextView;
use crate::store::state::Tier;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::view;

/// List the files in the tiers
///
/// Looking at a file here is not an access: only a context that has it is.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ListArgs {
    /// Only the tier TIER
    #[arg(long, value_name = "TIER")]
    tier: Option<TierName>,
    /// Only the project NAME
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Only what VIEW sees: default, strategize, execute or apply
    #[arg(long, value_name = "VIEW", value_parser = view)]
    view: Option<ContextView>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum TierName {
    /// Within 'colony.context.hotTokens'
    Hot,
    /// The next 500 files
    Warm,
    /// The next 5,000 files
    Cold,
}

impl From<TierName> for Tier {
    fn from(name: TierName) -> Tier {
        match name {
            TierName::Hot => Tier::Hot,
            TierName::Warm => Tier::Warm,
            TierName::Cold => Tier::Cold,
        }
    }
}

/// Count the files in the tiers, and their accesses
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct StatsArgs {}

/// Forget the files that nothing has used for 92 days, and those of projects that do not exist any more
///
/// A file without an access is not hot after 24 hours, not warm after 48, and not cold 90 days later; that needs no
/// command. Then it is forgotten here, or in the next hydration.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct GcArgs {
    /// Show what would be done, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Empty the tiers; no file is changed
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct FlushArgs {
    /// Only of the project NAME
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Show what would be done, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn flush_declaration() -> Declaration {
    Declaration::of("context flush").answers::<TierChangeReport>()
}

pub(super) fn gc_declaration() -> Declaration {
    Declaration::of("context gc").answers::<TierChangeReport>()
}

pub(super) fn list_declaration() -> Declaration {
    Declaration::of("context list").answers::<FragmentsReport>()
}

pub(super) fn stats_declaration() -> Declaration {
    Declaration::of("context stats").answers::<TierStatsReport>()
}

pub(super) fn list(face: &mut Face<'_>, args: ListArgs) -> Result<Outcome, Stop> {
    let session = face.session(Opening::Read)?;
    let request =
        ListRequest { tier: args.tier.map(Tier::from), project: args.project, view: args.view };
    let report = fragment_list::list(&session, &request)?;
    face.answer(&report)
}

pub(super) fn stats(face: &mut Face<'_>) -> Result<Outcome, Stop> {
    let session = face.session(Opening::Read)?;
    let report = tier_upkeep::stats(&session)?;
    face.answer(&report)
}

pub(super) fn gc(face: &mut Face<'_>, args: &GcArgs) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    let report = tier_upkeep::collect(&session)?;
    face.answer(&report)
}

pub(super) fn flush(face: &mut Face<'_>, args: &FlushArgs) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    let report = tier_upkeep::flush(&session, args.project.as_deref())?;
    face.answer(&report)
}

fn name(tier: Tier) -> &'static str {
    match tier {
        Tier::Hot => "hot",
        Tier::Warm => "warm",
        Tier::Cold => "cold",
    }
}

impl Answer for FragmentsReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let files = text::count(self.count, "file");
        format!("{files} in the tiers, {} tokens", self.tokens)
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let row = |fragment: &FragmentRow| {
            let state = match fragment.stale {
                Some(true) => "changed since",
                Some(false) => "",
                None => "project unknown",
            };
            vec![
                name(fragment.tier).to_owned(),
                fragment.project.clone(),
                fragment.path.to_string(),
                fragment.token_count.to_string(),
                state.to_owned(),
            ]
        };
        text::table(&self.fragments.iter().map(row).collect::<Vec<_>>())
    }
}

impl Answer for TierStatsReport {
    fn message(&self) -> String {
        let projects = text::count(self.count, "project");
        format!("{projects} in tiers; at most {} tokens of each are hot", self.hot_tokens)
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let row = |project: &ProjectTiers| {
            let tiers = [(project.hot, "hot"), (project.warm, "warm"), (project.cold, "cold")]
                .map(|(total, name)| format!("{} {name}", total.count));
            vec![
                project.project.clone(),
                tiers.join(", "),
                format!("{} tokens", project.tokens),
                text::count(usize::try_from(project.hits).unwrap_or(usize::MAX), "access"),
            ]
        };
        text::table(&self.projects.iter().map(row).collect::<Vec<_>>())
    }
}

impl Answer for TierChangeReport {
    fn message(&self) -> String {
        let would = if self.dry_run { "would have " } else { "" };
        format!("{would}forgotten {} in the tiers", text::count(self.evicted, "file"))
    }
}
