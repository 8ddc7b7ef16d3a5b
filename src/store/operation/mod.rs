//! One change from lock to release, built to survive a kill at any moment.
//!
//! The states, each reached by one step that a test can name ([`STEPS`]):
//!
//! 1. *locked*: our worktree lock is held; a dead owner's operation has been finished or canceled.
//! 2. *pending*: `colony/pending` names the operation and the inode that will become the index.
//! 3. *index-locked*: that inode is linked to git's `index.lock`.
//! 4. *written*: every object, the staged files and the operation's commit exist; nothing the user can see
//!    has changed.
//! 5. *prepared*: git holds the locks of the refs that will move.
//! 6. **committed: the operation's ref exists and is durable. This is the commit point.** Before it a dead
//!    operation is canceled by deleting our own leftovers; after it, it is completed.
//! 7. *refs-moved*, *large-files-kept*, *files-moved*, *index-replaced*, *released*: idempotent steps; the
//!    next holder of the lock can repeat each from any point.
//!
//! Files are never overwritten or deleted: a file in the way is renamed into the kept folder of the
//! operation, and its replacement is renamed out of a folder of ours. So an operation is undone by moving the
//! same files back.

mod announce;
pub mod commit_point;
mod empty_objects;
pub mod external_changes;
pub mod finish;
mod finish_files;
pub mod last_act;
pub mod late_files;
pub mod log;
pub mod moves;
pub mod object_check;
pub mod operation_kind;
pub mod operation_record;
pub mod plan;
pub mod prune;
pub mod recover;
mod ref_moves;
pub mod removed_worktrees;
pub mod state_files;

pub use commit_point::{Done, Operation, PendingOperation};
pub use late_files::LateFile;
pub use log::{Log, LogEntry, Tail};
pub use operation_kind::Kind;
pub use operation_record::{FileMoves, FilePlacement, Record, SubmoduleSnapshot};
pub use state_files::{StateFile, StateName};

/// The steps of an operation, in order, as tests name them.
pub const STEPS: &[&str] = &[
    "locked",
    "pending",
    "index-locked",
    "written",
    "prepared",
    "committed",
    "refs-moved",
    "large-files-kept",
    "files-moved",
    "index-replaced",
    "released",
];

/// The steps of recording what plain git did, before and after the decisive one.
pub const EXTERNAL_STEPS: &[&str] = &["external-written", "external-recorded"];
