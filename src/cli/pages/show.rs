//! `git colony pages show`

use crate::flow::pages;
use crate::model::time::Moment;
use crate::page::listing::{RecordEntry, ShownPage};
use crate::ui::answer::{Answer, Outcome};

use super::super::{Face, Run, Stop};

/// Show what a page holds
///
/// For a model: a JSON object for each record, one on a line. Such a line has at most the tokens that are
/// counted for its record, and up to 2 fewer: the text and what stands around it are counted apart.
/// Notes go to standard error.
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
        let parts = self.records.iter().filter_map(lies);
        stale.into_iter().chain(parts).collect()
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        self.text.lines().map(str::to_owned).collect()
    }
}

/// Says where a part of a file lies.
fn lies(record: &RecordEntry) -> Option<String> {
    let (number, count) = (record.part_number?, record.part_count?);
    Some(format!(
        "{}: part {number} of {count}, bytes {} to {}",
        record.path, record.start, record.end
    ))
}
