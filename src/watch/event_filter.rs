//! Which events a reader wants: by position, key, scope and who caused them.

use serde_json::Value;

use crate::git::RefName;
use crate::map::pages::scopes;
use crate::model::{Code, Error, Result};
use crate::repo_map::scope_record::Scopes;
use crate::store::Session;
use crate::store::state::{Event, Position};

/// The longest pattern of keys.
const MAX_PATTERN_BYTES: usize = 4_096;

/// Which events are wanted.
#[derive(Clone, Debug)]
pub struct Request {
    /// Those after this position, as it was printed.
    pub since: Option<String>,
    /// Those whose key matches one of these patterns; all if there are none.
    pub keys: Vec<String>,
    /// Those about this scope.
    pub scope: Option<String>,
    /// Whether an agent's own events count.
    pub own: OwnEvents,
    /// At most that many.
    pub limit: usize,
}

/// Whether an agent sees its own events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnEvents {
    /// It does.
    Shown,
    /// It does not.
    Hidden,
}

/// Which events are shown.
pub(super) struct Filter {
    /// The position that they are after.
    pub(super) since: Option<Position>,
    keys: Vec<String>,
    /// The things that the events are about.
    about: Option<Vec<String>>,
    namespace: String,
    /// The agent whose events are hidden.
    hidden: Option<String>,
}

impl Filter {
    /// Reads a request.
    pub(super) fn of(session: &Session, request: &Request) -> Result<Filter> {
        if let Some(long) = request.keys.iter().find(|key| key.len() > MAX_PATTERN_BYTES) {
            let message =
                format!("a pattern has {} bytes, and keys at most {MAX_PATTERN_BYTES}", long.len());
            return Err(Error::new(Code::InvalidValue, message).unchanged());
        }
        let agent = session.settings.agent.clone();
        Ok(Filter {
            since: request.since.as_deref().map(parse).transpose()?,
            keys: request.keys.clone(),
            about: about(session, request)?,
            namespace: session.settings.events_namespace.clone(),
            hidden: agent.filter(|_| request.own == OwnEvents::Hidden),
        })
    }

    /// Returns `true` if an event is shown.
    pub(super) fn wants(&self, event: &Event) -> bool {
        event.namespace == self.namespace
            && self.hidden.as_ref() != Some(&event.agent)
            && (self.keys.is_empty() || self.keys.iter().any(|key| matches(key, &event.key)))
            && self
                .about
                .as_ref()
                .is_none_or(|about| about.iter().any(|subject| is_about(event, subject)))
    }
}

/// Returns what the wanted events are about: the branch with the given name, else the scope that it stands for. A
/// scope that is no longer mapped is known by its id alone.
fn about(session: &Session, request: &Request) -> Result<Option<Vec<String>>> {
    let Some(word) = &request.scope else {
        return Ok(None);
    };
    let mut about = vec![word.clone()];
    let branch = RefName::from(format!("refs/heads/{word}").as_str());
    if branch.is_valid() && session.repo.find_ref(&branch)?.is_some() {
        return Ok(Some(about));
    }
    let recorded = Scopes::recorded_ids(&session.repo).unwrap_or_default();
    let meant = scopes::meant(session, &recorded.iter().map(String::as_str), word);
    if meant.len() > 1 {
        return Err(scopes::not_one(word, &meant).unchanged());
    }
    about.extend(meant);
    Ok(Some(about))
}

fn parse(text: &str) -> Result<Position> {
    Position::parse(text).ok_or_else(|| {
        let message = format!("'{text}' is not a position: expected <epoch>:<number>");
        Error::new(Code::InvalidValue, message)
            .unchanged()
            .hint("git colony events   # prints the newest position")
    })
}

fn is_about(event: &Event, scope: &str) -> bool {
    let named = event.value.get("scope_id").and_then(Value::as_str);
    match named {
        Some(named) => named == scope,
        None => event.key.split_once(':').is_some_and(|(_, rest)| rest == scope),
    }
}

/// Returns `true` if a key matches a pattern: `*` stands for any characters, `?` for one. A pattern without them
/// is the beginning of a key.
fn matches(pattern: &str, key: &str) -> bool {
    if !pattern.contains(['*', '?']) {
        return key.starts_with(pattern);
    }
    let (mut rest, mut left) = (pattern.chars(), key.chars());
    // The pattern after the last star, and the part of the key that it has not reached.
    let mut star: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        let (mut next_rest, mut next_left) = (rest.clone(), left.clone());
        match (next_rest.next(), next_left.next()) {
            (None, None) => return true,
            (Some('*'), _) => {
                rest = next_rest;
                star = Some((rest.clone(), left.clone()));
            }
            (Some(wanted), Some(character)) if wanted == '?' || wanted == character => {
                (rest, left) = (next_rest, next_left);
            }
            _ => {
                let Some((after, reached)) = &mut star else {
                    return false;
                };
                if reached.next().is_none() {
                    return false;
                }
                (rest, left) = (after.clone(), reached.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_keys_verbatim_but_for_stars() {
        for (pattern, key, holds) in [
            ("mapped:", "mapped:a:b", true),
            ("mapped:a", "mapped:a:b", true),
            ("mapped:a", "unmapped:a", false),
            ("*mapped:a:*", "unmapped:a:b:c", true),
            ("mapped:*:c", "mapped:a:b:c", true),
            ("mapped:*:c", "mapped:a:b:d", false),
            ("mapped:[a]?", "mapped:[a]é", true),
            ("mapped:[a]?", "mapped:aé", false),
            ("*", "", true),
            ("", "anything", true),
        ] {
            assert_eq!(matches(pattern, key), holds, "{pattern} {key}");
        }
        // No pattern takes long.
        assert!(!matches(&"*a".repeat(1_000), &"a".repeat(999)));
    }
}
