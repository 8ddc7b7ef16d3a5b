//! The `git-colony` program: the process as values, one call, its exit code.

use std::io::Write as _;
use std::process::ExitCode;

use git_colony::env::Env;

fn main() -> ExitCode {
    run().unwrap_or_else(|error| {
        // If standard error is closed, the exit code still shows the failure.
        writeln!(std::io::stderr(), "error: cannot start: {error}").ok();
        ExitCode::from(128)
    })
}

fn run() -> std::io::Result<ExitCode> {
    git_colony::env::hide_repository();
    let (streams, inherited) = git_colony::streams::take()?;
    let mut env = Env::from_process(streams)?;
    let ear = inherited.attach(&mut env.world)?;
    let exit = git_colony::run(std::env::args_os(), &mut env);
    drop(ear);
    // Each answer was written and flushed; to free each value would only delay the end.
    std::mem::forget(env);
    Ok(ExitCode::from(exit.0))
}
