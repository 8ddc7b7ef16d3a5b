//! The hunt for the token: what goes over the network to a server that asks who it is.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use git_colony::testing::{Code, Error, Git, Network, Provenance, RemoteUrl, World};

use crate::support::git_server::{First, GitServer, Manner, Wire, write_certificate};
use crate::support::{Sandbox, View, program_path};

pub(crate) const TOKEN: &str = "tok3n-T0KEN-tok3n";
const USER: &str = "ada";

/// A sandbox whose user stores credentials, traces everything, and has a token for some servers.
pub(crate) struct Desk {
    pub(crate) sandbox: Sandbox,
    /// The repositories of the servers.
    pub(crate) served: PathBuf,
}

impl Desk {
    pub(crate) fn new() -> Desk {
        let sandbox = Sandbox::new();
        let served = sandbox.outside().join("served");
        fs::create_dir_all(&served).unwrap();
        fs::create_dir_all(sandbox.outside().join("home")).unwrap();
        fs::create_dir_all(sandbox.outside().join("temporary")).unwrap();
        write_certificate(&sandbox.outside().join("certificate.pem"));
        let desk = Desk { sandbox, served };
        desk.git(&["init", "-q", "--bare", "-b", "main", "served/design.git"]);
        desk
    }

    fn git(&self, args: &[&str]) -> String {
        self.sandbox.at(self.sandbox.outside()).git(args)
    }

    pub(crate) fn server(&self, wire: Wire) -> GitServer {
        self.server_for(wire, &format!("{USER}:{TOKEN}"))
    }

    pub(crate) fn server_for(&self, wire: Wire, login: &str) -> GitServer {
        let login = login.to_owned();
        GitServer::start(&self.served, wire, Manner::Serve { login })
    }

    /// The user has the token for these servers, and for no other.
    pub(crate) fn configure(&self, servers: &[&GitServer]) {
        let mut text = "[credential]\n\thelper = store\n".to_owned();
        for server in servers {
            let host = server.host();
            let lines = [
                format!("[colony \"credential.{host}\"]"),
                "tokenEnv = DESK_TOKEN".to_owned(),
                format!("username = {USER}\n"),
            ];
            text.push_str(&lines.join("\n"));
        }
        fs::write(self.sandbox.outside().join("home/.gitconfig"), text).unwrap();
    }

    /// The environment of a user who traces everything, with this token.
    pub(crate) fn view(&self, token: &str) -> View {
        let outside = self.sandbox.outside();
        let file = |name: &str| outside.join(name).into_os_string();
        let mut view = self.sandbox.without("GIT_CONFIG_GLOBAL");
        for (name, value) in [
            ("DESK_TOKEN", token.into()),
            ("GIT_SSL_CAINFO", file("certificate.pem")),
            ("TMPDIR", file("temporary")),
            ("GIT_TRACE2", file("trace2")),
            ("GIT_TRACE_CURL", file("trace-curl")),
            ("GIT_TRACE_PACKET", file("trace-packet")),
            ("GIT_TRACE_REDACT", "0".into()),
        ] {
            view = view.with(name, value);
        }
        view
    }

    fn world(&self, token: &str) -> World {
        self.view(token).at(self.sandbox.outside()).world()
    }

    /// Runs git through the gate.
    fn network(&self, token: &str, url: &str, args: &[&str]) -> Result<Vec<u8>, Error> {
        let world = self.world(token);
        let parsed = RemoteUrl::parse(url, Provenance::User, Path::new("/")).unwrap();
        let mut network = Network::new(&world, Git::new(&world), Some(&parsed)).unwrap();
        network.git().args(args);
        network.run_checked("reach the remote")
    }

    /// Runs the real program under strace, which writes every command line into `execve`.
    pub(crate) fn program(&self, token: &str, args: &[&str]) -> Output {
        self.view(token)
            .process("strace")
            .args(["-f", "-qq", "-e", "trace=execve", "-s", "4096", "-o"])
            .arg(self.sandbox.outside().join("execve"))
            .arg(program_path())
            .args(args)
            .env("GIT_CURL_VERBOSE", "1")
            .output()
            .unwrap()
    }

