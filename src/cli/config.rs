//! `git colony config`

use serde::Serialize;

use crate::git::{ObjectWrites, Repo};
use crate::model::time::Moment;
use crate::store::settings::{self, Effective, Settings};
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::{Face, Stop};

/// The settings in force and where they come from
///
/// Set them with 'git config colony.NAME VALUE', a variable, or a flag; the later wins.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Show where each value comes from
    #[arg(long, global = true)]
    show_origin: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List every setting (the default)
    List,
    /// Show one setting
    Get {
        /// Its name, as in 'colony.keepDays'
        #[arg(value_name = "KEY")]
        key: String,
    },
}

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    // Not a session: a value that does not parse has to be shown, too.
    let world = face.world()?;
    let repo = Repo::open(&world, ObjectWrites::InMemory)?;
    let settings = match &args.action {
        Some(Action::Get { key }) => vec![settings::effective_of(&world, &repo, &face.flags, key)?],
        Some(Action::List) | None => Settings::effective(&world, &repo, &face.flags),
    };
    let single = matches!(args.action, Some(Action::Get { .. }));
    let report = ConfigReport {
        count: settings.len(),
        settings,
        single,
        show_origin: args.show_origin,
    };
    face.answer(&report)
}

#[derive(Serialize)]
struct ConfigReport {
    settings: Vec<Effective>,
    count: usize,
    #[serde(skip)]
    single: bool,
    #[serde(skip)]
    show_origin: bool,
}

impl Answer for ConfigReport {
    fn message(&self) -> String {
        match self.settings.first() {
            Some(setting) if self.single => {
                let origin = if self.show_origin {
                    format!("{}  ", setting.origin)
                } else {
                    String::new()
                };
                format!("{origin}{}", setting.value)
            }
            _ => text::count(self.count, "setting"),
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
        text::table(&self.settings.iter().map(row).collect::<Vec<_>>())
    }
}
