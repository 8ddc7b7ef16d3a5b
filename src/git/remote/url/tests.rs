//! Tables of URLs: which are refused, how they are shown, which are equal.

use proptest::prelude::*;

use super::*;

fn typed(text: &str) -> RemoteUrl {
    RemoteUrl::parse(text, Provenance::User, Path::new("/base")).unwrap()
}

fn refused(text: &str, provenance: Provenance) -> Error {
    let parsed = RemoteUrl::parse(text, provenance, Path::new("/base"));
    let error = parsed.map_or_else(|error| error, |url| panic!("{text:?} is taken: {url}"));
    assert_eq!(error.code(), Code::UrlRefused);
    error
}

#[test]
fn every_way_to_write_a_url_gives_one_key() {
    let table = [
        (
            "github.com/a/b",
            &[
                "https://github.com/a/b",
                "https://github.com/a/b.git",
                "https://github.com/a/b.git/",
                "https://user:tok@GitHub.com/a/b.git/",
                "HTTPS://github.com:443//a/b",
                "git@github.com:a/b",
                "git@github.com:/a/b.git",
                "git@GITHUB.com:a/b.git/",
                "ssh://git@github.com:22/a/b.git",
                "ssh://git@github.com/a/b",
                "git+ssh://git@github.com/a/b",
            ][..],
        ),
        ("github.com/A/b", &["https://github.com/A/b"]),
        ("github.com:8443/a/b", &["https://github.com:8443/a/b"]),
        ("github.com:2222/a/b", &["ssh://git@github.com:2222/a/b"]),
        ("http://github.com/a/b", &["http://github.com:80/a/b"]),
        ("git://github.com/a/b", &["git://github.com:9418/a/b.git"]),
        ("ssh://ada@host/~/a/b", &["ada@host:a/b"]),
        ("ssh://ada@host/~/b", &["ada@host:~/b", "ssh://ada@host/~/b"]),
        ("ssh://ada@host/a/b", &["ada@host:/a/b", "ssh://ada@host/a/b.git"]),
        ("ssh://host/a/b", &["ssh://host/a/b"]),
        ("[::1]/a/b", &["https://[::1]/a/b", "git@[::1]:a/b"]),
        ("host/a/.git/b", &["https://host/a/.git/b.git"]),
        (
            "/srv/no such/a.git",
            &["/srv/no such/a.git", "/srv/no such/x/../a.git/", "file:///srv/no%20such/a.git"],
        ),
        ("/base/a", &["a", "./a", "x/../a"]),
        ("/a", &["../a"]),
        ("/base/a/b:c", &["a/b:c", "./a/b:c"]),
    ];
    for (key, urls) in table {
        for url in urls {
            assert_eq!(typed(url).normalized(), key, "{url}");
        }
    }
}

#[test]
fn links_to_a_local_repository_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().canonicalize().unwrap().join("real");
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, folder.path().join("link")).unwrap();
    let url = RemoteUrl::parse("link", Provenance::User, folder.path()).unwrap();
    assert_eq!(url.normalized(), real.to_str().unwrap());
    assert_eq!(url.for_git(), "link");
}

#[test]
fn options_and_programs_in_a_url_are_refused_whoever_gives_them() {
    let urls = [
        "",
        "-oProxyCommand=touch pwn",
        "--upload-pack=touch pwn",
        "-",
        "ext::sh -c 'touch pwn'",
        "::ext",
        "fd::17",
        "transport+x::https://host/a",
        "https::https://host/a",
        "ssh://-oProxyCommand=touch pwn/a",
        "ssh://-oProxyCommand=x@host/a",
        "ssh://%2doProxyCommand=x/a",
        "ssh://git%2f@host/a",
        "ssh://host:-p/a",
        "-oProxyCommand=x:a",
        "git@-oProxyCommand=x:a",
        "host:-upload",
        "[-oProxyCommand=x]:a",
        "ssh://[-oProxyCommand=x]/a",
        "ftp://host/a",
        "rsync://host/a",
        "foo://host/a",
        "https://host/a\nurl=https://evil/",
        "https://host/a\r",
        "https://host/a%0ahost=evil",
        "https://host%0D/a",
        "https://host/a%00",
        "host:a\0b",
        "/a\u{1b}[31m",
        "file:///a%1b",
        "https://user:p@ss@host/a",
        "https://host\\@evil/a",
        "https://host#@evil/a",
        "https://host?@evil/a",
        "https://ho st/a",
        "https://host:99999/a",
        "https://host:x/a",
        "https:///a",
        "https://host/",
        "https://host",
        "https://host/a?private_token=x",
        "host:",
        "ada:tok@[::1]:a",
        "https://ada:12/3@host/a",
    ];
    for url in urls {
        refused(url, Provenance::User);
        refused(url, Provenance::Repository);
    }
    refused(&format!("https://host/{}", "a".repeat(5000)), Provenance::User);
}

