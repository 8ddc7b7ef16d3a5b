//! Checks the configuration: the manifest, the merge lines, the hooks, the settings, the remotes.

use std::path::Path;

use crate::agents::colony::large_file_store;
use crate::git::attributes::AttributesOf;
use crate::git::lfs::exempt_lines;
use crate::git::remote::url::{Provenance, RemoteUrl};
use crate::git::worktree::safe_open::{self, MAX_RECORD_BYTES, MAX_RULES_BYTES};
use crate::lfs::install;
use crate::lfs::status;
use crate::lfs::store_url::{self, StoreUrl};
use crate::model::text::shell_word;
use crate::model::{RepoPath, Result};
use crate::setup::attributes::{MERGE_LINES, gives_to_lfs};
use crate::setup::hooks::{self, FolderSort, HookState, HookStatus};
use crate::setup::info_attributes;
use crate::setup::manifest::{self, LfsMode, Manifest};
use crate::store::Session;
use crate::store::refs::ref_names;
use crate::store::settings::colony_toml::SettingsProblem;

use super::Check;

/// The files that git reads at the root; a symlink there is ignored.
const RULE_FILES: [&str; 2] = [".gitattributes", ".gitignore"];

pub(super) fn mirrors(session: &Session) -> Result<Check> {
    let mut git = session.repo.git(&session.world);
    let pattern = "^remote\\..*\\.(mirror|push|fetch)$";
    let output = git.args(["config", "--null", "--get-regexp", pattern]).run()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let publishes = |entry: &&str| {
        let Some((key, value)) = entry.split_once('\n') else {
            return false;
        };
        let source = value.trim_start_matches('+').split(':').next().unwrap_or_default();
        let (_, name) = key.rsplit_once('.').unwrap_or_default();
        let mirror = name == "mirror" && ["true", "yes", "on", "1"].contains(&value);
        mirror || (name == "push" && ["refs/*", "refs/colony-local/*"].contains(&source))
    };
    let key_of = |entry: &str| entry.split('\n').next().map(str::to_owned);
    if let Some(key) = text.split('\0').find(publishes).and_then(key_of) {
        return Ok(Check::ill(
            "mirror",
            format!("'{key}' would publish the private refs below refs/colony-local/"),
            format!("git config --unset {key}   # push branches and tags instead"),
        ));
    }
    let found = text.split('\0').find(|entry| entry.split_once('\n').is_some_and(replaces_ours));
    Ok(match found.and_then(key_of) {
        Some(key) => {
            let remote = key.trim_start_matches("remote.").trim_end_matches(".fetch");
            let branches = shell_word(&format!("+refs/heads/*:refs/remotes/{remote}/*"));
            Check::ill(
                "mirror",
                format!("'{key}' has 'git fetch' replace or prune the refs of git-colony"),
                format!("git config --replace-all {} {branches}", shell_word(&key)),
            )
        }
        None => Check::well("mirror", "no remote is set to push or replace private refs"),
    })
}

/// Returns `true` for a refspec of a fetch that moves refs of ours.
fn replaces_ours((key, spec): (&str, &str)) -> bool {
    let into = spec.split_once(':').map_or("", |(_, into)| into);
    let ours = [ref_names::PUBLISHED, ref_names::PRIVATE];
    let moves = |ours: &&str| match into.split_once('*') {
        Some((begin, _)) => ours.starts_with(begin) || begin.starts_with(*ours),
        None => into.starts_with(*ours),
    };
    let is_of_fetch = key.rsplit_once('.').is_some_and(|(_, name)| name == "fetch");
    is_of_fetch && ours.iter().any(moves)
}

