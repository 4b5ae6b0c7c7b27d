//! What is asked of a database of PostgreSQL.

use tokio_postgres::{Client, Error, IsolationLevel, Row, Transaction};

use super::super::{
    Evidence, MAX_RECENT_EVENTS, MAX_TEXT_BYTES, Period, Story, TEXT_KINDS,
    cardinality::LargestCounts,
    group::{signed, unsigned},
    limits, metrics_of_skills, schema,
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

pub(super) async fn evidence(client: &mut Client, period: Period) -> Result<Evidence, Error> {
    let moment = moment(client).await?;
    let mut evidence = Evidence::default();
    // By day and by key at once: all counts are gone through once.
    let counts = "SELECT day, metric, SUM(n)::bigint, LEAST(SUM(total), 9e18)::bigint,
         subject, detail, bucket FROM counts WHERE day BETWEEN $1 AND $2
         GROUP BY GROUPING SETS ((day, metric), (metric, subject, detail, bucket))";
    let counts = moment.bind(counts, &[&period.from, &period.to]).await?;
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
    evidence.recent = recent(&moment, period).await?;
    Ok(evidence)
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
async fn recent(moment: &Transaction<'_>, period: Period) -> Result<Vec<RecordedEvent>, Error> {
    let (from, to) = period.millis();
    let most = signed(MAX_RECENT_EVENTS as u64);
    let much = signed(MAX_TEXT_BYTES as u64);
    // How long a text is stands beside it: those that are too much are not even looked at.
    let select = "SELECT body, at FROM (
             SELECT body, at, SUM(octet_length(body)) OVER
                 (ORDER BY at DESC, event_id DESC ROWS UNBOUNDED PRECEDING) AS so_far
             FROM (SELECT body, at, event_id FROM events WHERE pile = $1 AND at >= $2 AND at < $3
                 ORDER BY at DESC, event_id DESC LIMIT $4) AS latest) AS summed
         WHERE so_far <= $5";
    let select = moment.prepare(select).await?;
    let mut found = Vec::new();
    for pile in TEXT_KINDS {
        read(&moment.query(&select, &[&pile, &from, &to, &most, &much]).await?, &mut found)?;
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
    client: &mut Client,
    skill: &str,
    period: Period,
    limit: usize,
) -> Result<Story, Error> {
    let moment = moment(client).await?;
    // Day by day and metric by metric, each is one place in the index; a range of days would be all skills' counts.
    let days = "SELECT c.day, c.metric, SUM(c.n)::bigint, LEAST(SUM(c.total), 9e18)::bigint
         FROM generate_series($1::bigint, $2::bigint) AS d (day)
         CROSS JOIN unnest($4::text[]) AS m (metric)
         CROSS JOIN LATERAL (SELECT * FROM counts WHERE counts.day = d.day
             AND counts.metric = m.metric AND counts.subject = $3 OFFSET 0) AS c
         GROUP BY c.day, c.metric";
    let metrics: Vec<&str> = metrics_of_skills().collect();
    let days = moment.query(days, &[&period.from, &period.to, &skill, &metrics]).await?;
    let days = by_day(&days)?;
    let (from, to) = period.millis();
    let limit = signed(limit as u64);
    let select = "SELECT body, at FROM events WHERE skill = $1 AND at >= $2 AND at < $3
         ORDER BY at DESC, event_id DESC LIMIT $4";
    let mut found = Vec::new();
    read(&moment.query(select, &[&skill, &from, &to, &limit]).await?, &mut found)?;
    Ok(Story { days, recent: found.into_iter().map(|(_, recorded)| recorded).collect() })
}
