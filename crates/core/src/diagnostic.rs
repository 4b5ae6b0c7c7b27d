//! What is wrong with content, worded so that its author can fix it.
//!
//! Reading and building never fail: they return what could be used, and findings about the rest. A [`Finding`]
//! knows its line; a [`Diagnostic`] is a finding in a file of a source. Codes are stable and declared once,
//! in the table below; help and docs derive from it.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

/// How much a finding costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file is not served.
    Error,
    /// The file is served, less well than its author meant.
    Warning,
    /// Worth knowing, nothing is lost.
    Info,
}

impl Severity {
    /// Lower-case name, as in logs and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

macro_rules! codes {
    (
        $($variant:ident $severity:ident $name:literal $meaning:literal;)+
        => lints:
        $($lint:ident $lint_severity:ident $lint_name:literal $lint_meaning:literal;)+
    ) => {
        /// Every kind of finding. The names are stable: scripts and documents may rely on them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Code { $(#[doc = $meaning] $variant,)+ $(#[doc = $lint_meaning] $lint),+ }

        impl Code {
            /// All codes, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+ $(Self::$lint),+];

            /// Those that only a check looks for: serving neither computes nor logs them.
            pub const LINTS: &'static [Self] = &[$(Self::$lint),+];

            /// The stable name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ $(Self::$lint => $lint_name),+ }
            }

            /// How much it costs.
            pub fn severity(self) -> Severity {
                match self {
                    $(Self::$variant => Severity::$severity,)+
                    $(Self::$lint => Severity::$lint_severity),+
                }
            }

            /// What it means, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)+ $(Self::$lint => $lint_meaning),+ }
            }
        }
    };
}

