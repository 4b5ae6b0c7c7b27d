//! What is asked of a file of SQLite.

use rusqlite::{Connection, params};

use super::super::{
    Evidence, MAX_RECENT_EVENTS, MAX_TEXT_BYTES, Period, Story, TEXT_KINDS,
    cardinality::LargestCounts,
    group::{signed, unsigned},
    limits, metrics_of_skills,
};
use crate::{
    event::RecordedEvent,
    tally::{CountKey, CountSum, Metric},
};

/// The counts of a period, by key and by day, of one moment.
pub(super) fn counted(connection: &Connection, period: Period) -> rusqlite::Result<Evidence> {
    let moment = connection.unchecked_transaction()?;
    let mut evidence = Evidence::default();
    let mut select = moment.prepare_cached(
        "SELECT metric, subject, detail, bucket, SUM(n), CAST(TOTAL(total) AS INTEGER) FROM counts
         WHERE day BETWEEN ?1 AND ?2 GROUP BY metric, subject, detail, bucket",
    )?;
    let mut largest = LargestCounts::default();
    let mut rows = select.query([period.from, period.to])?;
    while let Some(row) = rows.next()? {
        let Some(metric) = Metric::of(row.get_ref(0)?.as_str()?) else { continue };
        let key =
            CountKey { metric, subject: row.get(1)?, detail: row.get(2)?, bucket: row.get(3)? };
        let sum = CountSum { n: unsigned(row.get(4)?), total: unsigned(row.get(5)?) };
        largest.add(key, sum);
    }
    evidence.tally = largest.tally();
    let mut select = moment.prepare_cached(
        "SELECT day, metric, SUM(n), CAST(TOTAL(total) AS INTEGER) FROM counts
         WHERE day BETWEEN ?1 AND ?2 GROUP BY day, metric",
    )?;
    evidence.days = by_day(&mut select.query([period.from, period.to])?)?;
    Ok(evidence)
}

/// Rows of day, metric, how often and how much, in order.
fn by_day(rows: &mut rusqlite::Rows<'_>) -> rusqlite::Result<Vec<(i64, Metric, CountSum)>> {
    let mut days = Vec::new();
    while let Some(row) = rows.next()? {
        let Some(metric) = Metric::of(row.get_ref(1)?.as_str()?) else { continue };
        let sum = CountSum { n: unsigned(row.get(2)?), total: unsigned(row.get(3)?) };
        days.push((row.get(0)?, metric, sum));
    }
    days.sort_unstable_by_key(|(day, metric, _)| (*day, *metric));
    Ok(days)
}

/// The latest of each pile of texts, newest first.
pub(super) fn recent(
    connection: &Connection,
    period: Period,
) -> rusqlite::Result<Vec<RecordedEvent>> {
    let moment = connection.unchecked_transaction()?;
    let (from, to) = period.millis();
    let mut select = moment.prepare_cached(
        "SELECT body, at FROM events WHERE pile = ?1 AND at >= ?2 AND at < ?3
         ORDER BY at DESC, event_id DESC LIMIT ?4",
    )?;
    let mut found = Vec::new();
    for pile in TEXT_KINDS {
        briefly(
            &mut select.query(params![pile, from, to, signed(MAX_RECENT_EVENTS as u64)])?,
            &mut found,
        )?;
    }
    found.sort_unstable_by_key(|(at, recorded)| std::cmp::Reverse((*at, recorded.event_id)));
    Ok(found.into_iter().map(|(_, recorded)| recorded).collect())
}

/// Rows of an event's text and its time, until it is much; texts as a report needs them.
fn briefly(
    rows: &mut rusqlite::Rows<'_>,
    found: &mut Vec<(i64, RecordedEvent)>,
) -> rusqlite::Result<()> {
    let mut read = 0;
    while let Some(row) = rows.next()? {
        let body = row.get_ref(0)?.as_str()?;
        read += body.len();
        if read > MAX_TEXT_BYTES {
            break;
        }
        if let Ok(mut recorded) = RecordedEvent::read(body) {
            limits::brief(&mut recorded);
            found.push((row.get(1)?, recorded));
        }
    }
    Ok(())
}

/// Rows of an event's text and its time. What a newer version wrote is passed over.
fn read(
    rows: &mut rusqlite::Rows<'_>,
    found: &mut Vec<(i64, RecordedEvent)>,
) -> rusqlite::Result<()> {
    while let Some(row) = rows.next()? {
        if let Ok(recorded) = RecordedEvent::read(row.get_ref(0)?.as_str()?) {
            found.push((row.get(1)?, recorded));
        }
    }
    Ok(())
}

pub(super) fn story(
    connection: &Connection,
    skill: &str,
    period: Period,
    limit: usize,
) -> rusqlite::Result<Story> {
    let moment = connection.unchecked_transaction()?;
    // Day by day and metric by metric, each is one place in the index; a range of days would be all skills' counts.
    let mut select = moment.prepare_cached(
        "WITH RECURSIVE days (day) AS (SELECT ?1 UNION ALL SELECT day + 1 FROM days WHERE day < ?2)
         SELECT days.day, metrics.value, SUM(n), CAST(TOTAL(total) AS INTEGER)
         FROM days CROSS JOIN json_each(?4) AS metrics CROSS JOIN counts
         ON counts.day = days.day AND counts.metric = metrics.value AND counts.subject = ?3
         GROUP BY days.day, metrics.value",
    )?;
    let metrics = serde_json::json!(metrics_of_skills().collect::<Vec<_>>()).to_string();
    let days = by_day(&mut select.query(params![period.from, period.to, skill, metrics])?)?;
    let (from, to) = period.millis();
    let mut select = moment.prepare_cached(
        "SELECT body, at FROM events WHERE skill = ?1 AND at >= ?2 AND at < ?3
         ORDER BY at DESC, event_id DESC LIMIT ?4",
    )?;
    let mut found = Vec::new();
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    read(&mut select.query(params![skill, from, to, limit])?, &mut found)?;
    Ok(Story { days, recent: found.into_iter().map(|(_, recorded)| recorded).collect() })
}
