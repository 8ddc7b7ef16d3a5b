//! The reason and the hint of a conflict: a ref is in the way of another one.

use crate::git::refs::in_the_way::{InTheWay, RefContent};
use crate::model::text::shell_word;

/// Where saved refs are offered a place: below it nothing of ours and nothing of git is.
const SAVED: &str = "refs/saved/";

/// Says that a ref is in the way of another one, which is named beside it; `whose` is `here`, or `of` a repository.
pub fn reason(obstacle: &InTheWay, whose: &str) -> String {
    let name = &obstacle.name;
    match &obstacle.content {
        RefContent::Object => format!("the ref '{name}' {whose} is in the way of this name"),
        RefContent::Symbolic(target) => format!(
            "the symbolic ref '{name}' {whose}, which leads to '{target}', is in the way of this name"
        ),
        RefContent::Broken(damaged) => format!(
            "the broken ref '{name}' {whose} is in the way of this name: {}",
            damaged.problem()
        ),
    }
}

/// Returns the command that makes room in the repository that `git` is called for, and the next step, `then`. Nothing that
/// was saved before is overwritten. A branch is work: a name for it is up to a person.
pub fn room(obstacle: &InTheWay, git: &str, then: &str) -> String {
    let name = obstacle.name.to_string();
    let quoted = shell_word(&name);
    match &obstacle.content {
        RefContent::Object => {}
        RefContent::Symbolic(target) => {
            return format!(
                "{git} symbolic-ref --delete {quoted}   # '{target}' stays; then: {then}"
            );
        }
        RefContent::Broken(damaged) => return format!("{}; then: {then}", damaged.removal()),
    }
    if name.contains("refs/heads/") {
        let branch = shell_word(&obstacle.name.short());
        return format!("{git} branch -m {branch} NAME   # then: {then}");
    }
    let saved = name.trim_start_matches("refs/").replace('/', "-");
    let saved = shell_word(&format!("{SAVED}{saved}"));
    format!(
        "{git} update-ref {saved} {quoted} '' && {git} update-ref --no-deref -d {quoted}   # then: {then}"
    )
}
