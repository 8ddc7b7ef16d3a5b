//! Checks everything that could cause trouble later. Reads only.

mod hub;
mod locks;
mod merge_drivers;
mod reading;
mod setup;
mod storage;
mod versions;
mod writing;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Code, Error, Result, World};
use crate::store::Session;

use versions::Usable;

/// How closely to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Settings, versions, locks and sizes.
    Surface,
    /// Every object, every operation and every kept file as well.
    Deep,
}

/// The results.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DoctorReport {
    /// Every check.
    pub checks: Vec<Check>,
    /// Their number.
    pub count: usize,
}

/// One check.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Check {
    /// A stable name.
    pub name: &'static str,
    /// Whether there is no problem.
    pub ok: bool,
    /// The result.
    pub detail: String,
    /// The command or change that fixes it, if there is one.
    pub fix: Option<String>,
}

impl Check {
    fn well(name: &'static str, detail: impl Into<String>) -> Check {
        Check { name, ok: true, detail: detail.into(), fix: None }
    }

    fn ill(name: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Check {
        Check { name, ok: false, detail: detail.into(), fix: Some(fix.into()) }
    }
}

/// Checks everything, changes nothing.
pub fn doctor(session: &Session, depth: Depth) -> Result<DoctorReport> {
    let (git, usable) = versions::git(&session.world);
    let mut checks = vec![git];
    if usable == Usable::Yes {
        checks.extend(beside_git(session, depth)?);
    }
    Ok(DoctorReport { count: checks.len(), checks })
}

/// Reports on a repository that cannot be opened, since something in it cannot be read; `None` for any other error.
pub fn closed(world: &World, error: &Error) -> Option<DoctorReport> {
    let codes = [Code::RepositoryBroken, Code::ObjectMissing, Code::Io];
    if !codes.contains(&error.code()) {
        return None;
    }
    let checks: Vec<_> = [versions::git(world).0]
        .into_iter()
        .chain(reading::check_closed(world))
        .chain([of_error("repository", error)])
        .collect();
    Some(DoctorReport { count: checks.len(), checks })
}

fn beside_git(session: &Session, depth: Depth) -> Result<Vec<Check>> {
    let mut checks = checks_of("git-lfs", versions::large_files(session))?;
    checks.push(writing::check(session));
    checks.extend(reading::check(session));
    checks.extend(checks_of("lock", locks::locks(session))?);
    checks.extend(checks_of("hub", hub::check(session, depth))?);
    checks.extend(checks_of("clones", hub::clones(session))?);
    checks.extend(checks_of("migration", locks::migration(session))?);
    checks.push(locks::pages(session));
    checks.extend(locks::watches(session));
    checks.extend(checks_of("mirror", setup::mirrors(session).map(Some))?);
    checks.extend(setup::set_up(session));
    checks.extend(merge_drivers::checks(session));
    checks.extend(setup::settings(session));
    checks.extend(checks_of("hooks", setup::hook_checks(session))?);
    checks.extend(checks_of("refs", storage::refs(session))?);
    checks.extend(checks_of("disk", storage::disk(session).map(Some))?);
    if depth == Depth::Deep {
        checks.extend(checks_of("objects", storage::objects(session).map(Some))?);
        checks.extend(checks_of("operations", storage::operations(session).map(Some))?);
    }
    Ok(checks)
}

/// Returns the results of a check; one that cannot be made fails, and stops no other.
fn checks_of(
    name: &'static str,
    checks: Result<impl IntoIterator<Item = Check>>,
) -> Result<Vec<Check>> {
    match checks {
        Ok(checks) => Ok(checks.into_iter().collect()),
        Err(error) if error.code() == Code::Interrupted => Err(error),
        Err(error) => Ok(vec![of_error(name, &error)]),
    }
}

fn of_error(name: &'static str, error: &Error) -> Check {
    Check::ill(name, error.message(), error.hint_text().unwrap_or("git fsck --strict"))
}
