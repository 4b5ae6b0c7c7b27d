//! Places no link of any content may lead to.

use std::path::Path;

/// Folders and files that hold credentials, wherever they lie.
const NAMES: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".password-store",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".vault-token",
    "keyrings",
    "Keychains",
    "gcloud",
    "gh",
    ".skills-mcp",
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
    let named = below.iter().any(|part| NAMES.iter().any(|secret| part == *secret));
    named || PLACES.iter().any(|place| path.starts_with(place) && !root.starts_with(place))
}
