//! Tokens for hosts: the variable that holds the token for a host, and the credential helper that
//! passes it to git.
//!
//! A token goes from the caller's environment to git over a pipe, in answer to a question about one
//! host over https, and nowhere else: not into arguments, files, configuration or messages. The
//! built-in table and the user (`git config --system` or `--global`, `git -c`) determine which
//! variable belongs to which host; the configuration of a repository is not consulted.

use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt as _};
use std::path::{Path, PathBuf};

use crate::git::process::Git;
use crate::git::process::command_config::quoted;
use crate::model::{Code, Error, Result, Untouched, World};

use super::url::{Provenance, RemoteUrl, WebLogin};

/// The origin of a token and its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSource {
    /// The host in lower case, with its port unless that is 443.
    pub host: String,
    /// The environment variable that holds the token.
    pub variable: String,
    /// The user name that goes with it.
    pub username: String,
}

impl TokenSource {
    /// The built-in source.
    fn github() -> TokenSource {
        TokenSource {
            host: "github.com".to_owned(),
            variable: "GITHUB_TOKEN".to_owned(),
            username: "x-access-token".to_owned(),
        }
    }

    /// Returns `true` if its variable is set.
    pub fn is_set(&self, world: &World) -> bool {
        world.variable(&self.variable).is_some()
    }

    /// Has git use this helper, and no other, for credentials of this host. The list of helpers is
    /// emptied first: git would pass the token to each of the user's helpers to store it.
    ///
    /// Once the host has refused the token, a file appears in `notes` and the helper no longer
    /// answers: git-lfs would ask again forever.
    pub fn arrange(&self, git: &mut Git, world: &World, notes: &Path) -> Result<()> {
        self.token(world)?;
        let key = format!("credential.https://{}.helper", self.host);
        let mut command = b"!".to_vec();
        command.extend(quoted(world.program.as_os_str().as_bytes()));
        command.extend(b" credential");
        for (flag, value) in [
            ("--for", OsStr::new(&self.host)),
            ("--variable", OsStr::new(&self.variable)),
            ("--username", OsStr::new(&self.username)),
            ("--refused", self.note(notes).as_os_str()),
        ] {
            command.push(b' ');
            command.extend(flag.as_bytes());
            command.push(b' ');
            command.extend(quoted(value.as_bytes()));
        }
        git.config(&key, "").config(&key, OsString::from_vec(command));
        Ok(())
    }

    /// Answers git's question with a user and a password, or with nothing; after a refused token it
    /// ends the conversation.
    ///
    /// Answers only for this host, over https, and for this user name.
    pub fn answer(&self, world: &World, question: &[u8], refused: &Path) -> Result<Vec<u8>> {
        let Some(token) = self.token(world)?.filter(|_| self.is_asked(question)) else {
            return Ok(Vec::new());
        };
        if refused.exists() {
            return Ok(b"quit=1\n".to_vec());
        }
        let username = &self.username;
        let mut answer = format!("username={username}\npassword=").into_bytes();
        answer.extend(token.as_bytes());
        answer.push(b'\n');
        Ok(answer)
    }

    /// Records that the host refused the token, by an empty file.
    pub fn note_refusal(&self, world: &World, question: &[u8], refused: &Path) -> Result<()> {
        let password = value_of(question, "password=");
        let token = self.token(world)?.map(OsStrExt::as_bytes);
        if !self.is_asked(question) || (password.is_some() && password != token) {
            return Ok(());
        }
        let made = OpenOptions::new().write(true).create_new(true).open(refused);
        match made {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                Err(Error::io("cannot record that the token was refused", error))
            }
            _ => Ok(()),
        }
    }

    fn is_asked(&self, question: &[u8]) -> bool {
        let host = value_of(question, "host=").unwrap_or_default();
        let user = value_of(question, "username=");
        value_of(question, "protocol=") == Some(b"https")
            && host.eq_ignore_ascii_case(self.host.as_bytes())
            && user.is_none_or(|user| user == self.username.as_bytes())
    }

    fn note(&self, notes: &Path) -> PathBuf {
        notes.join(self.host.replace([':', '[', ']'], "_"))
    }

    fn token<'a>(&self, world: &'a World) -> Result<Option<&'a OsStr>> {
        let token = world.variable(&self.variable);
        let is_odd = |byte: &u8| byte.is_ascii_control() || *byte == b' ';
        if token.is_some_and(|token| token.as_bytes().iter().any(is_odd)) {
            return Err(Error::new(
                Code::InvalidValue,
                format!(
                    "the value of '{}' is not a token: it holds spaces or control characters",
                    self.variable
                ),
            )
            .untouched(Untouched::Only("nothing was sent"))
            .hint(ask_for(&self.variable)));
        }
        Ok(token)
    }
}

