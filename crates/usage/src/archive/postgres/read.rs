//! What is asked of a database of PostgreSQL.

use tokio_postgres::{Client, Error, IsolationLevel, Row, Transaction};

use super::super::{
    Evidence, MAX_RECENT_EVENTS, MAX_SIGHTINGS, MAX_TEXT_BYTES, Period, Sighting, Story,
    TEXT_KINDS,
    cardinality::LargestCounts,
    group::{signed, unsigned},
    limits, metrics_of_skills, most_calls_first, schema,
    sighting::SightingKey,
};
use crate::{
    event::RecordedEvent,
    tally::{CountKey, CountSum, Metric},
};

/// So many counts come at once.
const FETCH_ROWS: i32 = 20_000;

/// How many steps its tables have taken.
pub(super) async fn version(client: &Client) -> Result<i64, Error> {
    let select = "SELECT value FROM meta WHERE name = $1";
    let row = client.query_opt(select, &[&schema::VERSION]).await?;
    row.map_or(Ok(0), |row| row.try_get(0))
}

/// All that is read in it is of one moment.
async fn moment(client: &mut Client) -> Result<Transaction<'_>, Error> {
    let transaction = client.build_transaction().read_only(true);
    transaction.isolation_level(IsolationLevel::RepeatableRead).start().await
}

pub(super) async fn evidence(
    connection: &mut Client,
    period: Period,
    client: Option<&str>,
) -> Result<Evidence, Error> {
    let moment = moment(connection).await?;
    let mut evidence = Evidence { client: client.map(str::to_owned), ..Evidence::default() };
    // By day and by key at once: all counts are gone through once.
    let counts = "SELECT day, metric, SUM(n)::bigint, LEAST(SUM(total), 9e18)::bigint,
         subject, detail, bucket FROM counts WHERE day BETWEEN $1 AND $2
         AND ($3::text IS NULL OR client = $3)
         GROUP BY GROUPING SETS ((day, metric), (metric, subject, detail, bucket))";
    let counts = moment.bind(counts, &[&period.from, &period.to, &client]).await?;
    let mut largest = LargestCounts::default();
    loop {
        let rows = moment.query_portal(&counts, FETCH_ROWS).await?;
        if rows.is_empty() {
            break;
        }
        for row in rows {
            let Some(metric) = Metric::of(row.try_get(1)?) else { continue };
            let sum = CountSum { n: unsigned(row.try_get(2)?), total: unsigned(row.try_get(3)?) };
            if let Some(day) = row.try_get(0)? {
                evidence.days.push((day, metric, sum));
                continue;
            }
            let bucket = u16::try_from(row.try_get::<_, i64>(6)?).unwrap_or(0);
            let key =
                CountKey { metric, subject: row.try_get(4)?, detail: row.try_get(5)?, bucket };
            largest.add(key, sum);
        }
    }
    evidence.days.sort_unstable_by_key(|(day, metric, _)| (*day, *metric));
    evidence.tally = largest.tally();
    evidence.clients = clients(&moment, period.bounded()).await?;
    evidence.sightings = sightings(&moment, period, client).await?;
    evidence.recent = recent(&moment, period, client).await?;
    Ok(evidence)
}

/// The clients that called and how often. Each day's are in one place of the index.
async fn clients(moment: &Transaction<'_>, period: Period) -> Result<Vec<(String, u64)>, Error> {
    let select = "SELECT c.client, SUM(c.n)::bigint
         FROM generate_series($1::bigint, $2::bigint) AS d (day)
         CROSS JOIN LATERAL (SELECT client, n FROM counts WHERE counts.day = d.day
             AND counts.metric = $3 OFFSET 0) AS c
         GROUP BY c.client";
    let event = Metric::Event.word();
    let rows = moment.query(select, &[&period.from, &period.to, &event]).await?;
    let called = rows.iter().map(|row| Ok((row.try_get(0)?, unsigned(row.try_get(1)?))));
    Ok(most_calls_first(called.collect::<Result<_, Error>>()?))
}

/// With what servers were seen, the latest first.
async fn sightings(
    moment: &Transaction<'_>,
    period: Period,
    client: Option<&str>,
) -> Result<Vec<Sighting>, Error> {
    let select = "SELECT server_id, client, version, commit_hash, first_at, last_at FROM sightings
         WHERE last_at >= $1 AND first_at < $2 AND ($3::text IS NULL OR client = $3)
         ORDER BY last_at DESC, server_id, client, version, commit_hash LIMIT $4";
    let (from, to) = period.millis();
    let most = signed(MAX_SIGHTINGS as u64);
    let rows = moment.query(select, &[&from, &to, &client, &most]).await?;
    let seen = rows.iter().map(|row| {
        let of = SightingKey {
            server_id: row.try_get(0)?,
            client: row.try_get(1)?,
            version: row.try_get(2)?,
            commit: row.try_get(3)?,
        };
        Ok(Sighting { of, first: row.try_get(4)?, last: row.try_get(5)? })
    });
    seen.collect()
}

