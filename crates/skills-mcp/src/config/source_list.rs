//! [`SourceList`]: `sources:` and `tools:` of the user's file or of a project's `.skills-mcp.yaml`, read and not yet applied.
//!
//! Not here: which file counts (`sources`), whether a project's file may be used (`project_file`), whether a place exists.

use skills_core::yaml::{self, YamlEntry, YamlError, YamlNode};

use super::{ConfigError, keys::KEYS, source_name::AGENTS_NAME};

/// What a project's file is called.
pub const PROJECT_FILE: &str = ".skills-mcp.yaml";
/// The keys that are read here.
pub(super) const LIST_KEYS: [&str; 2] = ["sources", "tools"];
/// The keys of one entry, each with what it is for.
pub const SOURCE_FIELDS: &[(&str, &str)] = &[
    ("dir", "a directory of skills; a relative path begins in the folder of this file"),
    ("repo", "a git repository: a URL, or `owner/name` on GitHub"),
    ("agents", "`true`: serve the agents' directories and plugins, too"),
    ("name", "what the source is called; without it the last part of the path or URL"),
    ("branch", "the branch of the repository"),
    ("commit", "the one commit of the repository that is served, with all its digits"),
];
/// A longer list is refused.
const MAX_LISTED_SOURCES: usize = 100;
/// A longer name is refused.
const MAX_SOURCE_NAME_CHARS: usize = 64;

/// What a file says about sources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceList {
    /// The entries, in their order.
    pub entries: Vec<ListedSource>,
    /// The tool sets, and the line that names them.
    pub tools: Option<(String, u32)>,
    /// The file's other top-level keys, with their lines.
    pub others: Vec<(String, u32)>,
}

/// One entry of `sources:`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSource {
    /// What it names.
    pub place: ListedPlace,
    /// What it shall be called.
    pub name: Option<String>,
    /// The line it starts in.
    pub line: u32,
}

/// What an entry names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListedPlace {
    /// A directory, as written.
    Directory(String),
    /// A repository as written, with `#branch` or `@commit` where the entry has one.
    Repository(String),
    /// Whether the agents' directories and plugins are served too.
    Agents(bool),
}

impl SourceList {
    /// Reads a file's text; the file's name is for messages.
    pub fn read(file: &str, text: &str) -> Result<Self, ConfigError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let root =
            yaml::parse(text).map_err(|error| ConfigError::syntax(file.to_owned(), error))?;
        let mut list = Self::default();
        if root.is_null() {
            return Ok(list);
        }
        let wrong = |(line, message): (u32, String)| ConfigError::Source {
            place: format!("{file}:{line}"),
            message,
        };
        let Some(entries) = root.entries() else {
            let message = format!("{} instead of `key: value` lines", root.kind());
            let error = YamlError { at: root.at, message, refused: true };
            return Err(ConfigError::syntax(file.to_owned(), error));
        };
        for entry in entries {
            match entry.key.as_str() {
                "sources" => list.entries = listed(&entry.value).map_err(wrong)?,
                "tools" => list.tools = tools(&entry.value).map_err(wrong)?,
                other => list.others.push((other.to_owned(), entry.at.line)),
            }
        }
        Ok(list)
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.tools.is_none()
    }

    /// What is in a project's file and has no effect there, as `(line, message)`.
    pub fn unread_in_project(&self) -> Vec<(u32, String)> {
        let is_group = |name: &str| KEYS.iter().any(|key| key.name.split('.').next() == Some(name));
        let message = |name: &str| {
            if is_group(name) {
                return format!(
                    "`{name}` is not read from a project's file; settings belong in your own file (`skills-mcp config set`)"
                );
            }
            format!("unknown key `{name}`{}", near(name, LIST_KEYS.iter().copied()))
        };
        self.others.iter().map(|(name, line)| (*line, message(name))).collect()
    }
}

type Misread = (u32, String);

fn listed(node: &YamlNode) -> Result<Vec<ListedSource>, Misread> {
    if node.is_null() {
        return Ok(Vec::new());
    }
    let items = node.items().ok_or_else(|| {
        (node.at.line, format!("`sources` is {}, but must be a list", node.kind()))
    })?;
    if items.len() > MAX_LISTED_SOURCES {
        let message = format!("`sources` has more than {MAX_LISTED_SOURCES} entries");
        return Err((node.at.line, message));
    }
    let entries: Vec<ListedSource> = items.iter().map(entry).collect::<Result<_, _>>()?;
    for (number, entry) in entries.iter().enumerate() {
        let Some(name) = &entry.name else { continue };
        let earlier = entries.iter().take(number).find(|other| other.name.as_ref() == Some(name));
        if let Some(earlier) = earlier {
            let message =
                format!("the name `{name}` is taken by the source in line {}", earlier.line);
            return Err((entry.line, message));
        }
    }
    Ok(entries)
}

