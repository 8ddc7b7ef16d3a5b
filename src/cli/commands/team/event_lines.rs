//! Events as people read them: what happened, and the members of the value that this does not tell.
//!
//! An event of another version may have any value: one that lacks what its key promises is shown by its key.

use serde_json::Value;

use crate::ui::text;
use crate::watch::events::EventEntry;

/// The most members of a value that a line has.
const MAX_MEMBERS: usize = 4;

/// The most letters of each.
const MAX_MEMBER_LETTERS: usize = 48;

/// A sentence, and the members that it tells.
type Sentence = (String, &'static [&'static str]);

/// Returns what happened and the rest of the value, as `name value`.
pub(in crate::cli) fn parts(event: &EventEntry) -> (String, String) {
    if let Some((what, shown_fields)) = sentence(event) {
        return (what, rest(event, |name, _| shown_fields.contains(&name)));
    }
    let is_in_key = |_: &str, text: &str| event.key.ends_with(text);
    (shown_key(event), rest(event, is_in_key))
}

/// Returns the sentence for a known key.
fn sentence(event: &EventEntry) -> Option<Sentence> {
    let (kind, about) = event.key.split_once(':')?;
    let members = Members(&event.value);
    let scope = event.row.as_deref().unwrap_or(about);
    match kind {
        "checkpoint_emitted" => Some(members.checkpoint(about)),
        "convergence" => members.automatic(about),
        "branch_changed" => members.branch(about),
        "branch_merged" => Some(members.merge(about)),
        "agent_done" => Some(members.mark(about, "is done with its work")),
        "agent_not_done" => Some(members.mark(about, "is not done with its work after all")),
        "agent_held" => Some(members.mark(about, "has its work held back")),
        "agent_released" => Some(members.mark(about, "has its work held back no longer")),
        "train_landed" => Some(members.landed(about)),
        "train_left_out" => Some(members.left_out(about)),
        "work_reverted" => Some(members.revert(about)),
        "mapped" => Some(members.mapped(scope)),
        "unmapped" => Some((format!("unmapped '{scope}'"), &["scope_id"])),
        "reindexed" => {
            let paths = members.list("paths")?;
            let what = format!("mapped '{scope}' again after a change of {paths}");
            Some((what, &["scope_id", "paths"]))
        }
        "watch_fired" => {
            let what = format!("watch '{about}' noticed {}", members.list("paths")?);
            Some((what, &["watch_id", "paths"]))
        }
        "page_fault" => members.page_fault(),
        _ => None,
    }
}

/// The members of a value.
struct Members<'a>(&'a Value);

