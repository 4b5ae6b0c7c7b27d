//! Text → front matter and body, with positions, and the typed fields of a skill.
//!
//! In: one file's text. Out: a [`Parsed`] value that always exists, with findings about what is wrong. The text itself
//! is not kept: of ten thousand skills an agent reads a few, and each can be read again and checked by its digest. Not
//! here: a file's path, the files beside it and its parent, which the catalog knows.

mod conformity;
mod declarations;
mod field_table;
mod fields;
mod fix;
pub(crate) mod headings;
mod keywords;
mod repair;
mod split;
mod unusual;

use std::{ops::Range, sync::Arc};

use serde::{Deserialize, Serialize};

use sha2::{Digest as _, Sha256};

pub use declarations::{
    Argument, AssetDeclaration, AssetKind, Execution, ScriptDeclaration, is_variable_name,
};
pub use field_table::{
    ARGUMENT_FIELDS, ASSET_FIELDS, CLIENT_FIELDS, FIELDS, FieldKind, FieldRule, FieldUse,
    SCRIPT_FIELDS, fields_of, near_field,
};
pub use fields::{Dialect, Fields, MAX_PRIORITY};
pub use fix::fixed;
pub use split::MAX_FRONT_MATTER_BYTES;
use unusual::unusual_characters;

use self::repair::Mistake;
use crate::{
    diagnostic::{Code, Finding, Position, is_invisible},
    yaml::{self, YamlNode},
};

/// SHA-256 of a file's bytes.
pub type ContentDigest = [u8; 32];

/// The front matter of a bundle that conforms, as its author wrote it: no line is repaired.
pub fn written_front_matter(text: &str) -> Option<YamlNode> {
    let front = text.get(split::split(text).ok()?.front)?;
    yaml::parse(front).ok().filter(|front| front.entries().is_some())
}

/// What is known of a file's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    digest: ContentDigest,
    body: Range<usize>,
    /// The line that says something about a name; zero where none does.
    name_line: u32,
}

/// A file's text, as its author wrote it: never a repaired copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillText {
    whole: String,
    body: Range<usize>,
}

impl Document {
    /// The digest of the file's bytes.
    pub fn digest(&self) -> &ContentDigest {
        &self.digest
    }

    /// Where the front matter says anything about a name.
    pub(crate) fn name_at(&self) -> Option<Position> {
        (self.name_line > 0).then_some(Position { line: self.name_line, column: 1 })
    }

    /// The text of these bytes, if they are those that the document was read from.
    pub fn text(&self, bytes: Vec<u8>) -> Option<SkillText> {
        let same = ContentDigest::from(Sha256::digest(&bytes)) == self.digest;
        let whole = same.then(|| String::from_utf8(bytes).ok()).flatten()?;
        Some(SkillText { whole, body: self.body.clone() })
    }
}

impl SkillText {
    /// The whole file.
    pub fn whole(&self) -> &str {
        &self.whole
    }

    /// The whole file, and nothing else of it.
    pub fn into_whole(self) -> String {
        self.whole
    }

    /// The front matter, with the lines around it.
    pub fn front_matter(&self) -> &str {
        self.whole.get(..self.body.start).unwrap_or_default().trim()
    }

    /// How many lines of the file come before the body's first.
    pub fn lines_above_body(&self) -> u32 {
        let above = self.whole.get(..self.body.start).unwrap_or_default();
        u32::try_from(above.matches('\n').count()).unwrap_or(u32::MAX)
    }

    /// What follows the front matter, without blank lines around it.
    pub fn body(&self) -> &str {
        self.whole.get(self.body.clone()).unwrap_or_default()
    }
}

/// A document while it is read: its text and its front matter, whose positions are those of the file.
struct ParsedDraft {
    text: String,
    body: Range<usize>,
    front: YamlNode,
}

/// A document with everything a skill needs. Shared by every catalog that holds it.
#[derive(Debug, Serialize, Deserialize)]
pub struct SkillDocument {
    /// The file, split.
    pub document: Document,
    /// Its front matter, typed.
    pub fields: Fields,
}

