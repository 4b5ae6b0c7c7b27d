//! Addresses: `skill://<skill path>/<file>`. The last segment of a skill path is the skill's name; what stands before it tells
//! skills of one name apart.
//!
//! A bundle is `skill://<name>`. One whose name an earlier bundle has, and every bundle of a plugin, has its source and folder
//! before its name, one inside another bundle that bundle's address. A tree skill has its source and a name made of its path. The
//! segment of a source holds a dot, which no skill's name does, so that the two never meet. No address holds a path of this
//! machine.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sha2::{Digest as _, Sha256};
use skills_core::{
    catalog::{Catalog, Origin, Skill, SkillId, SkillKind, Source},
    digest::hex,
    relpath::RelPath,
};

/// What every address begins with.
pub(in crate::surface) const SCHEME: &str = "skill://";
/// A longer address is that of no file: file systems have no longer paths.
const MAX_URI_BYTES: usize = 16 * 1024;
/// What Agent Skills allows.
const MAX_NAME_BYTES: usize = 64;
/// So many bytes of a path's digest tell two skills apart whose paths give the same name.
const NAME_DIGEST_BYTES: usize = 4;
/// What a segment holds as it is: the characters that no reader of addresses changes.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A skill and its address.
#[derive(Debug)]
pub(in crate::surface) struct PublishedSkill {
    /// The address of its folder.
    pub(in crate::surface) root: Box<str>,
    /// The skill.
    pub(in crate::surface) id: SkillId,
}

impl PublishedSkill {
    /// The name in its front matter.
    pub(in crate::surface) fn name(&self) -> &str {
        self.root.rsplit('/').next().unwrap_or_default()
    }

    /// The address of a file of it.
    pub(in crate::surface) fn uri(&self, file: &RelPath) -> String {
        file.segments().fold(self.root.to_string(), |uri, name| {
            format!("{uri}/{}", utf8_percent_encode(name, ESCAPED))
        })
    }

    /// The address of its `SKILL.md`.
    pub(in crate::surface) fn text_uri(&self) -> String {
        format!("{}/SKILL.md", self.root)
    }
}

/// Every published skill of a catalog, by address; and where each is in that order, by id.
#[derive(Debug)]
pub(in crate::surface) struct AddressTable(Vec<PublishedSkill>, HashMap<SkillId, usize>);

impl AddressTable {
    pub(super) fn new(catalog: &Catalog) -> Self {
        let prefixes = prefixes(catalog);
        let mut naming = Naming::default();
        let published = catalog.published();
        let mut skills: Vec<PublishedSkill> = published
            .filter_map(|skill| {
                let source = catalog.sources().get(skill.source)?;
                let root = naming.root(skill, source, prefixes.get(skill.source)?);
                Some(PublishedSkill { root: root.into(), id: skill.id })
            })
            .collect();
        skills.sort_unstable_by(|a, b| a.root.cmp(&b.root));
        let places = skills.iter().enumerate().map(|(place, skill)| (skill.id, place)).collect();
        Self(skills, places)
    }

    /// The skills behind this address of a folder, or all.
    pub(in crate::surface) fn after(&self, root: Option<&str>) -> &[PublishedSkill] {
        let start = root.map_or(0, |root| self.0.partition_point(|skill| *skill.root <= *root));
        self.0.get(start..).unwrap_or_default()
    }

    /// The skill that an address belongs to, and which of its files or folders that is; the root is the skill's folder. Of a
    /// skill inside another it is the inner one.
    pub(in crate::surface) fn find(&self, uri: &str) -> Option<(&PublishedSkill, RelPath)> {
        if uri.len() > MAX_URI_BYTES || !uri.starts_with(SCHEME) {
            return None;
        }
        let mut root = uri;
        loop {
            if let Ok(at) = self.0.binary_search_by(|skill| (*skill.root).cmp(root)) {
                let file = decoded(uri.get(root.len()..)?)?;
                return Some((self.0.get(at)?, file));
            }
            root = root.get(..root.rfind('/').filter(|end| *end > SCHEME.len())?)?;
        }
    }

    /// The address of a skill's folder, where the skill is published.
    pub(in crate::surface) fn of(&self, id: SkillId) -> Option<&PublishedSkill> {
        self.1.get(&id).and_then(|place| self.0.get(*place))
    }
}

/// `/a/b%20c` as a path. Each segment is decoded once; one that then separates or leaves a folder is no name.
fn decoded(rest: &str) -> Option<RelPath> {
    let mut names = rest.split('/');
    // The text before the first slash is the root's own end.
    names.next().filter(|end| end.is_empty())?;
    names.try_fold(RelPath::root(), |path, name| {
        let name = percent_decode_str(name).decode_utf8().ok()?;
        path.child(&name).ok()
    })
}

/// Gives addresses, in the order of the catalog.
#[derive(Default)]
struct Naming {
    /// The addresses of bundles by source and folder.
    bundles: HashMap<(usize, RelPath), String>,
    /// The names of tree skills that were given, by source.
    tree: HashSet<(usize, String)>,
}

