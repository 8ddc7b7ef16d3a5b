//! The parts of a URL, read as git reads them, or not at all where curl or ssh would read them
//! differently.

use std::path::{Path, PathBuf};

use super::Transport;

/// The longest URL that is accepted, in bytes.
const MAX_BYTES: usize = 4096;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Address {
    /// A host is asked.
    Network(HostUrl),
    /// The absolute path, not resolved.
    Local(PathBuf),
}

/// The parts of a URL that names a host.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct HostUrl {
    pub(super) scheme: Scheme,
    /// `user` or `user:password`, as written.
    login: Option<String>,
    /// In lower case.
    host: String,
    /// Only if it is not the default of the scheme.
    port: Option<u16>,
    /// As written, with its leading slash if there is one.
    pub(super) path: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Scheme {
    Https,
    Http,
    Ssh,
    /// `user@host:path`: the path is relative to the user's home.
    Scp,
    Git,
}

impl Scheme {
    pub(super) fn transport(self) -> Transport {
        match self {
            Scheme::Https => Transport::Https,
            Scheme::Http => Transport::Http,
            Scheme::Ssh | Scheme::Scp => Transport::Ssh,
            Scheme::Git => Transport::Git,
        }
    }

    /// Returns the scheme as a URL has it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Scheme::Https => "https",
            Scheme::Http => "http",
            Scheme::Ssh | Scheme::Scp => "ssh",
            Scheme::Git => "git",
        }
    }

    fn default_port(self) -> u16 {
        match self {
            Scheme::Https => 443,
            Scheme::Http => 80,
            Scheme::Ssh | Scheme::Scp => 22,
            Scheme::Git => 9418,
        }
    }
}

impl HostUrl {
    pub(super) fn has_credentials(&self) -> bool {
        let login = self.login.as_deref();
        match self.scheme.transport() {
            Transport::Ssh => login.is_some_and(|login| login.contains(':')),
            _ => login.is_some(),
        }
    }

    /// Returns the user and the password, decoded as git decodes them.
    pub(super) fn login(&self) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
        let login = self.login.as_deref()?;
        Some(match login.split_once(':') {
            Some((user, password)) => (decode_bytes(user), Some(decode_bytes(password))),
            None => (decode_bytes(login), None),
        })
    }

    pub(super) fn host_and_port(&self) -> String {
        match self.port {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.clone(),
        }
    }

    /// Resolves `./` and `../` against the path.
    pub(super) fn below(&self, relative: &str) -> Result<String, &'static str> {
        let root = if self.path.starts_with('/') { "/" } else { "" };
        let mut parts: Vec<&str> = self.path.split('/').filter(|part| !part.is_empty()).collect();
        let mut rest = relative;
        loop {
            if let Some(next) = rest.strip_prefix("./") {
                rest = next;
            } else if let Some(next) = rest.strip_prefix("../") {
                rest = next;
                parts.pop().ok_or("it would leave the host")?;
            } else {
                break;
            }
        }
        let rest = rest.trim_end_matches('/');
        if rest.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err("it has '..' in the middle");
        }
        parts.push(rest);
        Ok(format!("{root}{}", parts.join("/")))
    }

    pub(super) fn normalized(&self) -> String {
        let names: Vec<&str> = self.path.split('/').filter(|part| !part.is_empty()).collect();
        let joined = names.join("/");
        let path = joined.strip_suffix(".git").unwrap_or(&joined).trim_end_matches('/');
        let host = self.host_and_port();
        let user = self.login.as_deref().unwrap_or_default().split(':').next().unwrap_or_default();
        match self.scheme {
            Scheme::Https => format!("{host}/{path}"),
            Scheme::Ssh | Scheme::Scp if user == "git" => format!("{host}/{path}"),
            Scheme::Ssh | Scheme::Scp => {
                let at = if user.is_empty() { "" } else { "@" };
                let is_relative = self.scheme == Scheme::Scp && !self.path.starts_with(['/', '~']);
                let home = if is_relative { "~/" } else { "" };
                format!("ssh://{user}{at}{host}/{home}{path}")
            }
            Scheme::Http => format!("http://{host}/{path}"),
            Scheme::Git => format!("git://{host}/{path}"),
        }
    }
}

