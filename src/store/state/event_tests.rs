//! The event log: its bounds, and readers of a log that others write, delete and damage.

use std::io::Write as _;
use std::path::Path;

use proptest::prelude::*;
use serde_json::json;

use crate::model::time::Moment;
use crate::model::world::Announcement;
use crate::store::cache::database_wait::waiter_of_tests;

use super::event_log::write;
use super::{Batch, Event, EventReader, Position};

fn moment(seconds: i64) -> Moment {
    chrono::DateTime::from_timestamp(1_800_000_000 + seconds, 0).unwrap().fixed_offset()
}

fn event(log: &Path, key: &str, seconds: i64) -> Announcement {
    Announcement {
        log: log.to_owned(),
        home: log.to_owned(),
        namespace: "vcm".to_owned(),
        agent: "ada".to_owned(),
        key: key.to_owned(),
        value: json!({"key": key}),
        at: moment(seconds),
    }
}

fn emit(log: &Path, key: &str, seconds: i64) {
    write(log, &[event(log, key, seconds)], &waiter_of_tests()).unwrap();
}

fn all(reader: &mut EventReader, since: &Position) -> Batch {
    reader.read(since, usize::MAX, &|_| true).unwrap()
}

fn keys(batch: &Batch) -> Vec<&str> {
    batch.events.iter().map(|event| event.key.as_str()).collect()
}

fn place() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("state/events-1.db");
    (folder, log)
}

#[test]
fn looking_at_a_missing_log_creates_nothing() {
    let (folder, log) = place();
    let mut reader = EventReader::at(log, waiter_of_tests());
    assert!(!reader.has_news());
    let batch = all(&mut reader, &Position::FIRST);
    assert_eq!((batch.has_gap, batch.position), (false, Position::FIRST));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_reader_continues_where_it_ended() {
    let (_folder, log) = place();
    let mut reader = EventReader::at(log.clone(), waiter_of_tests());
    emit(&log, "mapped:a:b:c", 0);
    assert!(reader.has_news());
    let first = all(&mut reader, &Position::FIRST);
    assert_eq!(keys(&first), ["mapped:a:b:c"]);
    for _ in 0..20 {
        assert!(!reader.has_news());
    }
    emit(&log, "unmapped:a:b:c", 1);
    assert!(reader.has_news());
    let second = all(&mut reader, &first.position);
    assert_eq!(keys(&second), ["unmapped:a:b:c"]);
    let text = second.position.to_string();
    assert_eq!(Position::parse(&text), Some(second.position));
}

#[test]
fn unwanted_events_are_passed_over_only_once() {
    let (_folder, log) = place();
    for number in 0..6 {
        emit(&log, &format!("k:{number}"), 0);
    }
    let mut reader = EventReader::at(log.clone(), waiter_of_tests());
    let odd = |event: &Event| event.position.number.is_multiple_of(2);
    let first = reader.read(&Position::FIRST, 2, &odd).unwrap();
    assert_eq!((keys(&first), first.has_more), (vec!["k:1", "k:3"], true));
    let rest = reader.read(&first.position, 2, &odd).unwrap();
    assert_eq!((keys(&rest), rest.has_more), (vec!["k:5"], false));
    let newest = reader.newest(2, &odd).unwrap();
    assert_eq!((keys(&newest), newest.has_more), (vec!["k:3", "k:5"], true));
    assert_eq!(newest.position, rest.position);
}

#[test]
fn the_log_keeps_a_hundred_thousand_events() {
    let (_folder, log) = place();
    emit(&log, "k:first", 0);
    let mut reader = EventReader::at(log.clone(), waiter_of_tests());
    let start = all(&mut reader, &Position::FIRST).position;
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
        INSERT INTO events (at, namespace, agent, key, value)
        SELECT 1800000000000, 'vcm', '', 'k', '{}' FROM n";
    let connection = rusqlite::Connection::open(&log).unwrap();
    connection.execute_batch(many).unwrap();
    emit(&log, "k:last", 0);
    let batch = all(&mut reader, &Position::FIRST);
    assert!(batch.has_gap);
    assert_eq!(batch.events.len(), 100_000);
    assert_eq!(batch.oldest.unwrap().number, 3);
    // Only event 2 is lost to a reader of event 1.
    assert!(all(&mut reader, &start).has_gap);
    let second = Position { number: 2, ..start };
    assert!(!all(&mut reader, &second).has_gap);
}

#[test]
fn events_of_ninety_days_stay() {
    const DAY: i64 = 86_400;
    let (_folder, log) = place();
    emit(&log, "k:old", 0);
    emit(&log, "k:young", 2 * DAY);
    emit(&log, "k:new", 91 * DAY);
    let mut reader = EventReader::at(log.clone(), waiter_of_tests());
    let batch = all(&mut reader, &Position::FIRST);
    assert_eq!((keys(&batch), batch.has_gap), (vec!["k:young", "k:new"], true));
    // A clock that was wrong for a moment takes no later event with it.
    emit(&log, "k:past", -400 * DAY);
    let batch = all(&mut reader, &batch.position);
    assert_eq!((keys(&batch), batch.has_gap), (vec!["k:past"], false));
}

#[test]
fn a_clock_far_ahead_leaves_the_newest_events() {
    const DAY: i64 = 86_400;
    let (_folder, log) = place();
    for number in 0..4 {
        emit(&log, &format!("k:{number}"), number);
    }
    emit(&log, "k:ahead", 91 * DAY);
    emit(&log, "k:now", 5);
    let mut reader = EventReader::at(log.clone(), waiter_of_tests());
    let batch = all(&mut reader, &Position::FIRST);
    assert_eq!(keys(&batch), ["k:3", "k:ahead", "k:now"]);
}

#[test]
fn quiescences_come_at_most_once_a_second() {
    let (_folder, log) = place();
    for number in 0..10 {
        emit(&log, &format!("convergence:quiescence:a{number}"), 0);
    }
    for number in 0..3 {
        emit(&log, &format!("convergence:quiescence:b{number}"), 2);
    }
    let batch = all(&mut EventReader::at(log.clone(), waiter_of_tests()), &Position::FIRST);
    let names = ["a0", "a1", "a2", "a3", "b0", "b1"];
    let wanted: Vec<_> = names.map(|name| format!("convergence:quiescence:{name}")).into();
    assert_eq!(keys(&batch), wanted);
}

#[test]
fn long_lists_of_a_value_are_cut() {
    let (_folder, log) = place();
    let mut long = event(&log, "watch_fired:w", 0);
    let paths: Vec<String> = (0..10_000).map(|number| format!("dir/{number}")).collect();
    long.value = json!({"watch_id": "w", "paths": paths});
    write(&log, &[long], &waiter_of_tests()).unwrap();
    let batch = all(&mut EventReader::at(log.clone(), waiter_of_tests()), &Position::FIRST);
    let value = &batch.events[0].value;
    assert_eq!(value["paths"].as_array().unwrap().len(), 32);
    assert_eq!((&value["watch_id"], &value["truncated"]), (&json!("w"), &json!(true)));
}

#[test]
fn what_is_not_a_position_is_refused() {
    for text in ["", "7", "a:", ":7", "a:-1", "a:+1", "a b:1", "a:99999999999999999999", "é:1"] {
        assert_eq!(Position::parse(text), None, "{text}");
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Write(u8),
    Delete,
    Damage,
    Read,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..4_u8).prop_map(Step::Write),
        1 => Just(Step::Delete),
        1 => Just(Step::Damage),
        4 => Just(Step::Read),
    ]
}