#[test]
fn what_may_hold_a_secret_where_none_belongs_is_refused() {
    let urls = [
        "ada:tok@host:a",
        "ada:tok@host/a",
        "me@mail.example:tok@host:a",
        "host:a?token=x",
        "host:a#x",
        "ssh://host/a?token=x",
        "git://host/a#x",
        "https:/ada:tok@host/a",
        "HTTPS:/host/a",
        "https:host/a",
        "http:/tok@host/a",
        "ssh:/ada:tok@host/a",
        "file://ada:tok@host/a",
        "https:///ada:tok@host/a",
    ];
    for url in urls {
        let said = refused(url, Provenance::User);
        assert!(!format!("{said:?}").contains("tok@"), "{said:?}");
        refused(url, Provenance::Repository);
    }
}

#[test]
fn the_content_of_a_repository_names_no_place_of_this_machine() {
    let urls = [
        "/etc",
        "../a",
        "a",
        "file:///etc",
        "FILE:///etc",
        "file://host/etc",
        "http://host/a",
        "git://host/a",
        "~/a",
        ".",
        "a/b:c",
    ];
    for url in urls {
        typed(url);
        refused(url, Provenance::Repository);
    }
    for url in ["https://host/a", "git@host:a", "ssh://host/a", "https://u:p@host/a"] {
        let parsed = RemoteUrl::parse(url, Provenance::Repository, Path::new("/base"));
        assert_eq!(parsed.unwrap().for_git(), url);
    }
}

#[test]
fn credentials_are_not_shown() {
    let table = [
        ("https://ada:tok@host/a", "https://***@host/a", "https://host/a"),
        ("https://tok@host:8443/a@b", "https://***@host:8443/a@b", "https://host:8443/a@b"),
        ("http://tok@host/a", "http://***@host/a", "http://host/a"),
        ("ssh://git@host/a", "ssh://git@host/a", "ssh://git@host/a"),
        ("ssh://git:tok@host/a", "ssh://***@host/a", "ssh://host/a"),
        ("git@host:a", "git@host:a", "git@host:a"),
        ("https://host/a@b", "https://host/a@b", "https://host/a@b"),
        ("/a@b", "/a@b", "/a@b"),
    ];
    for (url, shown, bare) in table {
        let url = typed(url);
        assert_eq!(url.to_string(), shown);
        assert_eq!(serde_json::to_value(&url).unwrap(), shown);
        assert_eq!(url.without_credentials(), bare);
        assert_eq!(url.has_credentials(), shown.contains("***"));
    }
    assert_eq!(
        redact("fatal: 'https://a:b/c@d@host/x' and ssh://git@h/a, ssh://a:b@h, 'http://h/'"),
        "fatal: 'https://***@host/x' and ssh://git@h/a, ssh://***@h, 'http://h/'"
    );
    let table = [
        ("see https://host/a?token=x.", "see https://host/a?***"),
        ("https://host/a#x", "https://host/a#***"),
        ("https://ada:tok@host/a?b=c", "https://***@host/a?***"),
        ("https://host/a?tok=x@y", "https://***"),
        ("https:/ada:tok@host/a", "https:/***@host/a"),
        ("'ada:tok@host:a'", "'***@host:a'"),
        ("git@host:a", "git@host:a"),
        ("git@host:a?token=x", "git@host:a?***"),
        ("error: what now? #1", "error: what now? #1"),
        ("/srv/a#b", "/srv/a#b"),
    ];
    for (said, shown) in table {
        assert_eq!(redact(said), shown);
    }
}

#[test]
fn a_relative_url_stays_on_its_host() {
    let table = [
        ("https://host/a/b.git", "../c.git", "https://host/a/c.git"),
        ("https://u:p@host:8443/a/b/", "./c", "https://u:p@host:8443/a/b/c"),
        ("https://host/a/b", "../../c/d/", "https://host/c/d"),
        ("git@host:a/b.git", "../c", "git@host:a/c"),
        ("git@host:b.git", "../c", "git@host:c"),
        ("git@host:/a/b", "../c", "git@host:/a/c"),
        ("ssh://git@host:2222/a/b", ".././../c", "ssh://git@host:2222/c"),
    ];
    for (base, relative, wanted) in table {
        assert_eq!(typed(base).resolve(relative).unwrap().for_git(), wanted);
    }
    for (base, relative) in [
        ("https://host/a/b", "../../../evil/x"),
        ("git@host:b", "../../c"),
        ("git@host:b", "../-c"),
        ("https://host/a/b", "../c/../../../d"),
        ("https://host/a/b", "../"),
        ("https://host/a/b", "../c?x"),
        ("https://host/a/b", "../c\nd"),
        ("/srv/a", "../etc"),
        ("file:///srv/a", "./etc"),
        ("http://host/a/b", "../c"),
    ] {
        let resolved = typed(base).resolve(relative);
        assert!(resolved.is_err(), "{base} {relative} {resolved:?}");
    }
}

