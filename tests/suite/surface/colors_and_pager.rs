//! How answers look to people: colors, columns that fit, the pager. What programs read stays bare.

use crate::support::fixture::Fixture;
use crate::support::{Sandbox, program_path};

/// A repository with several operations, one of a label that would clear a terminal.
fn sandbox() -> Sandbox {
    SANDBOX.copy()
}

static SANDBOX: Fixture = Fixture::new(|| {
    let sandbox = Sandbox::new();
    for number in 0..12 {
        sandbox.write("a.txt", format!("{number}\n"));
        let label = format!("state {number} of a file with a longer name than most have\u{1b}[2J");
        sandbox.colony(&["checkpoint", "-m", &label]);
    }
    sandbox
});

/// Takes away what paints.
pub(crate) fn bare(painted: &str) -> String {
    let mut parts = painted.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once('m').map_or(part, |(_, text)| text));
    first + &rest.collect::<String>()
}

/// What the program shows on a terminal of 12 rows and 60 columns.
fn on_terminal(sandbox: &Sandbox, variables: &[(&str, &str)], line: &str) -> String {
    on_terminal_of(sandbox, 60, variables, line)
}

/// Does the same on a terminal of other columns.
pub(crate) fn on_terminal_of(
    sandbox: &Sandbox,
    columns: usize,
    variables: &[(&str, &str)],
    line: &str,
) -> String {
    let program = program_path();
    let line = line.replace("COLONY", program.to_str().unwrap());
    let output = sandbox
        .process("script")
        .args(["-qec", &format!("stty rows 12 cols {columns}; {line}"), "/dev/null"])
        .env("TERM", "xterm")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().replace('\r', "")
}

#[test]
fn copies_of_what_these_tests_begin_with_are_whole() {
    SANDBOX.check();
}

#[test]
fn colors_are_shown_where_they_are_wanted_and_change_no_text() {
    let sandbox = sandbox();
    for command in ["ops", "checkpoints", "forks", "fleet", "status", "agents"] {
        let now = || sandbox.world_at(4000);
        let run = |args: &[&str]| sandbox.run_in(now(), args).stdout;
        let plain = run(&[command]);
        assert!(!plain.contains('\u{1b}'), "{plain:?}");
        let painted = run(&["--color", "always", command]);
        assert_eq!(bare(&painted), plain, "{command}");
        assert_eq!(run(&["--color", "never", command]), plain);
    }
    let painted = sandbox.colony(&["ops", "--color=always"]);
    assert!(painted.contains("\u{1b}[33mop-1\u{1b}[m"), "{painted:?}");
    assert!(painted.contains("\\x1b[2J"), "{painted:?}");
    let json = sandbox.run(&["ops", "--color", "always", "--json"]).stdout;
    assert!(!json.contains('\u{1b}'), "{json}");
}

#[test]
fn git_and_the_environment_have_a_say_in_colors() {
    let sandbox = sandbox();
    sandbox.git(&["config", "color.ui", "always"]);
    assert!(sandbox.colony(&["ops"]).contains('\u{1b}'));
    let error = sandbox.run(&["restore", "nothing like it"]).stderr;
    assert!(error.starts_with("\u{1b}[31merror: \u{1b}[m"), "{error:?}");
    let mut world = sandbox.world();
    world.variables.insert("NO_COLOR".into(), "1".into());
    let plain = sandbox.run_in(world, &["ops"]).stdout;
    assert!(!plain.contains('\u{1b}'), "{plain:?}");
    sandbox.git(&["config", "color.ui", "auto"]);
    assert!(!sandbox.colony(&["ops"]).contains('\u{1b}'));
}

#[test]
fn a_terminal_has_colors_and_columns_that_fit() {
    let sandbox = sandbox();
    let painted = on_terminal(&sandbox, &[], "COLONY --no-pager ops");
    assert!(painted.contains("\u{1b}[33mop-1\u{1b}[m"), "{painted:?}");
    let plain = bare(&painted);
    assert!(plain.contains('\u{2026}'), "{plain}");
    let widest = plain.lines().map(|line| line.chars().count()).max();
    assert_eq!(widest, Some(60), "{plain}");
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let shown = on_terminal(&sandbox, &[(name, value)], "COLONY --no-pager ops");
        assert!(!shown.contains('\u{1b}'), "{name}: {shown:?}");
    }
    sandbox.git(&["config", "color.ui", "never"]);
    let shown = on_terminal(&sandbox, &[], "COLONY --no-pager ops");
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    // What is piped is whole, also from a terminal.
    let piped = on_terminal(&sandbox, &[], "COLONY ops | cat");
    assert!(!piped.contains(['\u{2026}', '\u{1b}']), "{piped:?}");
}