/// Refuses bytes that no form of URL may contain.
pub(super) fn check_bytes(text: &str) -> Result<(), &'static str> {
    let lower = text.to_ascii_lowercase();
    let hidden = ["%00", "%0a", "%0d"].iter().any(|code| lower.contains(code));
    if text.is_empty() {
        Err("it is empty")
    } else if text.len() > MAX_BYTES {
        Err("it is longer than 4096 bytes")
    } else if text.starts_with('-') {
        Err("it begins with '-' and would be an option")
    } else if text.chars().any(char::is_control) || hidden {
        Err("it holds control characters")
    } else if is_helper(text) {
        Err("it would run a program, a remote helper of git")
    } else {
        Ok(())
    }
}

/// Returns `true` if git reads it as `<helper>::<address>`.
fn is_helper(text: &str) -> bool {
    let name = text.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "+-.".contains(c));
    name.starts_with("::")
}

/// Splits at `://` if a scheme precedes it.
pub(super) fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let mut bytes = scheme.bytes();
    let is_scheme = bytes.next().is_some_and(|first| first.is_ascii_alphanumeric())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme.then_some((scheme, rest))
}

/// Parses the part after `<scheme>://`.
pub(super) fn with_scheme(scheme: &str, rest: &str) -> Result<Address, &'static str> {
    let scheme = match scheme {
        "https" => Scheme::Https,
        "http" => Scheme::Http,
        "ssh" | "git+ssh" | "ssh+git" => Scheme::Ssh,
        "git" => Scheme::Git,
        "file" => return local_url(rest),
        _ => return Err("git would run a program for that scheme"),
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (login, host) = split_login(authority)?;
    let (host, port) = split_port(host)?;
    check_login(scheme, login)?;
    check_host(host)?;
    let may_be_cut = login.map_or(authority.contains(':'), |login| login.contains(':'));
    if may_be_cut && path.contains('@') {
        return Err(
            "the path may contain part of a password: write '/' in a password as '%2F', '@' in a path as '%40'",
        );
    }
    if path.contains(['?', '#']) {
        return Err("a repository's address has no query or fragment");
    }
    if path.trim_matches('/').is_empty() {
        return Err("it does not name a repository on the host");
    }
    Ok(Address::Network(HostUrl {
        scheme,
        login: login.map(str::to_owned),
        host: host.to_ascii_lowercase(),
        port: port.filter(|port| *port != scheme.default_port()),
        path: path.to_owned(),
    }))
}

/// Parses a local path; git decodes it, and includes what precedes the path.
fn local_url(rest: &str) -> Result<Address, &'static str> {
    if !rest.starts_with('/') && rest.contains('@') {
        return Err("a local path has no user or password");
    }
    let path = if rest.starts_with('/') { decode(rest)? } else { format!("//{}", decode(rest)?) };
    Ok(Address::Local(PathBuf::from(path)))
}

/// Names that are not hosts: a web URL whose slashes are missing is not ssh.
const WEB_SCHEMES: [&str; 5] = ["https", "http", "ftp", "ftps", "file"];

