//! What the default branch decides about agents: their names in commits, and the branches that only people move.
//!
//! Both are read from commits of the default branch, never from the working tree or from the branch that an agent
//! commits to: no agent changes the rules that it is held against.

pub mod agent_identity;
pub mod default_trees;
pub mod protected_branches;
