//! TAB in real shells: what is offered, what is quoted, and that nothing of git's or a stranger's runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use git_colony::testing::World;

use crate::support::{Sandbox, program_path};

/// A repository with the names that strangers would choose, and our files installed beside it.
fn hostile() -> Sandbox {
    let sandbox = Sandbox::new();
    for label in [
        "first draft",
        "fix: the parser",
        "$(touch pwned)",
        "x'; touch pwned; '",
        "-rf",
        "two\nlines",
    ] {
        sandbox.write("a.txt", label);
        let label = format!("--label={label}");
        sandbox.colony(&["checkpoint", &label]);
    }
    for name in ["feature/one", "fork/try", "--output=pwned", "x;$(touch${IFS}pwned)"] {
        sandbox.git(&["update-ref", &format!("refs/heads/{name}"), "HEAD"]);
    }
    sandbox.write(".colony/agents/ada.md", "Ada\n");
    let manifest = env!("CARGO_MANIFEST_DIR");
    let data = format!("PREFIX={}", sandbox.outside().join("prefix").display());
    let made = Command::new("make").args(["-s", "-C", manifest, "install-data", &data]).status();
    assert!(made.unwrap().success());
    sandbox
}

/// The words offered in process, without what is said of them; the first line says what they are.
fn offered(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    offered_in(sandbox, sandbox.world(), words)
}

fn offered_in(sandbox: &Sandbox, world: World, words: &[&str]) -> Vec<String> {
    let run = sandbox.run_in(world, &[&["complete", "--"], words].concat());
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{words:?}");
    let word = |line: &str| line.split('\t').next().unwrap().to_owned();
    run.stdout.lines().map(word).collect()
}

