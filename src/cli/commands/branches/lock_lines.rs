//! The lines about locks that others hold.

use crate::model::time::{self, Moment};
use crate::store::large_files::large_file_locks::LockedPath;
use crate::ui::text;

/// More locks are only counted.
const MAX_LINES: usize = 10;

/// Says who has locked what, and how old that is.
pub(in crate::cli) fn lines(
    locked: &[LockedPath],
    known_at: Option<&str>,
    now: &Moment,
) -> Vec<String> {
    let mut lines: Vec<String> = locked.iter().take(MAX_LINES).map(line).collect();
    if let Some(more) = locked.len().checked_sub(MAX_LINES).filter(|more| *more > 0) {
        lines.push(format!("locked as well: {}", text::count(more, "more path")));
    }
    if !lines.is_empty() {
        let known = known_at.and_then(time::parse_rfc3339);
        let age = known.map_or_else(|| "once".to_owned(), |known| time::ago(&known, now));
        lines.push(format!(
            "locks as the server listed them {age}; ask again: git colony --refresh"
        ));
    }
    lines
}

fn line(one: &LockedPath) -> String {
    let who = one.locked_by.as_deref().unwrap_or("another user");
    let branches = text::list(&one.changed_in);
    format!("locked by {who}: {} (lock {}), changed in {branches}", one.path, one.id)
}
