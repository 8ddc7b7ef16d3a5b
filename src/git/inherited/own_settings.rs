//! The settings that the configuration of a clone may have of its own where nothing of its agent may run: those that
//! we write, and those of git that start no program.

use gix::bstr::ByteSlice as _;
use gix::config::file::{Metadata, init};
use gix::config::{File, Source};

use crate::git::foreign_repository::LFS_FILTER;
use crate::model::{Code, Result, ResultExt as _};

/// The settings of each section, with a subsection or without.
const HARMLESS: [(&str, &[&str]); 10] = [
    ("branch", &["description", "merge", "rebase", "remote"]),
    ("colony", &["lfsHooks", "lfsUrl"]),
    (
        "core",
        &[
            "bare",
            "fileMode",
            "ignoreCase",
            "logAllRefUpdates",
            "precomposeUnicode",
            "repositoryFormatVersion",
            "sparseCheckout",
            "sparseCheckoutCone",
            "symlinks",
        ],
    ),
    ("extensions", &["objectFormat", "refStorage", "worktreeConfig"]),
    ("filter", &["required"]),
    ("index", &["sparse"]),
    (
        "lfs",
        &["fetchExclude", "fetchInclude", "repositoryFormatVersion", "skipDownloadErrors", "url"],
    ),
    ("remote", &["fetch", "pushurl", "tagOpt", "url"]),
    ("submodule", &["active", "url"]),
    ("user", &["email", "name"]),
];

/// Returns the first setting of a configuration file that might run something; `None` if there is none. No include but
/// that of [`super::CONFIG_FILE`] is harmless.
pub fn running_setting(bytes: &[u8]) -> Result<Option<String>> {
    let meta = Metadata::from(Source::Local);
    let file = File::from_bytes_no_includes(bytes, meta, init::Options::default())
        .or_code(Code::RepositoryBroken, || "cannot read the configuration of the clone")?;
    for section in file.sections() {
        let header = section.header();
        let name = header.name().to_str_lossy();
        let below = header.subsection_name().map(|name| name.to_str_lossy().into_owned());
        for key in section.body().value_names() {
            let values = section.body().values(&key);
            let mut texts = values.iter().map(|value| value.to_str_lossy());
            // A key without a value has none.
            let first = texts.next().unwrap_or_default();
            let is_harmless = |value: &str| is_harmless(&name, below.as_deref(), &key, value);
            if !is_harmless(&first) || !texts.all(|value| is_harmless(&value)) {
                let below = below.map(|below| format!("{below}.")).unwrap_or_default();
                return Ok(Some(format!("{name}.{below}{key}")));
            }
        }
    }
    Ok(None)
}

fn is_harmless(section: &str, below: Option<&str>, key: &str, value: &str) -> bool {
    let is = |name: &str| section.eq_ignore_ascii_case(name);
    if is("include") {
        return below.is_none() && value == super::CONFIG_FILE;
    }
    if is("filter") && below == Some("lfs") {
        let known = LFS_FILTER.iter().find(|(name, _)| key.eq_ignore_ascii_case(name));
        if let Some((_, command)) = known {
            return value == *command;
        }
    }
    // A URL may name a helper, which is a program.
    let names_helper = (is("remote") || is("submodule")) && value.contains("::");
    let listed = HARMLESS.iter().find(|(name, _)| is(name));
    let is_listed =
        listed.is_some_and(|(_, keys)| keys.iter().any(|name| key.eq_ignore_ascii_case(name)));
    is_listed && !names_helper
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_a_program_is_named() {
        let named = |text: &str| running_setting(text.as_bytes()).unwrap();
        for harmless in [
            "[include]\n\tpath = colony/checkout.config\n[core]\n\tbare = false\n",
            "[remote \"origin\"]\n\turl = /a\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\trequired = true\n",
            "[user]\n\tname = x\n\temail = y\n",
        ] {
            assert_eq!(named(harmless), None, "{harmless}");
        }
        for (text, name) in [
            ("[core]\n\tfsmonitor = evil\n", "core.fsmonitor"),
            ("[core]\n\tHooksPath = /tmp\n", "core.HooksPath"),
            ("[core]\n\tbare = false\n\tsshCommand = evil\n", "core.sshCommand"),
            ("[include]\n\tpath = other\n", "include.path"),
            ("[includeIf \"gitdir:/\"]\n\tpath = other\n", "includeIf.gitdir:/.path"),
            ("[filter \"lfs\"]\n\tclean = evil\n", "filter.lfs.clean"),
            ("[filter \"x\"]\n\tsmudge = evil\n", "filter.x.smudge"),
            ("[remote \"o\"]\n\turl = ext::sh -c evil\n", "remote.o.url"),
            ("[remote \"o\"]\n\tuploadpack = evil\n", "remote.o.uploadpack"),
            ("[remote \"o\"]\n\turl = /a\n\turl = ext::b\n", "remote.o.url"),
            ("[diff \"x\"]\n\ttextconv = evil\n", "diff.x.textconv"),
            ("[alias]\n\tx = !evil\n", "alias.x"),
            ("[gpg]\n\tprogram = evil\n", "gpg.program"),
            ("[core]\n\tfsmonitor\n", "core.fsmonitor"),
        ] {
            assert_eq!(named(text).as_deref(), Some(name), "{text}");
        }
        assert!(running_setting(b"[broken").is_err());
    }
}