    /// Fails if a secret is in any file of the user, in any argument, or in what was said.
    pub(crate) fn hunt(&self, servers: &[&GitServer], said: &[&[u8]]) {
        let secrets = [TOKEN.to_owned(), BASE64.encode(format!("{USER}:{TOKEN}"))];
        let finds = |bytes: &[u8]| {
            let has =
                |secret: &String| bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
            secrets.iter().any(has)
        };
        let mut looked = 0;
        for file in files_below(&self.sandbox.outside()) {
            assert!(!finds(&fs::read(&file).unwrap()), "it is in {}", file.display());
            assert!(!finds(file.as_os_str().as_bytes()));
            looked += 1;
        }
        assert!(looked > 30, "the hunt has seen {looked} files");
        let temporary = fs::read_dir(self.sandbox.outside().join("temporary")).unwrap();
        assert_eq!(temporary.count(), 0, "something is left");
        for server in servers {
            let arguments = server.arguments();
            let has = |name: &[u8]| arguments.windows(name.len()).any(|part| part == name);
            assert!(has(b"git-remote-http") || has(b"git-lfs"), "no argument was seen");
            assert!(!finds(&arguments), "it is in an argument");
        }
        for bytes in said {
            assert!(!finds(bytes), "it is said: {}", String::from_utf8_lossy(bytes));
        }
    }
}

pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files_below(&path));
        } else if path.is_file() {
            found.push(path);
        }
    }
    found
}

#[test]
fn push_clone_and_fetch_use_the_token_and_leave_it_nowhere() {
    let desk = Desk::new();
    let server = desk.server(Wire::Tls);
    desk.configure(&[&server]);
    let url = &server.url("design.git");
    desk.sandbox.git(&["remote", "add", "origin", url]);
    let pushed = desk.program(TOKEN, &["init", "--no-lfs", "--push"]);
    assert!(pushed.status.success(), "{}", String::from_utf8_lossy(&pushed.stdout));
    let head = desk.sandbox.git(&["rev-parse", "HEAD"]);
    assert_eq!(desk.git(&["-C", "served/design.git", "rev-parse", "main"]), head);
    let executed = fs::read_to_string(desk.sandbox.outside().join("execve")).unwrap();
    assert!(executed.contains("\"credential\", \"--for\""), "{executed}");
    desk.network(TOKEN, url, &["clone", "-q", url, "clone"]).unwrap();
    assert_eq!(desk.git(&["-C", "clone", "rev-parse", "HEAD"]), head);
    desk.git(&["-C", "served/design.git", "branch", "more", "main"]);
    desk.network(TOKEN, url, &["-C", "clone", "fetch", "-q", "origin"]).unwrap();
    desk.git(&["-C", "clone", "rev-parse", "origin/more"]);
    let lines: Vec<_> = server.authorized().into_iter().map(|seen| seen.line).collect();
    let posts = ["POST /design.git/git-receive-pack", "POST /design.git/git-upload-pack"];
    assert!(posts.iter().all(|post| lines.iter().any(|line| line == post)), "{lines:?}");
    let traced = fs::read_to_string(desk.sandbox.outside().join("trace-curl")).unwrap();
    assert!(traced.contains("uthorization: Basic <redacted>"));
    desk.hunt(&[&server], &[&pushed.stdout, &pushed.stderr]);
}

#[test]
fn git_lfs_downloads_with_the_token_of_its_server() {
    let desk = Desk::new();
    let server = desk.server(Wire::Tls);
    desk.configure(&[&server]);
    let sandbox = &desk.sandbox;
    sandbox.git(&["remote", "add", "origin", &server.url("design.git")]);
    sandbox.colony(&["init"]);
    sandbox.write("model.bin", "w".repeat(5000));
    sandbox.colony(&["checkpoint", "-m", "weights"]);
    let pointer = sandbox.git(&["show", "HEAD:model.bin"]);
    let oid = pointer.split("sha256:").nth(1).unwrap().lines().next().unwrap();
    fs::create_dir(desk.served.join("lfs")).unwrap();
    fs::copy(sandbox.path("model.bin"), desk.served.join("lfs").join(oid)).unwrap();
    sandbox.remove(".git/lfs/objects");
    // What the checkpoint keeps would do.
    sandbox.remove(".git/colony-kept/large-files");
    sandbox.write("model.bin", format!("{pointer}\n"));
    let refused = desk.program("another", &["lfs", "hydrate", "model.bin", "--json"]);
    let refused = String::from_utf8(refused.stdout).unwrap();
    assert!(refused.contains("read -rs DESK_TOKEN"), "{refused}");
    let hydrated = desk.program(TOKEN, &["lfs", "hydrate", "model.bin"]);
    assert!(hydrated.status.success(), "{}", String::from_utf8_lossy(&hydrated.stderr));
    assert_eq!(sandbox.read("model.bin"), "w".repeat(5000));
    assert!(!server.authorized().is_empty());
    desk.hunt(&[&server], &[&hydrated.stdout, &hydrated.stderr]);
}

