//! `git colony pages show`

use crate::flow::pages;
use crate::model::time::Moment;
use crate::page::listing::ShownPage;
use crate::ui::answer::{Answer, Outcome};

use super::super::{Face, Run, Stop};

/// Show what a page holds
///
/// For a model: a JSON object for each record, one on a line. Counting the tokens of these values gives
/// those of the page.
#[derive(Debug, clap::Args)]
pub(in super::super) struct Args {
    /// Its id, or enough of its beginning
    #[arg(value_name = "ID")]
    id: String,
}

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(Run::ForReal)?;
    let report = pages::show(&session, &args.id)?;
    face.answer(&report)
}

impl Answer for ShownPage {
    fn message(&self) -> String {
        if self.stale {
            super::moved_on(std::slice::from_ref(&self.scope_id)).to_owned()
        } else {
            String::new()
        }
    }

    fn line(&self) -> String {
        // Standard output is the records alone: another program reads them.
        String::new()
    }

    fn narration(&self) -> Vec<String> {
        let stale = Some(self.message()).filter(|stale| !stale.is_empty());
        stale.into_iter().collect()
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        self.text.lines().map(str::to_owned).collect()
    }
}