/// One Markdown file, read as far as it can be.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Parsed {
    /// The skill, where the file is one.
    pub skill: Option<Arc<SkillDocument>>,
    /// What is wrong with the file.
    pub findings: Vec<Finding>,
    /// Whether it gives no skill and may be something else: its front matter has no field that only a tree skill has; or it is called
    /// `SKILL.md` and has no front matter.
    pub(crate) is_other_markdown: bool,
    /// The name of a plugin, if the file is one's manifest.
    pub(crate) plugin: Option<Arc<str>>,
}

impl Parsed {
    /// Reads a file's bytes as a skill of this dialect. Never fails: the worst file is one finding.
    pub fn read(bytes: Vec<u8>, dialect: Dialect) -> Self {
        Self::with_text(bytes, dialect).0
    }

    /// The same, and the text where the file is a skill: what else needs it need not read the file again.
    pub fn with_text(bytes: Vec<u8>, dialect: Dialect) -> (Self, Option<SkillText>) {
        let mut findings = Vec::new();
        let digest = ContentDigest::from(Sha256::digest(&bytes));
        let text = decode(bytes);
        let plugin = text.as_ref().ok().and_then(|text| plugin_name(text));
        // Text that is not UTF-8 says nothing for certain.
        let is_other = text.as_ref().is_ok_and(|text| match dialect {
            Dialect::Tree => !has_tree_field(text),
            Dialect::Bundle => {
                split::split(text).is_err_and(|missing| missing.code == Code::FrontMatterMissing)
            }
        });
        let draft = text.and_then(|text| read(text, dialect, &mut findings));
        let draft = draft.map_err(|finding| findings.push(finding)).ok();
        let read = draft.and_then(|ParsedDraft { text, body, front }| {
            let mut fields = fields::read(&front, dialect, &mut findings)?;
            if dialect == Dialect::Bundle {
                fields.conforming = conformity::check(&front, &text, &mut findings);
            }
            findings.extend(hidden_characters(&text));
            findings.extend(forged_heading(&text));
            let name = front.entries().unwrap_or_default().iter().find(|entry| entry.key == "name");
            let name_line = name.map_or(0, |name| name.at.line);
            let document = Document { digest, body: body.clone(), name_line };
            Some((Arc::new(SkillDocument { document, fields }), SkillText { whole: text, body }))
        });
        let (skill, text) = read.unzip();
        findings.shrink_to_fit();
        let is_other_markdown = skill.is_none() && is_other;
        (Self { skill, findings, is_other_markdown, plugin }, text)
    }

    /// Whether both have the same text and the same findings.
    pub fn is_same(&self, other: &Self) -> bool {
        let document = |parsed: &Self| parsed.skill.as_ref().map(|skill| skill.document.clone());
        self.findings == other.findings
            && self.is_other_markdown == other.is_other_markdown
            && self.plugin == other.plugin
            && document(self) == document(other)
    }

    /// A file that is no longer there.
    pub fn gone() -> Self {
        Self { skill: None, findings: Vec::new(), is_other_markdown: false, plugin: None }
    }

    /// A file that could not be read.
    pub fn unread(finding: Finding) -> Self {
        Self { findings: vec![finding], ..Self::gone() }
    }
}

/// The front matter of a text as a skill of this layout has it, repaired where need be; positions are the file's.
pub fn front_matter(text: &str, dialect: Dialect) -> Option<YamlNode> {
    read(text.to_owned(), dialect, &mut Vec::new()).ok().map(|draft| draft.front)
}

/// The name in a plugin's manifest, which is a JSON object; Markdown never begins like one.
fn plugin_name(text: &str) -> Option<Arc<str>> {
    let object = text.trim_start().starts_with('{').then(|| yaml::parse(text).ok()).flatten()?;
    object.get("name")?.text().filter(|name| !name.contains(':')).map(Arc::from)
}

