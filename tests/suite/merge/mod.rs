//! Forks, merges, picks and the merge drivers; git is the referee.

mod cherry_pick;
mod driver_laws;
mod driver_rules;
mod fork;
mod generated_histories;
mod merge_attacks;
mod merge_drivers;
mod merge_forks;
mod pick_continued_by_git;
mod random_reverts;
mod reverts;
mod squashed;
mod trivial_merge;
mod yaml_styles;
