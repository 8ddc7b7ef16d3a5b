//! The commands that chance chooses from: ours, and those of plain git.

use super::census::Spot;
use super::chance::Chance;
use super::ground::{Ground, Home, Place};

/// A command with the words that chance has put into it.
pub(crate) struct Action {
    /// The row of the table.
    pub(crate) name: &'static str,
    pub(crate) args: Vec<String>,
    pub(crate) place: Place,
    pub(crate) nature: Nature,
    /// Where it may take contents from.
    pub(crate) drops: Vec<Spot>,
}

/// What a command does to what a user sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nature {
    /// It is one operation, whatever it meets, or fails.
    Operation,
    /// It is one operation, or there was nothing to do.
    Perhaps,
    /// It changes no branch, index or file.
    Beside,
    /// The same, and tags may come: from a remote, or of the work that is kept of a clone.
    Tags,
    /// It is of plain git, which leaves its locks and half of its work.
    Git,
}

/// What a command may take contents from, which is what it is for.
#[derive(Clone, Copy)]
enum Drops {
    Nothing,
    /// What is staged in its worktree only.
    Staged,
    /// What its worktree holds.
    Worktree,
    /// What only refs hold.
    Refs,
    /// What is kept for undo.
    History,
}

/// How often, the row of the table, the words, what it does, what it drops.
type Line = (u64, &'static str, &'static str, Nature, Drops);

/// In the words, `+` stands before a name that is new and `?` before one that was used, or a path.
#[rustfmt::skip]
const OURS: [Line; 34] = {
    use Drops::{History, Nothing};
    use Nature::{Beside, Operation, Perhaps, Tags};
    [
        (10, "checkpoint", "checkpoint -m +label", Operation, Nothing),
        (4, "checkpoint --off-branch", "checkpoint --off-branch -m +label", Operation, Nothing),
        (3, "checkpoint --auto", "checkpoint --auto", Beside, Nothing),
        (7, "restore", "restore ?label --force", Perhaps, Nothing),
        (2, "restore", "restore ?label", Perhaps, Nothing),
        (2, "restore --keep-untracked", "restore ?label --force --keep-untracked", Perhaps, Nothing),
        (4, "restore --mode files", "restore ?label --mode files", Perhaps, Nothing),
        (2, "restore of a path", "restore ?label --mode files -- ?path", Perhaps, Nothing),
        (3, "restore --mode fork", "restore ?label --mode fork --label +fork", Operation, Nothing),
        (7, "undo", "undo", Operation, Nothing),
        (3, "undo --force", "undo --force", Operation, Nothing),
        (4, "redo", "redo", Operation, Nothing),
        (3, "fork", "fork +fork", Operation, Nothing),
        (2, "fork", "fork +fork --from main", Operation, Nothing),
        (2, "fork --no-switch", "fork +fork --no-switch", Operation, Nothing),
        (3, "forks delete", "forks delete ?fork --force", Operation, Nothing),
        (4, "merge", "merge ?fork", Perhaps, Nothing),
        (1, "merge", "merge main", Perhaps, Nothing),
        (2, "merge of an agent", "merge ada", Perhaps, Nothing),
        (2, "merge --into", "merge ?fork --into main", Perhaps, Nothing),
        (2, "merge --resolve", "merge ?fork --resolve", Perhaps, Nothing),
        (3, "cherry-pick", "cherry-pick ?fork", Perhaps, Nothing),
        (2, "cherry-pick --resolve", "cherry-pick ?fork --resolve", Perhaps, Nothing),
        (4, "commit", "commit -m new --all", Perhaps, Nothing),
        (3, "commit of paths", "commit -m new ?path ?path", Perhaps, Nothing),
        (3, "tag", "tag -m +label", Operation, Nothing),
        (2, "decide", "decide -m new ?path", Operation, Nothing),
        (2, "prune", "prune --keep 0", Beside, History),
        (2, "agents remove", "agents remove ada", Tags, Nothing),
        (3, "sync", "sync --push origin", Tags, Nothing),
        (2, "init", "init", Perhaps, Nothing),
        (2, "deinit", "deinit", Beside, Nothing),
        (1, "ops", "ops", Beside, Nothing),
        (1, "fleet", "fleet", Beside, Nothing),
    ]
};

#[rustfmt::skip]
const GIT: [Line; 14] = {
    use Drops::{Nothing, Refs, Staged, Worktree};
    use Nature::Git;
    [
        (4, "git add", "add -A", Git, Staged),
        (4, "git commit", "commit -qam new", Git, Staged),
        (3, "git switch", "switch -q ?branch", Git, Nothing),
        (2, "git switch -c", "switch -q -c +branch", Git, Nothing),
        (1, "git switch --detach", "switch -q --detach", Git, Nothing),
        (2, "git reset", "reset -q", Git, Staged),
        (1, "git reset --soft", "reset -q --soft HEAD~1", Git, Refs),
        (2, "git reset --hard", "reset -q --hard", Git, Worktree),
        (3, "git stash", "stash push -q -u", Git, Nothing),
        (1, "git stash apply", "stash apply -q", Git, Staged),
        (1, "git gc", "gc -q", Git, Nothing),
        (1, "git repack", "repack -qad", Git, Nothing),
        (2, "git pack-refs", "pack-refs --all", Git, Nothing),
        (1, "git branch -D", "branch -q -D ?branch", Git, Refs),
    ]
};

const AGENTS_NEW: [Line; 3] = [
    (1, "agents new", "agents new ada", Nature::Beside, Drops::Nothing),
    (1, "agents new", "agents new ada --with-changes", Nature::Beside, Drops::Nothing),
    (2, "agents restore", "agents restore ada", Nature::Tags, Drops::Nothing),
];