/// Answers git's question for the login of a URL, from the environment of the one command.
const LOGIN_HELPER: &str = "!answer() { test \"$1\" != get || \
    printf 'username=%s\\npassword=%s\\n' \"$COLONY_URL_USER\" \"$COLONY_URL_PASSWORD\"; }; answer";

/// Has git use the login of a URL for its server, though the URL that git sees lacks it. No helper of the user
/// is asked for this server, nor given the password to store.
pub(super) fn pass_login(git: &mut Git, login: &WebLogin) {
    let key = |name: &str| format!("credential.{}.{name}", login.server);
    let Some(password) = &login.password else {
        git.config(&key("username"), OsString::from_vec(login.user.clone()));
        return;
    };
    git.env("COLONY_URL_USER", OsString::from_vec(login.user.clone()))
        .env("COLONY_URL_PASSWORD", OsString::from_vec(password.clone()))
        .config(&key("helper"), "")
        .config(&key("helper"), LOGIN_HELPER);
}

/// Returns the last value of an attribute, by the rules of gitcredentials.
fn value_of<'a>(question: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let lines = question.split(|&byte| byte == b'\n');
    let mut values = lines.filter_map(|line| line.strip_prefix(name.as_bytes()));
    values.next_back()
}

/// Returns a command that reads a token without showing it.
pub(in crate::git) fn ask_for(variable: &str) -> String {
    format!("read -rs {variable} && export {variable}")
}

/// Returns all token sources, set or not, one per host.
pub fn sources(world: &World) -> Result<Vec<TokenSource>> {
    let mut git = Git::new(world);
    git.args(["config", "--show-scope", "-z", "--get-regexp"]);
    let output = git.arg(r"^colony\.credential\.").run()?;
    // Exit code 1: there is no such setting.
    if !matches!(output.code, Some(0 | 1)) {
        return Err(crate::git::process::failed(
            "read the settings of credentials",
            &output.stderr,
        ));
    }
    let mut sources = vec![TokenSource::github()];
    let mut words = output.stdout.split(|&byte| byte == 0);
    while let (Some(scope), Some(entry)) = (words.next(), words.next()) {
        if matches!(scope, b"system" | b"global" | b"command") {
            add(&mut sources, &String::from_utf8_lossy(entry))?;
        }
    }
    sources.retain(|source| !source.variable.is_empty());
    Ok(sources)
}

/// Adds a setting, `colony.credential.<host>.<name>` with its value on the next line.
fn add(sources: &mut Vec<TokenSource>, entry: &str) -> Result<()> {
    let (key, value) = entry.split_once('\n').unwrap_or((entry, ""));
    let rest = key.strip_prefix("colony.credential.").unwrap_or_default();
    let Some((host, name)) = rest.rsplit_once('.') else {
        return Ok(());
    };
    let invalid = |wanted: &str| {
        Error::new(Code::InvalidValue, format!("'{key}' is '{value}': expected {wanted}"))
            .hint(format!("git config --show-origin --get-all {key}"))
    };
    let url = RemoteUrl::parse(&format!("https://{host}/x"), Provenance::User, Path::new("/"));
    let host = url.ok().filter(|_| !host.contains(['/', '@'])).and_then(|url| url.host());
    let Some(host) = host else {
        return Err(invalid("a host in the name of the setting, with a port where it needs one"));
    };
    let at = sources.iter().position(|source| source.host == host).unwrap_or_else(|| {
        sources.push(TokenSource { host, variable: String::new(), username: "oauth2".to_owned() });
        sources.len() - 1
    });
    let Some(source) = sources.get_mut(at) else {
        return Ok(());
    };
    match name {
        "tokenenv" if is_variable(value) => value.clone_into(&mut source.variable),
        "tokenenv" => return Err(invalid("the name of a variable, or nothing")),
        "username" if !value.is_empty() && !value.contains(char::is_control) => {
            value.clone_into(&mut source.username);
        }
        "username" => return Err(invalid("a name")),
        _ => {}
    }
    Ok(())
}

/// Returns `true` for a valid shell variable name, or an empty string (no variable).
fn is_variable(name: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(known) && !name.starts_with(|c: char| c.is_ascii_digit())
}
