//! cargo for agents: tests, checks and builds of this checkout, as data. A build runs scripts of the repository, so
//! nothing runs here unless the user has allowed it (`colony.tools.cargo`, `mcp --allow-cargo`).

mod cargo_output;
mod stubs;

use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::Checkout;
use crate::git::process::captured::{CaptureLimits, Captured, run_captured};
use crate::git::process::early_end::EarlyEnd;
use crate::git::process::on_path;
use crate::git::worktree::safe_open::MAX_RECORD_BYTES;
use crate::model::text::nearest;
use crate::model::{Code, Error, RepoPath, Result, World};
use crate::store::data_tree::toml_values;
use crate::store::settings::CargoLeave;
use crate::workspace::checkout::layout::{self, Layout, MemberKind};
use crate::workspace::checkout::root_files::RootFiles;

pub use cargo_output::{CargoDiagnostic, CargoTests};
pub use stubs::Stub;

/// How long cargo may take, and how much of its output is read.
const LIMITS: CaptureLimits =
    CaptureLimits { time: Duration::from_mins(9), output_bytes: 32 << 20 };

/// The number of bytes of its last output that are kept.
const MAX_TAIL_BYTES: usize = 8 << 10;

/// The work of cargo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CargoTask {
    /// Runs the tests of a package, or of the package at the root.
    Test,
    /// Checks all packages.
    Check,
    /// Runs the tests of all packages.
    TestAll,
    /// Builds a package.
    Build,
    /// Lints a package with clippy, and looks for stubs.
    Lint,
    /// Measures how much of the code tests run, with cargo-llvm-cov.
    Coverage,
}

/// What to do.
#[derive(Clone, Debug)]
pub struct CargoRequest {
    /// The work.
    pub task: CargoTask,
    /// The package, by its name or directory.
    pub package: Option<String>,
    /// Only say what would be run.
    pub dry_run: bool,
    /// Whether the user has allowed it.
    pub leave: CargoLeave,
}

/// The result.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CargoReport {
    /// The work.
    pub task: CargoTask,
    /// The command line.
    pub command: Vec<String>,
    /// The directory it ran in.
    pub root: RepoPath,
    /// Whether it ended with success; null in a dry run.
    pub passed: Option<bool>,
    /// Its exit code; null if a signal ended it, and in a dry run.
    pub exit_code: Option<i32>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Whether it was ended because it took too long.
    pub timed_out: bool,
    /// Why it ended early: a limit of time or output, or a signal; null if it ended by itself.
    pub ended_early: Option<String>,
    /// Errors and warnings of the compiler, at most 200.
    pub diagnostics: Vec<CargoDiagnostic>,
    /// Their number.
    pub count: usize,
    /// The results of tests, if any ran.
    pub tests: Option<CargoTests>,
    /// Unfinished code, for a lint.
    pub stubs: Vec<Stub>,
    /// The end of its output for people.
    pub output_tail: String,
    /// Whether output or a list was cut.
    pub truncated: bool,
}

fn refuse_without_leave(request: &CargoRequest) -> Result<()> {
    if request.dry_run || request.leave == CargoLeave::Given {
        return Ok(());
    }
    let message = "cargo would run code of this repository, which the user has not allowed";
    Err(Error::new(Code::CargoNotAllowed, message)
        .hint("git config --global colony.tools.cargo true   # a person decides that"))
}

/// Runs cargo; a failing build or test is an answer, not an error.
pub fn run(world: &World, checkout: &Checkout, request: &CargoRequest) -> Result<CargoReport> {
    refuse_without_leave(request)?;
    let files = RootFiles { root: &checkout.root, interrupt: &world.interrupt };
    let layout = layout::read(files, checkout.has_git());
    if !layout.capabilities.cargo_workspace && !layout.capabilities.cargo_package {
        let message =
            format!("'{}' has no Cargo.toml with a package or workspace", checkout.root.display());
        return Err(Error::new(Code::NotACargoPackage, message)
            .hint("git colony -C DIR cargo check   # in the repository of the package"));
    }
    let package = request.package.as_deref().map(|name| package_of(files, &layout, name));
    let command = command(request.task, package.transpose()?, &layout);
    let mut report = CargoReport {
        task: request.task,
        command: command.clone(),
        root: RepoPath::from(&*checkout.root),
        passed: None,
        exit_code: None,
        duration_ms: 0,
        timed_out: false,
        ended_early: None,
        diagnostics: Vec::new(),
        count: 0,
        tests: None,
        stubs: Vec::new(),
        output_tail: String::new(),
        truncated: false,
    };
    if request.dry_run {
        return Ok(report);
    }
    let started = world.now();
    let captured = captured(world, checkout, command.get(1..).unwrap_or_default())?;
    let took = world.now().signed_duration_since(started).num_milliseconds();
    report.duration_ms = u64::try_from(took).unwrap_or(0);
    report.take(&captured, &checkout.root);
    if request.task == CargoTask::Lint {
        let (stubs, is_cut) = stubs::find(world, checkout)?;
        report.truncated |= is_cut;
        report.stubs = stubs;
    }
    Ok(report)
}

