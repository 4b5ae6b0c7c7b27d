//! The tables, in steps: a database has taken the first so many of them, and takes the rest when it is opened.
//!
//! A step that was released never changes; another one is added. SQLite and PostgreSQL have the same tables; the words
//! for types differ. Counts from before the second step name no client: they are of all clients together.

/// The steps for SQLite.
pub(super) const SQLITE: &[&str] = &[
    "
    CREATE TABLE events (
        event_id BLOB NOT NULL PRIMARY KEY,
        at INTEGER NOT NULL,
        received INTEGER NOT NULL,
        type TEXT NOT NULL,
        pile TEXT NOT NULL,
        server_id TEXT NOT NULL,
        client_name TEXT,
        skill TEXT,
        body TEXT NOT NULL
    );
    CREATE INDEX events_by_pile ON events (pile, at DESC, event_id DESC);
    CREATE INDEX events_by_skill ON events (skill, at DESC, event_id DESC) WHERE skill IS NOT NULL;
    CREATE TABLE counts (
        day INTEGER NOT NULL,
        metric TEXT NOT NULL,
        subject TEXT NOT NULL,
        detail TEXT NOT NULL,
        bucket INTEGER NOT NULL,
        n INTEGER NOT NULL,
        total INTEGER NOT NULL,
        PRIMARY KEY (day, metric, subject, detail, bucket)
    ) WITHOUT ROWID;
",
    "
    CREATE TABLE counts_by_client (
        day INTEGER NOT NULL,
        metric TEXT NOT NULL,
        subject TEXT NOT NULL,
        detail TEXT NOT NULL,
        bucket INTEGER NOT NULL,
        client TEXT NOT NULL,
        n INTEGER NOT NULL,
        total INTEGER NOT NULL,
        PRIMARY KEY (day, metric, subject, detail, bucket, client)
    ) WITHOUT ROWID;
    INSERT INTO counts_by_client
        SELECT day, metric, subject, detail, bucket, '', n, total FROM counts;
    DROP TABLE counts;
    ALTER TABLE counts_by_client RENAME TO counts;
    CREATE INDEX events_by_client ON events (client_name, pile, at DESC, event_id DESC)
        WHERE client_name IS NOT NULL AND pile <> '';
    CREATE TABLE sightings (
        server_id TEXT NOT NULL,
        client TEXT NOT NULL,
        version TEXT NOT NULL,
        commit_hash TEXT NOT NULL,
        first_at INTEGER NOT NULL,
        last_at INTEGER NOT NULL,
        PRIMARY KEY (server_id, client, version, commit_hash)
    ) WITHOUT ROWID;
    INSERT INTO sightings SELECT server_id, COALESCE(client_name, ''), '', '', MIN(at), MAX(at)
        FROM events GROUP BY 1, 2;
",
];

/// The steps for PostgreSQL. Bytes are compared as bytes, whatever language the database speaks; counts are rewritten
/// all the time, so their pages keep free space for that.
pub(super) const POSTGRES: &[&str] = &[
    r#"
    CREATE TABLE events (
        event_id UUID NOT NULL PRIMARY KEY,
        at BIGINT NOT NULL,
        received BIGINT NOT NULL,
        type TEXT COLLATE "C" NOT NULL,
        pile TEXT COLLATE "C" NOT NULL,
        server_id TEXT COLLATE "C" NOT NULL,
        client_name TEXT COLLATE "C",
        skill TEXT COLLATE "C",
        body TEXT NOT NULL
    );
    CREATE INDEX events_by_pile ON events (pile, at DESC, event_id DESC);
    CREATE INDEX events_by_skill ON events (skill, at DESC, event_id DESC) WHERE skill IS NOT NULL;
    CREATE TABLE counts (
        day BIGINT NOT NULL,
        metric TEXT COLLATE "C" NOT NULL,
        subject TEXT COLLATE "C" NOT NULL,
        detail TEXT COLLATE "C" NOT NULL,
        bucket BIGINT NOT NULL,
        n BIGINT NOT NULL,
        total BIGINT NOT NULL,
        PRIMARY KEY (day, metric, subject, detail, bucket)
    ) WITH (fillfactor = 70);
"#,
    r#"
    ALTER TABLE counts ADD COLUMN client TEXT COLLATE "C" NOT NULL DEFAULT '';
    ALTER TABLE counts DROP CONSTRAINT counts_pkey;
    ALTER TABLE counts ADD PRIMARY KEY (day, metric, subject, detail, bucket, client);
    CREATE INDEX events_by_client ON events (client_name, pile, at DESC, event_id DESC)
        WHERE client_name IS NOT NULL AND pile <> '';
    CREATE TABLE sightings (
        server_id TEXT COLLATE "C" NOT NULL,
        client TEXT COLLATE "C" NOT NULL,
        version TEXT COLLATE "C" NOT NULL,
        commit_hash TEXT COLLATE "C" NOT NULL,
        first_at BIGINT NOT NULL,
        last_at BIGINT NOT NULL,
        PRIMARY KEY (server_id, client, version, commit_hash)
    ) WITH (fillfactor = 70);
    INSERT INTO sightings SELECT server_id, COALESCE(client_name, ''), '', '', MIN(at), MAX(at)
        FROM events GROUP BY 1, 2;
"#,
];

/// Whole numbers with a name, such as the version of the tables.
pub(super) const META: &str =
    "CREATE TABLE IF NOT EXISTS meta (name TEXT NOT NULL PRIMARY KEY, value BIGINT NOT NULL)";
/// The number of steps taken.
pub(super) const VERSION: &str = "version";
