//! The settings that a clone takes over: those that decide what git reads from files, writes into them and shows of
//! them.
//!
//! A setting that is not listed stays in the checkout: remotes, branches, URLs,
//! credentials, the monitor of files, the ssh command, extensions, upkeep, aliases, the identity, and all of
//! git-colony's own, among them the consent to publish.

/// How a value is taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// As it is.
    Value,
    /// A path: a relative one begins at the working tree of the checkout.
    Path,
    /// A URL: without credentials; a relative path begins at the working tree of the checkout.
    Url,
    /// Only where clones sign.
    Signing,
}

/// Settings without a subsection.
const PLAIN: &[(&str, &[&str], Taken)] = &[
    (
        "core",
        &[
            "abbrev",
            "autocrlf",
            "bigFileThreshold",
            "checkRoundtripEncoding",
            "checkStat",
            "commentChar",
            "commentString",
            "eol",
            "fileMode",
            "ignoreCase",
            "precomposeUnicode",
            "protectHFS",
            "protectNTFS",
            "quotePath",
            "safecrlf",
            "symlinks",
            "trustctime",
            "whitespace",
        ],
        Taken::Value,
    ),
    ("core", &["attributesFile", "excludesFile"], Taken::Path),
    ("apply", &["ignoreWhitespace", "whitespace"], Taken::Value),
    ("blame", &["ignoreRevsFile"], Taken::Path),
    ("commit", &["cleanup", "status", "verbose"], Taken::Value),
    ("commit", &["template"], Taken::Path),
    ("commit", &["gpgSign"], Taken::Signing),
    (
        "diff",
        &[
            "algorithm",
            "context",
            "ignoreSubmodules",
            "indentHeuristic",
            "interHunkContext",
            "mnemonicPrefix",
            "noprefix",
            "renameLimit",
            "renames",
            "submodule",
            "wsErrorHighlight",
        ],
        Taken::Value,
    ),
    ("diff", &["orderFile"], Taken::Path),
    ("gpg", &["format", "minTrustLevel", "program"], Taken::Signing),
    ("i18n", &["commitEncoding", "logOutputEncoding"], Taken::Value),
    (
        "merge",
        &["conflictStyle", "default", "directoryRenames", "ff", "log", "renameLimit", "renames"],
        Taken::Value,
    ),
    ("pull", &["ff", "rebase"], Taken::Value),
    ("rebase", &["autoSquash", "autoStash", "updateRefs"], Taken::Value),
    ("rerere", &["autoUpdate", "enabled"], Taken::Value),
    ("status", &["renameLimit", "renames", "showUntrackedFiles", "submoduleSummary"], Taken::Value),
    ("submodule", &["recurse"], Taken::Value),
    ("tag", &["forceSignAnnotated", "gpgSign"], Taken::Signing),
    ("user", &["signingKey"], Taken::Signing),
];

/// Settings with a subsection of any name.
const NAMED: &[(&str, &[&str], Taken)] = &[
    (
        "diff",
        &[
            "algorithm",
            "binary",
            "cachetextconv",
            "command",
            "funcname",
            "textconv",
            "trustExitCode",
            "wordRegex",
            "xfuncname",
        ],
        Taken::Value,
    ),
    ("filter", &["clean", "process", "required", "smudge"], Taken::Value),
    ("gpg", &["allowedSignersFile", "defaultKeyCommand", "program"], Taken::Signing),
    ("merge", &["driver", "name", "recursive"], Taken::Value),
    ("submodule", &["active", "branch", "ignore", "update"], Taken::Value),
    ("submodule", &["url"], Taken::Url),
];

/// Returns how a setting is taken over, with its name as git spells it; `None` if it stays in the checkout.
pub(super) fn taken(
    section: &str,
    subsection: Option<&str>,
    name: &str,
) -> Option<(&'static str, &'static str, Taken)> {
    // A clone sets git-lfs up by rules of its own.
    if section.eq_ignore_ascii_case("filter") && subsection == Some("lfs") {
        return None;
    }
    let rows = if subsection.is_some() { NAMED } else { PLAIN };
    rows.iter().find_map(|(known, names, taken)| {
        let is_known = known.eq_ignore_ascii_case(section);
        let name = names.iter().find(|known| is_known && known.eq_ignore_ascii_case(name))?;
        Some((*known, *name, *taken))
    })
}
