//! Answers of processes that ran one after the other: what they say of the present differs by as long as the first one took.

use chrono::DateTime;
use serde_json::Value;

/// The longest time between two answers that are compared, in seconds: a slow machine is no fault.
const APART: i64 = 600;

/// Returns an answer with each time that is near that of another answer in the same place replaced by it: dates, and
/// numbers of seconds, the names of which end with `_s` or `seconds`.
pub(crate) fn at_the_time_of(other: &Value, mut answer: Value) -> Value {
    take_times(other, &mut answer, "");
    answer
}

fn take_times(other: &Value, answer: &mut Value, name: &str) {
    match (other, &mut *answer) {
        (Value::Object(other), Value::Object(members)) => {
            for (name, value) in members {
                if let Some(other) = other.get(name) {
                    take_times(other, value, name);
                }
            }
        }
        (Value::Array(other), Value::Array(items)) => {
            for (value, other) in items.iter_mut().zip(other) {
                take_times(other, value, name);
            }
        }
        _ => {
            let times = [moment(other, name), moment(answer, name)];
            if let [Some(a), Some(b)] = times
                && (a - b).abs() <= APART
            {
                answer.clone_from(other);
            }
        }
    }
}

fn moment(value: &Value, name: &str) -> Option<i64> {
    let date = value.as_str().and_then(|text| DateTime::parse_from_rfc3339(text).ok());
    let is_duration = name.ends_with("_s") || name.ends_with("seconds");
    date.map(|date| date.timestamp()).or_else(|| value.as_i64().filter(|_| is_duration))
}
