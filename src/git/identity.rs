//! The committer: the agent that was named, or the user as git knows them.

use crate::model::text::names_device;
use crate::model::{Code, Error, Result, World};

use super::{Repo, Signature};

/// A name and an e-mail address, without a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The name as commits show it.
    pub name: String,
    /// The e-mail address.
    pub email: String,
}

impl Identity {
    /// Returns the identity of an agent: `agent:<id>:agent <id@external.agent.colony.local>`.
    pub fn of_agent(agent: &str) -> Result<Identity> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let first = agent.chars().next();
        if agent.len() > 64
            || !agent.chars().all(plain)
            || !first.is_some_and(|c| c.is_ascii_alphanumeric())
        {
            return Err(Error::new(
                Code::InvalidValue,
                format!(
                    "'{agent}' is not an agent name: it begins with an ASCII letter or digit and has only ASCII \
                     letters, digits, '.', '_' and '-', at most 64"
                ),
            )
            .hint("git colony agents new NAME   # as in 'ada' or 'parser-2'"));
        }
        if names_revision(agent) {
            return Err(Error::new(
                Code::InvalidValue,
                format!("'{agent}' is not an agent name: git reads it as a revision"),
            )
            .hint("git colony agents new NAME   # as in 'ada' or 'parser-2'"));
        }
        if names_device(agent) {
            return Err(Error::new(
                Code::InvalidValue,
                format!("'{agent}' is not an agent name: some systems reserve it for a device"),
            )
            .hint("git colony agents new NAME   # as in 'ada' or 'parser-2'"));
        }
        Ok(Identity {
            name: format!("agent:{agent}:agent"),
            email: format!("{agent}@external.agent.colony.local"),
        })
    }

    /// Parses `NAME <MAIL>`.
    pub fn parse(text: &str) -> Option<Identity> {
        let (name, rest) = text.split_once('<')?;
        let email = rest.strip_suffix('>')?;
        let is_plain = |c: char| !c.is_control() && !matches!(c, '<' | '>');
        let (name, is_address) = (name.trim(), !email.contains(char::is_whitespace));
        if name.is_empty() || email.is_empty() || !is_address {
            return None;
        }
        let plain = name.chars().chain(email.chars()).all(is_plain);
        plain.then(|| Identity { name: name.to_owned(), email: email.to_owned() })
    }

    /// Returns the agent whose identity this is, by the form of its name and address.
    pub fn agent(&self) -> Option<&str> {
        let (agent, role) = self.name.strip_prefix("agent:")?.split_once(':')?;
        let is_its = self.email.strip_prefix(agent)?.starts_with('@');
        let is_valid = Identity::of_agent(agent).is_ok() && !role.is_empty();
        (is_its && is_valid).then_some(agent)
    }

    /// Returns the identity for records of git-colony when the user's is unknown.
    pub fn of_program() -> Identity {
        Identity { name: "git-colony".to_owned(), email: "git-colony@localhost".to_owned() }
    }

    /// Reads the user's identity as git would: `GIT_COMMITTER_*`, then `committer.*`, `user.*`.
    pub fn of_user(world: &World, repo: &Repo) -> Result<Identity> {
        let find = |variable: &str, keys: [&str; 2]| {
            let config = || keys.iter().find_map(|key| repo.config(key));
            world.text_variable(variable).map(str::to_owned).or_else(config)
        };
        let name = find("GIT_COMMITTER_NAME", ["committer.name", "user.name"]);
        let email = find("GIT_COMMITTER_EMAIL", ["committer.email", "user.email"])
            .or_else(|| world.text_variable("EMAIL").map(str::to_owned));
        match (name.as_deref().map(clean), email.as_deref().map(clean)) {
            (Some(name), Some(email)) if !name.is_empty() => Ok(Identity { name, email }),
            _ => Err(Error::new(Code::IdentityUnknown, "no name and e-mail to commit with")
                .hint("git config --global user.name NAME && git config --global user.email MAIL")),
        }
    }

    /// Returns the signature of this identity now.
    pub fn at(&self, world: &World) -> Signature {
        let now = world.now();
        Signature {
            name: self.name.clone(),
            email: self.email.clone(),
            seconds: now.timestamp(),
            offset_seconds: now.offset().local_minus_utc(),
        }
    }
}

/// Removes what git removes from names: angle brackets, newlines, leading and trailing whitespace
/// and punctuation.
fn clean(text: &str) -> String {
    let kept: String =
        text.chars().filter(|c| !matches!(c, '<' | '>' | '\n' | '\r' | '\0')).collect();
    let crud = |c: char| c <= ' ' || matches!(c, ',' | ':' | ';' | '"' | '\\' | '\'');
    kept.trim_matches(crud).to_owned()
}

/// Returns `true` if git uses the name for a pseudo-ref, such as `HEAD` and `MERGE_HEAD`.
fn names_revision(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name == "HEAD" || name == "AUTO_MERGE" || name.ends_with("_HEAD")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_says_whose_it_is() {
        let agent = |text: &str| Identity::parse(text)?.agent().map(str::to_owned);
        let ada = Some("ada".to_owned());
        assert_eq!(agent("agent:ada:agent <ada@external.agent.colony.local>"), ada);
        assert_eq!(agent("agent:ada:reviewer <ada@acme.example.com>"), ada);
        for other in [
            "Ada <ada@external.agent.colony.local>",
            "agent:ada:agent <bob@external.agent.colony.local>",
            "agent:ada <ada@external.agent.colony.local>",
            "agent:a b:agent <a b@x>",
            "agent:ada:agent <adam@x>",
            "agent:ada:agent ada@x",
        ] {
            assert_eq!(agent(other), None, "{other}");
        }
    }

    #[test]
    fn agent_names_are_plain() {
        assert_eq!(Identity::of_agent("ada").unwrap().name, "agent:ada:agent");
        for bad in ["", "-x", "a b", "a/b", "..", "a\nb", "é"] {
            assert!(Identity::of_agent(bad).is_err(), "{bad:?}");
        }
    }
}
