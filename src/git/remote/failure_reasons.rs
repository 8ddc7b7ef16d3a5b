//! The meaning of failures of the network: a code, and the line of git or of the server that shows it.

use crate::model::Code;

/// The messages of failures in lower case, and their codes; the first match wins.
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
            // GitHub by ssh, and gitolite.
            "permission to ",
            " denied by ",
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

/// Returns the kind of a failure and the line that shows it.
pub(super) fn reason(stderr: &str) -> (Code, String) {
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
    (Code::GitFailed, line.map_or_else(|| "git gave no reason".to_owned(), plain))
}

fn plain(line: &str) -> String {
    let line = line.trim();
    let line = ["fatal: ", "FATAL: ", "error: ", "ERROR: ", "remote: "]
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
            // A local file, not a remote that refuses.
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

    #[test]
    fn servers_that_refuse_by_ssh_say_it_before_git_does() {
        let refusals = [
            ("ERROR: ", "Permission to a/b.git denied to c."),
            ("FATAL: ", "W any p eve DENIED by fallthru"),
        ];
        for (word, said) in refusals {
            let all = format!("{word}{said}\nfatal: Could not read from remote repository.");
            assert_eq!(reason(&all), (Code::AuthenticationFailed, said.to_owned()));
        }
    }
}
