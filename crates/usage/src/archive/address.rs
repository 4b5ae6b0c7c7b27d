//! `sqlite:FILE` or `postgres://…` → which archive. What is shown of it holds no password.

use std::{fmt, path::PathBuf};

use super::{ArchiveError, postgres};

/// Where an archive is.
#[derive(Clone)]
pub enum Address {
    /// This file.
    Sqlite(PathBuf),
    /// This database.
    Postgres(postgres::Config),
}

impl Address {
    /// Reads it as it is given on a command line.
    pub fn parse(text: &str) -> Result<Self, ArchiveError> {
        if let Some(file) = text.strip_prefix("sqlite:").filter(|file| !file.is_empty()) {
            return Ok(Self::Sqlite(file.into()));
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return postgres::Config::parse(text).map(Self::Postgres);
        }
        // A password may be in anything else.
        match text.split_once(':') {
            Some((kind, _)) => Err(ArchiveError::Address(format!("{kind}:…"))),
            None if text.contains(['/', '.']) => Ok(Self::Sqlite(text.into())),
            None => Err(ArchiveError::Address(text.to_owned())),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(file) => write!(f, "sqlite:{}", file.display()),
            Self::Postgres(config) => config.fmt(f),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_shown_without_its_password() {
        let shown = |text: &str| Address::parse(text).map(|address| address.to_string());
        for file in ["sqlite:events.db", "events.db"] {
            assert_eq!(shown(file), Ok("sqlite:events.db".to_owned()));
        }
        assert_eq!(shown("/srv/events"), Ok("sqlite:/srv/events".to_owned()));
        let postgres = shown("postgres://ann:s3cret@db.example:5433/skills?sslmode=verify-full");
        assert_eq!(postgres, Ok("postgres://ann@db.example:5433/skills".to_owned()));
        assert_eq!(
            shown("postgresql:///skills?host=/run/pg&user=ann&password=s3cret"),
            Ok("postgres://ann@/run/pg:5432/skills".to_owned())
        );
        assert!(!format!("{:?}", Address::parse("postgres://a:s3cret@h/d")).contains("s3cret"));
        for bad in [
            "events",
            "sqlite:",
            "mysql://ann:s3cret@h/d",
            "postgres://ann:s3cret@h:port/d",
            "postgres://ann:s3cret@h/d?s3cret=1",
        ] {
            let error = Address::parse(bad).unwrap_err();
            assert!(!error.to_string().contains("s3cret"), "{error}");
            assert!(!error.hint().is_empty());
        }
    }
}
