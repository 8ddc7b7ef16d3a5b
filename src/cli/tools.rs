//! `git colony tools`

use crate::flow::tools::{self, FindReport, NewReport, Tool, ToolsReport, Which};
use crate::model::time::Moment;
use crate::setup::scaffolds;
use crate::setup::tool_spec::{ToolSpec, WantedTool};
use crate::setup::tooling_imports::ImportProblem;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::{Face, Opening, Run, Stop};

/// List the tools of this repository, find one, begin one
///
/// They stand in '.colony/tool-registry.json'. Those of the repositories that the manifest imports
/// tooling from are read from what has been fetched; nothing is fetched to look.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Find tools by what they can do, the best first
    Find {
        /// A capability, its beginning, or words of what the tool is for
        #[arg(value_name = "QUERY")]
        query: String,
        /// Only tools of this repository
        #[arg(long)]
        writable: bool,
    },
    /// Begin a tool that builds, in 'tools/PURPOSE/NAME'
    ///
    /// Commits its files and its entry in the registry, and nothing else. Both names are made of a-z and
    /// 0-9, with single '-' or '_' between.
    New(New),
}

#[derive(Debug, clap::Args)]
struct New {
    /// What it is made of
    #[arg(long, value_name = "TEMPLATE")]
    template: TemplateArg,
    /// What it serves
    #[arg(long, value_name = "PURPOSE")]
    purpose: String,
    /// What to call it
    #[arg(long, value_name = "NAME")]
    name: String,
    /// What it can do, as it is looked for
    #[arg(long, value_name = "CAPABILITY")]
    capability: String,
    /// The SPDX identifier of its license, as in 'MIT'
    #[arg(long, value_name = "LICENSE")]
    license: String,
    /// What it is for
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    description: String,
    /// Say what would be done, and change nothing
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

pub(super) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    match args.action {
        None => {
            let session = face.session(Opening::Look)?;
            let report = tools::list(&session)?;
            face.answer(&report)
        }
        Some(Action::Find { query, writable }) => {
            let session = face.session(Opening::Look)?;
            let which = if writable {
                Which::Writable
            } else {
                Which::All
            };
            let report = tools::find(&session, &query, which)?;
            face.answer(&report)
        }
        Some(Action::New(new)) => begin(face, new),
    }
}

fn begin(face: &mut Face<'_>, new: New) -> Result<Outcome, Stop> {
    let spec = ToolSpec::new(WantedTool {
        template: new.template.into(),
        purpose: new.purpose,
        name: new.name,
        capability: new.capability,
        license: new.license,
        description: new.description,
    })?;
    let run = Run::from(new.dry_run);
    let session = face.session(run)?;
    let report = match run {
        Run::Dry => tools::preview(&session, &spec)?,
        Run::ForReal => tools::begin(&session, &spec)?,
    };
    face.answer(&report)
}

fn told(problems: &[ImportProblem]) -> impl Iterator<Item = String> + '_ {
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
        lines.extend(told(&self.problems));
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
        let row = |found: &tools::Match| {
            vec![
                format!("  {:.2}", found.score),
                found.entry.capability.clone(),
                found.entry.location.to_string(),
                standing(found.remote.as_ref()),
            ]
        };
        let mut lines = text::table(&self.matches.iter().map(row).collect::<Vec<_>>());
        lines.extend(told(&self.problems));
        lines
    }
}

impl Answer for NewReport {
    fn message(&self) -> String {
        let (path, files) = (
            &self.relative_path,
            text::count(self.files_created.len(), "file"),
        );
        match self.sha {
            Some(sha) => format!("began '{path}' with {files} in {}", sha.short()),
            None => format!("would begin '{path}' with {files}"),
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let files = self.files_created.iter();
        let mut lines: Vec<String> = files.map(|path| format!("  {path}")).collect();
        if !self.ignored.is_empty() {
            lines.push(format!(
                "attention: ignore rules of the repository hide {} of them, and whatever is added beside",
                self.ignored.len()
            ));
        }
        if let Some(op) = self.op {
            lines.push(format!("take it back: git colony undo   ({op})"));
        }
        lines
    }
}
