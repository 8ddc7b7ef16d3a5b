//! The part of `doctor` about merging records: whether git finds the drivers that attributes name.

use crate::setup::merge_driver;
use crate::setup::{attributes, info_attributes, merge_drivers};
use crate::store::Session;

use super::Check;

/// Checks the drivers and the files that merges left to do.
pub(super) fn checks(session: &Session) -> Vec<Check> {
    let mut checks = Vec::new();
    let text = session.repo.root_attributes();
    let names_ours = |line: &str| attributes::MERGE_LINES.contains(&line);
    if text.lines().any(names_ours) || info_attributes::is_there(&session.repo) {
        let missing = merge_drivers::missing(session);
        checks.push(if missing.is_empty() {
            Check::well("merge-drivers", "git finds every driver")
        } else {
            let missing = missing.join(", ");
            let detail = format!(
                "attributes name drivers that git does not know, so it merges text: \
                {missing}"
            );
            Check::ill("merge-drivers", detail, "git colony init")
        });
    }
    let stale = merge_driver::stale(session);
    if let Some(first) = stale.first() {
        let more = stale.len() - 1;
        let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
        let detail = format!("'{first}'{rest}: kept unchanged by a merge, must be made again");
        checks.push(Check::well("stale-page-graphs", detail));
    }
    checks
}
