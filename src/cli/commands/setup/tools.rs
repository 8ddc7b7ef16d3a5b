//! `git colony tools`

use crate::cli::actions::{Effect, Group, How, action, as_arg, how, same};
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Opening, Run, Stop};
use crate::desk::completion::Names;
use crate::model::time::Moment;
use crate::setup::scaffolds;
use crate::setup::tool_spec::{ToolSpec, WantedTool};
use crate::setup::tool_target::{self, TypedPlace};
use crate::setup::tooling_imports::ImportProblem;
use crate::setup::tools::{self, FindReport, NewReport, Tool, ToolFilter, ToolsReport};
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// List, find and create the tools of this repository
///
/// They are listed in '.colony/tool-registry.json'. Those of repositories from which the manifest imports
/// tools are included, as far as they have been fetched; nothing is fetched now.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Action {
    /// Find tools by capability, the best match first
    Find {
        /// A capability, a prefix of it, or words of its description
        #[arg(value_name = "QUERY")]
        query: String,
        /// Only tools of this repository
        #[arg(long)]
        writable: bool,
    },
    /// Create a tool that builds, in 'tools/PURPOSE/NAME'
    ///
    /// Commits its files and its entry in the registry, and nothing else. Both names are made of a-z and
    /// 0-9, with single '-' or '_' between.
    New(New),
}

const VARIABLES: &str = "A variable of the template; repeatable\n\n\
    All templates have 'version' (0.1.0) and 'author' (none); rust_crate has 'edition' (2021), python_lib 'python' \
    (3.9), julia_module 'julia' (1.6), c_library and cmake_project 'standard' (99 and 17).";
const TARGET: &str = "Its place: 'subdir_in_monorepo:tools/PURPOSE/NAME'";
const TARGET_LONG: &str = "Its place: 'subdir_in_monorepo:tools/PURPOSE/NAME'\n\n\
    In place of --purpose and --name, which have to agree with it where they are given.";

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "git colony tools new [OPTIONS] --template <TEMPLATE> --capability <CAPABILITY> \
    --license <LICENSE> <--purpose <PURPOSE> --name <NAME>|--target <TARGET>>"
)]
struct New {
    /// The template it is created from
    #[arg(long, value_name = "TEMPLATE")]
    template: TemplateArg,
    /// Its purpose, a folder below 'tools'
    #[arg(long, value_name = "PURPOSE", required_unless_present = "target")]
    purpose: Option<String>,
    /// Its name
    #[arg(long, value_name = "NAME", required_unless_present = "target")]
    name: Option<String>,
    /// Its capability, by which it is found
    #[arg(long, value_name = "CAPABILITY")]
    capability: String,
    /// The SPDX identifier of its license, as in 'MIT'
    #[arg(long, value_name = "LICENSE")]
    license: String,
    /// Its description
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    description: String,
    /// A file of the tool with its text; repeatable
    ///
    /// PATH is relative to the folder of the tool and ends at the first '='. The file is added, or replaces
    /// that of the template. TEXT has at most 1 MiB and is taken as it is.
    #[arg(long = "file", value_name = "PATH=TEXT")]
    files: Vec<String>,
    #[arg(
        long = "var",
        value_name = "NAME=VALUE",
        help = "A variable of the template; repeatable",
        long_help = VARIABLES
    )]
    variables: Vec<String>,
    #[arg(long, value_name = "TARGET", help = TARGET, long_help = TARGET_LONG)]
    target: Option<String>,
    /// Show what would be done, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// What a tool is made of.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
enum TemplateArg {
    /// A Python package
    PythonLib,
    #[value(help = "A library in C99, built by CMake")]
    CLibrary,
    #[value(help = "A library in C++17, built by CMake")]
    CmakeProject,
    /// A Julia package
    JuliaModule,
    /// A Rust library
    RustCrate,
}