pub(super) fn set_up(session: &Session) -> Vec<Check> {
    let mut checks: Vec<Check> = RULE_FILES
        .into_iter()
        .filter_map(|path| unreadable(session, "rules", path, MAX_RULES_BYTES))
        .collect();
    let ill = unreadable(session, "manifest", manifest::PATH, MAX_RECORD_BYTES);
    let read = session.repo.read_file(&manifest::PATH.into(), MAX_RECORD_BYTES);
    let Some(bytes) = read.ok().flatten() else {
        let none = || Check::well("manifest", "none: 'git colony init' was not run here");
        checks.push(ill.unwrap_or_else(none));
        return checks;
    };
    checks.push(match Manifest::parse(&bytes) {
        Ok(_) => Check::well("manifest", "valid"),
        Err(error) => Check::ill("manifest", error.message(), format!("edit {}", manifest::PATH)),
    });
    let text = session.repo.root_attributes();
    let in_tree = MERGE_LINES.iter().all(|line| text.lines().any(|present| present == *line));
    let wants_lfs =
        Manifest::parse(&bytes).is_ok_and(|manifest| manifest.lfs.mode != LfsMode::Disabled);
    if wants_lfs && !gives_to_lfs(&text) {
        checks.push(Check::ill(
            "git-lfs-patterns",
            "the manifest assigns large files to git-lfs, but no line of .gitattributes does",
            "git colony init   # prints the lines to add",
        ));
    }
    if let Ok(manifest) = Manifest::parse(&bytes)
        && manifest.lfs.mode == LfsMode::Disabled
    {
        checks.extend(unwanted_lfs(session, &text));
    }
    checks.extend(whole_in_git(session));
    if let Ok(manifest) = Manifest::parse(&bytes) {
        checks.extend(large_file_store(session, &manifest));
    }
    if !in_tree && info_attributes::is_there(&session.repo) {
        checks.push(Check::well(
            "merge-lines",
            format!(
                "only in info/attributes, so clones lack them; for .gitattributes: {}",
                MERGE_LINES.join(" | ")
            ),
        ));
    } else if !in_tree {
        checks.push(Check::ill(
            "merge-lines",
            format!("missing from .gitattributes: {}", MERGE_LINES.join(" | ")),
            "git colony init",
        ));
    }
    checks
}

/// Finds what gives files to git-lfs although the manifest keeps them in git. Neither is removed by itself: without
/// the filters, files that are pointers in git would stay pointers.
fn unwanted_lfs(session: &Session, attributes: &str) -> Option<Check> {
    const NAME: &str = "git-lfs-mode";
    if gives_to_lfs(attributes) {
        return Some(Check::ill(
            NAME,
            "the manifest keeps large files in git ('lfs.mode' is 'disabled'), and lines of .gitattributes give some to git-lfs",
            "git colony init --lfs   # lets git-lfs have them; or delete these lines and run: git add --renormalize .",
        ));
    }
    // The configuration of the user is for all repositories.
    let has_filters = install::has_section(session, "filter.lfs").unwrap_or(false);
    has_filters.then(|| {
        Check::ill(
            NAME,
            "the manifest keeps large files in git ('lfs.mode' is 'disabled'), and this repository has the filters of git-lfs",
            "git lfs uninstall --local",
        )
    })
}

/// Finds files that git-lfs should have and that are stored in git, as after a rename of one with a
/// line of its own: git shows them as modified in every clone.
fn whole_in_git(session: &Session) -> Option<Check> {
    /// The maximum number of files that are named.
    const FEW: usize = 5;
    // An unreadable index is reported elsewhere.
    let index = session.repo.load_index().ok()?;
    let files = status::would_dirty(session, &index, AttributesOf::Index).ok()?;
    let named: Vec<String> = files.iter().take(FEW).map(|file| format!("'{file}'")).collect();
    let more = match files.len().saturating_sub(FEW) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let detail = format!(
        "stored in git, although .gitattributes gives {} to git-lfs, so git shows {}: {}{more}",
        match files.len() {
            1 => "it".to_owned(),
            count => format!("these {count} files"),
        },
        match files.len() {
            1 => "it as modified",
            _ => "them as modified",
        },
        named.join(", ")
    );
    let first = exempt_lines::line_of(files.first()?);
    Some(Check::ill(
        "git-lfs-files",
        detail,
        format!(
            "git add --renormalize . && git commit   # gives them to git-lfs; or keep them in git by lines in .gitattributes: {first}"
        ),
    ))
}