fn captured(world: &World, checkout: &Checkout, args: &[String]) -> Result<Captured> {
    let missing = |name: &str| {
        let message = format!("'{name}' is not installed");
        Error::new(Code::ToolMissing, message)
    };
    let cargo = on_path(world, "cargo").ok_or_else(|| missing("cargo"))?;
    let mut there = world.standing_in(&checkout.root);
    there.variables.insert("CARGO_TERM_COLOR".into(), "never".into());
    let captured = run_captured(&there, &cargo, args, LIMITS)?;
    let name = args.first().map_or("", String::as_str);
    let said = &captured.stderr;
    let says = |words: String| captured.code != Some(0) && said.contains(&words);
    let is_missing = says(format!("no such command: `{name}`"))
        || says(format!("'cargo-{name}' is not installed"));
    if is_missing {
        return Err(missing(&format!("cargo-{name}")).detail("stderr", said));
    }
    Ok(captured)
}

/// Returns the command line.
fn command(task: CargoTask, package: Option<String>, layout: &Layout) -> Vec<String> {
    let (name, rest): (&str, &[&str]) = match task {
        CargoTask::Test | CargoTask::TestAll => ("test", &["--no-fail-fast"]),
        CargoTask::Check => ("check", &["--all-targets"]),
        CargoTask::Build => ("build", &[]),
        CargoTask::Lint => ("clippy", &["--all-targets"]),
        CargoTask::Coverage => ("llvm-cov", &["--summary-only"]),
    };
    let mut command = vec!["cargo".to_owned(), name.to_owned()];
    command.extend(rest.iter().map(|word| (*word).to_owned()));
    if task != CargoTask::Coverage {
        command.push("--message-format=json".to_owned());
    }
    let is_of_all = matches!(task, CargoTask::Check | CargoTask::TestAll);
    match package {
        Some(package) => command.push(format!("--package={package}")),
        None if is_of_all && layout.capabilities.cargo_workspace => {
            command.push("--workspace".to_owned());
        }
        None => {}
    }
    command
}

/// Finds a package of this checkout by its name or directory.
fn package_of(files: RootFiles<'_>, layout: &Layout, typed: &str) -> Result<String> {
    let members = layout.members.iter().filter(|member| member.kind == MemberKind::Cargo);
    let directories = members.map(|member| member.path.clone()).chain([RepoPath::from(".")]);
    let named: Vec<(String, RepoPath)> = directories
        .filter_map(|directory| Some((name_in(files, &directory)?, directory)))
        .collect();
    let is_meant = |(name, directory): &&(String, RepoPath)| {
        name == typed || directory.to_string() == typed.trim_end_matches('/')
    };
    if let Some((name, _)) = named.iter().find(is_meant) {
        return Ok(name.clone());
    }
    let names = named.iter().map(|(name, _)| name.as_str());
    let near =
        nearest(typed, names).map_or_else(String::new, |near| format!("; the nearest is '{near}'"));
    let message = format!("this checkout has no package '{typed}'{near}");
    Err(Error::new(Code::InvalidValue, message).hint("git colony status id   # lists the members"))
}

/// Reads the name of the package in a directory.
fn name_in(files: RootFiles<'_>, directory: &RepoPath) -> Option<String> {
    let file = RepoPath::from("Cargo.toml");
    let path = match directory.as_bytes() {
        b"." => file,
        _ => directory.join(&file),
    };
    let text = files.text(&path, MAX_RECORD_BYTES).ok()??;
    let manifest = toml_values::parse(&text).ok()?;
    let name = manifest.get("package")?.get("name")?.as_str()?;
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-".contains(letter);
    let is_name = !name.starts_with('-') && name.chars().all(is_plain);
    is_name.then(|| name.to_owned())
}

impl CargoReport {
    fn take(&mut self, captured: &Captured, root: &Path) {
        let read = cargo_output::read(&captured.stdout, root);
        self.passed = Some(captured.code == Some(0));
        self.exit_code = captured.code;
        self.timed_out = matches!(captured.early_end, Some(EarlyEnd::Late(_)));
        self.ended_early = captured.early_end.map(|end| end.to_string());
        self.truncated = captured.is_cut || read.is_cut;
        self.count = read.diagnostics.len();
        self.diagnostics = read.diagnostics;
        self.tests = read.tests;
        let output = format!("{}{}", captured.stderr, read.text);
        let least = output.len().saturating_sub(MAX_TAIL_BYTES);
        let start = (least..output.len()).find(|at| output.is_char_boundary(*at));
        self.truncated |= start != Some(0) && !output.is_empty();
        output.get(start.unwrap_or(0)..).unwrap_or_default().clone_into(&mut self.output_tail);
    }
}
