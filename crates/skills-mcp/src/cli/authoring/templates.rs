//! What new files say: the texts of `templates/`, with the values of this repository filled in.
//!
//! Client entries come from the table of clients and settings from the table of keys. Not here: which files are made, and
//! writing them.

use std::fmt::Write as _;

use skills_core::relpath::{RelPath, RelPathError};

use super::created::NewFile;
use crate::{
    clients::{CLIENTS, EntryFormat},
    config::{ContentPolicy, KEYS},
};

/// How the skills of a repository are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum SkillLayout {
    /// Markdown files that inherit the rules of the folders above them
    Tree,
    /// A folder with a SKILL.md for each skill, as in the Agent Skills format
    Bundles,
}

/// Where the CI job of a repository runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum CiSystem {
    /// A workflow of GitHub Actions
    Github,
    /// A job of GitLab CI/CD
    Gitlab,
}

/// What the files for a team say of it.
#[derive(Debug)]
pub(super) struct TeamFacts {
    pub(super) name: String,
    /// The repository's URL, which clients follow.
    pub(super) url: String,
    /// The users or teams that approve changes; empty where none are known yet.
    pub(super) owners: String,
    pub(super) ci: CiSystem,
    /// The folder of skills, below the repository or `.`.
    pub(super) skills: String,
    /// The layout of the example, where one is made.
    pub(super) layout: Option<SkillLayout>,
}

const SUMMARY: &str = include_str!("../../../templates/review-summary.template");

/// The skills of an example, and the requests that find them.
pub(super) fn example(layout: SkillLayout) -> Result<Vec<NewFile>, RelPathError> {
    let files: &[(&str, &str)] = match layout {
        SkillLayout::Tree => &[
            ("skills/_root.md", include_str!("../../../templates/tree/root.md")),
            ("skills/code/_index.md", include_str!("../../../templates/tree/code.md")),
            ("skills/code/review.md", include_str!("../../../templates/tree/review.md")),
            ("skills/code/review/assets/review-summary.template", SUMMARY),
            ("skills/routing.yaml", include_str!("../../../templates/tree/routing.yaml")),
        ],
        SkillLayout::Bundles => &[
            (
                "skills/code-review/SKILL.md",
                include_str!("../../../templates/bundles/code-review.md"),
            ),
            ("skills/code-review/assets/review-summary.template", SUMMARY),
            (
                "skills/commit-messages/SKILL.md",
                include_str!("../../../templates/bundles/commit-messages.md"),
            ),
            ("skills/routing.yaml", include_str!("../../../templates/bundles/routing.yaml")),
        ],
    };
    files.iter().map(|(path, text)| new_file(path, (*text).to_owned())).collect()
}

/// What a team needs beside its skills.
pub(super) fn team(facts: &TeamFacts) -> Result<Vec<NewFile>, RelPathError> {
    let (ci_file, ci) = match facts.ci {
        CiSystem::Github => {
            (".github/workflows/skills.yml", include_str!("../../../templates/team/github.yml"))
        }
        CiSystem::Gitlab => (".gitlab-ci.yml", include_str!("../../../templates/team/gitlab.yml")),
    };
    let ci = filled(ci, &[("skills", &facts.skills)]);
    let owners = if facts.owners.is_empty() {
        "# None is set yet: write the users or teams of yours into the next line, and remove its mark.\n# * @your-org/your-team"
            .to_owned()
    } else {
        format!("* {}", facts.owners)
    };
    let owners = filled(include_str!("../../../templates/team/CODEOWNERS"), &[("owners", &owners)]);
    vec![
        new_file("README.md", readme(facts, ci_file)),
        new_file("config.yaml", config()),
        new_file("CODEOWNERS", owners),
        new_file(".gitignore", include_str!("../../../templates/team/gitignore").to_owned()),
        new_file(ci_file, ci),
    ]
    .into_iter()
    .collect()
}

