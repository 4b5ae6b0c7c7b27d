//! What is asked of a file of SQLite.

use rusqlite::{Connection, params};

use super::super::{
    Evidence, MAX_RECENT_EVENTS, MAX_SIGHTINGS, MAX_TEXT_BYTES, Period, Sighting, Story,
    TEXT_KINDS,
    cardinality::LargestCounts,
    group::{signed, unsigned},
    limits, metrics_of_skills, most_calls_first,
    sighting::SightingKey,
};
use crate::{
    event::RecordedEvent,
    tally::{CountKey, CountSum, Metric},
};

/// The counts of a period, by key and by day, and its clients and servers, of one moment.
pub(super) fn counted(
    connection: &Connection,
    period: Period,
    client: Option<&str>,
) -> rusqlite::Result<Evidence> {
    let moment = connection.unchecked_transaction()?;
    let mut evidence = Evidence::default();
    let mut select = moment.prepare_cached(
        "SELECT metric, subject, detail, bucket, SUM(n), CAST(TOTAL(total) AS INTEGER) FROM counts
         WHERE day BETWEEN ?1 AND ?2 AND (?3 IS NULL OR client = ?3)
         GROUP BY metric, subject, detail, bucket",
    )?;
    let mut largest = LargestCounts::default();
    let mut rows = select.query(params![period.from, period.to, client])?;
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
         WHERE day BETWEEN ?1 AND ?2 AND (?3 IS NULL OR client = ?3) GROUP BY day, metric",
    )?;
    evidence.days = by_day(&mut select.query(params![period.from, period.to, client])?)?;
    evidence.clients = clients(&moment, period.bounded())?;
    evidence.sightings = sightings(&moment, period, client)?;
    Ok(evidence)
}

/// The clients that called and how often. Each day's are in one place of the index.
fn clients(moment: &Connection, period: Period) -> rusqlite::Result<Vec<(String, u64)>> {
    let mut select = moment.prepare_cached(
        "WITH RECURSIVE days (day) AS (SELECT ?1 UNION ALL SELECT day + 1 FROM days WHERE day < ?2)
         SELECT client, SUM(n) FROM days CROSS JOIN counts
         ON counts.day = days.day AND counts.metric = ?3 GROUP BY client",
    )?;
    let event = Metric::Event.word();
    let called = select.query_map(params![period.from, period.to, event], |row| {
        Ok((row.get(0)?, unsigned(row.get(1)?)))
    })?;
    Ok(most_calls_first(called.collect::<rusqlite::Result<_>>()?))
}

/// With what servers were seen, the latest first.
fn sightings(
    moment: &Connection,
    period: Period,
    client: Option<&str>,
) -> rusqlite::Result<Vec<Sighting>> {
    let mut select = moment.prepare_cached(
        "SELECT server_id, client, version, commit_hash, first_at, last_at FROM sightings
         WHERE last_at >= ?1 AND first_at < ?2 AND (?3 IS NULL OR client = ?3)
         ORDER BY last_at DESC, server_id, client, version, commit_hash LIMIT ?4",
    )?;
    let (from, to) = period.millis();
    let most = signed(MAX_SIGHTINGS as u64);
    let seen = select.query_map(params![from, to, client, most], |row| {
        let of = SightingKey {
            server_id: row.get(0)?,
            client: row.get(1)?,
            version: row.get(2)?,
            commit: row.get(3)?,
        };
        Ok(Sighting { of, first: row.get(4)?, last: row.get(5)? })
    })?;
    seen.collect()
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
    client: Option<&str>,
) -> rusqlite::Result<Vec<RecordedEvent>> {
    let moment = connection.unchecked_transaction()?;
    let (from, to) = period.millis();
    // Each has an index of its own.
    let mut select = moment.prepare_cached(if client.is_some() {
        "SELECT body, at FROM events WHERE client_name = ?5 AND pile = ?1 AND pile <> ''
         AND at >= ?2 AND at < ?3 ORDER BY at DESC, event_id DESC LIMIT ?4"
    } else {
        "SELECT body, at FROM events WHERE ?5 IS NULL AND pile = ?1 AND at >= ?2 AND at < ?3
         ORDER BY at DESC, event_id DESC LIMIT ?4"
    })?;
    let most = signed(MAX_RECENT_EVENTS as u64);
    let mut found = Vec::new();
    for pile in TEXT_KINDS {
        briefly(&mut select.query(params![pile, from, to, most, client])?, &mut found)?;
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
    client: Option<&str>,
    limit: usize,
) -> rusqlite::Result<Story> {
    let moment = connection.unchecked_transaction()?;
    // Day by day and metric by metric, each is one place in the index; a range of days would be all skills' counts.
    let mut select = moment.prepare_cached(
        "WITH RECURSIVE days (day) AS (SELECT ?1 UNION ALL SELECT day + 1 FROM days WHERE day < ?2)
         SELECT days.day, metrics.value, SUM(n), CAST(TOTAL(total) AS INTEGER)
         FROM days CROSS JOIN json_each(?4) AS metrics CROSS JOIN counts
         ON counts.day = days.day AND counts.metric = metrics.value AND counts.subject = ?3
         AND (?5 IS NULL OR counts.client = ?5)
         GROUP BY days.day, metrics.value",
    )?;
    let metrics = serde_json::json!(metrics_of_skills().collect::<Vec<_>>()).to_string();
    let days =
        by_day(&mut select.query(params![period.from, period.to, skill, metrics, client])?)?;
    let (from, to) = period.millis();
    let mut select = moment.prepare_cached(
        "SELECT body, at FROM events WHERE skill = ?1 AND at >= ?2 AND at < ?3
         AND (?5 IS NULL OR client_name = ?5)
         ORDER BY at DESC, event_id DESC LIMIT ?4",
    )?;
    let mut found = Vec::new();
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    read(&mut select.query(params![skill, from, to, limit, client])?, &mut found)?;
    Ok(Story { days, recent: found.into_iter().map(|(_, recorded)| recorded).collect() })
}