/// Whether a line of the front matter begins with a field that says a tree skill is meant, rightly spelled or almost.
fn has_tree_field(text: &str) -> bool {
    let is_of_tree = |rule: &&FieldRule| {
        rule.name == "keywords"
            || (rule.tree != FieldUse::Ignored && rule.bundle == FieldUse::Ignored)
    };
    let split = split::split(text).ok().or_else(|| split::split_unclosed(text));
    let front = split.and_then(|split| text.get(split.front)).unwrap_or_default();
    let at_start = |key: &&str| !key.starts_with([' ', '\t', '#', '-']);
    let keys = || front.lines().filter_map(|line| Some(line.split_once(':')?.0)).filter(at_start);
    let is_near = |key: &str| near_field(key, FIELDS.iter().filter(is_of_tree)).is_some();
    keys().any(|key| key == "keywords") || keys().any(is_near)
}

/// Characters that a reader does not see and a model does. They are served, since the bytes are the author's, with a
/// finding.
fn hidden_characters(text: &str) -> Option<Finding> {
    let text = text.trim_start_matches('\u{feff}');
    let is_hidden = |c: char| c.is_control() || (is_invisible(c) && c != '\u{200d}');
    let mut found = unusual_characters(text).filter(|(_, c)| is_hidden(*c));
    let (at, first) = found.next()?;
    let count = 1 + found.count();
    let line = u32::try_from(text.get(..at)?.split('\n').count()).unwrap_or(u32::MAX);
    let message = format!("{count} invisible characters, the first U+{:04X}", u32::from(first));
    let at = Position { line, column: 1 };
    Some(
        Finding::new(Code::InvisibleCharacters, at, message)
            .hint("remove them: people cannot see them, and a model reads them"),
    )
}

/// A line that looks like the heading of a section (COMPOSE-1), in a text that becomes one.
fn forged_heading(text: &str) -> Option<Finding> {
    let before = text.get(..headings::first(text)?)?;
    let line = u32::try_from(before.split('\n').count()).unwrap_or(u32::MAX);
    let at = Position { line, column: 1 };
    Some(
        Finding::new(Code::ForgedHeading, at, "looks like the heading of another skill's section")
            .hint("it is quoted where the text is composed, so that agents do not take it for one; write it differently"),
    )
}

fn decode(bytes: Vec<u8>) -> Result<String, Finding> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = error.as_bytes().get(..valid).unwrap_or_default();
        let line = before.split(|byte| *byte == b'\n').count();
        let at = Position { line: u32::try_from(line).unwrap_or(u32::MAX), column: 1 };
        Finding::new(Code::NotUtf8, at, format!("not UTF-8 text (byte {valid})"))
            .hint("save the file as UTF-8")
    })
}

/// What follows the front matter of a text, without blank lines around it; the whole text where it has none.
pub fn body_of(text: &str) -> &str {
    split::split(text).ok().and_then(|split| text.get(split.body)).unwrap_or(text)
}

/// The value of one front matter field as it is written, with its place in the file, for readers that need a field which no
/// agent does. None where the front matter does not have it or is not YAML.
pub fn front_matter_field(text: &str, key: &str) -> Option<YamlNode> {
    let split = split::split(text).ok()?;
    let front = text.get(split.front)?;
    let is_written = front
        .lines()
        .any(|line| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':')));
    // Most files do not have it, and parsing takes longer than looking.
    let front = is_written.then(|| yaml::parse_below(front, split.line_offset).ok()).flatten()?;
    front.get(key).cloned()
}

