//! A bundle's name and findings about it, and names as they are kept to be looked up. Not here: which of several bundles gets a name
//! (`precedence`).

use std::{
    cmp::Ordering,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use super::{Origin, SkillId, Source};
use crate::{
    diagnostic::{Code, Finding, Position, one_line},
    document::SkillDocument,
    relpath::RelPath,
    sorted::SortedItem,
};

/// The colon and its look-alikes. A plugin's skill is called `plugin:skill`, and no other skill is.
const COLONS: &[char] = &[':', '\u{2f8}', '\u{2236}', '\u{a789}', '\u{fe55}', '\u{ff1a}'];

/// A bundle's name: its own, else its folder's or, at the top of a source, the source's. And a finding about it.
pub(super) fn bundle_name(
    source: &Source,
    file: &RelPath,
    content: &SkillDocument,
) -> (String, Option<Finding>) {
    let folder = file.folder();
    let by_source = match &source.origin {
        Origin::Plugin(plugin) => plugin,
        Origin::Named | Origin::Project | Origin::User => &source.name,
    };
    let is_plugin = matches!(source.origin, Origin::Plugin(_));
    let by_place = || {
        let unseen = one_line(folder.name()).is_empty();
        let by_place = if folder.is_root() || unseen { by_source } else { folder.name() };
        // Or a folder could have the name of a plugin's skill.
        if is_plugin { by_place.to_owned() } else { by_place.replace(COLONS, "-") }
    };
    let Some(name) = &content.fields.name else {
        let by_place = by_place();
        let finding = content.document.name_at().is_none().then(|| {
            let message = format!("no `name`; called `{by_place}` by its folder");
            let hint = format!("add `name: {by_place}` to the front matter");
            Finding::new(Code::NameMissing, Position { line: 1, column: 1 }, message).hint(hint)
        });
        return (by_place, finding);
    };
    let at = content.document.name_at().unwrap_or_default();
    if !is_plugin && name.contains(COLONS) {
        let by_place = by_place();
        let message = format!(
            "`{name}` holds a colon, which only stands between a plugin and its skill; called `{by_place}` by its folder"
        );
        let hint = format!("write `name: {by_place}`");
        return (by_place, Some(Finding::new(Code::NameInvalid, at, message).hint(hint)));
    }
    let odd = !is_conventional(name) || (!folder.is_root() && name != folder.name());
    let finding = odd.then(|| {
        let message = format!("`{name}` in a folder called `{}`", by_place());
        Finding::new(Code::NameUnconventional, at, message)
            .hint("use the folder's name, in lower-case words with hyphens")
    });
    (name.clone(), finding)
}

/// Lower-case words with hyphens, at most 64 characters: what the Agent Skills format asks for.
fn is_conventional(name: &str) -> bool {
    let plain = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    name.len() <= 64 && name.split('-').all(plain)
}

/// A name under which a skill may be requested, as a hash of its lower-cased letters. Several skills may share one;
/// `precedence` decides which has the name.
#[derive(Debug, Clone, Copy)]
pub(super) struct NameHash {
    pub(super) hash: u64,
    pub(super) skill: SkillId,
}

impl SortedItem for NameHash {
    fn order(&self, other: &Self) -> Ordering {
        (self.hash, self.skill).cmp(&(other.hash, other.skill))
    }
}

/// A name in lower case.
pub(super) fn folded(name: &str) -> String {
    name.to_lowercase()
}

pub(super) fn hash(folded: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    folded.hash(&mut hasher);
    hasher.finish()
}

/// The hashes of these names, and of their visible characters.
pub(super) fn hashes(names: &[String]) -> Vec<u64> {
    let plain = |name: &&String| name.bytes().all(|byte| matches!(byte, b'!'..=b'~'));
    let visible: Vec<String> =
        names.iter().filter(|name| !plain(name)).map(|name| one_line(name)).collect();
    let mut hashes: Vec<u64> =
        names.iter().chain(&visible).map(|name| hash(&folded(name))).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}