codes! {
    FrontMatterMissing    Info    "front-matter-missing"    "a Markdown file without front matter is not a skill";
    SkillsUnread          Warning "skills-unread"           "a source gives no skill, and has skills where none is read";
    MarkdownNoSkill       Info    "markdown-no-skill"       "a Markdown file is for something else than a skill: a command, an agent, a part or a translation of a skill";
    FrontMatterUnclosed   Error   "front-matter-unclosed"   "the front matter has no closing `---` line";
    FrontMatterTooLarge   Error   "front-matter-too-large"  "the front matter is over 64 KiB";
    YamlInvalid           Error   "yaml-invalid"            "the front matter is not YAML, even after repairing it line by line";
    YamlRepaired          Warning "yaml-repaired"           "the front matter is not YAML, but could be read after repairing it line by line";
    FieldMissing          Error   "field-missing"           "a required field is missing or empty";
    FieldInvalid          Warning "field-invalid"           "a field has the wrong type or value and its default is used";
    PriorityLimited       Warning "priority-limited"        "a priority beyond 100 or -100 counts as 100 or -100";
    KeywordBroad          Warning "keyword-broad"           "a keyword matches very many words, so requests about anything match it";
    KeywordUnmatchable    Warning "keyword-unmatchable"     "a keyword can never match, because no request contains such a word";
    DeclarationInvalid    Warning "declaration-invalid"     "an asset, script or argument is declared wrongly and is left out";
    DeclarationEscapes    Warning "declaration-escapes"     "a declared file is outside the skill's resource folder and is left out";
    DeclarationRepeated   Warning "declaration-repeated"    "a file or argument is declared twice; the first declaration counts";
    FileMissing           Warning "file-missing"            "a declared asset or script does not exist and is left out";
    NotUtf8               Error   "not-utf8"                "the file is not UTF-8 text";
    FileTooLarge          Error   "file-too-large"          "the file is larger than a skill may be";
    NotRegular            Warning "not-regular"             "a FIFO, socket, device or folder stands where a file was expected";
    Unreadable            Error   "unreadable"              "the file or folder could not be read";
    LinkRefused           Error   "link-refused"            "a symbolic link leads to a location that its source may not use";
    LinkLoop              Warning "link-loop"               "a symbolic link leads back to a folder above it";
    NameUnusable          Error   "name-unusable"           "the name is not UTF-8 or holds control characters";
    NameUnusual           Info    "name-unusual"            "the name is awkward to type in a skill path";
    TooDeep               Error   "too-deep"                "the folder is nested deeper than is scanned";
    TooMany               Error   "too-many"                "the source holds more entries than are scanned";
    SkillInResources      Warning "skill-in-resources"      "a skill is inside another skill's resource folder and is not served";
    FolderHasTwoRoles     Warning "folder-has-two-roles"    "a folder is both a category and the resource folder of the skill beside it";
    RootMisplaced         Warning "root-misplaced"          "`_root.md` counts only at the top of the source";
    NameMissing           Warning "name-missing"            "a bundle without `name` is called by its folder";
    NameInvalid           Warning "name-invalid"            "a bundle's `name` cannot be used and its folder's name is";
    NameUnconventional    Info    "name-unconventional"     "a bundle's name is not lower-case words with hyphens, or not its folder's";
    FileNameUnusual       Info    "file-name-unusual"       "the file should be called `SKILL.md`";
    FileNameTwice         Warning "file-name-twice"         "two files of a folder are both called `SKILL.md`, but for their case";
    InvisibleCharacters   Warning "invisible-characters"    "the text holds characters that a reader cannot see";
    AllowedToolsForm      Info    "allowed-tools-form"      "`allowed-tools` is not words with blanks between them";
    NotConforming         Info    "not-conforming"          "a bundle does not conform to Agent Skills, so that tools and prompts serve it, and resources and the Skills extension do not";
    ForgedHeading         Warning "forged-heading"          "a line of the text looks like the heading of another skill's section";
    NameTaken             Warning "name-taken"              "another bundle of the source has the name, and this one is found under its folder";
    BundleShadowed        Warning "bundle-shadowed"         "a bundle of the same name in an earlier directory is served instead";
    BundleElsewhere       Info    "bundle-elsewhere"        "a copy or translation of a bundle that lies where skills are known to lie is not served";
    PathShadowed          Warning "path-shadowed"           "a source named earlier has a skill of the same path";
    ConfigUnknownKey      Warning "config-unknown-key"      "the configuration has a key that does not exist";
    ConfigInvalid         Warning "config-invalid"          "a configuration value in the content is invalid and counts as left out; one under `scripts` turns scripts off";
    ConfigRefused         Warning "config-refused"          "content may not set this key, or not to this value";
    ConfigWaiting         Warning "config-waiting"          "content asks for a setting that waits for the operator's consent (`skills-mcp trust`)";
    => lints:
    KeywordsFew           Warning "keywords-few"            "a skill has fewer than three keywords, so a single word of a request decides";
    KeywordRepeated       Warning "keyword-repeated"        "a keyword is listed twice, and counts twice";
    KeywordsNeverDecide   Warning "keywords-never-decide"   "another skill has all keywords of this one and scores as high, so this one is never the only match";
    FieldMisspelled       Warning "field-misspelled"        "a field is not known and is named almost like one that is";
    FieldUnknown          Info    "field-unknown"           "a field that neither the server nor the Agent Skills format knows is ignored";
    FieldNonstandard      Info    "field-nonstandard"       "a field of a bundle is outside the Agent Skills format, whose validator refuses it";
    FieldForm             Info    "field-form"              "a field does not have the form that the Agent Skills format gives it";
    DescriptionVague      Warning "description-vague"       "the description is still to be written, or too short to choose the skill by";
    DescriptionLong       Warning "description-long"        "the description is longer than the Agent Skills format allows or a client shows";
    DescriptionDuplicate  Warning "description-duplicate"   "two skills have the same description, so nothing tells an agent which to load";
    DescriptionConfusable Warning "description-confusable"  "two skills have almost the same description";
    ScriptNotRunnable     Warning "script-not-runnable"     "a script is for the server, which does not run it";
    FileUndeclared        Warning "file-undeclared"         "a file in a resource folder is not declared, so agents cannot read it";
    FileUnreferenced      Info    "file-unreferenced"       "no text of the bundle names this file, so agents do not know of it";
    LinkBroken            Warning "link-broken"             "a link of the text leads to a file that does not exist";
    TextEmpty             Warning "text-empty"              "the skill has no text, or only headings and what is still to do";
    TextLong              Info    "text-long"               "the text is longer than the Agent Skills format advises";
    TextCut               Warning "text-cut"                "the text alone is over `content.max_tokens`, so agents receive it cut";
    SecretLikely          Warning "secret-likely"           "the text holds what looks like a token, a private key or a URL with a password";
}

