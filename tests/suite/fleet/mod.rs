//! Many at work: what the fleet shows and advises, and where branches left each other.

mod activity;
mod branch_log;
mod fleet_advice;
mod fleet_rows;
mod many_at_once;
mod marks;
mod program_output;
mod run_in_clones;
mod screen;
mod screen_in_terminal;
mod started_programs;
mod topology;
mod twenty_agents;
mod two_checkouts;
