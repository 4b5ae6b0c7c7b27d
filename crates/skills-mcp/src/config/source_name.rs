//! What a source is called, from its folder or its URL, and the URL that `owner/name` stands for. Not here: names that are taken
//! (`sources`).

use std::{ffi::OsStr, path::Path};

use crate::paths::is_folder;

/// What stands for the agents' directories and plugins, so that no source is called so.
pub(super) const AGENTS_NAME: &str = "agents";

/// The address of `owner/name` on GitHub, with `#branch` or `@commit` if need be; none for anything else, and none where a folder
/// is called so.
pub fn github_url(text: &str, folder: &Path) -> Option<String> {
    let at = text.find(['#', '@']).unwrap_or(text.len());
    let (place, revision) = text.split_at(at);
    let (owner, name) = place.split_once('/')?;
    let name = name.strip_suffix(".git").unwrap_or(name);
    let is_plain = |part: &str, others: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
    };
    if !is_plain(owner, "-") || !is_plain(name, "-_.") || is_folder(&folder.join(place)) {
        return None;
    }
    Some(format!("https://github.com/{owner}/{name}.git{revision}"))
}

/// The folder's name; for a folder called `skills`, the one around it says more.
pub(super) fn name_of(path: &Path) -> String {
    let mut names =
        path.iter().rev().filter(|part| *part != "/" && *part != "..").map(OsStr::to_string_lossy);
    let last = names.next().unwrap_or_default();
    let name = if last == "skills" { names.next().unwrap_or(last) } else { last };
    let plain: String = name
        .chars()
        .map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' })
        .collect();
    if plain.is_empty() { "skills".to_owned() } else { plain }
}

/// The name of `git@host:team/skills.git#main` comes from `team/skills`.
pub(super) fn name_of_url(url: &str) -> String {
    let place = url.split('#').next().unwrap_or(url);
    let place = match place.rsplit_once('@') {
        Some((place, commit)) if !commit.contains(['/', ':']) => place,
        _ => place,
    };
    let place = match place.split_once("://") {
        Some((_, place)) => {
            let (host, path) = place.split_once('/').unwrap_or((place, ""));
            let host = host.rsplit('@').next().unwrap_or(host);
            format!("{}/{path}", host.split(':').next().unwrap_or(host))
        }
        None => place.rsplit_once(':').map_or(place, |(_, place)| place).to_owned(),
    };
    let place = place.trim_end_matches('/');
    name_of(Path::new(place.strip_suffix(".git").unwrap_or(place)))
}

/// Whether an agents' directory may be called this.
pub(super) fn is_agents_name(name: &str) -> bool {
    let rest = name.strip_prefix("project-").or_else(|| name.strip_prefix("user-"));
    let rest = rest.map(|rest| rest.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-'));
    rest.is_some_and(|rest| matches!(rest, "agents" | "agent" | "claude"))
}

#[cfg(test)]
mod tests {
    use skills_testkit::Home;

    use super::*;

    #[test]
    fn owner_and_name_are_a_repository_on_github_unless_a_folder_is_called_so() {
        let home = Home::new();
        home.write("team/skills/x", "");
        let url = |text: &str| github_url(text, home.path());
        assert_eq!(url("acme/skills").as_deref(), Some("https://github.com/acme/skills.git"));
        assert_eq!(url("acme/x.git#next").as_deref(), Some("https://github.com/acme/x.git#next"));
        for other in [
            "team/skills",
            "acme",
            "a/b/c",
            "../x",
            "./x",
            "/x/y",
            "~/x",
            "https://a.org/x",
            "git@h:x/y",
            "host:x/y",
            "-a/b",
            "a/-b",
            "ext::sh/x",
            "a b/c",
        ] {
            assert_eq!(url(other), None, "{other}");
        }
    }
}