/// Rows of day, metric, how often and how much, in order.
fn by_day(rows: &[Row]) -> Result<Vec<(i64, Metric, CountSum)>, Error> {
    let mut days = Vec::with_capacity(rows.len());
    for row in rows {
        let Some(metric) = Metric::of(row.try_get(1)?) else { continue };
        let sum = CountSum { n: unsigned(row.try_get(2)?), total: unsigned(row.try_get(3)?) };
        days.push((row.try_get(0)?, metric, sum));
    }
    days.sort_unstable_by_key(|(day, metric, _)| (*day, *metric));
    Ok(days)
}

/// The latest of each pile of texts, newest first.
async fn recent(
    moment: &Transaction<'_>,
    period: Period,
    client: Option<&str>,
) -> Result<Vec<RecordedEvent>, Error> {
    let (from, to) = period.millis();
    let most = signed(MAX_RECENT_EVENTS as u64);
    let much = signed(MAX_TEXT_BYTES as u64);
    // How long a text is stands beside it: those that are too much are not even looked at.
    // With a client and without, there is an index for it.
    let of = if client.is_some() { "client_name = $6 AND pile <> ''" } else { "$6::text IS NULL" };
    let select = format!(
        "SELECT body, at FROM (
             SELECT body, at, SUM(octet_length(body)) OVER
                 (ORDER BY at DESC, event_id DESC ROWS UNBOUNDED PRECEDING) AS so_far
             FROM (SELECT body, at, event_id FROM events
                 WHERE {of} AND pile = $1 AND at >= $2 AND at < $3
                 ORDER BY at DESC, event_id DESC LIMIT $4) AS latest) AS summed
         WHERE so_far <= $5"
    );
    let select = moment.prepare(&select).await?;
    let mut found = Vec::new();
    for pile in TEXT_KINDS {
        let rows = moment.query(&select, &[&pile, &from, &to, &most, &much, &client]).await?;
        read(&rows, &mut found)?;
    }
    for (_, recorded) in &mut found {
        limits::brief(recorded);
    }
    found.sort_unstable_by_key(|(at, recorded)| std::cmp::Reverse((*at, recorded.event_id)));
    Ok(found.into_iter().map(|(_, recorded)| recorded).collect())
}

/// Rows of an event's text and its time. What a newer version wrote is passed over.
fn read(rows: &[Row], found: &mut Vec<(i64, RecordedEvent)>) -> Result<(), Error> {
    for row in rows {
        if let Ok(recorded) = RecordedEvent::read(row.try_get(0)?) {
            found.push((row.try_get(1)?, recorded));
        }
    }
    Ok(())
}

pub(super) async fn story(
    connection: &mut Client,
    skill: &str,
    period: Period,
    client: Option<&str>,
    limit: usize,
) -> Result<Story, Error> {
    let moment = moment(connection).await?;
    // Day by day and metric by metric, each is one place in the index; a range of days would be all skills' counts.
    let days = "SELECT c.day, c.metric, SUM(c.n)::bigint, LEAST(SUM(c.total), 9e18)::bigint
         FROM generate_series($1::bigint, $2::bigint) AS d (day)
         CROSS JOIN unnest($4::text[]) AS m (metric)
         CROSS JOIN LATERAL (SELECT * FROM counts WHERE counts.day = d.day
             AND counts.metric = m.metric AND counts.subject = $3
             AND ($5::text IS NULL OR counts.client = $5) OFFSET 0) AS c
         GROUP BY c.day, c.metric";
    let metrics: Vec<&str> = metrics_of_skills().collect();
    let days = moment.query(days, &[&period.from, &period.to, &skill, &metrics, &client]).await?;
    let days = by_day(&days)?;
    let (from, to) = period.millis();
    let limit = signed(limit as u64);
    let select = "SELECT body, at FROM events WHERE skill = $1 AND at >= $2 AND at < $3
         AND ($5::text IS NULL OR client_name = $5)
         ORDER BY at DESC, event_id DESC LIMIT $4";
    let mut found = Vec::new();
    read(&moment.query(select, &[&skill, &from, &to, &limit, &client]).await?, &mut found)?;
    Ok(Story { days, recent: found.into_iter().map(|(_, recorded)| recorded).collect() })
}
