//! The URL of a remote: which are refused, how one is shown, and which repository it names.
//!
//! A URL is refused before git sees it if git would read it as an option, would run a program for
//! it, or would read it differently from this module. It is always shown without credentials:
//! `Display`, `Debug` and serde give the redacted form, only [`RemoteUrl::for_git`] the full one.

mod address;

use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::{Serialize, Serializer};

use crate::model::{Code, Error, Result};

use address::{Address, HostUrl};

/// The source of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provenance {
    /// The user: on the command line, or in git's configuration.
    User,
    /// The content of a repository (`.gitmodules`, a map, a record): only https and ssh.
    Repository,
}

/// The protocol of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// `https://`
    Https,
    /// `http://`
    Http,
    /// `ssh://`, or `user@host:path`.
    Ssh,
    /// `git://`
    Git,
    /// A path, or `file://`.
    Local,
}

/// The URL of a remote that may be passed to git.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RemoteUrl {
    /// As given, with the scheme in lower case.
    text: String,
    address: Address,
    provenance: Provenance,
}

/// The credentials in a URL.
pub(super) struct WebLogin {
    /// The scheme and the host, with the port unless it is the default.
    pub(super) server: String,
    /// The user, decoded.
    pub(super) user: Vec<u8>,
    /// The password, decoded.
    pub(super) password: Option<Vec<u8>>,
}

impl RemoteUrl {
    /// Parses a URL; a relative path starts at `base`.
    pub fn parse(text: &str, provenance: Provenance, base: &Path) -> Result<RemoteUrl> {
        let refused = |why: &str| refusal(text, why);
        address::check_bytes(text).map_err(refused)?;
        let (text, address) = match address::split_scheme(text) {
            Some((scheme, rest)) => {
                let scheme = scheme.to_ascii_lowercase();
                let address = address::with_scheme(&scheme, rest).map_err(refused)?;
                (format!("{scheme}://{rest}"), address)
            }
            None => (text.to_owned(), address::without_scheme(text, base).map_err(refused)?),
        };
        let url = RemoteUrl { text, address, provenance };
        let is_wire = matches!(url.transport(), Transport::Https | Transport::Ssh);
        if provenance == Provenance::Repository && !is_wire {
            return Err(refused("only https and ssh are taken from the content of a repository"));
        }
        Ok(url)
    }

    /// Resolves a relative URL of `.gitmodules` (`./x`, `../x`) against this URL of the
    /// superproject: it stays on the same host, below its root.
    pub fn resolve(&self, relative: &str) -> Result<RemoteUrl> {
        let refused = |why: &str| refusal(relative, why);
        let Some(place) = self.place() else {
            return Err(refused("it is relative to a local path"));
        };
        let path = place.below(relative).map_err(refused)?;
        let prefix = self.text.strip_suffix(&place.path).unwrap_or(&self.text);
        RemoteUrl::parse(&format!("{prefix}{path}"), Provenance::Repository, Path::new("/"))
    }

    /// Returns the full URL with credentials: for git only, never to be shown.
    pub fn for_git(&self) -> &str {
        &self.text
    }

    /// Returns its source.
    pub fn provenance(&self) -> Provenance {
        self.provenance
    }

    /// Returns its protocol.
    pub fn transport(&self) -> Transport {
        match &self.address {
            Address::Network(place) => place.scheme.transport(),
            Address::Local(_) => Transport::Local,
        }
    }

    /// Returns the host in lower case, with the port unless it is the default.
    pub fn host(&self) -> Option<String> {
        self.place().map(HostUrl::host_and_port)
    }

    /// Returns `true` if the URL contains a user for https, or any password.
    pub fn has_credentials(&self) -> bool {
        self.place().is_some_and(HostUrl::has_credentials)
    }

    /// Returns the user and password that the URL has for a web server: for git only, never to be shown.
    pub(super) fn web_login(&self) -> Option<WebLogin> {
        let is_web = matches!(self.transport(), Transport::Https | Transport::Http);
        let place = self.place().filter(|_| is_web)?;
        let (user, password) = place.login()?;
        Some(WebLogin {
            server: format!("{}://{}", place.scheme.name(), place.host_and_port()),
            user,
            password,
        })
    }

    /// Returns the absolute path of a local repository, as given.
    pub fn local_path(&self) -> Option<&Path> {
        match &self.address {
            Address::Local(path) => Some(path),
            Address::Network(_) => None,
        }
    }

    /// Returns the URL with `***` in place of credentials.
    ///
    /// The user of an ssh URL is part of the address and stays.
    pub fn redacted(&self) -> String {
        match self.place() {
            Some(place) if place.has_credentials() => {
                redact_login(&self.text).unwrap_or_else(|| redact(&self.text))
            }
            _ => self.text.clone(),
        }
    }

    /// Returns the URL without credentials, for other people to read.
    pub fn without_credentials(&self) -> String {
        self.redacted().replacen("://***@", "://", 1)
    }

    /// Returns the URL in full, to be read elsewhere later: a relative local path becomes absolute
    /// and is normalized.
    pub fn in_full(&self) -> String {
        match &self.address {
            Address::Local(path)
                if !self.text.contains("://") && lexical(path).as_os_str() != &*self.text =>
            {
                self.normalized()
            }
            _ => self.without_credentials(),
        }
    }

