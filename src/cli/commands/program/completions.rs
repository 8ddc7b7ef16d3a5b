//! `git colony help completions`

use std::io::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::declaration::Declaration;
use crate::cli::{Face, Stop};
use crate::ui::answer::{Answer, Form, Outcome};

/// Print the completion script of a shell
///
/// Written to where the shell looks for it, or sourced, it completes 'git colony' and 'git-colony':
/// commands, options, and the names of checkpoints, operations, branches and settings. It asks the
/// program each time; git's own completion stays as it is.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Shell {
    /// For bash; git's own completion has to be there, too
    Bash,
    /// For zsh; a file '_git-colony' in a directory of fpath
    Zsh,
    /// For fish; a file 'git-colony.fish' in its conf.d
    Fish,
}

#[derive(Serialize, JsonSchema)]
struct ScriptReport {
    /// The shell.
    shell: &'static str,
    /// The script it reads.
    script: &'static str,
}

impl Answer for ScriptReport {
    fn message(&self) -> String {
        format!("the completion script for {}", self.shell)
    }
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("help completions")
        .example("git colony help completions bash", "the script for bash")
        .example("git colony help completions zsh", "for zsh; fish has one, too")
        .answers::<ScriptReport>()
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let (shell, script) = match args.shell {
        Shell::Bash => ("bash", include_str!("../../../../completions/git-colony.bash")),
        Shell::Zsh => ("zsh", include_str!("../../../../completions/_git-colony")),
        Shell::Fish => ("fish", include_str!("../../../../completions/git-colony.fish")),
    };
    if face.form == Form::Text {
        // A script is printed as it is, not as lines of an answer.
        let out = &mut face.env.stdout;
        out.write_all(script.as_bytes()).and_then(|()| out.flush()).map_err(Stop::Stream)?;
        return Ok(Outcome::Yes);
    }
    face.answer(&ScriptReport { shell, script })
}
