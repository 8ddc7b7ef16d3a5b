//! The settings that a clone takes over: those that decide what git reads from files, writes into them and shows of
//! them.
//!
//! A setting that is not listed stays in the checkout: remotes, branches, URLs,
//! credentials, the monitor of files, the ssh command, extensions, upkeep, aliases, the identity, and all of
//! git-colony's own, among them the consent to publish.

/// How a value is taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TakeoverKind {
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
const PLAIN: &[(&str, &[&str], TakeoverKind)] = &[
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
        TakeoverKind::Value,
    ),
    ("core", &["attributesFile", "excludesFile"], TakeoverKind::Path),
    ("apply", &["ignoreWhitespace", "whitespace"], TakeoverKind::Value),
    ("blame", &["ignoreRevsFile"], TakeoverKind::Path),
    ("commit", &["cleanup", "status", "verbose"], TakeoverKind::Value),
    ("commit", &["template"], TakeoverKind::Path),
    ("commit", &["gpgSign"], TakeoverKind::Signing),
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
        TakeoverKind::Value,
    ),
    ("diff", &["orderFile"], TakeoverKind::Path),
    ("gpg", &["format", "minTrustLevel", "program"], TakeoverKind::Signing),
    ("i18n", &["commitEncoding", "logOutputEncoding"], TakeoverKind::Value),
    (
        "merge",
        &["conflictStyle", "default", "directoryRenames", "ff", "log", "renameLimit", "renames"],
        TakeoverKind::Value,
    ),
    ("pull", &["ff", "rebase"], TakeoverKind::Value),
    ("rebase", &["autoSquash", "autoStash", "updateRefs"], TakeoverKind::Value),
    ("rerere", &["autoUpdate", "enabled"], TakeoverKind::Value),
    (
        "status",
        &["renameLimit", "renames", "showUntrackedFiles", "submoduleSummary"],
        TakeoverKind::Value,
    ),
    ("submodule", &["recurse"], TakeoverKind::Value),
    ("tag", &["forceSignAnnotated", "gpgSign"], TakeoverKind::Signing),
    ("user", &["signingKey"], TakeoverKind::Signing),
];

/// Settings with a subsection of any name.
const NAMED: &[(&str, &[&str], TakeoverKind)] = &[
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
        TakeoverKind::Value,
    ),
    ("filter", &["clean", "process", "required", "smudge"], TakeoverKind::Value),
    ("gpg", &["allowedSignersFile", "defaultKeyCommand", "program"], TakeoverKind::Signing),
    ("merge", &["driver", "name", "recursive"], TakeoverKind::Value),
    ("submodule", &["active", "branch", "ignore", "update"], TakeoverKind::Value),
    ("submodule", &["url"], TakeoverKind::Url),
];

/// Returns how a setting is taken over, with its name as git spells it; `None` if it stays in the checkout.
pub(super) fn taken(
    section: &str,
    subsection: Option<&str>,
    name: &str,
) -> Option<(&'static str, &'static str, TakeoverKind)> {
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
