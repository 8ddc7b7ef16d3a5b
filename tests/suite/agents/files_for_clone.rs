//! What a new agent's clone gets of the checkout it is made from.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use crate::support::Sandbox;

use super::new_and_merge::agent;

#[test]
fn uncommitted_changes_come_along_where_that_is_wanted() {
    let desk = Sandbox::new();
    desk.write("a.txt", "edited\n");
    desk.write("new.txt", "new\n");
    desk.remove("dir/b.txt");
    desk.write("dir/new.txt", "new\n");
    let before = desk.visible_state();
    let made = desk.json(&["agents", "new", "ada", "--with-changes"]);
    assert_eq!(made["ok"], true, "{made:#}");
    let ada = desk.at(PathBuf::from(made["path"].as_str().unwrap()));
    assert_eq!(ada.worktree(), desk.worktree());
    let status = ada.git(&["status", "--porcelain"]);
    assert_eq!(status, " M a.txt\n D dir/b.txt\n?? dir/new.txt\n?? new.txt");
    assert_eq!(desk.visible_state(), before, "the desk keeps its changes");
    assert_eq!(agent(&desk, "bob").git(&["status", "--porcelain"]), "");
}

#[test]
fn ignored_files_that_settings_name_are_copied_into_the_clone() {
    let desk = Sandbox::new();
    desk.write(".gitignore", "build/\ncache/\nelsewhere\n");
    desk.write(
        ".colony/colony.toml",
        "[clone]\ncopy = [\"build\", \"../out\", \"elsewhere/x\", \".git\", \"no\"]\nlink = [\"cache\"]\n",
    );
    desk.colony(&["checkpoint", "-m", "settings"]);
    desk.write("build/out.o", "object");
    desk.set_mode("build/out.o", 0o755);
    std::os::unix::fs::symlink("out.o", desk.path("build/link")).unwrap();
    desk.write("cache/big", "big");
    let outside = desk.outside().join("secret");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("x"), "secret").unwrap();
    std::os::unix::fs::symlink(&outside, desk.path("elsewhere")).unwrap();
    let ada = agent(&desk, "ada");
    assert_eq!(fs::read_to_string(ada.path("build/link")).unwrap(), "object");
    let (one, other) = (desk.path("build/out.o"), ada.path("build/out.o"));
    let (one, other) = (fs::metadata(one).unwrap(), fs::metadata(other).unwrap());
    assert_eq!((one.mode(), one.mtime()), (other.mode(), other.mtime()));
    assert_ne!(one.ino(), other.ino());
    let ino = |path: PathBuf| fs::metadata(path).unwrap().ino();
    assert_eq!(ino(desk.path("cache/big")), ino(ada.path("cache/big")));
    assert!(!ada.path("elsewhere").exists());
    assert_eq!(ada.git(&["status", "--porcelain"]), "");
}

#[test]
fn many_files_come_along_with_their_modes_and_times() {
    let desk = Sandbox::new();
    desk.write(".gitignore", "build/\n");
    desk.colony(&["checkpoint", "-m", "ignored"]);
    desk.git(&["config", "colony.clone.copy", "build"]);
    let names: Vec<String> = (0..100).map(|n| format!("build/{}/{n}.o", n % 7)).collect();
    for (number, name) in names.iter().enumerate() {
        desk.write(name, name.repeat(number));
        desk.set_mode(name, 0o644 + 0o111 * u32::from(number % 2 == 0));
        let at = UNIX_EPOCH + Duration::new(1_600_000_000 + number as u64, 123_000_000);
        let file = fs::File::open(desk.path(name)).unwrap();
        file.set_modified(at).unwrap();
    }
    let made = desk.json(&["agents", "new", "ada"]);
    assert_eq!(made["setup"][1], "copied 'build' (100 files)", "{made:#}");
    let ada = desk.at(PathBuf::from(made["path"].as_str().unwrap()));
    assert_eq!(ada.worktree(), desk.worktree());
    for name in &names {
        let of = |path: PathBuf| {
            let metadata = fs::metadata(path).unwrap();
            (metadata.mode(), metadata.mtime(), metadata.mtime_nsec())
        };
        assert_eq!(of(ada.path(name)), of(desk.path(name)), "{name}");
    }
}

#[test]
fn what_comes_along_goes_through_no_link_of_the_clone() {
    let desk = Sandbox::new();
    let outside = desk.outside().join("elsewhere");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, desk.path("build")).unwrap();
    desk.colony(&["checkpoint", "-m", "a link"]);
    desk.remove("build");
    desk.write(".gitignore", "build/\n");
    desk.colony(&["checkpoint", "-m", "a folder"]);
    desk.write("build/out.o", "object");
    desk.write("build/below/out.o", "object");
    for copied in ["build", "build/below"] {
        desk.git(&["config", "colony.clone.copy", copied]);
        let name = copied.replace('/', "-");
        let made = desk.json(&["agents", "new", &name, "--from", "HEAD~1"]);
        let clone = desk.at(PathBuf::from(made["path"].as_str().unwrap()));
        assert_eq!(fs::read_link(clone.path("build")).unwrap(), outside);
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{made:#}");
    }
}
