//! `git colony config`

use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::actions::{Effect, Group, action};
use crate::cli::complete::ValueKind;
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Stop};
use crate::model::World;
use crate::model::time::Moment;
use crate::store::settings::colony_toml::SettingsProblem;
use crate::store::settings::setting_layers::Layers;
use crate::store::settings::setting_origin::Effective;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Show the settings in effect and where they come from
///
/// Set them with 'git config colony.NAME VALUE', a variable, or a flag; a later one of these wins. A repository
/// sets two of them in '.colony/colony.toml'. Errors in any of these places are listed, and
/// 'config list' then exits with 1.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Show where each value comes from
    #[arg(long, global = true)]
    show_origin: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Action {
    /// List every setting (the default)
    List,
    /// Show one setting
    Get {
        /// Its name, as in 'colony.keepDays'; 'colony.' may be left out
        #[arg(value_name = "KEY")]
        key: String,
    },
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("config", Section::Inspect, Screen::All)
        .example("git colony config --show-origin", "every setting, and where it is set")
        .example("git colony config get colony.keepDays", "one of them")
        .answers::<ConfigReport>()
        .below([
            Declaration::of("config list").answers::<ConfigReport>().action(
                action("get_config", Group::Repository, Effect::Reads)
                    .about("List the settings in effect"),
            ),
            Declaration::of("config get")
                .answers::<ConfigReport>()
                .completes("KEY", ValueKind::Setting),
        ])
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    // Not a session: a value that does not parse has to be shown, too.
    let (world, repo) = face.repository()?;
    let layers = Layers::read(&world, &repo, &face.flags);
    let problems = layers.problems();
    let (settings, single) = match &args.action {
        Some(Action::Get { key }) => (vec![layers.effective_of(key)?], true),
        Some(Action::List) | None => (layers.effective(), false),
    };
    if single {
        warn(&world, &problems);
    }
    let report = ConfigReport {
        count: settings.len(),
        settings,
        problems,
        single,
        show_origin: args.show_origin,
    };
    face.answer(&report)
}

/// Says in one line that settings cannot be used.
pub(in crate::cli) fn warn(world: &World, problems: &[SettingsProblem]) {
    if let Some(first) = problems.first() {
        let more = match problems.len() - 1 {
            0 => String::new(),
            more => format!(" (and {})", text::count(more, "more problem")),
        };
        let list = "git colony config list";
        (world.narrate)(&format!("warning: {}{more}: {list}", first.sentence()));
    }
}

#[derive(Serialize, JsonSchema)]
struct ConfigReport {
    settings: Vec<Effective>,
    count: usize,
    problems: Vec<SettingsProblem>,
    #[serde(skip)]
    single: bool,
    #[serde(skip)]
    show_origin: bool,
}

impl Answer for ConfigReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        match self.settings.first() {
            Some(setting) if self.single => {
                let origin =
                    if self.show_origin { format!("{}  ", setting.origin) } else { String::new() };
                format!("{origin}{}", setting.value)
            }
            _ if self.problems.is_empty() => text::count(self.count, "setting"),
            _ => {
                let problems = text::count(self.problems.len(), "problem");
                format!("{}, {problems}", text::count(self.count, "setting"))
            }
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        if self.single {
            return Vec::new();
        }
        let row = |setting: &Effective| {
            let mut cells = vec![setting.key.to_owned(), setting.value.clone()];
            if self.show_origin {
                cells.push(setting.origin.clone());
            }
            cells.push(setting.help.to_owned());
            cells
        };
        let mut lines = text::table(&self.settings.iter().map(row).collect::<Vec<_>>());
        let problems = self.problems.iter();
        lines.extend(problems.map(|problem| format!("problem: {}", problem.sentence())));
        lines
    }

    fn outcome(&self) -> Outcome {
        if self.single || self.problems.is_empty() { Outcome::Yes } else { Outcome::No }
    }
}
