//! The gate for git commands that go over the network: tokens, protocols, what a failure means.
//!
//! A command started here has our credential helper for every host the user has a token for, speaks
//! no protocol that runs a command (`ext`, `fd`), and asks nothing on the terminal; an askpass program
//! of the user may still ask where there is no token. What it says is redacted. A failure that would be
//! the same the next time is not tried again: the remote may lock the account.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::git::Repo;
use crate::git::process::{Git, Output};
use crate::git::scratch::Scratch;
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result, World};

use super::credentials::{self, TokenSource};
use super::url::{Provenance, RemoteUrl, Transport, redact};

/// How long to wait before the second and the third attempt.
const PAUSES: [Duration; 2] = [Duration::from_millis(300), Duration::from_millis(1200)];

/// What git said of a failure, for programs.
#[derive(Debug, Serialize)]
struct GitSaid {
    /// Its exit code; `None` where a signal ended it.
    exit: Option<i32>,
    /// Its standard error.
    stderr: String,
}

/// A git command that goes over the network.
pub struct Network {
    git: Git,
    world: World,
    url: Option<RemoteUrl>,
    sources: Vec<TokenSource>,
    pauses: &'static [Duration],
    /// Where the helper notes that a token was refused; it goes with the command.
    _notes: Option<Scratch>,
}

impl Network {
    /// Prepares a command that goes to `url`, or wherever git-lfs finds its server.
    ///
    /// A URL with credentials of its own passes untouched, and so does ssh. One process spawn, to
    /// read the user's settings.
    ///
    /// # Errors
    /// `invalid-value` for a setting or a token that cannot be one, `git-failed`.
    pub fn new(world: &World, mut git: Git, url: Option<&RemoteUrl>) -> Result<Network> {
        let sources = credentials::sources(world)?;
        let own = url.filter(|url| url.has_credentials());
        let own = own.and_then(RemoteUrl::host);
        let used =
            |source: &&TokenSource| source.is_set(world) && own.as_ref() != Some(&source.host);
        let notes = sources
            .iter()
            .any(|source| used(&source))
            .then(|| Scratch::new(world));
        let notes = notes.transpose()?;
        for source in sources.iter().filter(used) {
            let notes = notes.as_ref().map_or(Path::new("/"), Scratch::path);
            source.arrange(&mut git, world, notes)?;
        }
        // Whatever the caller traces, no header is written with what it holds.
        git.env("GIT_TRACE_REDACT", "1");
        limit_protocols(&mut git, world, url);
        Ok(Network {
            git,
            world: world.clone(),
            url: url.cloned(),
            sources,
            pauses: &PAUSES,
            _notes: notes,
        })
    }

    /// Returns the command, for its arguments.
    pub fn git(&mut self) -> &mut Git {
        &mut self.git
    }

    /// Has it run once only, even where another attempt might go through.
    pub fn once(&mut self) -> &mut Self {
        self.pauses = &[];
        self
    }

    /// Runs it; where the remote could not be reached, twice more. Its standard error comes back
    /// without credentials.
    ///
    /// # Errors
    /// `git-failed` when git cannot be started, `interrupted`.
    pub fn run(&mut self) -> Result<Output> {
        let mut pauses = self.pauses.iter();
        loop {
            let mut output = self.git.run()?;
            output.stderr = redact(&output.stderr);
            let passing = !output.success() && reason(&output.stderr).0 == Code::RemoteUnreachable;
            let Some(pause) = pauses.next().filter(|_| passing) else {
                return Ok(output);
            };
            (self.world.narrate)("the remote cannot be reached: trying again");
            self.wait(*pause)?;
        }
    }

    /// Runs it and returns its output, or a typed error.
    ///
    /// # Errors
    /// As [`Network::failure`], and those of [`Network::run`].
    pub fn run_checked(&mut self, wanted: &str) -> Result<Vec<u8>> {
        let output = self.run()?;
        if output.success() {
            return Ok(output.stdout);
        }
        Err(self.failed(wanted, &output))
    }

    /// Makes the error for a command that failed, as [`Network::failure`] does; the detail `git` keeps the exit
    /// code and all that it said, without credentials.
    pub fn failed(&self, wanted: &str, output: &Output) -> Error {
        let said = GitSaid {
            exit: output.code,
            stderr: self.without_tokens(&redact(&output.stderr)),
        };
        self.failure(wanted, &output.stderr).detail("git", said)
    }

