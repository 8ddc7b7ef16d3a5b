//! Author and committer: the agent that was named, or the user as git knows them.

use std::ffi::OsStr;

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
        let problem = if agent.len() > 64 || !agent.chars().all(plain) {
            Some("at most 64 of A-Z a-z 0-9 . _ -")
        } else if !first.is_some_and(|c| c.is_ascii_alphanumeric()) {
            Some("a letter or a digit comes first")
        } else if names_revision(agent) {
            Some("git reads it as a revision")
        } else if names_device(agent) {
            Some("it is a device on some systems")
        } else {
            None
        };
        if let Some(problem) = problem {
            let message = format!("'{agent}' is not an agent name: {problem}");
            return Err(Error::new(Code::InvalidValue, message)
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

    /// Reads the user's identity in a role by git's rules. git itself is asked, unless only `user.*` counts and
    /// needs no cleaning.
    pub fn of_user(world: &World, repo: &Repo, role: CommitRole) -> Result<Identity> {
        let is_given = |what| world.variables.contains_key(OsStr::new(&role.variable(what)));
        let is_set = |what| repo.config(&format!("{}.{what}", role.section())).is_some();
        let is_special = ["NAME", "EMAIL"].into_iter().any(is_given)
            || ["name", "email"].into_iter().any(is_set);
        let of_config = |key| repo.config(key).filter(|text| is_clean(text));
        match (of_config("user.name"), of_config("user.email")) {
            (Some(name), Some(email)) if !is_special => Ok(Identity { name, email }),
            _ => Ok(ask_git(world, repo, role, None)?.0),
        }
    }

    /// Returns the signature of this identity in a role: at the time that git is given for it, else now.
    pub fn in_role(&self, world: &World, repo: &Repo, role: CommitRole) -> Result<Signature> {
        let now = self.at(world);
        let Some(given) = world.variable(&role.variable("DATE")) else {
            return Ok(now);
        };
        let (seconds, offset_seconds) = match given.to_str().and_then(date_of_digits) {
            Some(date) => date,
            None => ask_git(world, repo, role, Some(self))?.1,
        };
        Ok(Signature { seconds, offset_seconds, ..now })
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

/// What a user is to a commit. For each, git reads variables and settings of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitRole {
    /// The author.
    Author,
    /// The committer.
    Committer,
}

impl CommitRole {
    /// Returns the name of a variable of git about it.
    fn variable(self, what: &str) -> String {
        format!("GIT_{}_{what}", self.section().to_ascii_uppercase())
    }

    /// Returns the section of git's configuration about it.
    fn section(self) -> &'static str {
        match self {
            CommitRole::Author => "author",
            CommitRole::Committer => "committer",
        }
    }
}

/// Asks git for the identity and the date in a role; `who` is known already.
fn ask_git(
    world: &World,
    repo: &Repo,
    role: CommitRole,
    who: Option<&Identity>,
) -> Result<(Identity, (i64, i32))> {
    let mut git = repo.git(world);
    if let Some(who) = who {
        git.env(&role.variable("NAME"), &who.name).env(&role.variable("EMAIL"), &who.email);
    }
    let output = git.arg("var").arg(role.variable("IDENT")).run()?;
    let line = String::from_utf8_lossy(&output.stdout);
    let parsed = line.trim_end().rsplit_once("> ").and_then(|(who, date)| {
        let (name, email) = who.split_once(" <")?;
        let who = Identity { name: name.to_owned(), email: email.to_owned() };
        Some((who, date_of_digits(&format!("@{date}"))?))
    });
    if let Some(parsed) = parsed.filter(|_| output.success()) {
        return Ok(parsed);
    }
    let mut reasons = output.stderr.lines().filter_map(|line| line.strip_prefix("fatal: "));
    let reason = reasons.next_back().unwrap_or("no name and e-mail to commit with");
    let error = format!("git knows no {} to commit with: {reason}", role.section());
    Err(if reason.starts_with("invalid date") {
        Error::new(Code::InvalidValue, error).hint(format!("unset {}", role.variable("DATE")))
    } else {
        Error::new(Code::IdentityUnknown, error)
            .hint("git config --global user.name NAME && git config --global user.email MAIL")
    })
}

/// Reads a date in the forms `@SECONDS ZONE` and `SECONDS ZONE`; the other forms are left to git.
fn date_of_digits(text: &str) -> Option<(i64, i32)> {
    let (seconds, zone) = text.split_once(' ')?;
    let digits = seconds.strip_prefix('@').unwrap_or(seconds);
    // git takes a smaller number without '@' for a part of a date.
    let is_clear = seconds.starts_with('@') || (9..=12).contains(&digits.len());
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (sign, clock) = zone.split_at_checked(1)?;
    let sign = [("+", 1), ("-", -1)].into_iter().find(|(known, _)| *known == sign)?.1;
    if !is_clear || !all_digits(digits) || clock.len() != 4 || !all_digits(clock) {
        return None;
    }
    let (hours, minutes): (i32, i32) =
        (clock.get(..2)?.parse().ok()?, clock.get(2..)?.parse().ok()?);
    let offset = sign * (hours * 3600 + minutes * 60);
    (hours < 24 && minutes < 60).then_some((digits.parse().ok()?, offset))
}

/// Returns `true` if git takes a name or an address as it is.
fn is_clean(text: &str) -> bool {
    let is_crud = |c: char| c <= ' ' || matches!(c, '.' | ',' | ':' | ';' | '"' | '\\' | '\'');
    let is_removed = |c: char| matches!(c, '<' | '>') || c.is_control();
    !text.is_empty()
        && !text.starts_with(is_crud)
        && !text.ends_with(is_crud)
        && !text.contains(is_removed)
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
    fn plain_dates_are_read_and_others_left_to_git() {
        assert_eq!(date_of_digits("@5 -0130"), Some((5, -5400)));
        assert_eq!(date_of_digits("1767323045 +0000"), Some((1_767_323_045, 0)));
        for other in ["5 +0000", "@5", "@x +0000", "@5 +2400", "@5 0000", "now", "@-5 +0000"] {
            assert_eq!(date_of_digits(other), None, "{other}");
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