#[test]
fn another_host_never_gets_the_token() {
    for first in [First::Nothing, First::Authentication] {
        let desk = Desk::new();
        let thief = desk.server(Wire::Tls);
        let to = thief.url("").trim_end_matches('/').to_owned();
        let manner = Manner::Redirect { to, first };
        let server = GitServer::start(&desk.served, Wire::Tls, manner);
        desk.configure(&[&server]);
        let url = server.url("design.git");
        let error = desk.network(TOKEN, &url, &["ls-remote", &url]).unwrap_err();
        assert_eq!(error.code(), Code::AuthenticationFailed, "{error:?}");
        assert!(!thief.seen().is_empty(), "the redirect was not followed");
        assert!(thief.authorized().is_empty(), "{:?}", thief.seen());
        // A second server that is asked directly.
        let url = thief.url("design.git");
        desk.network(TOKEN, &url, &["ls-remote", &url]).unwrap_err();
        assert!(thief.authorized().is_empty(), "{:?}", thief.seen());
        desk.hunt(&[&thief], &[format!("{error:?} {:?}", error.details()).as_bytes()]);
    }
}

#[test]
fn the_token_goes_over_https_only() {
    let desk = Desk::new();
    let server = desk.server(Wire::Plain);
    desk.configure(&[&server]);
    let url = server.url("design.git");
    let error = desk.network(TOKEN, &url, &["ls-remote", &url]).unwrap_err();
    assert_eq!(error.code(), Code::AuthenticationFailed);
    assert!(server.authorized().is_empty(), "{:?}", server.seen());
    // Where https is asked, http is not spoken: neither by a redirect nor by a rewritten URL.
    let to = server.url("").trim_end_matches('/').to_owned();
    let first = First::Authentication;
    let redirecting = GitServer::start(&desk.served, Wire::Tls, Manner::Redirect { to, first });
    desk.configure(&[&redirecting, &server]);
    let before = server.seen().len();
    let url = redirecting.url("design.git");
    desk.network(TOKEN, &url, &["ls-remote", &url]).unwrap_err();
    assert!(!redirecting.authorized().is_empty());
    assert_eq!(server.seen().len(), before);
}

#[test]
fn a_refusal_is_not_tried_again_and_names_the_variable() {
    let desk = Desk::new();
    let server = desk.server(Wire::Tls);
    desk.configure(&[&server]);
    let url = server.url("design.git");
    for (token, requests) in [("wrong-t0ken", 2), ("", 1)] {
        let before = server.seen().len();
        let error = desk.network(token, &url, &["ls-remote", &url]).unwrap_err();
        assert_eq!(error.code(), Code::AuthenticationFailed, "{error:?}");
        assert!(error.hint_text().unwrap().starts_with("read -rs DESK_TOKEN && export DESK_TOKEN"));
        assert_eq!(error.details()["variable"], "DESK_TOKEN");
        assert!(!format!("{error:?}").contains("wrong-t0ken"));
        assert_eq!(server.seen().len() - before, requests, "{:?}", server.seen());
    }
    // No variable is known for the host: the error says how to name one.
    desk.configure(&[]);
    let error = desk.network(TOKEN, &url, &["ls-remote", &url]).unwrap_err();
    let setting = format!("git config --global colony.credential.{}.tokenEnv", server.host());
    assert!(error.hint_text().unwrap().starts_with(&setting), "{error:?}");
}

#[test]
fn what_is_not_there_is_asked_once_and_what_is_down_three_times() {
    let desk = Desk::new();
    for (status, code, requests) in [
        (404, Code::RemoteNotFound, 1),
        (403, Code::AuthenticationFailed, 1),
        (503, Code::RemoteUnreachable, 3),
    ] {
        let server = GitServer::start(&desk.served, Wire::Tls, Manner::Fail(status));
        desk.configure(&[&server]);
        let url = server.url("design.git");
        let error = desk.network(TOKEN, &url, &["ls-remote", &url]).unwrap_err();
        assert_eq!((error.code(), server.seen().len()), (code, requests), "{error:?}");
    }
}

#[test]
fn credentials_in_a_url_are_used_as_they_are_and_never_shown() {
    let desk = Desk::new();
    // The other tests hunt for their token in the arguments of every process, these included.
    let server = desk.server_for(Wire::Tls, "eve:right-s3cret");
    desk.configure(&[&server]);
    let own = |login: &str| server.url("design.git").replace("://", &format!("://{login}@"));
    desk.sandbox.git(&["remote", "add", "origin", &own("eve:s3cret")]);
    for args in [
        &["--json", "init", "--no-lfs", "--push"][..],
        &["init", "--no-lfs", "--push"],
        &["status"],
        &["doctor"],
        &["config"],
        &["--json", "diff"],
    ] {
        let output = desk.program("unused", args);
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(!said.contains("s3cret"), "{args:?} {said}");
    }
    let eve = format!("Basic {}", BASE64.encode("eve:s3cret"));
    assert!(server.authorized().iter().all(|seen| seen.authorization.as_ref() == Some(&eve)));
    let url = own("eve:right-s3cret");
    desk.network("unused", &url, &["ls-remote", &url]).unwrap();
}
