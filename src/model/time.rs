//! Times as the program writes them: RFC 3339 in JSON, compact in names, raw in git objects.

use chrono::{DateTime, FixedOffset, SecondsFormat, TimeZone as _, Utc};

/// A time with the UTC offset of its place.
pub type Moment = DateTime<FixedOffset>;

/// Returns `2026-11-21T10:00:00Z`.
pub fn rfc3339(moment: &Moment) -> String {
    moment.with_timezone(&Utc).to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Returns `20261121T100000Z`, the form used in ref names.
pub fn compact(moment: &Moment) -> String {
    moment.with_timezone(&Utc).format("%Y%m%dT%H%M%SZ").to_string()
}

/// Parses the format of [`rfc3339`].
pub fn parse_rfc3339(text: &str) -> Option<Moment> {
    Moment::parse_from_rfc3339(text).ok()
}

/// Parses the format of [`compact`].
pub fn parse_compact(text: &str) -> Option<Moment> {
    let moment = chrono::NaiveDateTime::parse_from_str(text, "%Y%m%dT%H%M%SZ").ok()?;
    Some(moment.and_utc().fixed_offset())
}

/// Converts git's seconds and offset in seconds; `None` when out of range.
pub fn from_git(seconds: i64, offset_seconds: i32) -> Option<Moment> {
    FixedOffset::east_opt(offset_seconds)?.timestamp_opt(seconds, 0).single()
}

/// Returns the same for a column of a table: `now`, `5m`, `3d`.
pub fn short_age(moment: &Moment, now: &Moment) -> String {
    match now.signed_duration_since(moment).num_seconds() {
        ..60 => "now".to_owned(),
        seconds @ 60..3_600 => format!("{}m", seconds / 60),
        seconds @ 3_600..86_400 => format!("{}h", seconds / 3_600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

/// Returns a rough age for people: `just now`, `5 minutes ago`, `3 days ago`.
pub fn ago(moment: &Moment, now: &Moment) -> String {
    let seconds = now.signed_duration_since(moment).num_seconds().max(0);
    let (count, unit) = match seconds {
        0..60 => return "just now".to_owned(),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
}
