//! git's configuration: the effective value, and the file and line it comes from.
//!
//! gix reads the files with their includes, and the variables `GIT_CONFIG_COUNT` and so on. It does
//! not read what `git -c NAME=VALUE` passes on, so this module does.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use gix::config::parse::{EventRef, Events};

use crate::git::plain_file;
use crate::model::text::Position;
use crate::model::{Code, Error, Result, World};

use super::Repo;

/// The level of a configuration value, by git's names (`git config --show-scope`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigLevel {
    /// The machine.
    System,
    /// The user.
    Global,
    /// The repository.
    Local,
    /// The worktree.
    Worktree,
    /// This one command: `git -c`, or variables.
    Command,
}

/// A value with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigValue {
    /// The value as git reads it.
    pub value: String,
    /// Its level.
    pub level: ConfigLevel,
    /// The file; `None` for values of this one command.
    pub path: Option<PathBuf>,
}

impl Repo {
    /// Reads a configuration value as git would: the last one in all files wins.
    pub fn config(&self, key: &str) -> Option<String> {
        self.inner.config_snapshot().string(key).map(|value| value.to_string())
    }

    /// Reads every value of a key, in all files, the weakest first.
    pub fn config_values(&self, key: &str) -> Vec<String> {
        let snapshot = self.inner.config_snapshot();
        let values = snapshot.plumbing().strings(key).unwrap_or_default();
        values.iter().map(ToString::to_string).collect()
    }

    /// Reads every value of a key in the file that counts, in their order: `git config --add` gives it several.
    pub fn config_values_in_effect(&self, world: &World, key: &str) -> Vec<String> {
        let counts = self.config_with_origin(world, key).and_then(|origin| origin.path);
        let mut values = Vec::new();
        for setting in self.config_of_all(world, key) {
            if setting.path == counts {
                values.push(setting.value);
            }
        }
        values
    }

    /// Reads a boolean configuration value; a malformed one counts as unset.
    pub fn config_bool(&self, key: &str) -> Option<bool> {
        self.inner.config_snapshot().boolean(key)
    }

    /// Reads a boolean configuration value and refuses a malformed one.
    pub fn require_config_bool(&self, key: &str) -> Result<Option<bool>> {
        self.inner.config_snapshot().try_boolean(key).map_err(|error| {
            let value = self.config(key).unwrap_or_default();
            Error::new(Code::InvalidValue, format!("'{key}' is '{value}': expected true or false"))
                .caused_by(error)
                .hint(format!("git config --show-origin {key}"))
        })
    }

    /// Lists the subsections of a section that begin with a prefix, without it.
    pub fn config_subsections(&self, section: &str, prefix: &str) -> BTreeSet<String> {
        let snapshot = self.inner.config_snapshot();
        let sections = snapshot.plumbing().sections_by_name(section);
        let names = sections.into_iter().flatten().filter_map(|section| {
            let name = section.header().subsection_name()?.to_string();
            Some(name.strip_prefix(prefix)?.to_owned())
        });
        names.collect()
    }

    /// Returns a configuration value with its origin.
    pub fn config_with_origin(&self, world: &World, key: &str) -> Option<ConfigValue> {
        self.config_at(world, key, |_| true)
    }

    /// Returns the value of the user's own files: those of the machine and of the user, whatever the repository or
    /// the command says.
    pub fn config_of_user(&self, world: &World, key: &str) -> Option<ConfigValue> {
        self.config_at(world, key, |level| {
            matches!(level, ConfigLevel::System | ConfigLevel::Global)
        })
    }

    fn config_at(
        &self,
        world: &World,
        key: &str,
        counts: impl Fn(ConfigLevel) -> bool,
    ) -> Option<ConfigValue> {
        self.config_of_all(world, key).into_iter().rfind(|value| counts(value.level))
    }

    /// Lists every value of a key, the weakest first.
    fn config_of_all(&self, world: &World, key: &str) -> Vec<ConfigValue> {
        let Some(key) = Key::parse(key) else {
            return Vec::new();
        };
        let snapshot = self.inner.config_snapshot();
        let mut all = Vec::new();
        for section in snapshot.plumbing().sections_by_name(key.section).into_iter().flatten() {
            let own = section.header().subsection_name().map(ToString::to_string);
            if own.as_deref() != key.subsection {
                continue;
            }
            let meta = section.meta();
            for value in section.values(key.name) {
                // A relative path starts at the command's directory; `./` is redundant.
                let whole = |path| world.absolute(path).components().collect();
                let path = meta.path.as_deref().map(whole);
                let level = level_of(meta.source);
                all.push(ConfigValue { value: value.to_string(), level, path });
            }
        }
        all
    }
}

