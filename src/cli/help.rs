//! The first screen: every command in four groups.

/// What `git colony -h` prints.
pub(super) const SHORT: &str = "\
Keep any state of a repository, wreck the tree, get it back exactly, undo every step

Usage: git colony [-C DIR] [--json] [--agent NAME] [--timeout SECONDS] [-q] COMMAND

Keep
  checkpoint   keep the whole worktree as a commit and a tag
  checkpoints  list what has been kept
  tag          name an existing commit as a checkpoint
Get back
  restore      bring a checkpoint back: branch, index and files, or files only
  undo, redo   take back the newest operation; take back an undo
Look
  status       the state of the repository (also plain 'git colony')
  ops          the log of operations, and what each moved aside
  tour         see it all in a throw-away clone of this repository
Tend
  init, deinit set this repository up; take git-colony out of it
  hooks, lfs   hooks of git and agents; what git-lfs keeps
  doctor       look for what could hurt later
  config       the settings in force and where they come from
  prune        let go of old operations and automatic checkpoints
  version, schema  the version; the JSON Schema of each answer

'git colony COMMAND -h' tells more. Nothing is ever overwritten: what gives way is kept.
";