#[test]
fn a_long_list_goes_through_the_pager_of_git_and_nothing_else() {
    let sandbox = sandbox();
    let pager = ("PAGER", "sed s/^/paged:/");
    let is_paged = |line: &str| on_terminal(&sandbox, &[pager], line).contains("paged:");
    assert!(is_paged("COLONY ops"));
    assert!(is_paged("COLONY checkpoints"));
    assert!(is_paged("COLONY config"));
    assert!(!is_paged("COLONY ops -n 3"), "it fits");
    assert!(!is_paged("COLONY --no-pager ops"));
    assert!(!is_paged("COLONY ops --json"));
    assert!(!is_paged("COLONY -q ops"));
    assert!(!is_paged("COLONY ops | cat"));
    sandbox.git(&["config", "core.pager", "sed s/^/core:/"]);
    let shown = on_terminal(&sandbox, &[pager], "COLONY ops");
    assert!(shown.contains("core:"), "{shown}");
    let shown = on_terminal(&sandbox, &[("GIT_PAGER", "cat")], "COLONY ops");
    assert!(!shown.contains("core:"), "{shown}");
    sandbox.git(&["config", "pager.colony", "false"]);
    assert!(!on_terminal(&sandbox, &[], "COLONY ops").contains("core:"));
}

#[test]
fn the_pager_changes_no_exit_code_and_stops_no_signal() {
    let sandbox = sandbox();
    let code = |pager: &str, line: &str| {
        let line = format!("{line}; echo code $?");
        let shown = on_terminal(&sandbox, &[("PAGER", pager)], &line);
        let code = shown.lines().find_map(|line| line.strip_prefix("code "));
        code.map_or_else(|| panic!("{shown}"), str::to_owned)
    };
    assert_eq!(code("true", "COLONY ops"), "0", "quit before the end");
    assert_eq!(code("no-such-pager 2>&-", "COLONY ops"), "0");
    assert_eq!(code("cat >&2", "COLONY restore nothing"), "128");
    // The pager has got everything, and runs until the signal was sent; without that, for minutes.
    let pager =
        "cat >/dev/null; : >shown; for i in $(seq 1200); do [ ! -e sent ] || exit; sleep 0.1; done";
    let background = |signal: &str| {
        format!(
            "rm -f shown sent; COLONY ops & colony=$!; until [ -e shown ]; do sleep 0.1; done; \
             kill -{signal} $colony; {}wait $colony",
            if signal == "INT" { ": >sent; " } else { "" }
        )
    };
    assert_eq!(code(pager, &background("TERM")), "143");
    assert_eq!(code(pager, &background("INT")), "0", "it is the pager's");
}

#[test]
fn a_trace_tells_of_each_process_and_of_no_credential() {
    let sandbox = sandbox();
    let url = "https://ada:s3cret@host.invalid/r.git";
    sandbox.git(&["remote", "add", "origin", url]);
    let told = |args: &[&str], trace: Option<&str>| {
        let mut world = sandbox.world();
        let variable = trace.map(|value| ("COLONY_TRACE".into(), value.into()));
        world.variables.extend(variable);
        sandbox.run_in(world, args)
    };
    assert_eq!(told(&["diff", "HEAD~1"], None).stderr, "");
    assert_eq!(told(&["diff", "HEAD~1"], Some("0")).stderr, "");
    for (args, trace) in [
        (&["diff", "HEAD~1"][..], Some("1")),
        (&["-v", "diff", "HEAD~1"], None),
        (&["diff", "--json", "-v", "HEAD~1"], None),
    ] {
        let run = told(args, trace);
        let line = run.stderr.lines().find(|line| line.contains("diff-tree"));
        let line = line.unwrap_or_else(|| panic!("{args:?}: {}", run.stderr));
        assert!(line.starts_with("trace: git "), "{line}");
        assert!(line.ends_with(" ms)"), "{line}");
        assert!(!run.stdout.contains("trace:"), "{}", run.stdout);
    }
    let said = told(&["-v", "sync", "-n"], None).stderr;
    assert!(said.contains("trace: git ") && !said.contains("s3cret"), "{said}");
}