/// Splits and parses. A front matter that is not YAML is repaired line by line; of a bundle whose front matter cannot be
/// repaired, name and description are read alone. Where nothing helps, the original error is reported.
fn read(
    text: String,
    dialect: Dialect,
    findings: &mut Vec<Finding>,
) -> Result<ParsedDraft, Finding> {
    let split = match split::split(&text) {
        Ok(split) => split,
        Err(unclosed)
            if dialect == Dialect::Bundle && unclosed.code == Code::FrontMatterUnclosed =>
        {
            return salvage_front_matter(text, split::split_unclosed, unclosed, findings);
        }
        Err(missing) if dialect == Dialect::Bundle && missing.code == Code::FrontMatterMissing => {
            return Err(Finding::whole(
                Code::FieldMissing,
                "no front matter, so there is no `description`",
            )
            .hint("start the file with `---`, `name:` and `description:` lines, and `---`"));
        }
        Err(finding) => return Err(finding),
    };
    let front = text.get(split.front.clone()).unwrap_or_default();
    let mut front = match parsed(front, split.line_offset) {
        Ok(node) => node,
        Err((invalid, true)) => return Err(invalid),
        Err((invalid, false)) => match repaired(front, split.line_offset, invalid) {
            Ok((node, finding)) => {
                findings.push(finding);
                node
            }
            Err(invalid) if dialect == Dialect::Tree => return Err(invalid),
            Err(invalid) => {
                let split = |text: &str| split::split(text).ok();
                return salvage_front_matter(text, split, invalid, findings);
            }
        },
    };
    if front.is_null() {
        front.value = yaml::YamlValue::Mapping(Vec::new());
    }
    Ok(ParsedDraft { text, body: split.body, front })
}

/// What can be read of a bundle by its name and description lines alone, else the original finding.
fn salvage_front_matter(
    text: String,
    split: impl Fn(&str) -> Option<split::Split>,
    original: Finding,
    findings: &mut Vec<Finding>,
) -> Result<ParsedDraft, Finding> {
    let read = || {
        let split = split(&text)?;
        let salvaged = repair::salvage(text.get(split.front.clone())?)?;
        Some((yaml::parse(&salvaged).ok()?, split.body))
    };
    let Some((front, body)) = read() else { return Err(original) };
    let fields = front.entries().unwrap_or_default().iter().map(|entry| format!("`{}`", entry.key));
    let fields: Vec<String> = fields.collect();
    let fields = fields.join(", ");
    let message =
        format!("not valid YAML ({}), so only these fields are read: {fields}", original.message);
    let mut finding = Finding::new(Code::YamlRepaired, original.at, message);
    finding.hint = original.hint;
    findings.push(finding);
    Ok(ParsedDraft { text, body, front })
}

/// Parses front matter as it is written; an error says whether a repair is out of the question.
fn parsed(front: &str, line_offset: u32) -> Result<YamlNode, (Finding, bool)> {
    match yaml::parse_below(front, line_offset) {
        Ok(node) if node.is_null() || node.entries().is_some() => Ok(node),
        Ok(node) => {
            let message = format!("front matter is {}, not `key: value` lines", node.kind());
            let finding = Finding::new(Code::YamlInvalid, node.at, message);
            Err((finding.hint("write each field on a line of its own, as `key: value`"), false))
        }
        Err(error) => {
            let hint = match error.refused {
                true if error.message.starts_with("duplicate") => "keep one of the two lines",
                true => "keep values few and flat",
                false => {
                    "put quotes around a value that holds `: `, `#` or starts with a special character"
                }
            };
            let finding = Finding::new(Code::YamlInvalid, error.at, error.message);
            Err((finding.hint(hint), error.refused))
        }
    }
}

/// Parses front matter with its usual mistakes corrected, and says which came first. `invalid` is what the parser said.
fn repaired(
    front: &str,
    line_offset: u32,
    invalid: Finding,
) -> Result<(YamlNode, Finding), Finding> {
    let Some(repaired) = repair::repair_lines(front) else { return Err(invalid) };
    let node = yaml::parse_below(&repaired.text, line_offset).ok();
    let Some(node) = node.filter(|node| node.entries().is_some()) else { return Err(invalid) };
    let line = u32::try_from(repaired.line + 1).unwrap_or(u32::MAX).saturating_add(line_offset);
    let at = if invalid.at.line == line { invalid.at } else { Position { line, column: 1 } };
    let (wrong, hint) = repaired.mistake.words();
    if repaired.mistake == Mistake::OpenList {
        return Err(Finding::new(Code::YamlInvalid, at, wrong).hint(hint));
    }
    let message = format!("not valid YAML ({wrong}), read anyway");
    Ok((node, Finding::new(Code::YamlRepaired, at, message).hint(hint)))
}