/// What a reader has to learn at its next look.
#[derive(Default)]
struct Pending {
    keys: Vec<String>,
    was_lost: bool,
    was_damaged: bool,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A reader gets every event once and in order, or is informed of a gap.
    #[test]
    fn no_event_is_lost_in_silence(steps in proptest::collection::vec(step(), 1..24)) {
        let (_folder, log) = place();
        let mut reader = EventReader::at(log.clone(), waiter_of_tests());
        let (mut since, mut pending, mut count) = (Position::FIRST, Pending::default(), 0);
        for step in steps {
            match step {
                Step::Write(many) => for _ in 0..many {
                    count += 1;
                    let key = format!("k:{count}");
                    emit(&log, &key, 0);
                    pending.keys.push(key);
                },
                Step::Delete => {
                    for suffix in ["", "-wal", "-shm"] {
                        drop(std::fs::remove_file(format!("{}{suffix}", log.display())));
                    }
                    // A reader that has read nothing cannot know of a log that came and went.
                    pending.was_lost |= since != Position::FIRST;
                    pending.keys.clear();
                }
                Step::Damage => if log.exists() {
                    let mut file = std::fs::File::options().write(true).open(&log).unwrap();
                    file.write_all(&[7; 5_000]).unwrap();
                    pending.was_damaged = true;
                },
                Step::Read => {
                    let batch = all(&mut reader, &since);
                    if pending.was_lost {
                        prop_assert!(batch.has_gap);
                    }
                    let may_be_lost = pending.was_damaged && since == Position::FIRST;
                    if !batch.has_gap && !may_be_lost {
                        prop_assert_eq!(keys(&batch), pending.keys.iter().collect::<Vec<_>>());
                    }
                    if batch.has_gap {
                        prop_assert!(pending.was_lost || pending.was_damaged);
                    }
                    since = batch.position;
                    // Damage that nobody has met yet is met later.
                    let was_damaged = pending.was_damaged && !batch.has_gap;
                    pending = Pending { was_damaged, ..Pending::default() };
                }
            }
        }
    }
}

#[test]
fn a_reader_that_takes_long_keeps_no_event_out() {
    let (_folder, log) = place();
    emit(&log, "first", 0);
    let slow = rusqlite::Connection::open(&log).unwrap();
    slow.execute_batch("BEGIN; SELECT count(*) FROM events").unwrap();
    emit(&log, "second", 1);
    let batch = all(&mut EventReader::at(log, waiter_of_tests()), &Position::FIRST);
    assert_eq!(keys(&batch), ["first", "second"]);
}

#[test]
fn sixteen_writers_that_hurry_lose_no_event() {
    let (_folder, log) = place();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| (0..10).for_each(|_| emit(&log, "k", 0)));
        }
    });
    let batch = all(&mut EventReader::at(log.clone(), waiter_of_tests()), &Position::FIRST);
    assert_eq!(batch.events.len(), 160);
    let numbers = batch.events.iter().map(|event| event.position.number);
    assert!(numbers.eq(1..=160));
}