impl Members<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        let text = self.0.get(name)?.as_str()?;
        (!text.is_empty()).then_some(text)
    }

    fn count(&self, name: &str) -> Option<usize> {
        usize::try_from(self.0.get(name)?.as_u64()?).ok()
    }

    fn list(&self, name: &str) -> Option<String> {
        listed(self.0.get(name)?.as_array()?)
    }

    fn on_branch(&self) -> String {
        match self.text("branch") {
            None => String::new(),
            Some("HEAD") => " on a detached HEAD".to_owned(),
            Some(branch) => format!(" on '{branch}'"),
        }
    }

    fn checkpoint(&self, id: &str) -> Sentence {
        let on_branch = self.on_branch();
        let label = self.text("label");
        let what = format!("created checkpoint '{}'{on_branch}", label.unwrap_or(id));
        match label {
            Some(_) => (what, &["label", "branch"]),
            None => (what, &["checkpoint_id", "branch"]),
        }
    }

    fn automatic(&self, about: &str) -> Option<Sentence> {
        about.strip_prefix("quiescence:")?;
        let files = text::count(self.count("files_changed")?, "file");
        let on_branch = self.on_branch();
        let what = format!("created an automatic checkpoint{on_branch}, {files} changed");
        Some((what, &["branch", "files_changed"]))
    }

    fn branch(&self, branch: &str) -> Option<Sentence> {
        let (old, new) = (self.text("old_sha"), self.text("new_sha"));
        let what = match (old.map(short), new.map(short)) {
            (Some(old), Some(new)) => format!("moved branch '{branch}' from {old} to {new}"),
            (None, Some(new)) => format!("created branch '{branch}' at {new}"),
            (Some(old), None) => format!("deleted branch '{branch}', which was at {old}"),
            (None, None) => return None,
        };
        // The cause has a line of its own.
        let shown_fields = &["scope_id", "branch", "old_sha", "new_sha", "source_event_key"];
        Some((what, shown_fields))
    }

    fn landed(&self, branch: &str) -> Sentence {
        let names = self.list("landed").map(|names| format!(" {names}")).unwrap_or_default();
        (format!("landed{names} on '{branch}'"), &["branch", "landed", "commit"])
    }

    fn left_out(&self, name: &str) -> Sentence {
        let on_branch = self.on_branch();
        let why = match self.text("why") {
            Some("failed") => ", the tests fail with it".to_owned(),
            Some("conflicts") => {
                let paths = self.list("paths").map(|paths| format!(": {paths}"));
                format!(", it conflicts{}", paths.unwrap_or_default())
            }
            Some(why) => format!(" ({})", shortened(why)),
            None => String::new(),
        };
        let shown_fields = &["agent", "branch", "why", "paths", "base", "tip", "output_tail"];
        (format!("left the work of '{name}' out{on_branch}{why}"), shown_fields)
    }

    fn revert(&self, agent: &str) -> Sentence {
        let on_branch = self.on_branch();
        let what = format!("reverted the work of agent '{agent}'{on_branch}");
        (what, &["agent", "scope_id", "branch"])
    }

    fn merge(&self, target: &str) -> Sentence {
        let what = match self.text("source") {
            Some(source) => format!("merged '{source}' into '{target}'"),
            None => format!("merged into '{target}'"),
        };
        (what, &["scope_id", "target", "source", "summary"])
    }

    fn mark(&self, agent: &str, what: &str) -> Sentence {
        let text = self.text("text").map(|text| format!(": {}", shortened(text)));
        (format!("'{agent}' {what}{}", text.unwrap_or_default()), &["agent", "sha", "text"])
    }

    fn mapped(&self, scope: &str) -> Sentence {
        let what = match (self.count("pages_added"), self.count("pages_removed")) {
            (Some(added), Some(removed)) => {
                let added = text::count(added, "page");
                format!("mapped '{scope}': {added} added, {removed} removed")
            }
            _ => format!("mapped '{scope}'"),
        };
        (what, &["scope_id", "pages_added", "pages_removed"])
    }

    fn page_fault(&self) -> Option<Sentence> {
        let pages = self.list("page_ids")?;
        let what = if self.0.get("loaded")?.as_bool()? {
            format!("loaded page {pages}")
        } else {
            format!("requested page {pages} in vain")
        };
        Some((what, &["page_ids", "loaded"]))
    }
}

/// Returns the key as people see it: with the name of a row in place of the id of its scope.
fn shown_key(event: &EventEntry) -> String {
    let scope = event.value.get("scope_id").and_then(Value::as_str);
    let named = scope.zip(event.row.as_ref()).and_then(|(scope, row)| {
        let prefix = event.key.strip_suffix(scope)?;
        Some(format!("{prefix}{row}"))
    });
    named.unwrap_or_else(|| event.key.clone())
}

/// Formats the members of the value that are not told yet, given their name and text.
fn rest(event: &EventEntry, is_told: impl Fn(&str, &str) -> bool) -> String {
    let members = event.value.as_object().into_iter().flatten();
    let parts = members.filter_map(|(name, member)| {
        let text = match member {
            Value::String(text) => short(text).to_owned(),
            Value::Number(number) => number.to_string(),
            Value::Bool(is_so) => is_so.to_string(),
            Value::Array(all) => listed(all)?,
            Value::Object(_) | Value::Null => return None,
        };
        let is_left_out = name == "ts" || text.is_empty() || is_told(name, &text);
        let row = event.row.clone().filter(|_| name == "scope_id");
        let text = row.unwrap_or(text);
        (!is_left_out).then(|| format!("{name} {}", shortened(&text)))
    });
    parts.take(MAX_MEMBERS).collect::<Vec<_>>().join(", ")
}

/// Returns the 8 hex digits of an object id that people see; any other text as it is.
fn short(text: &str) -> &str {
    let is_id = [40, 64].contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    text.get(..8).filter(|_| is_id).unwrap_or(text)
}

fn listed(all: &[Value]) -> Option<String> {
    let first = all.first()?.as_str()?;
    Some(match all.len() {
        1 => first.to_owned(),
        count => format!("{first} and {} more", count - 1),
    })
}

fn shortened(text: &str) -> String {
    let start: String = text.chars().take(MAX_MEMBER_LETTERS).collect();
    if start.len() < text.len() { format!("{start}...") } else { start }
}
