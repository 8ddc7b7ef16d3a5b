//! The `git-colony` program: the process as values, one call, its exit code.

use std::process::ExitCode;

use git_colony::env::Env;

fn main() -> ExitCode {
    let mut env = Env::from_process();
    git_colony::signals::watch(env.world.interrupt.clone());
    let exit = git_colony::run(std::env::args_os(), &mut env);
    ExitCode::from(exit.0)
}
