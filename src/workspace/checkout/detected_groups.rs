//! The groups of a checkout whose repository names none: by the first stack that has any.
//!
//! The group of a member at the root is the last: it has what the others leave.
//!
//! Names and paths are those of a stranger: a character that a pattern could not hold as it is becomes `?`.

use serde_json::Value;

use crate::git::worktree::safe_open::MAX_RECORD_BYTES;
use crate::model::RepoPath;

use super::groups::{AffinityGroup, GroupSource};
use super::layout::{Layout, Member, MemberKind};
use super::member_patterns::MemberSearch;
use super::root_files::RootFiles;

/// The pattern of the whole checkout.
const EVERYTHING: &str = "**/*";

/// Detects the groups; there is always one.
pub(super) fn detect(files: RootFiles<'_>, layout: &Layout) -> Vec<AffinityGroup> {
    let root_name = files.root.file_name().map_or("root".into(), |name| name.to_string_lossy());
    let whole = |name: String, source| {
        vec![AffinityGroup::detected(name, &[EVERYTHING.to_owned()], source)]
    };
    let cargo = members_of(layout, MemberKind::Cargo);
    if !cargo.is_empty() {
        return of_cargo(&cargo, &root_name);
    }
    let capabilities = layout.capabilities;
    if capabilities.node_workspace {
        return of_node(files, layout, &root_name);
    }
    if capabilities.python_project {
        return whole(format!("{root_name}-group"), GroupSource::Python);
    }
    if capabilities.go_module {
        return whole(format!("{}-group", go_name(files)), GroupSource::Go);
    }
    let crates = MemberSearch::new(files, "Cargo.toml").find(&["crates/*".to_owned()], &[]);
    if !crates.is_empty() {
        return crates.iter().map(of_crate).collect();
    }
    whole("workspace".to_owned(), GroupSource::Default)
}

/// Returns the members of a stack, one at the root last.
fn members_of(layout: &Layout, kind: MemberKind) -> Vec<&Member> {
    let mut members: Vec<_> = layout.members_of(kind).collect();
    members.sort_by_key(|member| member.directory().is_none());
    members
}

fn of_cargo(members: &[&Member], root_name: &str) -> Vec<AffinityGroup> {
    let name = |member: &Member| match member.directory() {
        Some(path) => lossy(path.name()),
        None => root_name.to_owned(),
    };
    let names = unique(members, "", name);
    let groups = members.iter().zip(names).map(|(member, unique)| {
        let globs = match member.directory() {
            None => vec![EVERYTHING.to_owned()],
            Some(path) => {
                let base = literal(path.name());
                let mut globs = vec![
                    format!("**/crates/{base}/**"),
                    format!("crates/{base}/**"),
                    format!("**/{base}/**"),
                ];
                // Directories of a name that members share belong to none of them.
                globs.retain(|_| unique == name(member));
                globs.push(format!("{}/**", literal(path.as_bytes())));
                globs
            }
        };
        AffinityGroup::detected(format!("{unique}-group"), &globs, GroupSource::Cargo)
    });
    groups.collect()
}

fn of_node(files: RootFiles<'_>, layout: &Layout, root_name: &str) -> Vec<AffinityGroup> {
    let root = Member { path: RepoPath::from("."), kind: MemberKind::Node };
    let mut members = members_of(layout, MemberKind::Node);
    if members.is_empty() {
        members.push(&root);
    }
    let name = |member: &Member| {
        let directory = member.directory();
        let own = match &directory {
            Some(path) => lossy(path.name()),
            None => root_name.to_owned(),
        };
        let named = package_name(files, &directory.unwrap_or_default());
        let mut slugs = [slug(&named.unwrap_or_default()), slug(&own)]
            .into_iter()
            .filter(|slug| !slug.is_empty());
        slugs.next().unwrap_or("package".to_owned())
    };
    let names = unique(&members, "node-", name);
    let groups = members.iter().zip(names).map(|(member, name)| {
        let glob = match member.directory() {
            Some(path) => format!("{}/**", literal(path.as_bytes())),
            None => EVERYTHING.to_owned(),
        };
        AffinityGroup::detected(name, &[glob], GroupSource::Node)
    });
    groups.collect()
}

