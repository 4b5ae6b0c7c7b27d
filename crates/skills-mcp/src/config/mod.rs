//! Every key and variable, declared once; layers that remember where a value came from; the resolved [`Settings`].
//!
//! Order: built-in defaults < content `config.yaml` < user files < environment < flags. What an operator wrote
//! wrongly stops the start with exit code 2; what content has wrong costs that key and a diagnostic. Not here:
//! what any setting does.

mod consent;
mod consent_file;
mod content;
mod environment;
mod error;
mod file;
mod keys;
mod kind;
mod layer;
mod settings;
mod sources;
mod stack;
mod trust;
mod value;

pub use consent::{Consent, Pins, Waiting};
pub use consent_file::{ConsentFile, Recorded};
pub use content::{ContentConfig, ServedContent};
pub use environment::{Environment, VARIABLES, Variable, inherited, secret};
pub use error::ConfigError;
pub use file::{FileStamp, read_optional};
pub use keys::{KEYS, Key};
pub use kind::Kind;
pub use layer::{Layer, Origin, Setting};
pub use settings::{Assets, Content, Git, Refresh, SandboxMode, Scripts, Settings};
pub use skills_usage::settings::Analytics;
pub use sources::{Named, NamedRepository, NamedSource, sources};
pub use stack::{Settled, Stack};
pub use trust::{ContentPolicy, DECLARATIONS, Declaration, Trust};
pub use value::{Value, without_userinfo};
