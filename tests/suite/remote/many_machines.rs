//! Many machines, each with a home and a hub of its own, and one git server over http: all of them fork, checkpoint,
//! write keys, land the work of an agent and sync in a loop, while some are killed, some connections are cut, and one machine is lost for good.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::git_server::{GitServer, Manner, Wire};
use crate::support::{Sandbox, View};

/// The machines, the server, and what a sync took on each.
struct Colony {
    sandbox: Sandbox,
    server: GitServer,
    machines: Vec<View>,
}

/// What a machine did.
#[derive(Default)]
struct Done {
    /// Its own key as it was when the server had it for certain.
    acknowledged: Option<String>,
    seconds: Vec<f64>,
    queued: usize,
}

impl Colony {
    /// Machines with this server; it cuts every so-manyth connection.
    fn new(count: usize, cut: Option<u64>) -> Colony {
        let sandbox = Sandbox::new();
        let served = sandbox.outside().join("served");
        fs::create_dir_all(&served).unwrap();
        let bare = served.join("design.git");
        let (root, path) = (sandbox.root.to_str().unwrap(), bare.to_str().unwrap());
        sandbox.git(&["clone", "-q", "--bare", root, path]);
        sandbox.git(&["-C", path, "config", "http.receivepack", "true"]);
        let server = GitServer::start(&served, Wire::Plain, Manner::Open { cut });
        let machines = (0..count).map(|number| machine(&sandbox, &server, number)).collect();
        Colony { sandbox, server, machines }
    }

    fn at_remote(&self, args: &[&str]) -> String {
        let bare = self.sandbox.outside().join("served/design.git");
        self.sandbox.git(&[&["--git-dir", bare.to_str().unwrap()], args].concat())
    }

    /// Syncs, and fails unless it worked or its own connection was cut; returns the answer of one that worked.
    fn sync(&self, number: usize, done: &mut Done) -> Option<Value> {
        let path = format!("/m{number}.git");
        let cut = self.server.cut_below(&path);
        let started = Instant::now();
        let output = run(&self.machines[number], &["--json", "sync"]);
        done.seconds.push(started.elapsed().as_secs_f64());
        if output.status.success() {
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            let rows = answer["refs"].as_array().unwrap();
            done.queued += rows.iter().filter(|row| row["result"] == "queued").count();
            return Some(answer);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let answer = String::from_utf8_lossy(&output.stdout);
        assert!(self.server.cut_below(&path) > cut, "machine {number}: {said}{answer}");
        None
    }

    /// One machine in its loop.
    fn work(&self, number: usize, rounds: usize) -> Done {
        let (machine, mut done) = (&self.machines[number], Done::default());
        let own = format!("m{number}");
        let made = machine.json(&["agents", "new", "worker"]);
        let worker = machine.at(made["path"].as_str().unwrap().into());
        for round in 0..rounds {
            let label = format!("{own}-{round}");
            worker.write(&format!("{own}.txt"), format!("{label}\n"));
            succeed(&worker, &["commit", "-m", &label, "--all"]);
            if round == 1 {
                succeed(machine, &["land", "worker", "--no-test"]);
            }
            succeed(machine, &["fork", &label, "--no-switch"]);
            machine.write("work.txt", format!("{label}\n"));
            succeed(machine, &["checkpoint", "-m", &label]);
            succeed(machine, &["blackboard", "put", "plan", &own, &label]);
            // One key that all write: who finds several values settles them.
            let shared = run(machine, &["--json", "blackboard", "put", "plan", "shared", &label]);
            if !shared.status.success() {
                let refused: Value = serde_json::from_slice(&shared.stdout).unwrap();
                let version = refused["detail"]["version"]
                    .as_str()
                    .unwrap_or_else(|| panic!("{refused:#}"))
                    .to_owned();
                let settle =
                    ["blackboard", "put", "plan", "shared", &label, "--if-version", &version];
                succeed(machine, &settle);
            }
            if (number + round).is_multiple_of(2) {
                // With its children, as when the machine goes down.
                let mut sync = machine.program();
                let sync = sync.arg("sync").stdout(Stdio::null()).process_group(0);
                let mut child = sync.spawn().unwrap();
                std::thread::sleep(Duration::from_millis(90 * (round as u64 + 1)));
                let group = format!("-{}", child.id());
                drop(machine.process("kill").args(["-9", "--", &group]).status());
                child.wait().unwrap();
            }
            if self.sync(number, &mut done).is_some() {
                done.acknowledged = Some(label);
            }
        }
        done
    }
}

/// A clone on a machine of its own.
fn machine(sandbox: &Sandbox, server: &GitServer, number: usize) -> View {
    let outside = sandbox.outside();
    let home = outside.join(format!("home-{number}"));
    fs::create_dir_all(&home).unwrap();
    symlink("design.git", outside.join(format!("served/m{number}.git"))).unwrap();
    let url = server.url(&format!("m{number}.git"));
    let root = outside.join(format!("machine-{number}"));
    while !sandbox.try_git(&["clone", "-q", &url, root.to_str().unwrap()]) {}
    let machine =
        sandbox.at(root).with("HOME", &home).with("COLONY_SHARED_ROOT", home.join("root"));
    let machine = machine.with("COLONY_MACHINE", format!("m{number}"));
    machine.git(&["config", "user.name", &format!("Machine {number}")]);
    machine.git(&["config", "user.email", &format!("m{number}@example.com")]);
    // The consent of a person; a connection that is cut takes none.
    while !run(&machine, &["sync", "--push"]).status.success() {}
    machine
}

fn run(machine: &View, args: &[&str]) -> Output {
    machine.program().args(["--timeout", "600"]).args(args).output().unwrap()
}

fn succeed(machine: &View, args: &[&str]) {
    let output = run(machine, args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {said}");
}

/// The value at a percentile.
fn percentile(seconds: &mut [f64], percent: usize) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len().saturating_sub(1) * percent / 100]
}