fn readme(facts: &TeamFacts, ci_file: &str) -> String {
    let layout = match facts.layout {
        Some(SkillLayout::Tree) => {
            ", Markdown files that come with the rules of `_root.md` and of each `_index.md` above them"
        }
        Some(SkillLayout::Bundles) => ", one folder with a `SKILL.md` each",
        None => "",
    };
    let review = match facts.ci {
        CiSystem::Github => "pull request",
        CiSystem::Gitlab => "merge request",
    };
    let (folder, routing) = match &*facts.skills {
        "." => ("the folders beside this file".to_owned(), "routing.yaml".to_owned()),
        skills => (format!("`{skills}/`"), format!("{skills}/routing.yaml")),
    };
    let values = [
        ("name", facts.name.as_str()),
        ("entries", &entries(&facts.url)),
        ("url", &facts.url),
        ("skills", &facts.skills),
        ("folder", &folder),
        ("routing", &routing),
        ("layout", layout),
        ("review", review),
        ("ci", ci_file),
    ];
    filled(include_str!("../../../templates/team/README.md"), &values)
}

/// An entry for each format, with the clients that take it.
fn entries(url: &str) -> String {
    let mut text = String::new();
    for format in EntryFormat::ALL {
        let clients = CLIENTS.iter().filter_map(|client| {
            let entry = client.entry.filter(|entry| entry.format == format)?;
            Some(format!("{} (`{}`)", client.name, entry.file()))
        });
        let clients: Vec<String> = clients.collect();
        let language = format.language();
        let entry = format.entry("SKILLS_REPO", url);
        let _ = writeln!(text, "{}:\n\n```{language}\n{entry}```\n", clients.join(", "));
    }
    text.truncate(text.trim_end().len());
    text
}

const CONFIG_HEAD: &str = "\
# Settings that travel with the skills. Every line is a default: to change one, remove the mark at the start of its line and
# of its group's line. `skills-mcp --dir . config` shows what applies, and where each value comes from.
# The server asks its user before it applies a later change that turns something on (`skills-mcp trust`).
";

/// Every key that content may set, as a comment with its default.
fn config() -> String {
    let mut text = CONFIG_HEAD.to_owned();
    let mut open = "";
    for key in KEYS.iter().filter(|key| key.content != ContentPolicy::Operator) {
        let Some((group, name)) = key.name.split_once('.') else { continue };
        if group != open {
            let _ = writeln!(text, "\n#{group}:");
            open = group;
        }
        let _ = writeln!(text, "#  # {}\n#  {name}: {}", key.about, key.default);
    }
    text
}

/// What a new skill says after its front matter.
pub(super) fn skill_body(title: &str) -> String {
    filled(include_str!("../../../templates/skill/body.md"), &[("title", title)])
}

fn new_file(path: &str, text: String) -> Result<NewFile, RelPathError> {
    Ok(NewFile { path: RelPath::parse(path)?, text })
}

/// The template with `%name%` replaced by the value of that name. Values are not searched for further names.
fn filled(template: &str, values: &[(&str, &str)]) -> String {
    let mut parts = template.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    let mut is_name = true;
    for part in parts {
        if let Some((_, value)) = values.iter().find(|(name, _)| is_name && *name == part) {
            text.push_str(value);
            is_name = false;
        } else {
            if is_name {
                text.push('%');
            }
            text.push_str(part);
            is_name = true;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_filled_in_once_and_other_marks_stay() {
        let values = [("a", "1%b%"), ("b", "2")];
        assert_eq!(filled("%a% %b%%b% 5% of %c%", &values), "1%b% 22 5% of %c%");
        assert_eq!(filled("%a%%", &values), "1%b%%");
        assert_eq!(filled("plain", &values), "plain");
    }

    #[test]
    fn no_name_is_left_in_a_file() {
        for (ci, skills) in [(CiSystem::Github, "skills"), (CiSystem::Gitlab, ".")] {
            let facts = TeamFacts {
                name: "Team".to_owned(),
                url: "https://example.org/team/skills.git".to_owned(),
                owners: String::new(),
                ci,
                skills: skills.to_owned(),
                layout: None,
            };
            for file in team(&facts).unwrap() {
                assert!(!file.text.contains('%'), "{}: {}", file.path, file.text);
                assert!(file.text.ends_with('\n') && !file.text.ends_with("\n\n"), "{}", file.path);
            }
        }
    }
}
