//! Which processes belong together: an agent with all that it starts, a person with a terminal.
//!
//! A tree is named by its top: the highest ancestor below a program that starts processes for many, such
//! as init, sshd or a terminal. So a harness that starts a fresh shell for every command is one tree, and
//! so is everything that is typed in one terminal. Where this cannot be told, there is no answer: a process
//! that has outlived its parent is at home with whoever took it in, and a command that came in from another
//! machine or from outside of a container may be one of many of the same harness there.

use super::processes::{Process, find};

/// Programs whose children do not belong together, as the system shortens their names to 15 bytes.
const HOSTS: [&str; 68] = [
    // What starts and keeps services.
    "systemd",
    "init",
    "launchd",
    "runit",
    "runsvdir",
    "s6-svscan",
    "s6-supervise",
    "supervisord",
    "openrc-init",
    "cron",
    "crond",
    "atd",
    // The entry of a container, and what starts it.
    "tini",
    "docker-init",
    "dumb-init",
    "catatonit",
    "podman-init",
    "containerd-shim",
    "containerd",
    "conmon",
    "dockerd",
    "kubelet",
    "lxc-start",
    // Who lets people in.
    ENTRANCES[0],
    ENTRANCES[1],
    ENTRANCES[2],
    "mosh-server",
    "login",
    "gdm-session-wor",
    "sddm-helper",
    "lightdm",
    "SessionLeader",
    // Desktops.
    "gnome-session-b",
    "gnome-shell",
    "kwin_wayland",
    "plasmashell",
    "dbus-daemon",
    "dbus-broker",
    "sway",
    "Hyprland",
    "i3",
    "Xorg",
    // Terminals and what multiplies them.
    "tmux: server",
    "screen",
    "zellij",
    "dtach",
    "abduco",
    "gnome-terminal-",
    "kgx",
    "ptyxis-agent",
    "konsole",
    "yakuake",
    "xterm",
    "urxvt",
    "urxvtd",
    "st",
    "foot",
    "alacritty",
    "kitty",
    "wezterm-gui",
    "wezterm-mux-ser",
    "ghostty",
    "terminator",
    "tilix",
    "guake",
    "xfce4-terminal",
    "mate-terminal",
    "qterminal",
];

/// Hosts that let in single commands, too: several of them may be of one harness elsewhere.
const ENTRANCES: [&str; 3] = ["sshd", "sshd-session", "dropbear"];

/// More generations are not looked at.
const MOST: usize = 200;

/// Returns the top of the tree that a process belongs to; `None` where that cannot be told.
///
/// Costs a small file per generation.
pub fn top_of(pid: u32) -> Option<Process> {
    climb(pid, find)
}

/// Lists a process and its ancestors up to the top of its tree, the nearest first; where the top cannot be
/// told, as far up as it can be seen, without programs that start processes for many.
pub fn line_of(pid: u32) -> Vec<u32> {
    let mut line = Vec::new();
    let mut next = find(pid);
    while let Some(process) = next.filter(|process| line.is_empty() || !is_host(&process.command)) {
        line.push(process.pid);
        next = (line.len() < MOST && process.parent > 1)
            .then(|| find(process.parent))
            .flatten();
    }
    line
}

fn climb(pid: u32, find: impl Fn(u32) -> Option<Process>) -> Option<Process> {
    let mut top = find(pid)?;
    for _ in 0..MOST {
        if top.parent == 0 {
            // The first process of all; or one let into a container from outside, as by an entrance.
            return Some(top).filter(|top| top.pid == 1 || top.has_terminal);
        }
        let Some(parent) = find(top.parent) else {
            // Either it has just ended, or it is another user's and not shown: a border, too.
            let again = find(top.pid).filter(|again| again.parent == top.parent);
            return again.filter(|again| again.session == again.pid);
        };
        // A session is inherited or begun. Neither means that the parent is not the first one.
        if top.session != top.pid && top.session != parent.session {
            return None;
        }
        if is_host(&parent.command) {
            let is_entrance = ENTRANCES.contains(&parent.command.as_str());
            return Some(top).filter(|top| top.has_terminal || !is_entrance);
        }
        top = parent;
    }
    None
}

fn is_host(command: &str) -> bool {
    // A virtual machine of Windows calls its own by what they serve.
    HOSTS.contains(&command) || command.starts_with("init(") || command.starts_with("Relay(")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (pid, parent, session, command)
    type Row = (u32, u32, u32, &'static str);

    fn top(rows: &[Row], pid: u32) -> Option<u32> {
        let find = |pid| {
            let row = rows.iter().find(|row| row.0 == pid)?;
            Some(Process {
                pid: row.0,
                parent: row.1,
                session: row.2,
                has_terminal: row.3 == "bash",
                started: 1,
                command: row.3.to_owned(),
            })
        };
        climb(pid, find).map(|top| top.pid)
    }

    #[test]
    fn a_terminal_is_one_tree_with_the_agents_started_in_it() {
        let rows = [
            (1, 0, 1, "systemd"),
            (20, 1, 20, "tmux: server"),
            (30, 20, 30, "bash"),
            (40, 30, 30, "claude"),
            (50, 40, 50, "bash"),
            (60, 50, 50, "git-colony"),
            (31, 20, 31, "bash"),
            (61, 31, 31, "git-colony"),
        ];
        assert_eq!(top(&rows, 60), Some(30));
        assert_eq!(top(&rows, 61), Some(31));
    }

    #[test]
    fn the_first_process_of_a_container_is_the_top_where_it_hosts_nobody() {
        let rows = [(1, 0, 1, "claude"), (5, 1, 5, "bash"), (6, 5, 5, "git")];
        assert_eq!(top(&rows, 6), Some(1));
    }

    #[test]
    fn a_command_let_in_from_elsewhere_has_a_tree_only_with_a_terminal() {
        let rows = [
            (1, 0, 1, "sleep"),
            (7, 0, 7, "bash"),
            (8, 7, 7, "git-colony"),
            (9, 0, 9, "sh"),
            (10, 9, 9, "git-colony"),
            (20, 1, 20, "sshd"),
            (21, 20, 21, "bash"),
            (22, 20, 22, "sh"),
        ];
        assert_eq!(top(&rows, 8), Some(7));
        assert_eq!(top(&rows, 10), None);
        assert_eq!(top(&rows, 21), Some(21));
        assert_eq!(top(&rows, 22), None);
    }

    #[test]
    fn a_process_that_outlived_its_parent_belongs_to_nobody_known() {
        let rows = [
            (1, 0, 1, "systemd"),
            (7, 1, 5, "sh"),
            (8, 7, 5, "git-colony"),
        ];
        assert_eq!(top(&rows, 8), None);
    }

    #[test]
    fn what_another_user_started_out_of_sight_is_the_top() {
        let rows = [(7, 3, 7, "bash"), (8, 7, 7, "git-colony"), (9, 3, 2, "sh")];
        assert_eq!(top(&rows, 8), Some(7));
        assert_eq!(top(&rows, 9), None);
        assert_eq!(top(&rows, 4), None);
    }
}
