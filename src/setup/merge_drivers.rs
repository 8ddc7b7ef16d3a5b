//! The merge drivers in git's configuration, which make git run ours for the lines in attributes.
//!
//! A driver that is configured already, at any level, is the user's choice and stays.

use crate::model::Result;
use crate::store::Session;
use crate::store::files::config_file::ConfigFile;

use super::attributes::MERGE_LINES;

/// Returns the names of the drivers, each once.
pub fn names() -> Vec<&'static str> {
    let mut names = Vec::new();
    for line in MERGE_LINES {
        let name = line.rsplit('=').next().unwrap_or_default();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns the command of a driver. Git quotes the values of `%P` and the labels, and passes the three files
/// by plain names; gix, which runs it as well, passes whole paths, so they are quoted here.
///
/// If the program is gone and the configuration is not, git would take the failure for a conflict without
/// markers, and the next `git add` would lose their version: so the shell lets git merge the file as text.
pub fn command(name: &str) -> String {
    let fallback = if name == "colony-page-graph" {
        // Not text: git keeps our version and reports a conflict.
        "false"
    } else {
        "git merge-file --marker-size=%L -L %X -L %S -L %Y '%A' '%O' '%B'"
    };
    format!(
        "if command -v git-colony >/dev/null; then git-colony merge-driver {name} '%A' '%O' '%B' %P %L %S %X %Y; else {fallback}; fi"
    )
}

fn label(name: &str) -> String {
    format!("git-colony: {}", name.trim_start_matches("colony-"))
}

fn label_key(name: &str) -> String {
    format!("merge.{name}.name")
}

fn key(name: &str) -> String {
    format!("merge.{name}.driver")
}

/// Returns the drivers that git would not find here.
pub fn missing(session: &Session) -> Vec<&'static str> {
    let is_missing = |name: &&str| session.repo.config(&key(name)).is_none();
    names().into_iter().filter(is_missing).collect()
}

/// Configures the missing drivers in the configuration of this repository. The caller holds the lock of the
/// worktree.
pub fn install(session: &Session) -> Result<()> {
    for name in missing(session) {
        for (key, value) in [(label_key(name), label(name)), (key(name), command(name))] {
            configure(session, &["--replace-all", &key, &value])?;
        }
    }
    Ok(())
}

fn configure(session: &Session, args: &[&str]) -> Result<()> {
    ConfigFile::of_repository(&session.repo).change(&session.repo, &session.world, args)
}

/// Returns the drivers that this repository's configuration has, at least in part, from us.
pub fn installed(session: &Session) -> Result<Vec<&'static str>> {
    let bytes = ConfigFile::of_repository(&session.repo).read()?;
    let is_there = |name: &&str| has_label(&bytes, name) || has_command(&bytes, name);
    Ok(names().into_iter().filter(is_there).collect())
}

fn has_label(bytes: &[u8], name: &str) -> bool {
    contains(bytes, format!("\tname = {}\n", label(name)).as_bytes())
}

fn has_command(bytes: &[u8], name: &str) -> bool {
    contains(bytes, format!("git-colony merge-driver {name} ").as_bytes())
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Removes our drivers from the configuration of this repository.
pub fn remove(session: &Session) -> Result<()> {
    let bytes = ConfigFile::of_repository(&session.repo).read()?;
    for name in installed(session)? {
        if is_as_written(&bytes, name) {
            configure(session, &["--remove-section", &format!("merge.{name}")])?;
            continue;
        }
        if has_label(&bytes, name) {
            configure(session, &["--unset-all", &label_key(name)])?;
        }
        if has_command(&bytes, name) {
            configure(session, &["--unset-all", &key(name)])?;
        }
    }
    Ok(())
}

/// Returns `true` if the section of a driver holds exactly our text.
fn is_as_written(bytes: &[u8], name: &str) -> bool {
    let (header, label) = (format!("[merge \"{name}\"]\n"), label(name));
    let driver = command(name);
    let text = format!("{header}\tname = {label}\n\tdriver = \"{driver}\"\n");
    let section = text.as_bytes();
    let at = bytes.windows(section.len()).position(|window| window == section);
    let after = at.and_then(|at| bytes.get(at + section.len()..));
    // Another section of that name would be removed with it.
    let headers = bytes.windows(header.len());
    let count = headers.filter(|window| *window == header.as_bytes());
    after.is_some_and(|after| after.first().is_none_or(|next| *next == b'[')) && count.count() == 1
}
