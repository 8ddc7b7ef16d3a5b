//! Init with a migration of the large files in history: as `lfs migrate`, reported as a part of
//! init.

use crate::git::attributes::AttributesOf;
use crate::lfs::status;
use crate::migrate::{self, Agents, MigrateStatus, Outlook, Publication, Request};
use crate::model::{Code, Result, Untouched, text};
use crate::store::Session;

use super::{InitReport, with_hint};

/// Describes the result of a migration, with the files of HEAD that the patterns give to git-lfs.
pub(super) fn outlook(outlook: &Outlook, publication: Publication, files: usize) -> Vec<String> {
    let Outlook::Rewrites { refs, replaces, notes } = outlook else {
        return vec!["git-lfs has every large file already".to_owned()];
    };
    let mut lines = vec![format!(
        "would rewrite the history of {}; {} of HEAD would go to git-lfs",
        text::count(*refs, "ref"),
        text::count(files, "file")
    )];
    let would = match publication {
        Publication::Local => "a push would replace",
        Publication::WithConsent | Publication::Consents => "would replace",
    };
    lines.extend(replaces.iter().map(|replaced| format!("{would} {}", replaced.to_text())));
    lines.extend(notes.iter().map(|note| format!("attention: {note}")));
    lines
}

/// Rewrites history after everything is configured; a failure then is part of the report.
pub(super) fn migrate(
    session: &Session,
    publication: Publication,
    report: &mut InitReport,
) -> Result<()> {
    let request = Request { publication, agents: Agents::Refuse };
    let done = match migrate::migrate(session, request) {
        Ok(done) => done,
        Err(error) if error.code() == Code::Interrupted => return Err(error),
        Err(error) => {
            // By now, the commit of init is made.
            let claim = error.left_untouched().map(|_| Untouched::History);
            report.migrate_error = Some(with_hint(&error.untouched(claim)));
            return Ok(());
        }
    };
    report.migrated_to_lfs = true;
    report.history_rewritten = done.status == MigrateStatus::Migrated;
    report.pushed = done.pushed;
    report.push_error = done.push_error;
    report.replaces = done.replaces;
    report.push_command = done.push_command;
    if done.op.is_some() {
        // The commit made before was rewritten.
        report.committed_sha = report.committed_sha.and(done.head);
        report.op = done.op;
    }
    let index = session.repo.load_index()?;
    report.would_dirty = status::would_dirty(session, &index, AttributesOf::Index)?;
    Ok(())
}
