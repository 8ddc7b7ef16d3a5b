//! What README shows at a console runs as it is printed there, one block after the other.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::support::Sandbox;

/// The commands of README's console blocks with the output printed below each.
fn console_blocks() -> Vec<(String, Vec<String>)> {
    let readme =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let blocks = readme.split("```console\n").skip(1);
    let blocks: Vec<_> = blocks
        .filter_map(|block| block.split("```").next())
        .collect();
    let block = blocks.join("\n");
    let mut steps: Vec<(String, Vec<String>)> = Vec::new();
    for line in block.lines().filter(|line| !line.trim().is_empty()) {
        match line.strip_prefix("$ ") {
            Some(command) => steps.push((command.to_owned(), Vec::new())),
            None => steps.last_mut().unwrap().1.push(line.to_owned()),
        }
    }
    steps
}

/// Tells whether `printed` is what `wanted` shows; `...` stands for anything.
fn fits(wanted: &str, printed: &str) -> bool {
    let mut rest = printed;
    for (number, part) in wanted.split("...").enumerate() {
        match rest.find(part) {
            Some(at) if number > 0 || at == 0 => rest = &rest[at + part.len()..],
            _ => return false,
        }
    }
    wanted.ends_with("...") || rest.is_empty()
}

#[test]
fn what_is_shown_works_as_printed() {
    let sandbox = Sandbox::new();
    let home = sandbox.outside().join("home");
    fs::create_dir_all(&home).unwrap();
    let program = assert_cmd::cargo::cargo_bin!("git-colony");
    let path = format!(
        "{}:{}",
        program.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let steps = console_blocks();
    assert!(steps.len() >= 8, "a minute has more to show");
    let commands: Vec<_> = steps.iter().map(|(command, _)| command.as_str()).collect();
    let after_each = "\nprintf '\\0'\n";
    let script = commands.join(after_each) + after_each;
    let output = Command::new("sh")
        .args(["-e", "-c", &script])
        .current_dir(&home)
        .env_clear()
        .envs(sandbox.variables())
        .env("GIT_AUTHOR_NAME", "Ada")
        .env("GIT_AUTHOR_EMAIL", "ada@example.com")
        .env("GIT_COMMITTER_NAME", "Ada")
        .env("GIT_COMMITTER_EMAIL", "ada@example.com")
        .env("PATH", path)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    for ((command, wanted), printed) in steps.iter().zip(stdout.split('\0')) {
        let mut lines = printed.lines();
        for line in wanted {
            if line.trim() == "..." {
                break;
            }
            let fitting = lines.by_ref().any(|printed| fits(line, printed));
            assert!(
                fitting,
                "'{command}' does not print '{line}' but:\n{printed}"
            );
        }
    }
}