impl From<TemplateArg> for scaffolds::Template {
    fn from(template: TemplateArg) -> Self {
        match template {
            TemplateArg::PythonLib => scaffolds::Template::PythonLib,
            TemplateArg::CLibrary => scaffolds::Template::CLibrary,
            TemplateArg::CmakeProject => scaffolds::Template::CmakeProject,
            TemplateArg::JuliaModule => scaffolds::Template::JuliaModule,
            TemplateArg::RustCrate => scaffolds::Template::RustCrate,
        }
    }
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("tools", Section::Inspect, Screen::All)
        .lists_by_itself()
        .example("git colony tools", "the tools of this repository")
        .example("git colony tools find parser", "those that do something")
        .answers::<ToolsReport>()
        .action(
            action("list_tools", Group::Repository, Effect::Reads).about(
                "List the tools of this repository, below tools/; not the tools of this server",
            ),
        )
        .below([
            Declaration::of("tools find")
                .answers::<FindReport>()
                .completes("QUERY", Names::Capabilities)
                .action(
                    action("find_existing_tool", Group::Repository, Effect::Reads)
                        .about("Find tools of this repository by capability, the best match first")
                        .takes(&[
                            as_arg("capability_query", "query"),
                            as_arg("require_writable", "writable"),
                        ]),
                ),
            Declaration::of("tools new")
                .answers::<NewReport>()
                .completes("PURPOSE", Names::Purposes)
                .action(
                    action("bootstrap_repo", Group::Repository, Effect::Adds)
                        .about(
                            "Create a tool of this repository from a template, in \
                             tools/PURPOSE/NAME, by one commit",
                        )
                        .takes(&[
                            same("template").plain(),
                            same("purpose").plain(),
                            same("name").plain(),
                            same("license").about("As in 'MIT'"),
                            same("capability").about("By which it is found"),
                            same("description").plain(),
                            same("target").about("'subdir_in_monorepo:tools/PURPOSE/NAME'"),
                            how("initial_files", How::Pairs("files")).about("Texts by path"),
                            how("template_vars", How::Pairs("variables")).plain(),
                        ]),
                ),
        ])
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    match args.action {
        None => {
            let session = face.session(Opening::InMemory)?;
            let report = tools::list(&session)?;
            face.answer(&report)
        }
        Some(Action::Find { query, writable }) => {
            let session = face.session(Opening::InMemory)?;
            let which = if writable { ToolFilter::Writable } else { ToolFilter::All };
            let report = tools::find(&session, &query, which)?;
            face.answer(&report)
        }
        Some(Action::New(new)) => begin(face, new),
    }
}

fn begin(face: &mut Face<'_>, new: New) -> Result<Outcome, Stop> {
    let place = tool_target::resolve(TypedPlace {
        target: new.target,
        purpose: new.purpose,
        name: new.name,
    })?;
    let spec = ToolSpec::new(WantedTool {
        template: new.template.into(),
        purpose: place.purpose,
        name: place.name,
        capability: new.capability,
        license: new.license,
        description: new.description,
        files: new.files,
        variables: new.variables,
    })?;
    let session = face.session(Run::from(new.dry_run))?;
    let report = tools::begin(&session, &spec)?;
    face.answer(&report)
}

fn problem_lines(problems: &[ImportProblem]) -> impl Iterator<Item = String> + '_ {
    problems.iter().map(|problem| {
        let remote = problem.remote.as_deref();
        let of = remote.map_or_else(String::new, |remote| format!("{remote}: "));
        format!("attention: {of}{}", problem.message)
    })
}

fn standing(remote: Option<&String>) -> String {
    remote.map_or_else(String::new, |_| "read-only".to_owned())
}

impl Answer for ToolsReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        text::count(self.count, "tool")
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let row = |tool: &Tool| {
            vec![
                format!("  {}", tool.entry.capability),
                tool.entry.location.to_string(),
                tool.entry.version.clone(),
                standing(tool.remote.as_ref()),
            ]
        };
        let mut lines = text::table(&self.tools.iter().map(row).collect::<Vec<_>>());
        lines.extend(problem_lines(&self.problems));
        lines
    }
}

impl Answer for FindReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let tools = text::count(self.count, "tool");
        let verb = if self.count == 1 { "fits" } else { "fit" };
        format!("{tools} {verb} '{}'", self.query)
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let row = |hit: &tools::Match| {
            vec![
                format!("  {:.2}", hit.score),
                hit.entry.capability.clone(),
                hit.entry.location.to_string(),
                standing(hit.remote.as_ref()),
            ]
        };
        let mut lines = text::table(&self.matches.iter().map(row).collect::<Vec<_>>());
        lines.extend(problem_lines(&self.problems));
        lines
    }
}

impl Answer for NewReport {
    fn message(&self) -> String {
        let (path, files) = (&self.relative_path, text::count(self.files_created.len(), "file"));
        match self.sha {
            Some(sha) => format!("created '{path}' with {files} in {}", sha.short()),
            None => format!("would create '{path}' with {files}"),
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let files = self.files_created.iter();
        let mut lines: Vec<String> = files.map(|path| format!("  {path}")).collect();
        if !self.ignored.is_empty() {
            lines.push(format!(
                "attention: ignore rules of the repository hide {} of them, and files added beside them",
                self.ignored.len()
            ));
        }
        if let Some(op) = self.op {
            lines.push(format!("to undo: git colony undo   ({op})"));
        }
        lines
    }
}
