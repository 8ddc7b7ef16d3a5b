//! How children end that a command has started: they are asked to, and killed if they do not.

use std::sync::Mutex;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::model::interrupt::{Interrupt, unpoisoned};

/// Ends the children of a program that was asked to stop, and their children: by SIGTERM, then by
/// SIGKILL.
///
/// gix, not this gate, starts filters, so on Linux all descendants are looked up.
pub fn end_children(interrupt: &Interrupt) {
    let outlive = unpoisoned(&SPARED).clone();
    let roots = outlive.into_iter().chain(interrupt.spared());
    let spared: Vec<u32> =
        roots.flat_map(|child| [descendants(child), vec![child]].concat()).collect();
    let living = || {
        let mut living = descendants(std::process::id());
        living.retain(|child| !spared.contains(child));
        living
    };
    let mut children = living();
    children.extend(interrupt.children());
    end(interrupt, &children, living);
}

/// The processes in the background that outlive this one.
static SPARED: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Has a child, and what it starts, outlive this process. Its pid stays its own: nobody waits for it here.
pub fn spare(child: u32) {
    unpoisoned(&SPARED).push(child);
}

/// Ends what one of several commands in this process has started through this gate, and their children.
pub fn end_own_children(interrupt: &Interrupt) {
    let own = || -> Vec<u32> {
        let children = interrupt.children();
        let below = children.iter().flat_map(|child| descendants(*child));
        below.chain(children.iter().copied()).collect()
    };
    end(interrupt, &own(), own);
}

fn end(interrupt: &Interrupt, children: &[u32], living: impl Fn() -> Vec<u32>) {
    ask_to_end(children);
    for _ in 0..20 {
        if interrupt.children().is_empty() && living().is_empty() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    kill(&living());
}

/// Sends SIGTERM to processes.
pub fn ask_to_end(pids: &[u32]) {
    signal_all(pids, Signal::TERM);
}

/// Sends SIGTERM to a process group.
pub fn ask_group_to_end(group: u32) {
    group_of(group).map(|group| kill_process_group(group, Signal::TERM).ok());
}

/// Sends SIGKILL to a process group.
pub fn kill_group(group: u32) {
    group_of(group).map(|group| kill_process_group(group, Signal::KILL).ok());
}

fn group_of(group: u32) -> Option<Pid> {
    i32::try_from(group).ok().and_then(Pid::from_raw)
}

/// Sends SIGKILL to processes.
pub fn kill(pids: &[u32]) {
    signal_all(pids, Signal::KILL);
}

fn signal_all(pids: &[u32], signal: Signal) {
    for pid in pids {
        let pid = i32::try_from(*pid).ok().and_then(Pid::from_raw);
        // The process may be gone already.
        pid.map(|pid| kill_process(pid, signal).ok());
    }
}

/// Lists all descendants of a process; empty if the system does not provide them.
pub(in crate::git) fn descendants(pid: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let children: Vec<u32> = lists
        .flat_map(|list| {
            list.split(' ').filter_map(|pid| pid.trim().parse().ok()).collect::<Vec<_>>()
        })
        .collect();
    let below = children.iter().flat_map(|child| descendants(*child)).collect::<Vec<_>>();
    children.into_iter().chain(below).collect()
}
