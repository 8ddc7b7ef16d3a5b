//! `git colony cargo`

use clap::Subcommand;

use crate::cli::actions::{Effect, Group, action, same};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Opening, Stop};
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;
use crate::workspace::cargo::{self, CargoDiagnostic, CargoReport, CargoRequest, CargoTask};

/// Run cargo on this checkout, and answer with its messages as data
///
/// For agents that have no shell. cargo runs code of the repository, so this works only where the user has allowed it:
/// 'git config --global colony.tools.cargo true'. The exit code is 1 if cargo fails.
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    command: CargoCommand,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum CargoCommand {
    /// Run the tests of a package
    Test(PackageArgs),
    /// Run the tests of all packages
    TestAll(AllArgs),
    /// Check all packages, without building them
    Check(AllArgs),
    /// Build a package
    Build(PackageArgs),
    /// Lint a package with clippy, and find unfinished code
    Lint(PackageArgs),
    /// Measure the coverage of tests with cargo-llvm-cov
    Coverage(PackageArgs),
}

// The help is that of each command.
#[derive(Debug, clap::Args)]
struct PackageArgs {
    /// The package, by its name or directory (default: as cargo chooses)
    #[arg(value_name = "PACKAGE")]
    package: Option<String>,
    /// Show the command line, and run nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

// The help is that of each command.
#[derive(Debug, clap::Args)]
struct AllArgs {
    /// Show the command line, and run nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("cargo")
        .example("git colony cargo check -n", "show the command line, and run nothing")
        .example("git colony cargo test one -n", "that of one package")
        .below([
            Declaration::of("cargo test").answers::<CargoReport>().action(
                action("run_tests", Group::Repository, Effect::Runs)
                    .about("Run the tests of a package with cargo")
                    .takes(&[same("package")]),
            ),
            Declaration::of("cargo check").answers::<CargoReport>().action(
                action("check_workspace", Group::Repository, Effect::Runs)
                    .about("Check all packages with cargo"),
            ),
            Declaration::of("cargo test-all").answers::<CargoReport>().action(
                action("test_all", Group::Repository, Effect::Runs)
                    .about("Run the tests of all packages with cargo"),
            ),
            Declaration::of("cargo build").answers::<CargoReport>().action(
                action("build_crate", Group::Repository, Effect::Runs)
                    .about("Build a package with cargo")
                    .takes(&[same("package")]),
            ),
            Declaration::of("cargo lint").answers::<CargoReport>().action(
                action("lint_crate", Group::Repository, Effect::Runs)
                    .about("Lint a package with clippy, and find unfinished code")
                    .takes(&[same("package")]),
            ),
            Declaration::of("cargo coverage").answers::<CargoReport>().action(
                action("coverage_report", Group::Repository, Effect::Runs)
                    .about("Measure the coverage of tests with cargo-llvm-cov")
                    .takes(&[same("package")]),
            ),
        ])
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let (task, package, dry_run) = match args.command {
        CargoCommand::Test(args) => (CargoTask::Test, args.package, args.dry_run),
        CargoCommand::TestAll(args) => (CargoTask::TestAll, None, args.dry_run),
        CargoCommand::Check(args) => (CargoTask::Check, None, args.dry_run),
        CargoCommand::Build(args) => (CargoTask::Build, args.package, args.dry_run),
        CargoCommand::Lint(args) => (CargoTask::Lint, args.package, args.dry_run),
        CargoCommand::Coverage(args) => (CargoTask::Coverage, args.package, args.dry_run),
    };
    let session = face.session(Opening::InMemory)?;
    session.world.refuse_change()?;
    let request = CargoRequest { task, package, dry_run, leave: session.settings.cargo };
    let (world, checkout) = face.checkout()?;
    face.answer(&cargo::run(&world, &checkout, &request)?)
}

impl Answer for CargoReport {
    fn message(&self) -> String {
        let command = self.command.join(" ");
        let how = match (self.passed, &self.ended_early, self.exit_code) {
            (None, ..) => return format!("would run: {command}"),
            (_, Some(why), _) => format!("did not end by itself: {why}"),
            (Some(true), ..) => "passed".to_owned(),
            (Some(false), None, Some(code)) => format!("failed with {code}"),
            (Some(false), None, None) => "failed".to_owned(),
        };
        let tests = self.tests.as_ref().map_or_else(String::new, |tests| {
            let (passed, failed) = (tests.passed, tests.failed);
            format!("; {passed} passed, {failed} failed, {} ignored", tests.ignored)
        });
        let messages = match self.count {
            0 => String::new(),
            count => format!("; {}", text::count(count, "message")),
        };
        format!("'{command}' {how}{tests}{messages}")
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let line = |diagnostic: &CargoDiagnostic| {
            let place = match (&diagnostic.path, diagnostic.line) {
                (Some(path), Some(line)) => format!("{path}:{line}: "),
                _ => String::new(),
            };
            format!("{}: {place}{}", diagnostic.level, diagnostic.message)
        };
        let mut lines: Vec<String> = self.diagnostics.iter().map(line).collect();
        let failures = self.tests.iter().flat_map(|tests| &tests.failures);
        lines.extend(failures.map(|name| format!("failed: {name}")));
        let stubs = self.stubs.iter();
        lines.extend(stubs.map(|stub| format!("unfinished: {}:{}", stub.path, stub.line)));
        if self.passed == Some(false) && lines.is_empty() {
            lines.extend(self.output_tail.lines().map(str::to_owned));
        }
        lines
    }

    fn outcome(&self) -> Outcome {
        if self.passed == Some(false) { Outcome::No } else { Outcome::Yes }
    }
}