/// Parses a URL without a scheme: `host:path` with no slash before the colon is ssh, as in git.
pub(super) fn without_scheme(text: &str, base: &Path) -> Result<Address, &'static str> {
    let is_bracketed = text.starts_with('[') || text.contains("@[");
    let host_end = if is_bracketed { text.find("]:").map(|at| at + 1) } else { text.find(':') };
    let slash = text.find('/').unwrap_or(text.len());
    let Some((host, path)) =
        host_end.filter(|at| *at < slash).map(|at| (&text[..at], &text[at + 1..]))
    else {
        let may_be_login =
            !text.starts_with(['/', '.']) && text.contains(':') && text.contains('@');
        if may_be_login {
            return Err(
                "begin a path with ':' and '@' with './': otherwise it may contain a password",
            );
        }
        return Ok(Address::Local(base.join(text)));
    };
    let (login, host) = split_login(host)?;
    check_login(Scheme::Scp, login)?;
    check_host(host)?;
    if login.is_some_and(|login| login.contains(':')) {
        return Err("it has two colons before the path");
    }
    let lower = host.to_ascii_lowercase();
    if login.is_none() && WEB_SCHEMES.contains(&lower.as_str()) {
        return Err("a scheme is followed by '://'");
    }
    if path.contains('@') {
        return Err(
            "the text before the last '@' may be a password: write the URL with 'ssh://' if the path contains one",
        );
    }
    if path.contains(['?', '#']) {
        return Err("a repository's address has no query or fragment");
    }
    if path.is_empty() {
        return Err("it does not name a repository on the host");
    }
    if path.starts_with('-') {
        return Err("its path begins with '-' and would be an option");
    }
    Ok(Address::Network(HostUrl {
        scheme: Scheme::Scp,
        login: login.map(str::to_owned),
        host: host.to_ascii_lowercase(),
        port: None,
        path: path.to_owned(),
    }))
}

fn split_login(authority: &str) -> Result<(Option<&str>, &str), &'static str> {
    let Some((login, host)) = authority.split_once('@') else {
        return Ok((None, authority));
    };
    // git reads the host after the first '@', curl after the last.
    if host.contains('@') {
        return Err("it has more than one '@' before the path: write one in a password as '%40'");
    }
    Ok((Some(login), host))
}

fn split_port(host: &str) -> Result<(&str, Option<u16>), &'static str> {
    let start = host.rfind(']').unwrap_or(0);
    let Some(colon) = host[start..].find(':').map(|at| start + at) else {
        return Ok((host, None));
    };
    let (host, port) = (&host[..colon], &host[colon + 1..]);
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    let number = port.parse().ok().filter(|port| digits && *port != 0);
    number.map(|port| (host, Some(port))).ok_or("its port is not a number")
}

fn check_login(scheme: Scheme, login: Option<&str>) -> Result<(), &'static str> {
    let Some(login) = login else { return Ok(()) };
    let is_ssh = matches!(scheme, Scheme::Ssh | Scheme::Scp | Scheme::Git);
    // git decodes these before it looks for the host.
    let odd = login.contains('%') && is_ssh;
    if login.starts_with('-') {
        Err("its user begins with '-' and would be an option")
    } else if odd || login.contains(['?', '#', ' ', '\\']) {
        Err("git would end its user or password at another character")
    } else {
        Ok(())
    }
}

fn check_host(host: &str) -> Result<(), &'static str> {
    let bracketed = host.strip_prefix('[');
    let is_known = match bracketed.and_then(|host| host.strip_suffix(']')) {
        Some(ip) => ip.bytes().all(|b| b.is_ascii_hexdigit() || b":.".contains(&b)),
        None => host.chars().all(|c| c.is_alphanumeric() || "._-".contains(c)),
    };
    if host.is_empty() {
        Err("it has no host")
    } else if host.starts_with('-') {
        Err("its host begins with '-' and would be an option")
    } else if !is_known {
        Err("its host has invalid characters")
    } else {
        Ok(())
    }
}

fn decode(text: &str) -> Result<String, &'static str> {
    let decoded =
        String::from_utf8(decode_bytes(text)).map_err(|_| "it is not UTF-8 after decoding")?;
    if decoded.chars().any(char::is_control) {
        return Err("it holds control characters");
    }
    Ok(decoded)
}

fn decode_bytes(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let (mut decoded, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let code = text
            .get(at + 1..at + 3)
            .filter(|_| byte == b'%')
            .filter(|code| code.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let value = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        decoded.push(value.unwrap_or(byte));
        at += value.map_or(1, |_| 3);
    }
    decoded
}
