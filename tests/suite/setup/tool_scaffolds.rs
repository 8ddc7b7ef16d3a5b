//! What `tools new` writes builds, whatever the description says. A toolchain that is not there is
//! named, and only its part of the test is left out.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::Sandbox;

/// It ends strings, comments and lines, begins escapes and substitutions, and is no ASCII.
const NASTY: &str = "\"quoted\" 'single' \\back\\nslash $HOME ${X} $(id) `tick` */ /* // # \"\"\" ''' \
    %s %d ??/ ??= @x@ {{name}} {{ }} <b> & ; [x](y) \u{e9}1 \u{6f22}\n\tsecond line \\\n# third\n\n    four\\";

/// The same in one line.
fn in_one_line() -> String {
    NASTY.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A repository with a new tool `signal/<name>`, and the directory of it.
fn begin(template: &str, name: &str) -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    // A workspace of somebody else, further up.
    sandbox.write("Cargo.toml", "[workspace]\nmembers = []\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "workspace"]);
    let capability = "render \"it\" $now {{name}} */";
    let options = [
        ("--template", template),
        ("--purpose", "signal"),
        ("--name", name),
        ("--capability", capability),
        ("--license", "LicenseRef-Internal"),
        ("--description", NASTY),
    ];
    let options = options.iter().flat_map(|(option, value)| [*option, *value]);
    let args: Vec<&str> = ["tools", "new"].into_iter().chain(options).collect();
    let answer = sandbox.json(&args);
    assert_eq!(answer["ok"], true, "{answer:#}");
    assert_eq!(answer["tool_entry"]["extra"]["description"], NASTY);
    assert_eq!(answer["tool_entry"]["capability"], capability);
    let directory = sandbox.path(&format!("tools/signal/{name}"));
    (sandbox, directory)
}

/// Tells whether a program can be started; says so when it cannot.
#[expect(clippy::print_stderr, reason = "what is left out is named")]
fn is_there(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok();
    if !there {
        eprintln!("left out: there is no {program} here");
    }
    there
}

/// Runs a program in a directory; it has to succeed. Returns what it printed.
fn run(directory: &Path, program: &str, args: &[&str]) -> String {
    let output = Command::new(program)
        .args(args)
        .current_dir(directory)
        .env("CARGO_TARGET_DIR", directory.join("target"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program} {args:?}\n{stdout}{stderr}");
    stdout
}

#[test]
fn no_file_of_a_tool_is_hidden_by_its_own_ignore_file() {
    for template in ["python_lib", "c_library", "cmake_project", "julia_module", "rust_crate"] {
        for name in ["low-pass", "build", "dist", "target", "docs"] {
            let (sandbox, _) = begin(template, name);
            let directory = format!("tools/signal/{name}");
            let files = sandbox.git(&["ls-files", &directory]);
            assert_eq!(files.lines().next(), Some(format!("{directory}/.gitignore").as_str()));
            let mut check = vec!["check-ignore", "--no-index", "-v"];
            check.extend(files.lines());
            assert!(!sandbox.try_git(&check), "{template} {name}");
            // What upstream's own file kept out: a lock file is source.
            let lock = format!("{directory}/Cargo.lock");
            assert!(!sandbox.try_git(&["check-ignore", "--no-index", &lock]));
        }
    }
}

#[test]
fn a_license_names_its_identifier_and_claims_no_text() {
    let (_sandbox, directory) = begin("c_library", "low-pass");
    let text = std::fs::read_to_string(directory.join("LICENSE")).unwrap();
    assert!(text.starts_with("SPDX-License-Identifier: LicenseRef-Internal\n"));
    assert!(text.lines().count() < 6, "{text}");
}

#[test]
fn a_python_package_builds_and_says_what_it_is_for() {
    if !is_there("python3") {
        return;
    }
    let (sandbox, directory) = begin("python_lib", "low-pass");
    run(&directory, "python3", &["-m", "unittest", "-q"]);
    run(&directory, "python3", &["-m", "unittest", "discover", "-q", "-s", "tests", "-t", "."]);
    let say = "import sys; sys.path.insert(0, 'src'); import low_pass; \
               sys.stdout.buffer.write(low_pass.__doc__.encode())";
    assert_eq!(run(&directory, "python3", &["-c", say]), NASTY);
    let project = std::fs::read_to_string(directory.join("pyproject.toml")).unwrap();
    let project = toml::de::DeTable::parse(&project).unwrap();
    let project = project.get_ref()["project"].get_ref();
    assert_eq!(project["description"].get_ref().as_str(), Some(&*in_one_line()));
    assert_eq!(project["name"].get_ref().as_str(), Some("low-pass"));
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_rust_crate_builds_and_says_what_it_is_for() {
    if !is_there("cargo") {
        return;
    }
    let (sandbox, directory) = begin("rust_crate", "low-pass");
    let told = run(&directory, "cargo", &["test", "--offline", "-q", "--", "--nocapture"]);
    assert!(told.contains(NASTY), "{told}");
    let metadata =
        run(&directory, "cargo", &["metadata", "--offline", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let package = &metadata["packages"][0];
    assert_eq!(package["description"], NASTY);
    assert_eq!(package["name"], "low-pass");
    assert_eq!(package["license"], "LicenseRef-Internal");
    let status = sandbox.git(&["status", "--porcelain"]);
    assert_eq!(status, "?? tools/signal/low-pass/Cargo.lock", "a lock file is no build product");
}

#[test]
fn a_c_library_builds_and_says_what_it_is_for() {
    let (sandbox, directory) = begin("c_library", "low-pass");
    let sources = ["src/low_pass.c", "tests/test_smoke.c"];
    if is_there("cc") {
        let out = sandbox.outside().join("smoke").display().to_string();
        // With trigraphs, as the oldest standard that it names has them.
        let strict =
            ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-trigraphs", "-Iinclude"];
        run(&directory, "cc", &[&strict[..], &sources, &["-o", &out]].concat());
        assert_eq!(run(&directory, &out, &[]), format!("{NASTY}\n"));
    }
    build_with_cmake(&directory, "low_pass");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_cmake_project_builds_and_says_what_it_is_for() {
    let (sandbox, directory) = begin("cmake_project", "low-pass");
    let sources = ["src/low_pass.cpp", "tests/test_smoke.cpp"];
    if is_there("c++") {
        let out = sandbox.outside().join("smoke").display().to_string();
        let strict = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Iinclude"];
        run(&directory, "c++", &[&strict[..], &sources, &["-o", &out]].concat());
        assert_eq!(run(&directory, &out, &[]), format!("{NASTY}\n"));
    }
    build_with_cmake(&directory, "low_pass");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

fn build_with_cmake(directory: &Path, name: &str) {
    if !is_there("cmake") || !is_there("make") {
        return;
    }
    run(directory, "cmake", &["-G", "Unix Makefiles", "-S", ".", "-B", "build"]);
    run(directory, "cmake", &["--build", "build"]);
    let said = run(&directory.join("build"), &format!("./{name}-smoke"), &[]);
    assert_eq!(said, format!("{NASTY}\n"));
    run(&directory.join("build"), "ctest", &[]);
    let cache = std::fs::read_to_string(directory.join("build/CMakeCache.txt")).unwrap();
    let line = format!("CMAKE_PROJECT_DESCRIPTION:STATIC={}\n", in_one_line());
    assert!(cache.contains(&line), "{cache}");
}

#[test]
fn a_julia_module_has_a_uuid_of_its_own_and_says_what_it_is_for() {
    let (sandbox, directory) = begin("julia_module", "low-pass");
    let value = |key: &str| {
        let text = std::fs::read_to_string(directory.join("Project.toml")).unwrap();
        let project = toml::de::DeTable::parse(&text).unwrap();
        project.get_ref()[key].get_ref().as_str().unwrap().to_owned()
    };
    assert_eq!(value("name"), "low_pass");
    let uuid = value("uuid");
    let parts: Vec<usize> = uuid.split('-').map(str::len).collect();
    assert_eq!(parts, [8, 4, 4, 4, 12]);
    assert_eq!(uuid.as_bytes()[14], b'5', "a name was hashed: {uuid}");
    // The same tool at the same commit is the same; the repository further on makes another.
    let again = [
        "tools",
        "new",
        "--template",
        "julia_module",
        "--purpose",
        "signal",
        "--name",
        "low-pass",
        "--capability",
        "c",
        "--license",
        "MIT",
    ];
    sandbox.colony(&["undo"]);
    sandbox.colony(&again);
    assert_eq!(value("uuid"), uuid);
    sandbox.colony(&["undo"]);
    sandbox.git(&["commit", "-qm", "on", "--allow-empty"]);
    sandbox.colony(&again);
    assert_ne!(value("uuid"), uuid);
    let (_other, directory) = begin("julia_module", "low-pass");
    if is_there("julia") {
        let said = run(&directory, "julia", &["--project=.", "test/runtests.jl"]);
        assert!(said.starts_with(NASTY), "{said}");
    }
}
