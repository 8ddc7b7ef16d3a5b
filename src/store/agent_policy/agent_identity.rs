//! The name and address of an agent's commits, by the manifest of the default branch.

use serde_json::Value;

use crate::git::Repo;
use crate::git::identity::Identity;
use crate::model::{Result, World};
use crate::store::settings::agent_rule;

use super::default_trees::{self, DefaultTrees};

/// The domain, where the manifest names none that can be used.
const DOMAIN: &str = "agent.colony.local";

/// Returns the identity of an agent: `agent:<id>:<role> <id@colony.domain>` with the colony and the domain of the
/// manifest, and the role of its file in `.colony/agents`; without a manifest that of [`Identity::of_agent`].
pub fn of(world: &World, repo: &Repo, agent: &str) -> Result<Identity> {
    let plain = Identity::of_agent(agent)?;
    // A default branch that cannot be read stops no commit: it decides only how the agent is named.
    let Ok(defaults) = DefaultTrees::find(world, repo) else {
        return Ok(plain);
    };
    let repo = defaults.repo(repo);
    let named = defaults.trees.iter().find_map(|default| {
        let manifest = default_trees::manifest_in(repo, default.tree)?;
        let colony = colony_label(text(&manifest, "colony")?)?;
        let domain = text(&manifest, "agent_email_domain").filter(|domain| is_domain(domain));
        let role = agent_rule::role_of(repo, default.tree, agent);
        Some(Identity {
            name: format!("agent:{agent}:{}", role.as_deref().unwrap_or("agent")),
            email: format!("{agent}@{colony}.{}", domain.unwrap_or(DOMAIN)),
        })
    });
    Ok(named.unwrap_or(plain))
}

fn text<'a>(manifest: &'a Value, key: &str) -> Option<&'a str> {
    manifest.get(key)?.as_str()
}

/// Returns the name of a colony as a label of a domain; `None` where nothing is left of it.
fn colony_label(colony: &str) -> Option<String> {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let letters: String = colony.chars().take(63).map(letter).collect();
    let label = letters.trim_matches('-');
    (!label.is_empty()).then(|| label.to_owned())
}

fn is_domain(domain: &str) -> bool {
    let is_label = |label: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !label.is_empty() && label.len() <= 63 && label.chars().all(plain)
    };
    domain.len() <= 190 && domain.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colonies_and_domains_fit_into_an_address() {
        assert_eq!(colony_label("my colony").as_deref(), Some("my-colony"));
        assert_eq!(colony_label("a>\n<b@c").as_deref(), Some("a---b-c"));
        assert_eq!(colony_label(" é "), None);
        assert!(is_domain("agent.colony.local"));
        for bad in ["", ".", "a..b", "a b", "a>", "a\n", "@a", &"a.".repeat(100)] {
            assert!(!is_domain(bad), "{bad:?}");
        }
    }
}
