//! Determines which processes belong together: those started in one terminal, or by one harness.
//!
//! A session of the system is started by its leader and inherited by all processes below it. So the leader
//! identifies the one who runs a command: with a terminal, the person at it. The names of programs matter only for
//! hooks, which a shell runs that ends with them. Process 1 starts processes for many, even where it is an ordinary
//! program, as in a container: without a terminal of its own it identifies nobody.

use super::processes::{Process, find};

/// Programs that run the hook of another one, and end with it.
const STARTERS: [&str; 11] =
    ["sh", "dash", "bash", "zsh", "ksh", "fish", "busybox", "git", "env", "setsid", "timeout"];

/// More generations are not examined.
const MAX_GENERATIONS: usize = 200;

/// Returns the process that leads the session of a process: the leader of its terminal if it has one, else
/// the nearest ancestor that started a session. `None` if that process has ended, is hidden, or is process 1.
///
/// Costs reading two small files.
pub fn leader_of(pid: u32) -> Option<Process> {
    leader(pid, find)
}

/// Lists a process and its ancestors, nearest first, below process 1 and up to the leader of the terminal.
/// The program that opened the terminal is left out, because it may have opened many, unless it has a
/// terminal itself.
///
/// Costs reading one small file per generation.
pub fn line_of(pid: u32) -> Vec<Process> {
    line(pid, find)
}

/// Returns the program that runs a hook: the nearest process of a [`line_of`] that is neither the hook itself nor a shell
/// that runs it.
pub fn program_of(line: &[Process]) -> Option<&Process> {
    line.iter().skip(1).find(|process| !STARTERS.contains(&process.command.as_str()))
}

/// Returns the process above which nothing shows who started it: one that process 1, or the service manager of the
/// user, has adopted, or that runs below them without a terminal. `None` where the one who started it is among
/// [`line_of`].
pub fn detached(pid: u32) -> Option<Process> {
    detached_above(pid, find)
}

fn detached_above(pid: u32, find: impl Fn(u32) -> Option<Process>) -> Option<Process> {
    let mut process = find(pid)?;
    for _ in 0..MAX_GENERATIONS {
        let parent = find(process.parent)?;
        if process.leads_session() {
            let is_service = process.terminal.is_none() && parent.adopts();
            return is_service.then_some(process);
        }
        // A process begins in the session of the one that started it. Where all of a system are in one, as in many
        // containers, it shows nothing.
        let is_adopted = process.terminal.is_none() && parent.adopts();
        if is_adopted || parent.session != process.session {
            return Some(process);
        }
        process = parent;
    }
    None
}

fn leader(pid: u32, find: impl Fn(u32) -> Option<Process>) -> Option<Process> {
    let process = find(pid)?;
    // The pid is not reused while a session has it.
    let leader = find(process.session)?;
    Some(leader).filter(|leader| leader.pid > 1 || leader.terminal.is_some())
}