    /// Puts `***` for the tokens of the user, wherever a remote may have said them.
    fn without_tokens(&self, text: &str) -> String {
        let tokens = self.sources.iter();
        let tokens = tokens.filter_map(|source| self.world.text_variable(&source.variable));
        tokens
            .filter(|token| !token.trim().is_empty())
            .fold(text.to_owned(), |text, token| {
                text.replace(token.trim(), "***")
            })
    }

    /// Makes the error for what git, or git-lfs, said when it failed: `authentication-failed`,
    /// `remote-not-found`, `remote-unreachable`, or `git-failed` for everything else.
    pub fn failure(&self, wanted: &str, stderr: &str) -> Error {
        let stderr = self.without_tokens(&redact(stderr));
        let (code, said) = reason(&stderr);
        let mut error = Error::new(code, format!("cannot {wanted}: {said}"));
        let Some(url) = &self.url else { return error };
        error = error.detail("url", url);
        let try_it = format!("git ls-remote {}", shell_word(&url.without_credentials()));
        match code {
            Code::AuthenticationFailed if url.transport() == Transport::Ssh => error.hint(format!(
                "{try_it}   # asks for what ssh needs: a key, or trust in the host"
            )),
            Code::AuthenticationFailed => self.with_token_hint(error, url),
            Code::RemoteNotFound if url.transport() == Transport::Https => {
                let error = self.with_token_hint(error, url);
                let hint = error.hint_text().unwrap_or_default();
                let hint = format!(
                    "{hint}; a host hides a private repository from all who may not read it"
                );
                error.hint(hint)
            }
            Code::RemoteNotFound | Code::RemoteUnreachable => error.hint(try_it),
            _ => error,
        }
    }

    /// Says which variable is to hold a token.
    fn with_token_hint(&self, error: Error, url: &RemoteUrl) -> Error {
        let host = url.host().unwrap_or_default();
        let source = self.sources.iter().find(|source| source.host == host);
        let Some(source) = source.filter(|_| url.transport() == Transport::Https) else {
            return error.hint(format!(
                "git config --global colony.credential.{host}.tokenEnv TOKEN   # names the variable that holds a token for this host, over https"
            ));
        };
        let variable = &source.variable;
        let found = if url.has_credentials() {
            "the URL has credentials of its own, which win over the variable"
        } else if source.is_set(&self.world) {
            "the token in it was not accepted: it may have expired or lack the right for this repository"
        } else {
            "it is to hold a token for this host, with the right to read and write the repository"
        };
        let hint = format!("{}   # {found}", credentials::ask_for(variable));
        error.hint(hint).detail("variable", variable)
    }

    fn wait(&self, pause: Duration) -> Result<()> {
        const PART: Duration = Duration::from_millis(50);
        let mut waited = Duration::ZERO;
        while waited < pause {
            self.world.interrupt.check()?;
            std::thread::sleep(PART);
            waited += PART;
        }
        Ok(())
    }
}

/// Which way objects go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the remote.
    Fetch,
    /// To the remote.
    Push,
}

impl Repo {
    /// Returns the URL of a remote as it is configured; `None` where there is none.
    ///
    /// # Errors
    /// `url-refused`.
    pub fn remote_url(&self, remote: &str, direction: Direction) -> Result<Option<RemoteUrl>> {
        let push = self.config(&format!("remote.{remote}.pushUrl"));
        let push = push.filter(|_| direction == Direction::Push);
        let url = push.or_else(|| self.config(&format!("remote.{remote}.url")));
        url.map(|url| RemoteUrl::parse(&url, Provenance::User, self.workdir()))
            .transpose()
    }
}

/// Lets git speak the protocols that the URL asks for: http and git only for a URL that says so, and
/// none that runs a command. What the caller forbids stays forbidden.
///
/// For a URL of the user it is git's configuration that says so: `GIT_ALLOW_PROTOCOL` would allow
/// local paths for the submodules of a repository as well.
fn limit_protocols(git: &mut Git, world: &World, url: Option<&RemoteUrl>) {
    const CALLERS: &str = "GIT_ALLOW_PROTOCOL";
    let asked = match url.map(RemoteUrl::transport) {
        Some(Transport::Http) => "http",
        Some(Transport::Git) => "git",
        _ => "",
    };
    let is_content = url.is_some_and(|url| url.provenance() == Provenance::Repository);
    // An empty list is a list: it allows nothing.
    let callers = world.variables.get(OsStr::new(CALLERS));
    let callers = callers.map(|list| list.to_string_lossy().into_owned());
    if callers.is_some() || is_content {
        let local: &[&str] = if is_content { &[] } else { &["file", asked] };
        let known = ["https", "ssh"].iter().chain(local).copied();
        let callers = callers.as_deref().unwrap_or("https:ssh");
        let both = known.filter(|name| {
            callers
                .split(':')
                .any(|one| one == *name && !one.is_empty())
        });
        git.env(CALLERS, both.collect::<Vec<_>>().join(":"));
        return;
    }
    for name in ["ext", "fd", "http", "git"] {
        if name != asked && (url.is_some() || matches!(name, "ext" | "fd")) {
            git.config(&format!("protocol.{name}.allow"), "never");
        }
    }
}