fn entry(node: &YamlNode) -> Result<ListedSource, Misread> {
    let line = node.at.line;
    let fields = node
        .entries()
        .ok_or_else(|| (line, format!("{} instead of `dir: PATH` or `repo: URL`", node.kind())))?;
    let is_known = |field: &&YamlEntry| SOURCE_FIELDS.iter().any(|(name, _)| *name == field.key);
    if let Some(unknown) = fields.iter().find(|field| !is_known(field)) {
        let known: Vec<&str> = SOURCE_FIELDS.iter().map(|(name, _)| *name).collect();
        let near = match near(&unknown.key, known.iter().copied()) {
            near if near.is_empty() => format!("; the keys are {}", known.join(", ")),
            near => near,
        };
        return Err((unknown.at.line, format!("unknown key `{}`{near}", unknown.key)));
    }
    let text = |key: &str| match node.get(key) {
        None => Ok(None),
        Some(value) => match value.text().map(str::trim).filter(|text| !text.is_empty()) {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err((value.at.line, format!("`{key}` is {}, but must be text", value.kind()))),
        },
    };
    let name = text("name")?;
    if let Some((name, why)) = name.as_deref().and_then(|name| Some((name, name_mistake(name)?))) {
        return Err((line, format!("`{name}` cannot be a source's name: {why}")));
    }
    let (branch, commit) = (text("branch")?, text("commit")?);
    let of_repository = branch.is_some() || commit.is_some();
    let place = match (text("dir")?, text("repo")?, node.get("agents")) {
        (Some(_), None, None) if of_repository => {
            return Err((line, "`branch` and `commit` belong to a `repo`".to_owned()));
        }
        (Some(path), None, None) => ListedPlace::Directory(path),
        (None, Some(url), None) => ListedPlace::Repository(
            revised(&url, branch.as_deref(), commit.as_deref()).map_err(|why| (line, why))?,
        ),
        (None, None, Some(agents)) if fields.len() == 1 => ListedPlace::Agents(
            agents
                .boolean()
                .ok_or_else(|| (line, "`agents` must be `true` or `false`".to_owned()))?,
        ),
        _ => {
            let message =
                "an entry has exactly one of `dir`, `repo` and `agents`, and `agents` stands alone";
            return Err((line, message.to_owned()));
        }
    };
    Ok(ListedSource { place, name, line })
}

/// The URL with its branch or commit.
pub fn revised(url: &str, branch: Option<&str>, commit: Option<&str>) -> Result<String, String> {
    let has_revision = url.contains('#')
        || url.rsplit_once('@').is_some_and(|(_, tail)| !tail.contains(['/', ':', '.']));
    let is_commit =
        |text: &str| matches!(text.len(), 40 | 64) && text.chars().all(|c| c.is_ascii_hexdigit());
    match (branch, commit) {
        (None, None) => Ok(url.to_owned()),
        (Some(_), Some(_)) => Err("`branch` and `commit` exclude each other".to_owned()),
        _ if has_revision => {
            Err("the URL names a branch or commit already; leave one of them out".to_owned())
        }
        (Some(branch), None) => Ok(format!("{url}#{branch}")),
        (None, Some(commit)) if is_commit(commit) => Ok(format!("{url}@{commit}")),
        (None, Some(_)) => {
            Err("`commit` needs all 40 digits, as `git rev-parse HEAD` prints them".to_owned())
        }
    }
}

/// Why no source may be called this.
pub fn name_mistake(name: &str) -> Option<String> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name == AGENTS_NAME {
        return Some("it stands for the agents' directories".to_owned());
    }
    let is_name = !name.is_empty()
        && name.chars().all(is_plain)
        && name.chars().count() <= MAX_SOURCE_NAME_CHARS;
    let rule = || format!("letters, digits, `-`, `_` and `.`, {MAX_SOURCE_NAME_CHARS} at most");
    (!is_name).then(rule)
}

/// `tree,skill` or `[tree, skill]`.
fn tools(node: &YamlNode) -> Result<Option<(String, u32)>, Misread> {
    let line = node.at.line;
    if node.is_null() {
        return Ok(None);
    }
    let words: Option<Vec<&str>> = match node.items() {
        Some(items) => items.iter().map(YamlNode::text).collect(),
        None => node.text().map(|text| vec![text]),
    };
    let words = words
        .ok_or_else(|| (line, format!("`tools` is {}, but must be tool sets", node.kind())))?;
    Ok(Some((words.join(","), line)))
}