proptest! {
    #[test]
    fn no_secret_is_ever_shown(
        scheme in "(https|http|ssh|git|ftp|HTTPS|x-y)",
        user in "[a-z]{0,4}",
        odd in "[!-~]{0,6}",
        host in "(host|[a-z]{1,5}:[0-9]{1,6}|-x|\\[::1\\])",
        path in "[ -~]{0,12}",
    ) {
        // A password, in any surroundings and whether or not the URL is accepted.
        let secret = "S3CRETtoken";
        let text = format!("{scheme}://{user}:{odd}{secret}@{host}/{path}");
        for provenance in [Provenance::User, Provenance::Repository] {
            let shown = match RemoteUrl::parse(&text, provenance, Path::new("/base")) {
                Ok(url) => format!("{url} {url:?} {} {}", url.without_credentials(), url.normalized()),
                Err(error) => format!("{error:?} {:?}", error.details()),
            };
            prop_assert!(!shown.contains(secret), "{text} is shown as {shown}");
        }
        let said = format!("fatal: {text} is odd");
        prop_assert!(text.contains(['\'', '"', '<', '>']) || !redact(&said).contains(secret));
    }

    #[test]
    fn no_secret_of_a_form_that_is_no_url_is_ever_shown(
        form in prop::sample::select(vec![
            "https://h/a?t=Z", "https://h/a#Z", "https://u@h/a?t=Z&b=@x", "ssh://h/a?Z", "git://h/a#Z",
            "https:/u:Z@h/a", "https:/Z@h/a", "http:u:Z@h/a", "HTTPS:/u:Z@h/a", "ssh:/u:Z@h/a",
            "https:///u:Z@h/a", "file://u:Z@h/a", "u:Z@h:x", "u:Z@h/x", "u@m.x:Z@h:x", "h:a?t=Z",
            "u@h:a#Z", "https:/h/a?t=Z", "[u:Z@h]:x", "u:Z@[::1]:x",
        ]),
        odd in "([-!$%&*+,.0-9:;=@A-Z_a-z~?#][-!$%&*+,./0-9:;=@A-Z_a-z~?#]{0,5})?",
        tail in "[-/a-z0-9.@:]{0,6}",
    ) {
        let secret = "S3CRETtoken";
        // With any characters around it in the password or query.
        let text = format!("{}{tail}", form.replace('Z', &format!("{odd}{secret}")));
        for provenance in [Provenance::User, Provenance::Repository] {
            let shown = match RemoteUrl::parse(&text, provenance, Path::new("/base")) {
                Ok(url) => format!("{url} {url:?} {} {} {}", url.without_credentials(), url.in_full(), url.normalized()),
                Err(error) => format!("{error:?} {:?}", error.details()),
            };
            prop_assert!(!shown.contains(secret), "{text} is shown as {shown}");
        }
        let said = redact(&format!("fatal: '{text}' is odd"));
        prop_assert!(!said.contains(secret), "{text} is shown as {said}");
    }

    #[test]
    fn what_is_accepted_is_no_option_and_has_one_meaning(text in "[-a-z@:/.%\\[\\]~#?+ ]{0,24}") {
        if let Ok(url) = RemoteUrl::parse(&text, Provenance::User, Path::new("/base")) {
            prop_assert!(!url.for_git().starts_with('-') && !begins_a_helper(url.for_git()) || url.local_path().is_some() || url.for_git().contains('['));
            let again = RemoteUrl::parse(url.for_git(), Provenance::User, Path::new("/base")).unwrap();
            prop_assert_eq!(again.normalized(), url.normalized());
        }
    }
}

/// Returns `true` if git reads it as `<helper>::<address>`.
fn begins_a_helper(url: &str) -> bool {
    let rest = url.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "+-.".contains(c));
    rest.starts_with("::")
}

#[test]
fn only_logins_of_urls_in_a_text_are_replaced() {
    let said =
        "see https://ada:a@b@host/x?y=1#z, ssh://git@host and ftp://tok@host; http://host/@a";
    let shown = "see https://***@host/x?y=1#z, ssh://git@host and ftp://***@host; http://host/@a";
    assert_eq!(redact_logins(said), shown);
    let said = "see //ada:a@b@host/x, \"//u:p@h\", //ada@host and a//b";
    let shown = "see //***@host/x, \"//***@h\", //ada@host and a//b";
    assert_eq!(redact_logins(said), shown);
}
