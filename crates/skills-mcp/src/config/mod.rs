//! Every key and variable, declared once; layers with the origin of each value; the resolved [`Settings`].
//!
//! Order: built-in defaults < content `config.yaml` < user files < environment < flags. An operator's mistake stops the
//! start with exit code 2; a mistake in content costs that key and a diagnostic. Not here: what any setting does.

mod consent;
mod consent_file;
mod content;
mod edit;
mod environment;
mod error;
mod file;
mod keys;
mod kind;
mod layer;
mod layers;
mod project_file;
mod settings;
mod source_list;
mod source_name;
mod sources;
mod trust;
mod value;
mod yaml_text;

pub use consent::{Consent, PendingConsent, PinnedValues};
pub use consent_file::{ConsentFile, ConsentRecord};
pub use content::{ContentConfig, ServedContent};
pub use edit::{ConfigText, EditError};
pub use environment::{Environment, VARIABLES, Variable, inherited, secret};
pub use error::ConfigError;
pub use file::{
    ConfigFileLock, FileStamp, file_stamp, lock_config_files, read_optional, read_secret,
    replace_file,
};
pub(crate) use file::{create_private_folder, private};
pub use keys::{ConfigKey, KEYS};
pub use kind::ValueKind;
pub use layer::{Layer, Setting, SettingOrigin};
pub use layers::{ConfigLayers, ResolvedConfig};
pub use project_file::{ProjectConsent, ProjectFile};
pub use settings::{
    AssetSettings, CheckSettings, ContentSettings, GitSettings, RefreshSettings, SandboxMode,
    ScriptSettings, Settings,
};
pub use skills_usage::settings::Analytics;
pub use source_list::{
    ListedPlace, ListedSource, PROJECT_FILE, SOURCE_FIELDS, SourceList, name_mistake, revised,
};
pub use source_name::github_url;
pub use sources::{NamedDirectory, NamedRepository, NamedSource, NamedSources, named_sources};
pub use trust::{ContentPolicy, DECLARATIONS, Declaration, Trust};
pub use value::{ConfigValue, without_userinfo};