#[rustfmt::skip]
const MERGE_OPEN: [Line; 3] = [
    (2, "merge --abort", "merge --abort", Nature::Operation, Drops::Nothing),
    (2, "merge --continue", "merge --continue", Nature::Operation, Drops::Nothing),
    (1, "git add", "add -A", Nature::Git, Drops::Staged),
];

#[rustfmt::skip]
const PICK_OPEN: [Line; 3] = [
    (2, "cherry-pick --abort", "cherry-pick --abort", Nature::Operation, Drops::Nothing),
    (2, "cherry-pick --continue", "cherry-pick --continue", Nature::Operation, Drops::Nothing),
    (1, "git add", "add -A", Nature::Git, Drops::Staged),
];

/// The names that commands have used so far, each with the repository it was used in.
#[derive(Default)]
pub(crate) struct Names {
    labels: Vec<(Home, String)>,
    forks: Vec<(Home, String)>,
    branches: Vec<(Home, String)>,
}

impl Names {
    /// Returns a label that was not used before.
    pub(crate) fn new_label(&mut self, home: Home) -> String {
        let label = format!("kept-{}", self.count());
        self.labels.push((home, label.clone()));
        label
    }

    fn count(&self) -> usize {
        self.labels.len() + self.forks.len() + self.branches.len()
    }

    /// Chooses a command for a worktree.
    pub(crate) fn choose(&mut self, ground: &Ground, place: Place, chance: &mut Chance) -> Action {
        let lacks_the_clone = !ground.places().contains(&Place::Clone);
        let lines: &[Line] = if let Some(open) = what_is_open(ground, place) {
            open
        } else if lacks_the_clone && place == Place::Checkout && chance.one_in(3) {
            &AGENTS_NEW
        } else if chance.one_in(4) {
            &GIT
        } else {
            &OURS
        };
        let mut line = weighted(lines, chance);
        // The checkout sets up and takes away, also what the clone is; what is open there comes first.
        let stays = ["agents remove", "init", "deinit"].contains(&line.1);
        let place = if stays { Place::Checkout } else { place };
        if stays && let Some(open) = what_is_open(ground, place) {
            line = weighted(open, chance);
        }
        let (_, name, words, nature, drops) = line;
        let words = words.split(' ');
        Action {
            name,
            args: words.map(|word| self.word(word, place.home(), chance)).collect(),
            place,
            nature,
            drops: drops.spots(place),
        }
    }

    fn word(&mut self, word: &str, home: Home, chance: &mut Chance) -> String {
        let number = self.count();
        let new = |names: &mut Vec<(Home, String)>, name: String| {
            names.push((home, name.clone()));
            name
        };
        let mut used = |names: &[(Home, String)], other: &str| {
            // Now and then one of another repository.
            let anywhere = chance.one_in(8);
            let known = names.iter().filter(|(of, _)| anywhere || *of == home);
            let mut known: Vec<&str> = known.map(|(_, name)| name.as_str()).collect();
            known.push(other);
            (*chance.pick(&known)).to_owned()
        };
        match word {
            "+label" => self.new_label(home),
            "+fork" => new(&mut self.forks, format!("line-{number}")),
            "+branch" => new(&mut self.branches, format!("branch-{number}")),
            "?label" => used(&self.labels, "@{0}"),
            "?fork" => format!("fork/{}", used(&self.forks, "ada")),
            "?branch" => used(&self.branches, "main"),
            "?path" => (*chance.pick(&["a.txt", "dir", "run.sh", "big.pdf", "other"])).to_owned(),
            _ => word.to_owned(),
        }
    }
}

/// The commands that end a merge or a pick that a worktree has open.
fn what_is_open(ground: &Ground, place: Place) -> Option<&'static [Line]> {
    let git_dir = ground.git_dir(place);
    if git_dir.join("MERGE_HEAD").exists() {
        Some(&MERGE_OPEN)
    } else if git_dir.join("CHERRY_PICK_HEAD").exists() {
        Some(&PICK_OPEN)
    } else {
        None
    }
}

fn weighted(lines: &[Line], chance: &mut Chance) -> Line {
    let mut at = chance.below(lines.iter().map(|line| line.0).sum());
    for line in lines {
        if at < line.0 {
            return *line;
        }
        at -= line.0;
    }
    unreachable!("the number is below the sum")
}

impl Drops {
    fn spots(self, place: Place) -> Vec<Spot> {
        let (staged, home) = (Spot::Index(place), place.home());
        match self {
            Drops::Nothing => vec![],
            Drops::Staged => vec![staged],
            Drops::Worktree => vec![staged, Spot::File(place)],
            Drops::Refs => vec![staged, Spot::Ref(home)],
            Drops::History => {
                // From the checkout of a person, what the hub keeps of removed clones goes as well.
                let of_hub = (home == Home::Checkout).then_some(Home::Hub);
                let homes = [home].into_iter().chain(of_hub);
                homes
                    .flat_map(|home| [Spot::Kept(home), Spot::Ref(home), Spot::LargeFile(home)])
                    .collect()
            }
        }
    }
}

impl Action {
    pub(crate) fn program(&self) -> &'static str {
        match self.nature {
            Nature::Git => "git",
            _ => "git-colony",
        }
    }

    /// What has to succeed after it, whatever happened to it.
    pub(crate) fn next(&self) -> &'static [&'static [&'static str]] {
        match self.name {
            // It is completed by itself, and the storm goes on with what it has taken away.
            "deinit" => &[&["deinit"], &["init"]],
            // A clone that has left its place is seen out by whoever comes to the clones next.
            "agents remove" | "agents restore" => &[&["checkpoint", "--auto"], &["clones", "gc"]],
            _ => &[&["checkpoint", "--auto"]],
        }
    }
}
