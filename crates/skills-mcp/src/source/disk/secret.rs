//! Names and paths of credentials, to which no link of content may lead and which no script may read.

use std::{ffi::OsStr, path::Path};

use crate::paths::exists;

/// Names of folders and files that hold credentials; a `/` means the one right below the other.
const CREDENTIAL_NAMES: &[&str] = &[
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
    "etc/npmrc",
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

/// The folders of version control: the address of a remote may hold a token. A folder that holds one may be a script's all the
/// same.
const REPOSITORY_NAMES: &[&str] = &[".git", ".hg", ".svn"];

/// Paths of the system that are no useful files, or hold its secrets.
const SYSTEM_PATHS: &[&str] = &[
    "/proc",
    "/sys",
    "/dev",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/ssh",
    "/run/secrets",
];

/// Whether a link to this resolved path is refused. The path of the root itself is the operator's choice, and does not count
/// against a link that stays below it.
pub(crate) fn is_secret(path: &Path, root: &Path) -> bool {
    let below = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<&OsStr> = below.iter().collect();
    let named = CREDENTIAL_NAMES.iter().any(|secret| {
        let wanted: Vec<&OsStr> = secret.split('/').map(OsStr::new).collect();
        parts.windows(wanted.len()).any(|window| window == wanted)
    });
    let is_repository = parts.iter().any(|part| REPOSITORY_NAMES.iter().any(|name| part == name));
    let is_system = |system: &&str| path.starts_with(system) && !root.starts_with(system);
    named || is_repository || SYSTEM_PATHS.iter().any(is_system)
}

/// The credentials in a folder, which must not be opened to a script as a whole.
pub(crate) fn held_secrets(folder: &Path) -> impl Iterator<Item = &'static str> {
    CREDENTIAL_NAMES.iter().copied().filter(move |secret| {
        let parts: Vec<&str> = secret.split('/').collect();
        (0..parts.len()).any(|above| {
            let (outside, inside) = parts.split_at(above);
            folder.ends_with(outside.join("/"))
                && exists(&inside.iter().fold(folder.to_path_buf(), |path, part| path.join(part)))
        })
    })
}

#[cfg(test)]
mod tests {
    use skills_testkit::Home;

    use super::*;

    #[test]
    fn a_folder_that_holds_credentials_is_recognized() {
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
