//! The tests that run the program in process, on real repositories, against real git.

#![expect(
    clippy::disallowed_methods,
    reason = "tests start processes and write files themselves"
)]

mod support;

mod property;
mod torture;