#[test]
fn machines_that_write_at_once_lose_nothing_and_agree() {
    let is_long = std::env::var_os("COLONY_TEST_LONG").is_some();
    let (count, rounds) = if is_long { (64, 8) } else { (8, 3) };
    let colony = Colony::new(count, Some(23));
    let done: Vec<Done> = std::thread::scope(|scope| {
        let work = |number: usize| colony.work(number, rounds);
        let threads: Vec<_> = (0..count).map(|number| scope.spawn(move || work(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut seconds: Vec<f64> = done.iter().flat_map(|done| done.seconds.clone()).collect();
    let queued: usize = done.iter().map(|done| done.queued).sum();
    let told = writeln!(
        std::io::stderr(),
        "{count} machines: median {:.2} s, p95 {:.2} s, {queued} queued of {}",
        percentile(&mut seconds, 50),
        percentile(&mut seconds, 95),
        seconds.len(),
    );
    told.unwrap();
    // The last machine is lost: only what the server has of it is left.
    let lost = count - 1;
    fs::remove_dir_all(&colony.machines[lost].root).unwrap();
    for _ in 0..2 {
        for number in 0..lost {
            while colony.sync(number, &mut Done::default()).is_none() {}
        }
    }
    let boards = ["for-each-ref", "--format=%(refname) %(objectname)", "refs/colony"];
    let on_server = colony.at_remote(&boards);
    assert!(!on_server.contains("refs/colony/outbox/"), "{on_server}");
    let plan = |number: usize| {
        let listed = colony.machines[number].json(&["blackboard", "list", "plan"]);
        let keys = listed["keys"].as_array().unwrap().iter();
        let keys = keys.map(|row| (row["key"].as_str().unwrap().to_owned(), row.clone()));
        keys.collect::<BTreeMap<_, _>>()
    };
    // The newest work of the agents of all machines, but of the lost one what it had sent.
    for number in 0..lost {
        let log = colony.machines[(number + 1) % lost].json(&["log", &format!("m{number}/worker")]);
        let newest = format!("m{number}-{}", rounds - 1);
        assert_eq!(log["commits"][0]["subject"], newest, "{log:#}");
    }
    let first = plan(0);
    for number in 0..lost {
        assert_eq!(colony.machines[number].git(&boards), on_server, "machine {number}");
        assert_eq!(plan(number), first);
    }
    for (number, done) in done.iter().enumerate() {
        let last = format!("m{number}-{}", rounds - 1);
        let own = format!("m{number}");
        let value = colony.machines[0].json(&["blackboard", "get", "plan", &own]);
        let value = value["value"].as_str().map(str::to_owned);
        // What a lost machine had not sent, or did not know to be there, may be there or not.
        let expected = if number < lost { Some(last) } else { done.acknowledged.clone() };
        assert!(value >= expected, "{own}: {value:?}, not {expected:?}");
    }
    colony.at_remote(&["fsck", "--strict", "--no-dangling"]);
}