fn shell(sandbox: &Sandbox, program: &str, script: &str) -> String {
    let home = sandbox.outside().join("home");
    fs::create_dir_all(&home).unwrap();
    let path = home.join("script");
    fs::write(&path, script).unwrap();
    let tool: PathBuf = program_path().into();
    let search = format!("{}:{}", tool.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let data = format!("{}/prefix/share:/usr/local/share:/usr/share", sandbox.outside().display());
    let output = sandbox
        .process(program)
        .arg(&path)
        .envs([("PATH", search.as_str()), ("XDG_DATA_DIRS", &data), ("TERM", "dumb")])
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap_or_else(|e| panic!("cannot run {program}, which tests/run installs: {e}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(stderr, "", "{program} complains");
    assert!(!sandbox.path("pwned").exists(), "{program} ran what a name says");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn commands_flags_and_values_are_offered_where_they_may_stand() {
    let sandbox = hostile();
    let offers = |words: &[&str]| offered(&sandbox, words).join(" ");
    assert_eq!(offers(&["git-colony", "re"]), "words restore redo revert");
    assert_eq!(offers(&["git", "-c", "a=b", "colony", "check"]), "words checkpoint checkpoints");
    assert_eq!(offers(&["git-colony", "--json", "checkpoints", "s"]), "words show");
    assert_eq!(offers(&["git-colony", "checkpoints", "--auto", ""]), "words");
    assert_eq!(offers(&["git-colony", "restore", "--mode", ""]), "words replace files fork");
    assert_eq!(offers(&["git-colony", "restore", "--mode=r"]), "words --mode=replace");
    assert_eq!(offers(&["git-colony", "restore", "--mode", "files", "--mo"]), "words");
    assert_eq!(offers(&["git-colony", "restore", "-n", "--f"]), "words --force");
    assert_eq!(offers(&["git-colony", "restore", "x", "--", ""]), "files");
    assert_eq!(offers(&["git-colony", "-C", ""]), "directories");
    assert_eq!(offers(&["git-colony", "--agent", ""]), "words ada");
    assert_eq!(offers(&["git-colony", "tag", "f"]), "words feature/one fork/try");
    assert_eq!(offers(&["git-colony", "config", "get", "colony.keepD"]), "words colony.keepDays");
    assert_eq!(offers(&["git-colony", "ops", "show", "op-1"]), "words op-1");
    assert_eq!(offers(&["git-colony", "help", "und"]), "words undo");
    assert_eq!(offers(&["git-colony", "help", "co"]), "words completions commit context config");
    assert_eq!(offers(&["git-colony", "--ev"]), "words --everywhere");
    for unlisted in ["fle", "cal", "dein", "tou"] {
        assert_eq!(offers(&["git-colony", unlisted]), "words");
    }
    assert_eq!(offers(&["git-colony", "no-such-command", "--no", "'", "\\"]), "words");
    assert_eq!(offers(&[]), offers(&["git-colony", ""]));
}

#[test]
fn names_of_more_than_one_word_are_offered_word_by_word() {
    let sandbox = Sandbox::new();
    let offers = |words: &[&str]| offered(&sandbox, words).join(" ");
    assert_eq!(offers(&["git-colony", "help", "hooks", ""]), "words install uninstall status");
    assert_eq!(offers(&["git-colony", "schema", "er"]), "words error");
    assert_eq!(offers(&["git-colony", "schema", "config", ""]), "words get list");
    assert_eq!(offers(&["git-colony", "schema", "config", "get", ""]), "words");
}

#[test]
fn repositories_of_the_catalog_are_offered_by_name_and_id() {
    let sandbox = Sandbox::new();
    let offers = |words: &[&str]| offered(&sandbox, words).join(" ");
    let of_repo = ["git-colony", "query", "text", "x", "--repo", ""];
    assert_eq!(offers(&of_repo), "words");
    sandbox.write(
        ".colony/repositories.yaml",
        "schema_version: 1\nrepositories:\n  - root_path: ../widgets\n  - repository_id: far-1\n    display_name: \"$(touch pwned)\"\n    access_mode: remote_git_host\n",
    );
    assert_eq!(offers(&of_repo), "words far-1 widgets");
    for command in ["remove", "focus"] {
        assert_eq!(offers(&["git-colony", "catalog", command, "w"]), "words widgets");
    }
    sandbox.write(".colony/repositories.yaml", "schema_version: 9\n");
    assert_eq!(offers(&of_repo), "words");
}

#[test]
fn no_offer_can_be_read_as_a_flag_or_as_shell_text() {
    let sandbox = hostile();
    let plain = |c: char| c.is_alphanumeric() || " ._/,+-:#".contains(c);
    for words in [&["restore", ""][..], &["tag", ""], &["checkpoints", "show", ""], &["tag", "-"]] {
        let all = offered(&sandbox, &[&["git-colony"], words].concat());
        let names = all.iter().skip(1).filter(|_| words[1] != "-");
        for name in names {
            assert!(name.chars().all(plain) && !name.starts_with('-'), "{name}");
        }
        assert!(!all.iter().any(|name| name.contains("pwned")), "{all:?}");
    }
    let labels = offered(&sandbox, &["git-colony", "restore", "fi"]);
    assert_eq!(labels, ["words", "fix: the parser", "first draft"]);
    // What has no label that can be typed is offered by its id.
    let ids = offered(&sandbox, &["git-colony", "checkpoints", "show", ""]);
    assert_eq!(ids.iter().filter(|id| id.starts_with("checkpoint/")).count(), 4, "{ids:?}");
}

#[test]
fn completion_finds_the_repository_as_git_does_or_is_silent() {
    let sandbox = hostile();
    let outside = || World { cwd: sandbox.outside(), ..sandbox.world() };
    let first = ["words", "first draft"];
    for words in [
        &["git", "-C", "repo", "colony", "restore", "first"][..],
        &["git", "--git-dir=repo/.git", "colony", "restore", "first"],
        &["git-colony", "-C", "repo", "restore", "first"],
        &["git-colony", "restore", "-Crepo", "first"],
    ] {
        assert_eq!(offered_in(&sandbox, outside(), words), first, "{words:?}");
    }
    let mut world = outside();
    let git_dir = sandbox.path(".git");
    world.variables.insert("GIT_DIR".into(), git_dir.into());
    assert_eq!(offered_in(&sandbox, world, &["git-colony", "restore", "first"]), first);
    assert_eq!(offered_in(&sandbox, outside(), &["git-colony", "restore", ""]), ["words"]);
    assert_eq!(
        offered_in(&sandbox, outside(), &["git", "-C", "nowhere", "colony", "tag", ""]),
        ["words"]
    );
}

#[test]
fn days_with_notes_are_offered() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["memory", "add", "a note"]);
    let words = ["git-colony", "memory", "show", "--date", "2026"];
    assert_eq!(offered(&sandbox, &words), ["words", "2026-01-02"]);
}

#[test]
fn agents_blackboards_projects_and_actions_are_offered() {
    let sandbox = hostile();
    sandbox.colony(&["blackboard", "put", "plans", "next", "parser"]);
    sandbox.colony(&["agents", "new", "bob"]);
    sandbox.colony(&["agents", "remove", "bob"]);
    sandbox.colony(&["agents", "new", "cleo"]);
    sandbox.colony(&["projects", "add", "parser", "."]);
    for (line, wanted) in [
        ("merge a", "words ada"),
        ("merge cl", "words cleo"),
        ("merge fe", "words feature/one"),
        ("diff ad", "words ada"),
        ("log HEAD", "words HEAD"),
        ("log ad", "words ada"),
        ("blackboard get ", "words plans"),
        ("blackboard get plans ", "words next"),
        ("blackboard get other ", "words"),
        ("agents restore ", "words bob"),
        ("projects remove ", "words parser"),
        ("call repo_index_r", "words repo_index_refresh"),
    ] {
        let words: Vec<&str> = ["git-colony"].into_iter().chain(line.split(' ')).collect();
        assert_eq!(offered(&sandbox, &words).join(" "), wanted, "{line}");
    }
}

#[test]
fn completion_writes_nothing() {
    let sandbox = hostile();
    let files = |of: &Path| {
        let output =
            Command::new("find").arg(of).args(["-printf", "%p %T@ %s\n"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let before = files(&sandbox.root);
    sandbox.write(".git/index.lock", "");
    fs::remove_file(sandbox.path(".git/index.lock")).unwrap();
    let touched = files(&sandbox.root);
    assert_ne!(before, touched, "the comparison sees a lock that came and went");
    for command in ["restore", "tag", "ops show", "checkpoints show"] {
        let words: Vec<_> =
            ["git-colony"].into_iter().chain(command.split(' ')).chain([""]).collect();
        offered(&sandbox, &words);
    }
    assert_eq!(sandbox.run(&["status", "--line"]).code, 0);
    assert_eq!(files(&sandbox.root), touched);
}

#[test]
fn bash_offers_our_words_and_gits_own_as_before() {
    let sandbox = hostile();
    let script = r#"
        source /usr/share/bash-completion/bash_completion
        source /usr/share/bash-completion/completions/git
        tab() {
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMPREPLY=()
            COMP_POINT=${#COMP_LINE}
            local by=__git_wrap__git_main
            [[ $1 != git-colony ]] || { _completion_loader git-colony; by=__git_colony_main; }
            $by "$1" "${@: -1}" "${@: -2:1}"
            printf '<%s>' "${COMPREPLY[@]}"
            echo
        }
        tab git col
        tab git colony red
        tab git colony restore fi
        tab git colony restore fix :
        tab git colony restore "'first"
        tab git -C . colony tag f
        tab git-colony restore --mode=r
        tab git checkout fe
        tab git colony restore ''
        eval "set -- ${COMPREPLY[*]}"
        for word; do echo "$word"; done | sed -n '/pwned/p'
        complete -p git
    "#;
    let expected = [
        "<colony >",
        "<redo >",
        "<fix:\\ the\\ parser ><first\\ draft >",
        "<>",
        "<first draft>",
        "<feature/one ><fork/try >",
        "<replace >",
        "<feature/one >",
    ];
    let found = shell(&sandbox, "bash", script);
    let lines: Vec<_> = found.lines().collect();
    assert_eq!(lines[..8], expected, "{found}");
    assert_eq!(lines.len(), 10, "{found}");
    assert!(lines[9].ends_with("-F __git_wrap__git_main git"), "{found}");
}

#[test]
fn fish_offers_our_words_and_gits_own_as_before() {
    let sandbox = hostile();
    let script = r#"
        for line in 'git col' 'git colony red' 'git colony restore fi' "git colony restore 'first" \
            'git -C . colony tag f' 'git-colony restore --mode ' 'git checkout fe'
            complete -C $line | string split -f 1 \t | string join '|'
            echo .
        end
    "#;
    let found = shell(&sandbox, "fish", script).replace("\n.\n", "\n").replace(".\n", "\n");
    let expected = [
        "colony",
        "redo",
        "fix: the parser|first draft",
        "first draft",
        "feature/one|fork/try",
        "replace|files|fork",
        "feature/one",
    ];
    assert_eq!(found.lines().collect::<Vec<_>>(), expected, "{found}");
}

/// An interactive shell in a terminal of its own tells what is handed to compadd.
const ZSH_STARTUP: &str = r#"
        PS1=; unsetopt zle_bracketed_paste prompt_sp; LISTMAX=9999
        fpath=($HOME/../prefix/share/zsh/site-functions $fpath)
        autoload -Uz compinit; compinit -u -d $HOME/dump
        compadd() {
            builtin compadd -A offers "$@"
            (( $#offers )) && print -rl -- "OFFER:"${^offers}:OFFER
            builtin compadd "$@"
        }
        finish() { zle kill-buffer; print -r -- END-OF-"LINE" }; zle -N finish
        bindkey '^I' complete-word '^X' finish
        print -r -- SHELL-IS-"UP"
    "#;

#[test]
fn zsh_offers_our_words_and_gits_own_as_before() {
    let sandbox = hostile();
    let home = sandbox.outside().join("home");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join(".zshrc"), ZSH_STARTUP).unwrap();
    let script = r#"
        zmodload zsh/zpty
        export ZDOTDIR=$HOME
        zpty z zsh -i
        zpty -r z out '*SHELL-IS-UP*'
        for line in 'git col' 'git colony red' 'git colony restore fi' 'git-colony checkpoints tag f' \
            'git -C . colony restore first' 'git checkout fe'; do
            zpty -w -n z "$line"$'\t\x18'
            zpty -r z out '*END-OF-LINE*'
            print -r -- "$line: ${(j:|:)${(u)${(f)out}}[@]}"
        done
        zpty -d z
    "#;
    let found = shell(&sandbox, "zsh", script).replace('\r', "");
    let offers = |line: &str| -> String {
        let start = format!("{line}: ");
        let told = found.lines().find_map(|found| found.strip_prefix(&start)).unwrap_or_default();
        let parts = told.split("OFFER:").skip(1).filter_map(|part| part.split(":OFFER").next());
        parts.collect::<Vec<_>>().join("|")
    };
    assert!(offers("git col").contains("colony"), "{found:?}");
    assert_eq!(offers("git colony red"), "redo", "{found:?}");
    assert_eq!(offers("git colony restore fi"), "fix:\\ the\\ parser|first\\ draft", "{found:?}");
    assert_eq!(offers("git-colony checkpoints tag f"), "feature/one|fork/try", "{found:?}");
    assert_eq!(offers("git -C . colony restore first"), "first\\ draft", "{found:?}");
    assert!(offers("git checkout fe").contains("feature/one"), "{found:?}");
}

#[test]
fn the_program_prints_the_scripts_that_are_installed() {
    let sandbox = Sandbox::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("completions");
    for (shell, file) in
        [("bash", "git-colony.bash"), ("zsh", "_git-colony"), ("fish", "git-colony.fish")]
    {
        let script = fs::read_to_string(folder.join(file)).unwrap();
        assert_eq!(sandbox.colony(&["completions", shell]), script);
        assert_eq!(sandbox.json(&["completions", shell])["script"], script);
    }
}