fn of_crate(path: &RepoPath) -> AffinityGroup {
    let (name, base) = (lossy(path.name()), literal(path.name()));
    let globs = [format!("**/crates/{base}/**"), format!("crates/{base}/**")];
    AffinityGroup::detected(format!("{name}-group"), &globs, GroupSource::Crates)
}

/// Returns the name of each member; members that share one have their paths instead.
fn unique(members: &[&Member], prefix: &str, name: impl Fn(&Member) -> String) -> Vec<String> {
    let names: Vec<String> = members.iter().map(|member| name(member)).collect();
    let mut counts = std::collections::BTreeMap::new();
    for name in &names {
        *counts.entry(name.clone()).or_insert(0) += 1;
    }
    let named = members.iter().zip(names).map(|(member, name)| {
        let is_shared = counts.get(&name).is_some_and(|count| *count > 1);
        let path = member.directory().filter(|_| is_shared);
        let name = path.map_or(name, |path| lossy(path.as_bytes()));
        format!("{prefix}{name}")
    });
    named.collect()
}

/// Returns the name in the `package.json` of a directory.
fn package_name(files: RootFiles<'_>, directory: &RepoPath) -> Option<String> {
    let path = directory.join(&RepoPath::from("package.json"));
    let text = files.text(&path, MAX_RECORD_BYTES).ok()??;
    let package: Value = serde_json::from_str(&text).ok()?;
    Some(package.get("name")?.as_str()?.to_owned())
}

/// Replaces everything but letters, digits, `-` and `_` by `-`.
fn slug(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let slug: String = name.chars().take(200).map(|c| if plain(c) { c } else { '-' }).collect();
    slug.trim_matches('-').to_owned()
}

/// Returns the last component of the module in `go.mod` that is not a version.
fn go_name(files: RootFiles<'_>) -> String {
    let text =
        files.text(&RepoPath::from("go.mod"), MAX_RECORD_BYTES).ok().flatten().unwrap_or_default();
    let module = text.lines().find_map(|line| {
        let line = line.split("//").next().unwrap_or_default().trim();
        let rest = line.strip_prefix("module")?;
        let is_key = rest.starts_with([' ', '\t', '"', '`']);
        let module = rest.trim().trim_matches(['"', '`']);
        (is_key && !module.is_empty()).then(|| module.to_owned())
    });
    let module = module.unwrap_or_default();
    let is_version = |part: &str| {
        let number = part.strip_prefix('v').unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut parts = module.split('/').rev().filter(|part| !part.is_empty());
    let first = parts.clone().next();
    let named = parts.find(|part| !is_version(part)).or(first);
    named.unwrap_or("go").to_owned()
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns a path as a pattern that matches it.
fn literal(path: &[u8]) -> String {
    let mut pattern = String::new();
    for chunk in path.utf8_chunks() {
        for c in chunk.valid().chars() {
            let is_special = c.is_control() || "*?[]\\!# ".contains(c);
            pattern.push(if is_special { '?' } else { c });
        }
        pattern.extend(chunk.invalid().iter().map(|_| '?'));
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::PathPattern;

    #[test]
    fn every_path_is_matched_by_its_own_pattern() {
        for path in [
            &b"a"[..],
            b"a b",
            b" a",
            b"!a",
            b"#a",
            b"[x]",
            b"a*b?c",
            b"a\\b",
            b"\xff\xfe",
            b"d\xc3\xa9",
            b"a\nb",
            b"deep/[/x",
        ] {
            let pattern = format!("{}/**", literal(path));
            let pattern = PathPattern::parse(&pattern).unwrap();
            let inside = RepoPath::new(path).join(&RepoPath::from("f"));
            assert!(pattern.matches(&inside, false), "{pattern:?}");
        }
    }

    #[test]
    fn slugs_are_plain_words() {
        let cases =
            [("@acme/web", "acme-web"), ("a b", "a-b"), ("///", ""), ("\u{e9}x", "\u{e9}x")];
        for (name, expected) in cases {
            assert_eq!(slug(name), expected);
        }
    }
}
