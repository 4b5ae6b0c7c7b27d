//! What credentials are called and where they lie: places no link of any content may lead to, and no script may read.

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
pub fn is_secret(path: &Path, root: &Path) -> bool {
    let below = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<&OsStr> = below.iter().collect();
    let named = NAMES.iter().any(|secret| {
        let wanted: Vec<&OsStr> = secret.split('/').map(OsStr::new).collect();
        parts.windows(wanted.len()).any(|window| window == wanted)
    });
    named || PLACES.iter().any(|place| path.starts_with(place) && !root.starts_with(place))
}

/// What lies in this folder that holds credentials, so that it must not be opened to anybody as a whole.
pub fn held_secrets(folder: &Path) -> impl Iterator<Item = &'static str> {
    NAMES.iter().copied().filter(move |secret| {
        let parts: Vec<&str> = secret.split('/').collect();
        (0..parts.len()).any(|above| {
            let (outside, inside) = parts.split_at(above);
            folder.ends_with(outside.join("/"))
                && inside.iter().fold(folder.to_path_buf(), |path, part| path.join(part)).exists()
        })
    })
}

#[cfg(test)]
mod tests {
    use skills_testkit::Home;

    use super::*;

    #[test]
    fn a_folder_that_holds_credentials_is_told_from_one_that_does_not() {
        let home = Home::new();
        home.write(".cargo/credentials.toml", "x");
        home.write(".cargo/bin/tool", "x");
        home.write(".local/share/keyrings/login", "x");
        home.write("work/src/main.rs", "x");
        let holds = |path: &str| held_secrets(&home.path().join(path)).next().is_some();
        for path in ["", ".cargo", ".local", ".local/share"] {
            assert!(holds(path), "{path}");
        }
        for path in ["work", ".cargo/bin", "work/src"] {
            assert!(!holds(path), "{path}");
        }
    }
}
