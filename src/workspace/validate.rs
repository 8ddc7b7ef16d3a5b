//! Checks whether a file can be read: as text, and by its format. Nothing of the repository is run.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::Checkout;
use crate::git::process::bounded::{self, End, Limits};
use crate::git::process::on_path;
use crate::git::worktree::safe_open::read_below;
use crate::model::text::Position;
use crate::model::{Code, Error, RepoPath, Result, World};
use crate::repo_map::load::PATH as MAP;
use crate::repo_map::schema::RepoMap;
use crate::store::data_tree::format::Format;
use crate::store::yaml::Fault;
use crate::store::yaml_problem::YamlProblem;
use crate::workspace::checkout::catalog::{load, manifest};

/// A larger file is not checked.
const MAX_BYTES: u64 = 4 << 20;

/// What rustfmt may use.
const RUSTFMT: Limits =
    Limits { time: Duration::from_secs(20), memory_bytes: 2 << 30, output_bytes: 16 << 20 };

/// What checked a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckedAs {
    /// The map of sources.
    RepoMap,
    /// The catalog of repositories.
    Catalog,
    /// JSON.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
    /// Rust, by rustfmt.
    Rust,
    /// Only as text: the format is not known, or its program is not installed.
    Text,
}

impl From<Format> for CheckedAs {
    fn from(format: Format) -> CheckedAs {
        match format {
            Format::Json => CheckedAs::Json,
            Format::Toml => CheckedAs::Toml,
            Format::Yaml => CheckedAs::Yaml,
        }
    }
}

/// The result.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ValidateReport {
    /// The file, below the root.
    pub path: RepoPath,
    /// What it was checked as.
    pub checked_as: CheckedAs,
    /// Whether it has no problem.
    pub valid: bool,
    /// What was not checked, and why.
    pub warnings: Vec<String>,
    /// Its size.
    pub bytes: usize,
    /// The problems.
    pub problems: Vec<YamlProblem>,
    /// Their number.
    pub count: usize,
}

/// Checks a file.
pub fn validate(world: &World, checkout: &Checkout, path: &RepoPath) -> Result<ValidateReport> {
    let full = path.under(&checkout.root);
    let real = full.canonicalize().map_err(|error| match error.kind() {
        ErrorKind::NotFound => absent(path),
        _ => Error::new(Code::PathNotFound, format!("cannot read '{path}'")).caused_by(error),
    })?;
    let Ok(below) = real.strip_prefix(&checkout.root) else {
        let message = format!("a symlink in '{path}' leads out of the checkout");
        return Err(Error::new(Code::PathOutside, message));
    };
    if real.is_dir() {
        let shown = if path.as_bytes().is_empty() { "." } else { &path.to_string() };
        let message = format!("'{shown}' is a directory; the command is about one file");
        return Err(Error::new(Code::InvalidValue, message)
            .unchanged()
            .hint("git colony validate -h"));
    }
    let read = read_below(&world.interrupt, &checkout.root, &RepoPath::from(below), MAX_BYTES);
    let bytes =
        read.map_err(|fault| fault.error(Code::InvalidValue, path))?.ok_or_else(|| absent(path))?;
    let (checked_as, problems) = match std::str::from_utf8(&bytes) {
        Ok(text) => check(world, path, text)?,
        Err(error) => {
            let at = Position::of(&bytes, error.valid_up_to());
            (CheckedAs::Text, vec![YamlProblem::at(at, "it is not UTF-8")])
        }
    };
    Ok(ValidateReport {
        path: path.clone(),
        checked_as,
        warnings: warnings(path, checked_as),
        valid: problems.is_empty(),
        bytes: bytes.len(),
        count: problems.len(),
        problems,
    })
}

fn absent(path: &RepoPath) -> Error {
    Error::new(Code::PathNotFound, format!("'{path}' does not exist"))
}

/// Says that a file of Rust was checked only as text.
fn warnings(path: &RepoPath, checked_as: CheckedAs) -> Vec<String> {
    let is_rust = extension_of(&path.to_string()).as_deref() == Some("rs");
    let is_unchecked = is_rust && checked_as == CheckedAs::Text;
    let warning =
        format!("'{path}' was not checked as Rust: rustfmt is not installed, or does not run");
    is_unchecked.then_some(warning).into_iter().collect()
}

fn extension_of(name: &str) -> Option<String> {
    let extension = Path::new(name).extension()?;
    Some(extension.to_string_lossy().to_lowercase())
}

fn check(world: &World, path: &RepoPath, text: &str) -> Result<(CheckedAs, Vec<YamlProblem>)> {
    let name = path.to_string();
    if name == MAP {
        return Ok((CheckedAs::RepoMap, RepoMap::read(text.as_bytes()).problems));
    }
    if load::PLACES.contains(&&*name) {
        let problems = manifest::read(text).err().unwrap_or_default();
        return Ok((CheckedAs::Catalog, problems));
    }
    if let Some(format) = Format::of(&name) {
        return Ok((CheckedAs::from(format), problems_of(format.fault_in(text))));
    }
    match extension_of(&name).as_deref() {
        Some("rs") => rust(world, text),
        _ => Ok((CheckedAs::Text, Vec::new())),
    }
}

fn problems_of(fault: Option<Fault>) -> Vec<YamlProblem> {
    let start = Position { line: 1, column: 1 };
    let at = |fault: Fault| YamlProblem::at(fault.position.unwrap_or(start), fault.message);
    fault.map(at).into_iter().collect()
}

/// Lets rustfmt parse a file; its layout does not matter.
fn rust(world: &World, text: &str) -> Result<(CheckedAs, Vec<YamlProblem>)> {
    let none = (CheckedAs::Text, Vec::new());
    let Some(program) = on_path(world, "rustfmt") else {
        return Ok(none);
    };
    let args = ["--edition", "2024", "--config-path", "/dev/null", "--emit", "stdout"];
    let run = bounded::run(world, &program, &args, text.as_bytes().to_vec(), RUSTFMT)?;
    let Some(finished) = run else {
        return Ok(none);
    };
    let problems = match finished.end {
        End::Exited(0) => Vec::new(),
        End::Exited(_) if finished.stderr.contains("-->") => rust_problems(&finished.stderr),
        // A proxy without a toolchain, or a limit.
        _ => return Ok(none),
    };
    Ok((CheckedAs::Rust, problems))
}

/// Reads `error: MESSAGE` and ` --> <stdin>:LINE:COLUMN` of rustc.
fn rust_problems(stderr: &str) -> Vec<YamlProblem> {
    let mut problems = Vec::new();
    let mut message = "it is not Rust";
    for line in stderr.lines() {
        if let Some(said) = line.strip_prefix("error: ") {
            message = said;
        }
        let Some(place) = line.trim_start().strip_prefix("--> ") else {
            continue;
        };
        let mut numbers = place.rsplit(':').map_while(|part| part.parse::<usize>().ok());
        if let (Some(column), Some(line)) = (numbers.next(), numbers.next()) {
            problems.push(YamlProblem::at(Position { line, column }, message));
        }
    }
    problems
}
