//! The processor on which a struck program runs.
//!
//! strace and the process that it follows wake each other at every system call. On two processors each wakes
//! an idle one, which takes five times as long as to change the process on one.

use std::cell::OnceCell;
use std::fs;
use std::sync::{Mutex, PoisonError};

/// How many tests have each of the processors that this process may use, by the number of the processor.
static TESTS: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// The processor of the test that runs in this thread, which is free for others when the thread ends.
struct Processor(usize);

thread_local! {
    static OF_THIS_TEST: OnceCell<Processor> = const { OnceCell::new() };
}

/// Returns the number of the processor for what this test strikes: of those that have the fewest tests.
pub(crate) fn of_this_test() -> usize {
    OF_THIS_TEST.with(|processor| processor.get_or_init(Processor::take).0)
}

impl Processor {
    fn take() -> Processor {
        let mut tests = TESTS.lock().unwrap_or_else(PoisonError::into_inner);
        if tests.is_empty() {
            tests.extend(allowed().into_iter().map(|number| (number, 0)));
        }
        let least = tests.iter_mut().min_by_key(|(_, tests)| *tests);
        let (number, tests) = least.expect("this process runs on some processor");
        *tests += 1;
        Processor(*number)
    }
}

impl Drop for Processor {
    fn drop(&mut self) {
        let mut tests = TESTS.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = tests.iter_mut().find(|(number, _)| *number == self.0);
        mine.expect("it was taken from there").1 -= 1;
    }
}

/// Returns the processors that the kernel lets this process use, from a list such as `0-1,4`.
fn allowed() -> Vec<usize> {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let ranges = list.expect("Linux tells it").trim().split(',').map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| text.parse::<usize>().expect("processors have numbers");
        number(first)..=number(last)
    });
    ranges.flatten().collect()
}