fn line(pid: u32, find: impl Fn(u32) -> Option<Process>) -> Vec<Process> {
    let mut line: Vec<Process> = Vec::new();
    let mut next = find(pid);
    while let Some(process) = next {
        let parent = (process.parent > 1 && line.len() < MAX_GENERATIONS)
            .then(|| find(process.parent))
            .flatten();
        let leads_terminal = process.leads_session() && process.terminal.is_some();
        next = parent.filter(|parent| !leads_terminal || parent.terminal.is_some());
        line.push(process);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (pid, parent, session, terminal)
    type Row = (u32, u32, u32, u32);

    const NONE: u32 = 0;

    fn find_in(rows: &[Row]) -> impl Fn(u32) -> Option<Process> {
        |pid| {
            let row = rows.iter().find(|row| row.0 == pid)?;
            Some(Process {
                pid: row.0,
                parent: row.1,
                group: 0,
                session: row.2,
                terminal: Some(row.3).filter(|terminal| *terminal != NONE),
                started: 1,
                command: "x".to_owned(),
            })
        }
    }

    fn leads(rows: &[Row], pid: u32) -> Option<u32> {
        leader(pid, find_in(rows)).map(|leader| leader.pid)
    }

    fn pids(rows: &[Row], pid: u32) -> Vec<u32> {
        let line = line(pid, find_in(rows));
        line.into_iter().map(|process| process.pid).collect()
    }

    #[test]
    fn processes_of_one_terminal_have_one_leader() {
        // One terminal server with two shells; an agent with a command runs in the first.
        let rows = [
            (1, 0, 1, NONE),
            (20, 1, 20, NONE),
            (30, 20, 30, 7),
            (40, 30, 30, 7),
            (50, 40, 30, 7),
            (31, 20, 31, 8),
            (61, 31, 31, 8),
        ];
        assert_eq!((leads(&rows, 50), leads(&rows, 61)), (Some(30), Some(31)));
        assert_eq!(pids(&rows, 50), [50, 40, 30]);
        assert_eq!(pids(&rows, 61), [61, 31]);
    }

    #[test]
    fn a_session_of_its_own_is_below_the_terminal_it_was_started_in() {
        let rows = [
            (1, 0, 1, NONE),
            (20, 1, 20, NONE),
            (30, 20, 30, 7),
            (40, 30, 30, 7),
            (50, 40, 50, NONE),
            (60, 50, 50, NONE),
            // A terminal within the terminal.
            (70, 40, 70, 9),
            (80, 70, 70, 9),
        ];
        assert_eq!(leads(&rows, 60), Some(50));
        assert_eq!(pids(&rows, 60), [60, 50, 40, 30]);
        assert_eq!(leads(&rows, 80), Some(70));
        assert_eq!(pids(&rows, 80), [80, 70, 40, 30]);
    }

    #[test]
    fn the_program_of_a_hook_is_above_its_shells() {
        let process = |pid, command: &str| Process {
            command: command.to_owned(),
            ..find_in(&[(pid, 1, pid, NONE)])(pid).unwrap()
        };
        let line = |names: &[&str]| {
            let line: Vec<_> = (2..).zip(names).map(|(pid, name)| process(pid, name)).collect();
            program_of(&line).map(|process| process.command.clone())
        };
        let program = line(&["git-colony", "git", "sh", "claude", "bash"]);
        assert_eq!(program.as_deref(), Some("claude"));
        assert_eq!(line(&["git-colony", "codex"]).as_deref(), Some("codex"));
        assert_eq!(line(&["sh", "bash"]), None, "typed by a person");
        assert_eq!(line(&[]), None);
    }

    #[test]
    fn the_first_process_of_a_container_leads_nothing() {
        // It has started the session that all of them are in.
        let rows = [(1, 0, 1, NONE), (5, 1, 1, NONE), (6, 5, 1, NONE)];
        assert_eq!(leads(&rows, 6), None);
        assert_eq!(pids(&rows, 6), [6, 5]);
        // A session from outside of the container belongs to no visible process.
        assert_eq!(leads(&[(1, 0, 0, NONE), (5, 1, 0, NONE)], 5), None);
        // A process with a session of its own has it here too; so does one that enters from outside.
        let rows =
            [(1, 0, 1, NONE), (5, 1, 5, NONE), (6, 5, 5, NONE), (7, 0, 7, NONE), (8, 7, 7, NONE)];
        assert_eq!((leads(&rows, 6), leads(&rows, 8)), (Some(5), Some(7)));
        // The terminal counts, whichever process leads it.
        let rows = [(1, 0, 1, 3), (5, 1, 1, 3), (6, 0, 6, 4), (7, 6, 6, 4)];
        assert_eq!((leads(&rows, 5), leads(&rows, 7)), (Some(1), Some(6)));
    }

    #[test]
    fn a_process_that_was_adopted_is_detached() {
        let rows = [
            (1, 0, 1, NONE),
            (20, 1, 20, NONE),
            (30, 20, 30, 7),
            (40, 30, 30, 7),
            // Adopted: one of the terminal, and one with a session of its own and a process below it.
            (50, 1, 30, 7),
            (60, 1, 60, NONE),
            (61, 60, 60, NONE),
            // A session of its own that its starter still stands above.
            (70, 40, 70, NONE),
            (71, 70, 70, NONE),
            // The terminal of a container.
            (80, 0, 80, 9),
        ];
        let detached = |pid| detached_above(pid, find_in(&rows)).map(|process| process.pid);
        assert_eq!((detached(50), detached(60), detached(61)), (Some(50), Some(60), Some(60)));
        assert_eq!((detached(40), detached(71), detached(80)), (None, None, None));
        // All in the session of process 1, or in none that is visible from here.
        for session in [0, 1] {
            let rows = [(1, 0, session, NONE), (5, 1, session, NONE), (6, 5, session, NONE)];
            assert_eq!(detached_above(6, find_in(&rows)).map(|process| process.pid), Some(5));
            // With a terminal, process 1 is the shell of a person.
            let rows = [(1, 0, session, 3), (5, 1, session, 3), (6, 5, session, 3)];
            assert_eq!(detached_above(6, find_in(&rows)), None);
        }
    }

    #[test]
    fn a_process_that_outlived_its_session_has_no_known_leader() {
        let rows = [(1, 0, 1, NONE), (20, 1, 20, NONE), (8, 20, 5, NONE)];
        assert_eq!(leads(&rows, 8), None);
        assert_eq!(leads(&rows, 9), None);
        assert!(pids(&rows, 9).is_empty());
    }
}
