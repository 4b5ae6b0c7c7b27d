//! An address of PostgreSQL → a connection, encrypted where the address asks for it and the other side can.
//!
//! Certificates are checked against what the system trusts, so `sslmode=require` is as good as `verify-full`. With
//! `prefer`, which is the default, a connection that cannot be encrypted is made all the same, and the log says so.

use std::{fmt, path::Path, sync::Arc, time::Duration};

use rustls::{ClientConfig, crypto::ring::default_provider};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::time::timeout;
use tokio_postgres::{
    Client, NoTls,
    config::{Host, SslMode},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::super::ArchiveError;

/// A database that does not answer within this long is away.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const DEFAULT_PORT: u16 = 5432;

/// The address of a database, and the credentials.
#[derive(Clone)]
pub struct Config(Box<tokio_postgres::Config>);

impl Config {
    /// Reads a URL. What is wrong with it is not repeated: a password may be part of it.
    pub fn parse(url: &str) -> Result<Self, ArchiveError> {
        // Words of libpq for what is done anyway.
        let url = url.replace("sslmode=verify-full", "sslmode=require");
        let url = url.replace("sslmode=verify-ca", "sslmode=require");
        let config: Result<tokio_postgres::Config, _> = url.parse();
        let mut config = config.map_err(|_| ArchiveError::Address("postgres://…".to_owned()))?;
        if config.get_hosts().is_empty() {
            config.host("localhost");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("skills-mcp");
        }
        Ok(Self(Box::new(config)))
    }

    /// A new connection, or none after the timeout: a server may accept it and say nothing.
    pub(super) async fn connect(&self) -> Result<Client, ArchiveError> {
        let patience = self.0.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT);
        let connected = timeout(patience, self.connected()).await;
        connected.unwrap_or_else(|_| Err(self.failed("it does not answer in time")))
    }

    async fn connected(&self) -> Result<Client, ArchiveError> {
        let mode = self.0.get_ssl_mode();
        let remote = self.0.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_)));
        if mode == SslMode::Disable || !remote {
            return self.plain().await;
        }
        match self.encrypted().await {
            Err(EncryptionError::Tls(reason)) if mode == SslMode::Prefer => {
                tracing::warn!("{self}: the connection is not encrypted: {reason}");
                self.plain().await
            }
            Err(EncryptionError::Tls(reason) | EncryptionError::Database(reason)) => {
                Err(self.failed(reason))
            }
            Ok(client) => Ok(client),
        }
    }

    async fn plain(&self) -> Result<Client, ArchiveError> {
        let mut config = self.0.clone();
        config.ssl_mode(SslMode::Disable);
        let connected = config.connect(NoTls).await;
        let (client, connection) = connected.map_err(|error| self.failed(with_cause(&error)))?;
        // The client reports why it ends.
        tokio::spawn(async move { drop(connection.await) });
        Ok(client)
    }

    async fn encrypted(&self) -> Result<Client, EncryptionError> {
        // Finding what the system trusts reads files.
        let trust = tokio::task::spawn_blocking(trust).await;
        let trust = trust.map_err(|error| EncryptionError::Tls(error.to_string()))?;
        let trust = trust.map_err(|error| EncryptionError::Tls(error.to_string()))?;
        let connected = self.0.connect(MakeRustlsConnect::new(trust)).await;
        let (client, connection) = connected.map_err(|error| {
            let handshake = error.to_string().starts_with("error performing TLS handshake");
            if handshake {
                EncryptionError::Tls(with_cause(&error))
            } else {
                EncryptionError::Database(with_cause(&error))
            }
        })?;
        tokio::spawn(async move { drop(connection.await) });
        Ok(client)
    }

    pub(super) fn failed(&self, reason: impl fmt::Display) -> ArchiveError {
        let hint = "check that the database is there, that it lets this user in and that nothing else has tables of these names in it";
        ArchiveError::Failed { place: self.to_string(), reason: reason.to_string(), hint }
    }
}

/// Why there is no encrypted connection.
enum EncryptionError {
    /// It could not be encrypted.
    Tls(String),
    /// It could not be made.
    Database(String),
}

fn trust() -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?;
    Ok(builder.with_platform_verifier()?.with_no_client_auth())
}

/// What an error says, and what is behind it: its own words are only where it happened.
pub(super) fn with_cause(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        if let Some(user) = self.0.get_user() {
            write!(f, "{user}@")?;
        }
        match self.0.get_hosts().first() {
            Some(Host::Tcp(host)) => f.write_str(host)?,
            #[cfg(unix)]
            Some(Host::Unix(path)) => write!(f, "{}", Path::display(path))?,
            None => {}
        }
        let port = self.0.get_ports().first().copied().unwrap_or(DEFAULT_PORT);
        write!(f, ":{port}/{}", self.0.get_dbname().unwrap_or_default())
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Config({self})")
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use skills_testkit::TEST_TIMEOUT;

    use super::*;

    #[test]
    fn a_server_that_accepts_and_never_answers_is_not_waited_for() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for mode in ["prefer", "disable"] {
            let url = format!("postgres://ann@127.0.0.1:{port}/x?connect_timeout=1&sslmode={mode}");
            let config = Config::parse(&url).unwrap();
            let connected =
                runtime.block_on(async { timeout(TEST_TIMEOUT, config.connect()).await });
            let said = connected.expect("it is given up").unwrap_err().to_string();
            assert!(said.contains("does not answer in time"), "{mode}: {said}");
        }
    }
}
