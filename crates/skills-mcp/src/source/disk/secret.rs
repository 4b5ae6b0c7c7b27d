//! Places no link of any content may lead to.

use std::{ffi::OsStr, path::Path};

/// Folders and files that hold credentials, wherever they lie; a `/` means the one right below the other.
const NAMES: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".password-store",
    ".terraform.d",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".vault-token",
    ".credentials.json",
    "Keychains",
    ".skills-mcp",
    ".config/gh",
    ".config/gcloud",
    ".config/github-copilot",
    ".local/share/keyrings",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".cargo/credentials",
    ".cargo/credentials.toml",
];

/// Parts of the system that are not files in any useful sense, or hold its secrets.
const PLACES: &[&str] = &[
    "/proc",
    "/sys",
    "/dev",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/ssh",
    "/run/secrets",
];

/// Whether a link to this resolved path is refused. Where the root itself lies is the operator's choice, and
/// does not count against a link that stays below it.
pub(super) fn is_secret(path: &Path, root: &Path) -> bool {
    let below = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<&OsStr> = below.iter().collect();
    let named = NAMES.iter().any(|secret| {
        let wanted: Vec<&OsStr> = secret.split('/').map(OsStr::new).collect();
        parts.windows(wanted.len()).any(|window| window == wanted)
    });
    named || PLACES.iter().any(|place| path.starts_with(place) && !root.starts_with(place))
}
