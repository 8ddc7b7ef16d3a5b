//! What `make` links with: the functions of short commands are put side by side.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::support::Sandbox;

/// Runs the linker of `make` with a stand-in for the compiler, which keeps the order that it is given; returns that.
fn order_of(sandbox: &Sandbox, output: &str) -> Option<String> {
    let folder = sandbox.outside();
    let stand_in = folder.join("cc");
    let script = "#!/bin/sh
        case $1 in -print-file-name=*) echo /gcc/libgcc_eh.a; exit ;; esac
        printf '%s\\n' \"$@\" >arguments
        for argument; do
            case $argument in *ordering-file=*) cp \"${argument#*=}\" order ;; esac
        done";
    fs::write(&stand_in, script).unwrap();
    fs::set_permissions(&stand_in, fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(folder.join("order")).ok();
    let linked = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("link/in-order"))
        .args(["a b.rcgu.o", "-lgcc_s", "-o", output, "-fuse-ld=lld"])
        .env("CC", &stand_in)
        .current_dir(&folder)
        .status();
    assert!(linked.unwrap().success());
    fs::read_to_string(folder.join("order")).ok()
}

#[test]
fn functions_of_short_commands_are_put_in_order() {
    let sandbox = Sandbox::new();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("link/start.txt");
    let names = fs::read_to_string(path).unwrap();
    let named = |name: &&str| name.starts_with("_RNvNtC") && name.contains("3cli3run");
    let name = names.lines().find(named).expect("cli::run is in the list");
    // Of a later command, though its name comes earlier in the alphabet.
    let mut after = names.lines().skip_while(|other| *other != name);
    let later = after.find(|other| *other < name && other.contains('C')).unwrap();
    let [name, later] = [name, later].map(|name| name.replacen('C', "Cs9hAsh_", 1));
    let code = format!(
        "void {name}(void) {{}}\nvoid {later}(void) {{}}\nvoid _RNvCs1_5other(void) {{}}\n"
    );
    fs::write(sandbox.outside().join("code.c"), code).unwrap();
    let compiled = Command::new("cc")
        .args(["-c", "code.c", "-o", "a b.rcgu.o"])
        .current_dir(sandbox.outside())
        .status();
    assert!(compiled.unwrap().success());
    let order = order_of(&sandbox, "/target/dist/deps/git_colony-0123");
    assert_eq!(order, Some(format!("{name}\n{later}\n")));
    let arguments = || fs::read_to_string(sandbox.outside().join("arguments")).unwrap();
    assert!(arguments().starts_with("a b.rcgu.o\n-lgcc_eh\n-lgcc\n-o\n"));
    // A script that cargo builds for itself is linked as any program.
    assert_eq!(order_of(&sandbox, "/target/dist/build/script-0123"), None);
    assert!(arguments().starts_with("a b.rcgu.o\n-lgcc_s\n-o\n"));
}