    /// Returns the key of the repository: the same for every spelling of its URL.
    ///
    /// `https://GitHub.com/a/b.git/`, `git@github.com:a/b` and `ssh://git@github.com:22/a/b.git`
    /// give `github.com/a/b`. ssh users other than `git` have their own homes, and http or git may
    /// serve other repositories: their keys keep the scheme. A local repository has its path with
    /// symlinks resolved.
    pub fn normalized(&self) -> String {
        match &self.address {
            Address::Network(place) => place.normalized(),
            Address::Local(path) => {
                let real = path.canonicalize().unwrap_or_else(|_| lexical(path));
                real.to_string_lossy().into_owned()
            }
        }
    }

    fn place(&self) -> Option<&HostUrl> {
        match &self.address {
            Address::Network(place) => Some(place),
            Address::Local(_) => None,
        }
    }
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.redacted())
    }
}

impl fmt::Debug for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteUrl({})", self.redacted())
    }
}

impl Serialize for RemoteUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.redacted())
    }
}

/// Replaces everything in a text, such as git's output, that may be a credential by `***`.
///
/// In a word with a scheme, everything up to the last `@` goes: a password may contain that
/// character. The same applies to a word with a colon before an `@`. In any URL, everything after a
/// `?` or `#` goes.
pub fn redact(text: &str) -> String {
    let ends = |c: char| c.is_whitespace() || "'\"<>".contains(c);
    let mut shown = String::with_capacity(text.len());
    for word in text.split_inclusive(ends) {
        let end = word.trim_end_matches(ends);
        shown.push_str(&redact_word(end));
        shown.push_str(word.get(end.len()..).expect("the end is in the word"));
    }
    shown
}

/// Replaces only logins of URLs in a text, by `***`: a password, or a token in its place. The user of ssh stays, and so
/// does a user without a password where there is no scheme.
pub fn redact_logins(text: &str) -> String {
    let ends = |c: char| c.is_whitespace() || "/?#'\"<>".contains(c);
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once("//") {
        let (authority, later) = after.split_at(after.find(ends).unwrap_or(after.len()));
        let may_be_token = before.strip_suffix(':').is_some_and(|scheme| !scheme.ends_with("ssh"));
        shown.push_str(before);
        shown.push_str("//");
        match authority.rsplit_once('@') {
            Some((login, host)) if may_be_token || login.contains(':') => {
                shown.push_str("***@");
                shown.push_str(host);
            }
            _ => shown.push_str(authority),
        }
        rest = later;
    }
    shown.push_str(rest);
    shown
}

fn redact_word(word: &str) -> String {
    // A scheme with one slash is a typing error.
    let scheme = word
        .split_once(":/")
        .map(|(scheme, _)| scheme)
        .filter(|scheme| !scheme.contains(['?', '#', '@', ':']));
    let start = scheme.map_or(0, |scheme| {
        let slashes = word.get(scheme.len() + 1..).expect("the word begins with the scheme");
        word.len() - slashes.trim_start_matches('/').len()
    });
    let (scheme, rest) = word.split_at(start);
    let is_url = start > 0 || rest.contains(['@', ':']);
    let (login, query) = (rest.rfind('@'), rest.find(['?', '#']));
    match (login, query.filter(|_| is_url)) {
        // Either may contain the other.
        (Some(login), Some(query)) if query < login => format!("{scheme}***"),
        (login, query) => {
            let host = login.map_or(0, |at| at + 1);
            let user = rest.get(..host).unwrap_or_default().trim_end_matches('@');
            let is_shown = match scheme {
                "" => !user.contains(':'),
                _ => scheme.ends_with("ssh://") && is_user(user),
            };
            let from = if login.is_none() || is_shown { 0 } else { host };
            let hidden = if from > 0 { "***@" } else { "" };
            let to = query.map_or(rest.len(), |at| at + 1);
            let tail = if query.is_some() { "***" } else { "" };
            let rest = rest.get(from..to).unwrap_or_default();
            format!("{scheme}{hidden}{rest}{tail}")
        }
    }
}

/// Replaces everything that may be a credential in a text that should be one URL but may not be: a
/// password may contain anything, also quotes and spaces.
pub fn redact_refused(text: &str) -> String {
    let words: String = text
        .chars()
        .map(|c| if c.is_whitespace() || "'\"<>".contains(c) { '_' } else { c })
        .collect();
    let shown = redact_word(&words);
    // If nothing was replaced, keep the original spacing.
    if shown == words { text.to_owned() } else { shown }
}

fn is_user(login: &str) -> bool {
    login.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

/// Redacts a valid URL: its credentials end where its host begins.
fn redact_login(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (_, host) = authority.rsplit_once('@')?;
    Some(format!("{scheme}://***@{host}{path}"))
}

fn refusal(text: &str, why: &str) -> Error {
    let short: String = redact_refused(text).chars().take(200).collect();
    Error::new(Code::UrlRefused, format!("cannot use '{short}' as the URL of a repository: {why}"))
        .detail("url", short)
        .hint("git help fetch   # 'GIT URLS' in it shows all forms")
}

/// Resolves `.` and `..` in a path that does not exist.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests;