/// `; did you mean …?` where one of these is near to a name.
fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let distance = |known: &&str| strsim::osa_distance(name, known);
    let near = known.min_by_key(distance).filter(|known| distance(known) <= 2);
    near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> SourceList {
        SourceList::read("f", text).unwrap_or_else(|error| panic!("{error}"))
    }

    fn refused(text: &str) -> String {
        SourceList::read("f", text).unwrap_err().to_string()
    }

    // SOURCE-10
    #[test]
    fn a_list_names_directories_repositories_and_the_agents_directories() {
        let list = read(
            "# mine\nsources:\n  - dir: ~/team/skills\n    name: team\n  - repo: https://a.org/x.git\n    branch: next\n  - agents: true\ntools: tree,skill\nscripts:\n  enabled: false\n",
        );
        let places: Vec<&ListedPlace> = list.entries.iter().map(|entry| &entry.place).collect();
        assert_eq!(
            places,
            [
                &ListedPlace::Directory("~/team/skills".into()),
                &ListedPlace::Repository("https://a.org/x.git#next".into()),
                &ListedPlace::Agents(true),
            ]
        );
        assert_eq!(list.entries[0].name.as_deref(), Some("team"));
        assert_eq!(list.entries.iter().map(|entry| entry.line).collect::<Vec<_>>(), [3, 5, 7]);
        assert_eq!(list.tools, Some(("tree,skill".into(), 8)));
        assert_eq!(list.others, [("scripts".to_owned(), 9)]);
        assert_eq!(read("tools: [tree, skill]\n").tools, Some(("tree,skill".into(), 1)));
        assert!(read("").is_empty() && read("sources:\n").is_empty());
    }

    // SOURCE-10
    #[test]
    fn a_bad_entry_is_named_by_its_line_and_a_near_key() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        for (text, expected) in [
            ("sources: here\n", "f:1: `sources` is text, but must be a list"),
            ("sources:\n  - ~/skills\n", "f:2: text instead of `dir: PATH`"),
            ("sources:\n  - dri: x\n", "f:2: unknown key `dri`; did you mean `dir`?"),
            (
                "sources:\n  - repo: a\n    brunch: x\n",
                "f:3: unknown key `brunch`; did you mean `branch`?",
            ),
            ("sources:\n  - dir: a\n    repo: b\n", "f:2: an entry has exactly one of"),
            ("sources:\n  - name: a\n", "f:2: an entry has exactly one of"),
            ("sources:\n  - dir: a\n    branch: b\n", "f:2: `branch` and `commit` belong"),
            ("sources:\n  - repo: a\n    branch: b\n    commit: c\n", "exclude each other"),
            ("sources:\n  - repo: a#b\n    branch: c\n", "names a branch or commit already"),
            ("sources:\n  - repo: a\n    commit: 0123\n", "all 40 digits"),
            ("sources:\n  - dir: a\n    name: a:b\n", "cannot be a source's name"),
            ("sources:\n  - dir: a\n    name: agents\n", "stands for the agents' directories"),
            ("sources:\n  - dir: []\n", "`dir` is a list, but must be text"),
            (
                "sources:\n  - dir: a\n    name: x\n  - dir: b\n    name: x\n",
                "f:4: the name `x` is taken by the source in line 2",
            ),
            ("sources:\n  - agents: maybe\n", "`agents` must be `true` or `false`"),
            ("sources: [\n", "f:2:"),
            ("- a\n", "a list instead of"),
        ] {
            let message = refused(text);
            assert!(message.contains(expected), "{text}: {message}");
        }
        let pinned =
            read(&format!("sources:\n  - repo: git@h.org:t/x.git\n    commit: {commit}\n"));
        let expected = ListedPlace::Repository(format!("git@h.org:t/x.git@{commit}"));
        assert_eq!(pinned.entries[0].place, expected);
    }

    // SOURCE-12
    #[test]
    fn a_projects_file_says_what_of_it_is_not_read() {
        let list = read("scripts:\n  enabled: true\nanalytics:\n  enabled: true\nsurces: []\n");
        let unread = list.unread_in_project();
        assert!(
            unread[0].1.starts_with("`scripts` is not read from a project's file"),
            "{unread:?}"
        );
        assert!(unread[1].1.starts_with("`analytics` is not read"), "{unread:?}");
        assert_eq!(unread[2], (5, "unknown key `surces`; did you mean `sources`?".to_owned()));
    }
}