/// What a failure says of itself, in lower case, and the code for it; the first that fits counts.
const REASONS: &[(Code, &[&str])] = &[
    (
        Code::AuthenticationFailed,
        &[
            "authentication failed",
            "authentication required",
            "authorization error",
            "invalid username or token",
            "invalid username or password",
            "incorrect username or password",
            "could not read username",
            "could not read password",
            "permission denied (",
            "host key verification failed",
            "returned error: 401",
            "returned error: 403",
            "git credentials for ",
        ],
    ),
    (
        Code::RemoteNotFound,
        &[
            "repository not found",
            "returned error: 404",
            "' not found",
            "does not appear to be a git repository",
            "' does not exist",
        ],
    ),
    (
        Code::RemoteUnreachable,
        &[
            "could not resolve host",
            "temporary failure in name resolution",
            "failed to connect",
            "couldn't connect",
            "connection refused",
            "connection reset",
            "connection timed out",
            "connection closed",
            "operation timed out",
            "network is unreachable",
            "no route to host",
            "remote end hung up unexpectedly",
            "early eof",
            "returned error: 429",
            "returned error: 5",
            "empty reply from server",
        ],
    ),
];

/// Finds what kind of failure it was and the line that says so.
fn reason(stderr: &str) -> (Code, String) {
    for (code, phrases) in REASONS {
        let said = stderr.lines().find(|line| {
            let line = line.to_ascii_lowercase();
            phrases.iter().any(|phrase| line.contains(phrase))
        });
        if let Some(line) = said {
            return (*code, plain(line));
        }
    }
    let is_fatal = |line: &&str| line.starts_with("fatal: ") || line.starts_with("error: ");
    let line = stderr.lines().find(is_fatal).or(stderr.lines().next_back());
    (
        Code::GitFailed,
        line.map_or_else(|| "git gave no reason".to_owned(), plain),
    )
}

fn plain(line: &str) -> String {
    let line = line.trim();
    let line = ["fatal: ", "error: ", "remote: "]
        .iter()
        .fold(line, |line, word| line.strip_prefix(word).unwrap_or(line));
    line.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_has_a_code() {
        let table = [
            (
                "remote: Invalid username or token.\nfatal: Authentication failed for 'https://h/a/'",
                Code::AuthenticationFailed,
                "Invalid username or token.",
            ),
            (
                "fatal: could not read Username for 'https://h': terminal prompts disabled",
                Code::AuthenticationFailed,
                "could not read Username for 'https://h': terminal prompts disabled",
            ),
            (
                "git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.",
                Code::AuthenticationFailed,
                "git@h: Permission denied (publickey).",
            ),
            (
                "fatal: unable to access 'https://h/a/': The requested URL returned error: 403",
                Code::AuthenticationFailed,
                "unable to access 'https://h/a/': The requested URL returned error: 403",
            ),
            (
                "remote: Repository not found.\nfatal: repository 'https://h/a/' not found",
                Code::RemoteNotFound,
                "Repository not found.",
            ),
            (
                "fatal: '/x' does not appear to be a git repository",
                Code::RemoteNotFound,
                "'/x' does not appear to be a git repository",
            ),
            (
                "fatal: unable to access 'https://h/': Could not resolve host: h",
                Code::RemoteUnreachable,
                "unable to access 'https://h/': Could not resolve host: h",
            ),
            (
                "fatal: unable to access 'https://h/': The requested URL returned error: 503",
                Code::RemoteUnreachable,
                "unable to access 'https://h/': The requested URL returned error: 503",
            ),
            // A file of this machine is no remote that refuses.
            (
                "error: cannot open '.git/FETCH_HEAD': Permission denied",
                Code::GitFailed,
                "cannot open '.git/FETCH_HEAD': Permission denied",
            ),
            ("", Code::GitFailed, "git gave no reason"),
        ];
        for (stderr, code, said) in table {
            assert_eq!(reason(stderr), (code, said.to_owned()));
        }
    }
}
