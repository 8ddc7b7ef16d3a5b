//! The settings of a checkout that a clone takes over, as the text of a configuration file.

use std::collections::BTreeMap;
use std::path::Path;

use gix::config::Source;
use gix::config::file::SectionRef;

use crate::git::Repo;
use crate::git::new_repository::ConfigEntry;
use crate::git::remote::url::{Provenance, RemoteUrl};
use crate::model::World;

use super::key_list::{TakeoverKind, taken};
use super::owned_file::Sources;

/// The command that passes a file on as it is.
const AS_IT_IS: &str = "cat";

/// Whether commits and tags in a clone are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signing {
    /// No, whatever the user has configured: a key is of a person.
    Off,
    /// As in the checkout.
    AsInCheckout,
}

/// Reads the settings; those of a later file win, as in git.
pub(super) fn read(
    world: &World,
    checkout: &Repo,
    signing: Signing,
    sources: &mut Sources,
) -> String {
    let entries = read_entries(world, checkout, signing, sources);
    let text: String = entries.values().map(ConfigEntry::line).collect();
    text + &signing_lines(signing)
}

fn read_entries(
    world: &World,
    checkout: &Repo,
    signing: Signing,
    sources: &mut Sources,
) -> Entries {
    let mut entries = BTreeMap::new();
    let mut filters = BTreeMap::new();
    sources.note(&checkout.common_dir().join("config"));
    let snapshot = checkout.inner.config_snapshot();
    for section in snapshot.sections() {
        let meta = section.meta();
        if !matches!(meta.source, Source::Local | Source::Worktree) {
            continue;
        }
        let file = meta.path.as_ref().map(|path| world.absolute(path));
        let may_be_used = file.is_none_or(|file| sources.note(&file));
        if may_be_used {
            read_section(checkout, signing, &section, &mut entries);
        }
        if let Some(filter) = name_of_filter(&section) {
            let known = filters.entry(filter).or_insert(true);
            *known &= may_be_used;
        }
    }
    for (filter, is_known) in filters {
        if is_known {
            require(checkout, &filter, &mut entries);
        } else {
            // Without its commands the clone refuses the files, which others might read otherwise.
            entries.retain(|key, _| {
                key.section != "filter" || key.subsection.as_ref() != Some(&filter)
            });
            insert(&mut entries, Key::of_filter(&filter, "required"), "true");
        }
    }
    entries
}

/// Returns the filters of a checkout, except git-lfs, as a clone of it has them.
pub fn filters_of(world: &World, checkout: &Repo) -> String {
    let snapshot = checkout.inner.config_snapshot();
    let is_own = |source| matches!(source, Source::Local | Source::Worktree);
    let has_some = snapshot
        .sections()
        .any(|section| is_own(section.meta().source) && name_of_filter(&section).is_some());
    if !has_some {
        return String::new();
    }
    let entries = read_entries(world, checkout, Signing::Off, &mut Sources::default());
    let filters = entries.iter().filter(|(key, _)| key.section == "filter");
    filters.map(|(_, entry)| entry.line()).collect()
}

/// Returns the settings that keep a clone from signing.
pub(super) fn signing_lines(signing: Signing) -> String {
    let off = |section| ConfigEntry::plain(section, "gpgSign", "false").line();
    match signing {
        Signing::Off => [off("commit"), off("tag")].concat(),
        Signing::AsInCheckout => String::new(),
    }
}

/// The settings by their keys.
type Entries = BTreeMap<Key, ConfigEntry>;

/// The key of a setting, as git spells it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    section: &'static str,
    subsection: Option<String>,
    name: &'static str,
}

impl Key {
    fn of_filter(filter: &str, name: &'static str) -> Key {
        Key { section: "filter", subsection: Some(filter.to_owned()), name }
    }
}

fn read_section(
    checkout: &Repo,
    signing: Signing,
    section: &SectionRef<'_>,
    entries: &mut Entries,
) {
    let header = section.header();
    let of_section = header.name().to_string();
    let subsection = header.subsection_name().map(ToString::to_string);
    for name in section.value_names() {
        let Some((of_list, known, how)) = taken(&of_section, subsection.as_deref(), &name) else {
            continue;
        };
        let key = Key { section: of_list, subsection: subsection.clone(), name: known };
        let Some(written) = section.value_implicit(&name) else {
            continue;
        };
        // Without '=' it is a boolean that is set.
        let text = written.map_or_else(|| "true".to_owned(), |value| value.to_string());
        let value = match how {
            TakeoverKind::Value => Some(text),
            TakeoverKind::Path => Some(absolute(checkout.workdir(), text)),
            TakeoverKind::Url => url(checkout.workdir(), &text),
            TakeoverKind::Signing => Some(text).filter(|_| signing == Signing::AsInCheckout),
        };
        if let Some(value) = value {
            insert(entries, key, value);
        }
    }
}

fn insert(entries: &mut Entries, key: Key, value: impl Into<String>) {
    let entry = match &key.subsection {
        Some(subsection) => ConfigEntry::sub(key.section, subsection, key.name, value),
        None => ConfigEntry::plain(key.section, key.name, value),
    };
    entries.insert(key, entry);
}

/// Returns the filter that a section configures, except git-lfs.
fn name_of_filter(section: &SectionRef<'_>) -> Option<String> {
    let header = section.header();
    let is_filter = header.name().to_string().eq_ignore_ascii_case("filter");
    let name = header.subsection_name().filter(|name| is_filter && *name != "lfs")?;
    Some(name.to_string())
}

/// Requires a filter that the checkout has: where it cannot run in the clone, git refuses the file, too. A direction that
/// the checkout passes on as it is gets a command for that, since a required filter needs both.
fn require(checkout: &Repo, filter: &str, entries: &mut Entries) {
    let command = |name: &str| checkout.config(&format!("filter.{filter}.{name}"));
    let is_set = |name: &str| command(name).is_some_and(|command| !command.is_empty());
    let mut set = |name, value: &str| insert(entries, Key::of_filter(filter, name), value);
    match command("process") {
        // An empty process turns the filter off.
        Some(process) if process.is_empty() => return,
        Some(_) => {}
        None if !is_set("clean") && !is_set("smudge") => return,
        None => {
            let required = checkout.config_bool(&format!("filter.{filter}.required"));
            for key in ["clean", "smudge"] {
                if !is_set(key) && required != Some(true) {
                    set(key, AS_IT_IS);
                }
            }
        }
    }
    set("required", "true");
}

/// Resolves a path that begins at the working tree; git resolves those in the home of the user.
fn absolute(workdir: &Path, value: String) -> String {
    if value.is_empty() || value.starts_with(['~', '%', ':']) {
        return value;
    }
    workdir.join(value).to_string_lossy().into_owned()
}

/// Returns a URL without credentials; `None` if it is not one.
fn url(workdir: &Path, value: &str) -> Option<String> {
    let parsed = RemoteUrl::parse(value, Provenance::User, workdir).ok()?;
    Some(parsed.without_credentials())
}