impl Code {
    /// The code of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.name() == name)
    }

    /// The nearest name to one that does not exist.
    pub fn near(name: &str) -> Option<&'static str> {
        let distance = |other: &&str| strsim::osa_distance(name, other);
        let names = Self::ALL.iter().map(|code| code.name());
        names.min_by_key(distance).filter(|near| distance(near) * 3 <= near.len())
    }

    /// Whether something that the author wrote has no effect, though the file may be served.
    pub fn drops_content(self) -> bool {
        let dropping = [
            Self::FieldInvalid,
            Self::DeclarationInvalid,
            Self::DeclarationEscapes,
            Self::ConfigInvalid,
        ];
        self.severity() == Severity::Error || dropping.contains(&self)
    }

    /// Whether a file with such a finding gives no skill.
    pub fn refuses(self) -> bool {
        let but_errors = [
            Self::SkillInResources,
            Self::NotRegular,
            Self::FileNameTwice,
            Self::FrontMatterMissing,
        ];
        self.severity() == Severity::Error || but_errors.contains(&self)
    }
}

/// A place in a text: both count from 1; zero means "the whole file".
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// One thing found wrong in one text, without the file that the text came from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Finding {
    /// Which kind.
    pub code: Code,
    /// Where in the text.
    pub at: Position,
    /// What is true, as a lower-case fragment.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Finding {
    /// A finding about a place in the text.
    pub fn new(code: Code, at: Position, message: impl Into<String>) -> Self {
        Self { code, at, message: message.into(), hint: None }
    }

    /// A finding about the whole file.
    pub fn whole(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, Position::default(), message)
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The finding, now that its file is known. `file` may hold any characters; it is printed escaped.
    pub fn in_file(self, source: &Arc<str>, file: &str) -> Diagnostic {
        Diagnostic { source: Arc::clone(source), file: escaped(file), finding: self }
    }
}

/// A finding in a file of a source.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// The source's name.
    pub source: Arc<str>,
    /// The file below the source's root, control characters escaped; empty for the source as a whole.
    pub file: String,
    /// What was found.
    pub finding: Finding,
}

impl Diagnostic {
    /// Sort key: by file and place, so that the order never depends on the disk's.
    pub fn order(&self) -> (&str, &str, Position, Code) {
        (&self.source, &self.file, self.finding.at, self.finding.code)
    }
}

/// `ui/auth.md:3:7: warning[field-invalid]: message`; the hint stays apart, so that each edge can lay it out.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { code, at, message, .. } = &self.finding;
        f.write_str(if self.file.is_empty() { &self.source } else { &self.file })?;
        if at.line > 0 {
            write!(f, ":{}:{}", at.line, at.column)?;
        }
        write!(f, ": {}[{}]: {}", code.severity().name(), code.name(), escaped(message))
    }
}

/// The text with control, invisible and direction-changing characters spelled out, safe for a log or a terminal.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if is_spelled_out(c) {
            safe.extend(c.escape_unicode());
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Whether a log and a terminal show a character by its number: control and invisible ones, and Unicode's own line breaks.
pub fn is_spelled_out(c: char) -> bool {
    c.is_control() || is_invisible(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

/// The text as one line that a reader sees whole: control and invisible characters out, white space single.
pub fn one_line(text: &str) -> String {
    // Most names and descriptions are such a line already.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain && text.trim().len() == text.len() && !text.contains("  ") {
        return text.to_owned();
    }
    let visible: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .filter(|c| !is_invisible(*c))
        .collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Zero-width, bidirectional and tag characters, fillers and variation selectors: a reader does not see them, a model
/// does. Not the one selector that every emoji keyboard writes.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0e}' | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_kebab_case_names() {
        let mut names: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
        assert!(names.iter().all(|name| {
            name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        }));
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    // FILE-2
    #[test]
    fn a_diagnostic_reads_like_a_compilers() {
        let at = Position { line: 3, column: 7 };
        let diagnostic = Finding::new(Code::FieldInvalid, at, "`inherit` is not a boolean")
            .in_file(&"team".into(), "a\nb.md");
        assert_eq!(
            diagnostic.to_string(),
            r"a\u{a}b.md:3:7: warning[field-invalid]: `inherit` is not a boolean"
        );
    }
}