impl Naming {
    fn root(&mut self, skill: &Skill, source: &Source, prefix: &str) -> String {
        match (skill.kind, &skill.resources) {
            (SkillKind::Bundle, Some(folder)) => {
                let root = self.bundle(skill, folder, source, prefix);
                self.bundles.insert((skill.source, folder.clone()), root.clone());
                root
            }
            (SkillKind::Bundle | SkillKind::Tree, _) => {
                format!("{SCHEME}tree.{prefix}/{}", self.tree_name(skill))
            }
        }
    }

    fn bundle(&self, skill: &Skill, folder: &RelPath, source: &Source, prefix: &str) -> String {
        let name = skill.fields().name.as_deref().unwrap_or(skill.path.name());
        // All is below the top of a source, and a bundle there takes nothing from the rest.
        let mut above = folder.folder();
        while !above.is_root() && !folder.is_root() {
            if let Some(outer) = self.bundles.get(&(skill.source, above.clone())) {
                let inner = folder.as_str().get(above.as_str().len() + 1..).unwrap_or_default();
                return format!("{outer}/{}", escaped_path(inner));
            }
            above = above.folder();
        }
        let is_plugin = matches!(source.origin, Origin::Plugin(_));
        if skill.has_own_name() && !is_plugin {
            return format!("{SCHEME}{name}");
        }
        let place = if folder.is_root() { name } else { folder.as_str() };
        let location = source.origin.location();
        format!("{SCHEME}{location}.{prefix}/{}", escaped_path(place))
    }

    /// A name made of the path. Where two paths give the same, or one gives none, digits of the path's digest follow.
    fn tree_name(&mut self, skill: &Skill) -> String {
        let path = skill.path.as_str();
        let name = slug(path.strip_suffix("/_index").unwrap_or(path));
        let is_whole = !name.is_empty() && name.len() <= MAX_NAME_BYTES;
        if is_whole && self.tree.insert((skill.source, name.clone())) {
            return name;
        }
        let digest: Vec<u8> =
            Sha256::digest(path).iter().take(NAME_DIGEST_BYTES).copied().collect();
        let digest = hex(&digest);
        let room = MAX_NAME_BYTES - digest.len() - 1;
        let short = name.get(..name.len().min(room)).unwrap_or_default().trim_end_matches('-');
        if short.is_empty() { format!("skill-{digest}") } else { format!("{short}-{digest}") }
    }
}

fn escaped_path(path: &str) -> String {
    let names: Vec<String> =
        path.split('/').map(|name| utf8_percent_encode(name, ESCAPED).to_string()).collect();
    names.join("/")
}

/// What stands for each source in addresses: its name in lower-case words. Unique among the sources that the caller sees; those that
/// it does not see take no name and no number from them.
fn prefixes(catalog: &Catalog) -> Vec<String> {
    // Those with skills that are published though no tool serves them are seen too.
    let published: HashSet<usize> = catalog.published().map(|skill| skill.source).collect();
    let mut given: HashSet<String> = HashSet::new();
    let mut prefixes = Vec::with_capacity(catalog.sources().len());
    for (number, source) in catalog.sources().iter().enumerate() {
        if !published.contains(&number) && !catalog.is_visible(number) {
            prefixes.push(String::new());
            continue;
        }
        let name: &Arc<str> = match &source.origin {
            Origin::Plugin(plugin) => plugin,
            Origin::Named | Origin::Project | Origin::User => &source.name,
        };
        let plain = slug(name);
        let numbered = (2..).map(|number: u32| format!("{plain}.{number}"));
        let prefix =
            std::iter::once(plain.clone()).chain(numbered).find(|one| !given.contains(one));
        given.extend(prefix.clone());
        prefixes.extend(prefix);
    }
    prefixes
}

/// Lower-case letters and digits with single hyphens between them.
fn slug(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .collect();
    let words: Vec<&str> = plain.split('-').filter(|word| !word.is_empty()).collect();
    words.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f01_f02_an_address_never_leads_out_of_its_folder() {
        for rest in [
            "/..",
            "/../x",
            "/a/../../x",
            "/./a",
            "//a",
            "/a/",
            "/%2e%2e/x",
            "/%2E%2E",
            "/a%2Fb",
            "/a%2f..%2fb",
            "/%00",
            "/a%0ab",
            "/%ff",
            "x/a",
            "/%2e",
        ] {
            assert_eq!(decoded(rest), None, "{rest}");
        }
        let path = |text: &str| decoded(text).unwrap().as_str().to_owned();
        assert_eq!(path(""), "");
        assert_eq!(path("/a%20b/%C3%A9.md"), "a b/é.md");
        assert_eq!(path("/%252e%252e"), "%2e%2e", "decoded once");
    }

    #[test]
    fn names_are_lower_case_words_with_hyphens() {
        for (text, name) in [
            ("ui/react/auth", "ui-react-auth"),
            ("_root", "root"),
            ("A__b--C/é", "a-b-c"),
            ("é", ""),
        ] {
            assert_eq!(slug(text), name);
        }
    }
}
