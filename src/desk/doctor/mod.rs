//! Checks everything that could cause trouble later. Reads only.

mod hub;
mod locks;
mod merge_drivers;
mod setup;
mod storage;
mod versions;
mod writing;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::Result;
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
    let (git, usable) = versions::git(session);
    let mut checks = vec![git];
    if usable == Usable::Yes {
        checks.extend(beside_git(session, depth)?);
    }
    Ok(DoctorReport { count: checks.len(), checks })
}

fn beside_git(session: &Session, depth: Depth) -> Result<Vec<Check>> {
    let mut checks = versions::large_files(session)?;
    checks.push(writing::check(session));
    checks.extend(locks::locks(session)?);
    checks.extend(hub::check(session, depth)?);
    checks.extend(hub::clones(session)?);
    checks.extend(locks::migration(session)?);
    checks.push(locks::pages(session));
    checks.extend(locks::watches(session));
    checks.push(setup::mirrors(session)?);
    checks.extend(setup::set_up(session));
    checks.extend(merge_drivers::checks(session));
    checks.extend(setup::settings(session));
    checks.extend(setup::hook_checks(session)?);
    checks.extend(storage::refs(session)?);
    checks.push(storage::disk(session)?);
    if depth == Depth::Deep {
        checks.push(storage::objects(session)?);
        checks.push(storage::operations(session)?);
    }
    Ok(checks)
}
