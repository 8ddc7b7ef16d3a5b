//! Which token goes to which host, and how git learns it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use git_colony::testing::{Code, Git, Network, Provenance, RemoteUrl, World, credentials};

use crate::support::Sandbox;

/// A world of the sandbox with more variables.
fn world(sandbox: &Sandbox, variables: &[(&str, &str)]) -> World {
    let mut world = sandbox.world();
    let more = variables.iter().map(|(name, value)| (name.into(), value.into()));
    world.variables.extend(more);
    world
}

/// Host, variable and user of every source.
fn sources(world: &World) -> Vec<[String; 3]> {
    let sources = credentials::sources(world).unwrap();
    let words = sources.into_iter().map(|source| [source.host, source.variable, source.username]);
    words.collect()
}

/// Asks the helper of a host as git would.
fn ask(sandbox: &Sandbox, action: &str, question: &str, token: &str) -> (Option<i32>, String) {
    let mut child = sandbox
        .program()
        .args(["credential", "--for", "host:8443", "--variable", "HOST_TOKEN"])
        .args(["--username", "ada", "--refused"])
        .arg(sandbox.outside().join("refused"))
        .arg(action)
        .env("HOST_TOKEN", token)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It does not read what it does not answer.
    drop(child.stdin.take().unwrap().write_all(question.as_bytes()));
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

#[test]
fn the_helper_answers_for_its_host_over_https_and_keeps_nothing() {
    let sandbox = Sandbox::new();
    let answer = "username=ada\npassword=s3cret\n".to_owned();
    let table = [
        ("get", "protocol=https\nhost=host:8443\n\n", Some(&answer)),
        (
            "get",
            "capability[]=authtype\nprotocol=https\nhost=HOST:8443\nusername=ada\npath=x\n",
            Some(&answer),
        ),
        ("get", "protocol=http\nhost=host:8443\n", None),
        ("get", "protocol=https\nhost=host\n", None),
        ("get", "protocol=https\nhost=evil\nhost=host:8443.evil\n", None),
        ("get", "protocol=https\nhost=host:8443\nusername=eve\n", None),
        ("get", "", None),
        ("store", "protocol=https\nhost=host:8443\nusername=ada\npassword=s3cret\n", None),
    ];
    for (action, question, answer) in table {
        let wanted = (Some(0), answer.cloned().unwrap_or_default());
        assert_eq!(ask(&sandbox, action, question, "s3cret"), wanted, "{action} {question}");
    }
    let question = "protocol=https\nhost=host:8443\n";
    let nothing = (Some(0), String::new());
    assert_eq!(ask(&sandbox, "get", question, ""), nothing);
    // A token that was refused is not offered again; that of somebody else is no matter of ours.
    for other in ["protocol=https\nhost=other\n", "protocol=https\nhost=host:8443\npassword=old\n"]
    {
        assert_eq!(ask(&sandbox, "erase", other, "s3cret"), nothing);
        assert_eq!(ask(&sandbox, "get", question, "s3cret").1, answer);
    }
    let refused = format!("{question}username=ada\npassword=s3cret\n");
    assert_eq!(ask(&sandbox, "erase", &refused, "s3cret"), nothing);
    assert_eq!(ask(&sandbox, "erase", &refused, "s3cret"), nothing);
    assert_eq!(ask(&sandbox, "get", question, "s3cret").1, "quit=1\n");
    let (code, said) = ask(&sandbox, "get", question, "s3cret\nhost=evil");
    assert!(code == Some(128) && said.contains("HOST_TOKEN") && !said.contains("s3cret"), "{said}");
}

#[test]
fn variables_for_hosts_come_from_the_user_not_the_repository() {
    let sandbox = Sandbox::new();
    let global = sandbox.outside().join("global");
    let global = [("GIT_CONFIG_GLOBAL", global.to_str().unwrap())];
    let github = ["github.com", "GITHUB_TOKEN", "x-access-token"].map(str::to_owned);
    assert_eq!(sources(&world(&sandbox, &[])), std::slice::from_ref(&github));
    fs::write(
        global[0].1,
        "[colony \"credential.GitLab.example:8443\"]\n\ttokenEnv = GL\n\tusername = bot\n\
         [colony \"credential.other\"]\n\ttokenEnv = OTHER\n\
         [colony \"credential.no-variable\"]\n\tusername = x\n",
    )
    .unwrap();
    // The repository says so as well, in each file it has.
    sandbox.git(&["config", "colony.credential.evil.tokenEnv", "GITHUB_TOKEN"]);
    sandbox.git(&["config", "colony.credential.other.username", "eve"]);
    sandbox.git(&["config", "extensions.worktreeConfig", "true"]);
    sandbox.git(&["config", "--worktree", "colony.credential.evil.tokenEnv", "GITHUB_TOKEN"]);
    sandbox.write(".colony/colony.toml", "[credential.evil]\ntokenEnv = \"GITHUB_TOKEN\"\n");
    let configured = [
        github,
        ["gitlab.example:8443", "GL", "bot"].map(str::to_owned),
        ["other", "OTHER", "oauth2"].map(str::to_owned),
    ];
    assert_eq!(sources(&world(&sandbox, &global)), configured);
    let off = ("GIT_CONFIG_PARAMETERS", "'colony.credential.github.com.tokenenv'=''");
    assert_eq!(sources(&world(&sandbox, &[global[0], off])), configured[1..]);
    for (key, value) in [
        ("colony.credential.a/b.tokenenv", "X"),
        ("colony.credential.a@b.tokenenv", "X"),
        ("colony.credential.-x.tokenenv", "X"),
        ("colony.credential.host.tokenenv", "A B"),
        ("colony.credential.host.tokenenv", "$(id)"),
        ("colony.credential.host.username", "a\u{1}b"),
    ] {
        let odd = format!("'{key}'='{value}'");
        let error = credentials::sources(&world(&sandbox, &[("GIT_CONFIG_PARAMETERS", &odd)]));
        assert_eq!(error.unwrap_err().code(), Code::InvalidValue, "{key}={value}");
    }
}

/// The configuration that a network command to `url` sees of what the pattern names.
fn configuration(world: &World, url: &str, pattern: &str) -> String {
    let url = RemoteUrl::parse(url, Provenance::User, Path::new("/")).unwrap();
    let mut network = Network::new(world, Git::new(world), Some(&url)).unwrap();
    network.git().args(["config", "--get-regexp", pattern]);
    String::from_utf8(network.run().unwrap().stdout).unwrap()
}

#[test]
fn the_helper_follows_those_of_the_caller_and_removes_none() {
    let sandbox = Sandbox::new();
    let ours = |world: &World| {
        let seen = configuration(world, "https://github.com/a/b", "^credential|^user.test");
        let lines = seen.lines().map(|line| line.split(" --refused '").next().unwrap());
        let lines: Vec<_> = lines.flat_map(|line| [line, "\n"]).collect();
        lines.concat().replace(world.program.to_str().unwrap(), "PROGRAM")
    };
    let helper = "credential.https://github.com.helper \n\
         credential.https://github.com.helper !'PROGRAM' credential --for 'github.com' --variable 'GITHUB_TOKEN' --username 'x-access-token'\n";
    let token = ("GITHUB_TOKEN", "s3cret");
    assert_eq!(ours(&world(&sandbox, &[])), "");
    assert_eq!(ours(&world(&sandbox, &[token])), helper);
    let count = [
        ("GIT_CONFIG_COUNT", "2"),
        ("GIT_CONFIG_KEY_0", "user.test"),
        ("GIT_CONFIG_VALUE_0", "it's"),
        ("GIT_CONFIG_KEY_1", "credential.helper"),
        ("GIT_CONFIG_VALUE_1", "store"),
    ];
    let counted = "user.test it's\ncredential.helper store\n";
    let all = [&count[..], &[token]].concat();
    assert_eq!(ours(&world(&sandbox, &all)), format!("{counted}{helper}"));
    // What `git -c` makes is read last: ours stands there as well.
    let parameters =
        ("GIT_CONFIG_PARAMETERS", r"'user.test'='say '\''hi'\''' 'credential.helper'='store'");
    let all = [&all[..], &[parameters]].concat();
    let said = "user.test say 'hi'\ncredential.helper store\n";
    assert_eq!(ours(&world(&sandbox, &all)), format!("{counted}{helper}{said}{helper}"));
    let odd = world(&sandbox, &[token, ("GIT_CONFIG_COUNT", "many")]);
    let failed = credentials::sources(&odd);
    assert!(failed.is_err());
}

#[test]
fn urls_with_credentials_or_hosts_without_a_variable_stay() {
    let sandbox = Sandbox::new();
    let world = world(&sandbox, &[("GITHUB_TOKEN", "s3cret")]);
    let helpers = |url: &str| configuration(&world, url, "^credential").lines().count();
    assert_eq!(helpers("https://github.com/a/b"), 2);
    assert_eq!(helpers("https://ada@github.com/a/b"), 0);
    assert_eq!(helpers("https://ada:tok@github.com/a/b"), 0);
    let gitlab = configuration(&world, "https://gitlab.com/a/b", "^credential");
    assert!(!gitlab.contains("gitlab"), "{gitlab}");
}

#[test]
fn a_token_that_is_no_token_is_refused_without_showing_it() {
    let sandbox = Sandbox::new();
    let world = world(&sandbox, &[("GITHUB_TOKEN", "s3cret\nhost=evil")]);
    let error = Network::new(&world, Git::new(&world), None).err().unwrap();
    assert_eq!(error.code(), Code::InvalidValue);
    assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
}

/// A variable and its value.
type Variable<'a> = (&'a str, &'a str);

/// Which of some protocols git may speak to a URL.
fn allowed(world: &World, url: &RemoteUrl) -> BTreeMap<&'static str, bool> {
    let addresses = [
        ("ext", "ext::false"),
        ("foo", "foo::x"),
        ("http", "http://127.0.0.1:1/a"),
        ("https", "https://127.0.0.1:1/a"),
        ("file", "/nonexistent"),
    ];
    let try_it = |address: &str| {
        let mut network = Network::new(world, Git::new(world), Some(url)).unwrap();
        network.once().git().args(["ls-remote", "--", address]);
        let said = network.run().unwrap().stderr;
        !said.contains("not allowed")
    };
    addresses.map(|(name, address)| (name, try_it(address))).into()
}

#[test]
fn protocols_are_those_of_the_url_less_those_the_caller_forbids() {
    let sandbox = Sandbox::new();
    let parse = |text, provenance| RemoteUrl::parse(text, provenance, Path::new("/")).unwrap();
    let https = "https://127.0.0.1:1/a";
    let table: [(&[Variable], RemoteUrl, &[&str]); 5] = [
        (&[], parse(https, Provenance::User), &["file", "foo", "https"]),
        (&[], parse("http://h/a", Provenance::User), &["file", "foo", "http", "https"]),
        (&[], parse(https, Provenance::Repository), &["https"]),
        (&[("GIT_ALLOW_PROTOCOL", "ext:https")], parse("/a", Provenance::User), &["https"]),
        (&[("GIT_ALLOW_PROTOCOL", "")], parse(https, Provenance::User), &[]),
    ];
    for (variables, url, wanted) in table {
        let seen = allowed(&world(&sandbox, variables), &url);
        let seen: Vec<_> = seen.into_iter().filter(|(_, may)| *may).map(|(name, _)| name).collect();
        assert_eq!(seen, wanted, "{url} {variables:?}");
    }
}