/// Compares the store of large files with the one that the manifest names.
fn large_file_store(session: &Session, manifest: &Manifest) -> Option<Check> {
    const NAME: &str = "git-lfs-store";
    let wanted = match large_file_store::url_of(&manifest.lfs) {
        Ok(wanted) => wanted,
        Err(error) => {
            let fix = format!("edit {}", manifest::PATH);
            return Some(Check::ill(NAME, error.message(), fix));
        }
    };
    let now = StoreUrl::read(session).ok()?;
    let wanted = wanted.as_deref();
    let shown = wanted.unwrap_or("the remote");
    match &now {
        _ if now.differs(wanted) => Some(Check::ill(
            NAME,
            format!("the manifest keeps large files at {shown}, and '{}' does not", store_url::KEY),
            "git colony init",
        )),
        StoreUrl::Theirs(url) if Some(url.as_str()) != wanted && wanted.is_some() => {
            let (key, url) = (store_url::KEY, shown_url(url));
            let detail = format!("'{key}' is '{url}', and the manifest names {shown}");
            Some(Check::ill(NAME, detail, format!("git config --unset {key} && git colony init")))
        }
        _ => wanted.map(|url| Check::well(NAME, format!("large files are at {url}"))),
    }
}

/// Returns a URL of the user without credentials.
fn shown_url(url: &str) -> String {
    let parsed = RemoteUrl::parse(url, Provenance::User, Path::new("/"));
    parsed.map_or_else(|_| "a URL of its own".to_owned(), |url| url.without_credentials())
}

/// Reports a file that exists and cannot be read.
fn unreadable(session: &Session, name: &'static str, path: &str, limit: u64) -> Option<Check> {
    let path = RepoPath::from(path);
    let fault = session.repo.read_file(&path, limit).err()?;
    let detail = format!("'{path}' cannot be used: {fault}");
    Some(Check::ill(name, detail, safe_open::look_at(&path)))
}

pub(super) fn hook_checks(session: &Session) -> Result<Vec<Check>> {
    let status = hooks::status(session)?;
    let there = |hook: &&HookStatus| hook.state != HookState::NotInstalled;
    let installed: Vec<&HookStatus> = status.hooks.iter().filter(there).collect();
    if installed.is_empty() {
        return Ok(vec![Check::well("hooks", "none of ours are installed")]);
    }
    if status.folder.sort == FolderSort::Moved {
        let detail = format!(
            "core.hooksPath names '{}', the path of this repository before it was moved or copied: \
            neither our hooks nor the previous ones run",
            status.folder.path.display()
        );
        return Ok(vec![Check::ill("hooks", detail, "git colony hooks install")]);
    }
    let tell = |hook: &&HookStatus| {
        let fired = hook.last_fired_at.as_deref().unwrap_or("never");
        let detail = if hook.is_server() {
            format!("MCP server in the configuration of {}", hook.target)
        } else {
            format!("{} of {}: last fired {fired}", hook.name, hook.target)
        };
        if hook.runs {
            Check::well("hooks", detail)
        } else {
            let fix = format!("git colony hooks install --for {}", hook.target);
            Check::ill("hooks", format!("{detail}; it does not run now"), fix)
        }
    };
    Ok(installed.iter().map(tell).collect())
}

pub(super) fn settings(session: &Session) -> Vec<Check> {
    let problems = &session.settings.repository_problems;
    if problems.is_empty() {
        return vec![Check::well("settings", "every settings file is valid")];
    }
    let tell = |problem: &SettingsProblem| {
        Check::ill("settings", problem.sentence(), "git colony config list")
    };
    problems.iter().map(tell).collect()
}