impl ConfigValue {
    /// Finds the line of the value in its file; `None` if the file has changed since or cannot be
    /// read.
    ///
    /// The last value of a key in a file is the effective one, if the file is the one in effect.
    pub fn position(&self, key: &str) -> Option<Position> {
        let bytes = plain_file::read(self.path.as_ref()?).ok()?;
        let events = Events::from_bytes(&bytes, None).ok()?;
        let key = Key::parse(key)?;
        // The file's text up to the current event.
        let mut text = Vec::new();
        let (mut inside, mut named, mut at_line) = (false, None, None);
        for event in events.iter() {
            match event {
                EventRef::SectionHeader { name, subsection_name, .. } => {
                    inside = name.eq_ignore_ascii_case(key.section.as_bytes())
                        && subsection_name.map(|name| &**name) == key.subsection.map(str::as_bytes);
                }
                EventRef::SectionValueName(own) => {
                    let wanted = inside && own.eq_ignore_ascii_case(key.name.as_bytes());
                    named = wanted.then(|| Position::of(&text, text.len()));
                }
                EventRef::KeyValueSeparator => at_line = named.take().or(at_line),
                _ => {}
            }
            event.write_to(&mut text).ok()?;
        }
        at_line
    }
}

/// Returns every value of a key in one configuration file, without its includes; none if the file
/// cannot be parsed.
pub fn values_in(bytes: &[u8], key: &str) -> Vec<String> {
    let own = gix::config::file::Metadata::api();
    let options = gix::config::file::init::Options::default();
    let file = gix::config::File::from_bytes_no_includes(bytes, own, options);
    let parsed = Key::parse(key).zip(file.ok());
    let values = parsed
        .and_then(|(key, file)| {
            file.strings_by(key.section, key.subsection.map(Into::into), key.name)
        })
        .unwrap_or_default();
    values.iter().map(ToString::to_string).collect()
}

/// Returns `true` if one configuration file, without its includes, has a section (`lfs`, `filter.lfs`) with any setting;
/// a section without a subsection counts with all of its subsections.
pub fn has_section(bytes: &[u8], section: &str) -> bool {
    let own = gix::config::file::Metadata::api();
    let options = gix::config::file::init::Options::default();
    let Ok(file) = gix::config::File::from_bytes_no_includes(bytes, own, options) else {
        return false;
    };
    let (name, subsection) = section.split_once('.').unzip();
    let named = file.sections_by_name(name.unwrap_or(section)).into_iter().flatten();
    let mut wanted = named.filter(|section| {
        subsection.is_none() || section.header().subsection_name() == subsection.map(Into::into)
    });
    wanted.any(|section| section.value_names().next().is_some())
}

/// The parts of a key.
struct Key<'a> {
    section: &'a str,
    subsection: Option<&'a str>,
    name: &'a str,
}

impl<'a> Key<'a> {
    fn parse(key: &'a str) -> Option<Key<'a>> {
        let (section, rest) = key.split_once('.')?;
        let (subsection, name) = match rest.rsplit_once('.') {
            Some((subsection, name)) => (Some(subsection), name),
            None => (None, rest),
        };
        Some(Key { section, subsection, name })
    }
}

fn level_of(source: gix::config::Source) -> ConfigLevel {
    use gix::config::Source as S;
    match source {
        S::GitInstallation | S::System => ConfigLevel::System,
        S::Git | S::User => ConfigLevel::Global,
        S::Local => ConfigLevel::Local,
        S::Worktree => ConfigLevel::Worktree,
        S::Env | S::Cli | S::Api | S::EnvOverride => ConfigLevel::Command,
    }
}

/// Returns what `git -c NAME=VALUE` has passed on, as `NAME=VALUE`. Malformed entries are skipped:
/// git itself refused them before it started this program.
pub(super) fn of_command_line(world: &World) -> Vec<Vec<u8>> {
    let parameters =
        world.variable("GIT_CONFIG_PARAMETERS").map(OsStrExt::as_bytes).unwrap_or_default();
    let words = unquote(parameters);
    let plain = words.into_iter().filter(|word| {
        let name = word.split(|&byte| byte == b'=').next().unwrap_or_default();
        name.contains(&b'.')
    });
    plain.collect()
}

/// Splits shell-quoted words: `'a.b'='c' 'd.e=f'` is two.
fn unquote(text: &[u8]) -> Vec<Vec<u8>> {
    let (mut words, mut word, mut quoted) = (Vec::new(), Vec::new(), false);
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\'' => quoted = !quoted,
            b'\\' if !quoted => word.extend(bytes.next()),
            b' ' if !quoted => words.push(std::mem::take(&mut word)),
            other => word.push(other),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_unquoted_as_git_quotes_them() {
        let words: Vec<_> = unquote(br"'colony.agent'='it'\''s me' 'user.name=A B' 'x.y'=")
            .iter()
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect();
        assert_eq!(words, ["colony.agent=it's me", "user.name=A B", "x.y="]);
    }
}
