//! Author and committer of our commits are those that git would write, for any variables and settings. git is the
//! referee.

use crate::support::{Sandbox, View};

const NAMES: [&str; 7] = ["Ada", " Ada. ", "", "<>,;", "A <b> \"C\"", "é.", "."];
const MAILS: [&str; 5] = ["a@b.example", "", " <a@b>", "a b", "."];
const DATES: [&str; 9] = [
    "@5 -0130",
    "1767323000 +0530",
    "2005-04-07T22:13:13+0200",
    "Thu, 07 Apr 2005 22:13:13 +0200",
    "2005-04-07",
    "nonsense",
    "",
    "@99",
    "1000000000 +9999",
];

/// A generator of small numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// Sets some variables and settings at random.
fn random_identity(sandbox: &Sandbox, random: &mut Random) -> View {
    let mut view = sandbox.without("GIT_AUTHOR_DATE").without("GIT_COMMITTER_DATE");
    let wanted = |what: &str| match what {
        "NAME" | "name" => &NAMES[..],
        "EMAIL" | "email" => &MAILS[..],
        _ => &DATES[..],
    };
    for role in ["author", "committer", "user"] {
        for key in ["name", "email"] {
            let name = format!("{role}.{key}");
            sandbox.git_output(&["config", "--unset-all", &name]);
            let often = if role == "user" { 5 } else { 2 };
            if random.below(6) < often {
                sandbox.git(&["config", &name, random.one(wanted(key))]);
            }
        }
    }
    let only = if random.below(3) == 0 { "true" } else { "false" };
    sandbox.git(&["config", "user.useConfigOnly", only]);
    for role in ["AUTHOR", "COMMITTER"] {
        for what in ["NAME", "EMAIL", "DATE"] {
            if random.below(4) == 0 {
                view = view.with(&format!("GIT_{role}_{what}"), random.one(wanted(what)));
            }
        }
    }
    if random.below(4) == 0 { view.with("EMAIL", "env@example.com") } else { view }
}

#[test]
fn random_identities_are_read_as_git_reads_them() {
    let sandbox = Sandbox::new();
    let mut random = Random(20_261_127);
    let (mut refused, mut made) = (0, 0);
    for round in 0..45 {
        let view = random_identity(&sandbox, &mut random);
        let ident = |role: &str| {
            let output = view.git_output(&["var", &format!("GIT_{role}_IDENT")]);
            output
                .status
                .success()
                .then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
        };
        let (author, committer) = (ident("AUTHOR"), ident("COMMITTER"));
        sandbox.write("a.txt", format!("{round}\n"));
        let command: &[&str] = match round % 3 {
            0 => &["commit", "--all", "-m", "x"],
            1 => &["checkpoint", "-m", "x"],
            _ => &["checkpoint", "--off-branch", "-m", "x"],
        };
        let head = sandbox.git(&["rev-parse", "HEAD"]);
        let answer = view.json(command);
        let (Some(author), Some(committer)) = (author, committer) else {
            assert_eq!(answer["ok"], false, "{answer:#}");
            let code = answer["code"].as_str().unwrap();
            assert!(["identity-unknown", "invalid-value"].contains(&code), "{answer:#}");
            assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
            refused += 1;
            continue;
        };
        made += 1;
        let sha = answer["sha"].as_str().unwrap_or_else(|| panic!("{answer:#}"));
        let raw = sandbox.git(&["cat-file", "commit", sha]);
        for (role, wanted) in [("author", author), ("committer", committer)] {
            let line = raw.lines().find_map(|line| line.strip_prefix(&format!("{role} "))).unwrap();
            let is_dated = view.variables().iter().any(|(name, value)| {
                *name == *format!("GIT_{}_DATE", role.to_uppercase()) && !value.is_empty()
            });
            let shown = |line: &str| {
                if is_dated {
                    line.to_owned()
                } else {
                    line.rsplit_once("> ").unwrap().0.to_owned()
                }
            };
            assert_eq!(shown(line), shown(&wanted), "{role} in round {round}");
        }
    }
    assert!(refused > 3 && made > 3, "{refused} {made}");
}
