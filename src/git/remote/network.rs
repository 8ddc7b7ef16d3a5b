//! The gate for git commands that use the network: tokens and protocols.
//!
//! A command started here has git-colony's credential helper for every host that the user has a
//! token for, speaks no protocol that runs a command (`ext`, `fd`), and does not prompt on the
//! terminal; the user's askpass program may still prompt if there is no token. Its output is
//! redacted. A failure that would repeat is not retried: the remote may lock the account.

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
use super::failure_reasons::reason;
use super::url::{Provenance, RemoteUrl, Transport, redact};

/// The delays before the second and the third attempt.
const RETRY_DELAYS: [Duration; 2] = [Duration::from_millis(300), Duration::from_millis(1200)];

/// git's message about a failure, for programs.
#[derive(Debug, Serialize)]
struct GitSaid {
    /// Its exit code; `None` if a signal ended it.
    exit: Option<i32>,
    /// Its standard error.
    stderr: String,
}

/// A git command that uses the network.
pub struct Network {
    git: Git,
    world: World,
    url: Option<RemoteUrl>,
    sources: Vec<TokenSource>,
    pauses: &'static [Duration],
    /// The folder in which the helper records a refused token; it is removed with the command.
    _notes: Option<Scratch>,
}

impl Network {
    /// Prepares a command for `url`, or for the server that git-lfs finds.
    ///
    /// A URL that contains credentials is used as it is, and so is ssh. One process spawn, to read
    /// the user's settings.
    pub fn new(world: &World, mut git: Git, url: Option<&RemoteUrl>) -> Result<Network> {
        let sources = credentials::sources(world)?;
        let own = url.filter(|url| url.has_credentials()).and_then(RemoteUrl::host);
        let used =
            |source: &&TokenSource| source.is_set(world) && own.as_ref() != Some(&source.host);
        let notes =
            sources.iter().any(|source| used(&source)).then(|| Scratch::new(world)).transpose()?;
        for source in sources.iter().filter(used) {
            let notes = notes.as_ref().map_or(Path::new("/"), Scratch::path);
            source.arrange(&mut git, world, notes)?;
        }
        // If the caller traces, git must not log credentials in headers.
        git.env("GIT_TRACE_REDACT", "1");
        limit_protocols(&mut git, world, url);
        Ok(Network {
            git,
            world: world.clone(),
            url: url.cloned(),
            sources,
            pauses: &RETRY_DELAYS,
            _notes: notes,
        })
    }

    /// Returns the command, for its arguments.
    pub fn git(&mut self) -> &mut Git {
        &mut self.git
    }

    /// Adds the URL as an argument. Every user of the machine may see arguments: credentials in the URL reach
    /// git through a credential helper instead.
    pub fn arg_url(&mut self, url: &RemoteUrl) -> &mut Git {
        if let Some(login) = url.web_login() {
            credentials::pass_login(&mut self.git, &login);
            return self.git.arg(url.without_credentials());
        }
        self.git.arg(url.for_git())
    }

    /// Disables retries.
    pub fn once(&mut self) -> &mut Self {
        self.pauses = &[];
        self
    }

    /// Runs it, and up to twice more if the remote cannot be reached. Its standard error is
    /// returned without credentials.
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
    pub fn run_checked(&mut self, wanted: &str) -> Result<Vec<u8>> {
        let output = self.run()?;
        if output.success() {
            return Ok(output.stdout);
        }
        Err(self.failed(wanted, &output))
    }

    /// Returns the error for a failed command, like [`Network::failure`]; the detail `git` has the
    /// exit code and all of its output, without credentials.
    pub fn failed(&self, wanted: &str, output: &Output) -> Error {
        let said =
            GitSaid { exit: output.code, stderr: self.without_tokens(&redact(&output.stderr)) };
        self.failure(wanted, &output.stderr).detail("git", said)
    }

    /// Replaces the user's tokens by `***`, in case a remote repeats them.
    fn without_tokens(&self, text: &str) -> String {
        let tokens =
            self.sources.iter().filter_map(|source| self.world.text_variable(&source.variable));
        tokens
            .filter(|token| !token.trim().is_empty())
            .fold(text.to_owned(), |text, token| text.replace(token.trim(), "***"))
    }

    /// Returns the error for a message of git or git-lfs: `authentication-failed`,
    /// `remote-not-found`, `remote-unreachable`, or otherwise `git-failed`.
    pub fn failure(&self, wanted: &str, stderr: &str) -> Error {
        let stderr = self.without_tokens(&redact(stderr));
        let (code, said) = reason(&stderr);
        let mut error = Error::new(code, format!("cannot {wanted}: {said}"));
        let Some(url) = &self.url else { return error };
        error = error.detail("url", url);
        let try_it = format!("git ls-remote {}", shell_word(&url.without_credentials()));
        match code {
            Code::AuthenticationFailed if url.transport() == Transport::Ssh => error.hint(format!(
                "{try_it}   # prompts for what ssh needs: a key, or trust in the host"
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

    /// Adds a hint that names the variable for the token.
    fn with_token_hint(&self, error: Error, url: &RemoteUrl) -> Error {
        let host = url.host().unwrap_or_default();
        let source = self.sources.iter().find(|source| source.host == host);
        let Some(source) = source.filter(|_| url.transport() == Transport::Https) else {
            return error.hint(format!(
                "git config --global colony.credential.{host}.tokenEnv TOKEN   # names the variable that holds a token for this host, over https"
            ));
        };
        let variable = &source.variable;
        let reason = if url.has_credentials() {
            "the URL has credentials of its own, which win over the variable"
        } else if source.is_set(&self.world) {
            "the token in it was not accepted: it may have expired or lack the right for this repository"
        } else {
            "set it to a token for this host, with the right to read and write the repository"
        };
        let hint = format!("{}   # {reason}", credentials::ask_for(variable));
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

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the remote.
    Fetch,
    /// To the remote.
    Push,
}

impl Repo {
    /// Returns the configured URL of a remote; `None` if there is no such remote.
    pub fn remote_url(&self, remote: &str, direction: Direction) -> Result<Option<RemoteUrl>> {
        let push = self
            .config(&format!("remote.{remote}.pushUrl"))
            .filter(|_| direction == Direction::Push);
        let url = push.or_else(|| self.config(&format!("remote.{remote}.url")));
        url.map(|url| RemoteUrl::parse(&url, Provenance::User, self.workdir())).transpose()
    }
}

/// Limits git to the protocols that the URL needs: http and git only for such a URL, and none that
/// runs a command. The caller's own limits still apply.
///
/// For the user's URL the limit is set through git's configuration: `GIT_ALLOW_PROTOCOL` would also
/// allow local paths for the submodules of a repository.
fn limit_protocols(git: &mut Git, world: &World, url: Option<&RemoteUrl>) {
    const CALLERS: &str = "GIT_ALLOW_PROTOCOL";
    let asked = match url.map(RemoteUrl::transport) {
        Some(Transport::Http) => "http",
        Some(Transport::Git) => "git",
        _ => "",
    };
    let is_content = url.is_some_and(|url| url.provenance() == Provenance::Repository);
    // An empty list is valid: it allows nothing.
    let callers =
        world.variables.get(OsStr::new(CALLERS)).map(|list| list.to_string_lossy().into_owned());
    if callers.is_some() || is_content {
        let local: &[&str] = if is_content { &[] } else { &["file", asked] };
        let known = ["https", "ssh"].iter().chain(local).copied();
        let callers = callers.as_deref().unwrap_or("https:ssh");
        let both = known.filter(|name| {
            callers.split(':').any(|protocol| protocol == *name && !protocol.is_empty())
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
