//! A skill → what an agent receives: one text, and the files that come with it.
//!
//! In: a skill, its text and those it inherits. Out: a [`Resolved`]. Not here: reading the files (the store does), and how
//! any of it is spelled as JSON (surface).

mod compose;
mod files;
mod media;

use compose::SkillSection;
pub use compose::{Composed, TextLimit, json_chars, lines_from};
pub use files::{Declared, FoundFile, Inherited, find_file};
pub use media::{is_binary, mime_type};

use crate::{
    catalog::{Catalog, Presence, Skill, SkillKind},
    document::{AssetDeclaration, ScriptDeclaration, SkillText},
};

/// Everything an agent receives with a skill.
#[derive(Debug)]
pub struct Resolved<'a> {
    /// The skill itself.
    pub skill: &'a Skill,
    /// The ancestors whose text is part of the content, root first; none where it does not inherit.
    pub ancestors: Vec<&'a Skill>,
    /// The text.
    pub content: Composed,
    /// Its own assets that exist.
    pub assets: Vec<&'a AssetDeclaration>,
    /// Its own scripts that exist.
    pub scripts: Vec<&'a ScriptDeclaration>,
    /// Ancestors' assets that exist and that nothing nearer hides, root's first.
    pub inherited_assets: Vec<Inherited<'a, AssetDeclaration>>,
    /// Ancestors' scripts, likewise.
    pub inherited_scripts: Vec<Inherited<'a, ScriptDeclaration>>,
}

/// Resolves a skill from its text and those of the skills it [inherits from](inherited_from), in their order. The
/// composed text is kept within the limit. From a later line than the first on it is the skill's own text
/// only: what comes before was read already.
pub fn resolve<'a>(
    skill: &'a Skill,
    text: &SkillText,
    inherited: &[(&'a Skill, SkillText)],
    from_line: usize,
    limit: TextLimit,
) -> Resolved<'a> {
    let sections: Vec<SkillSection<'_>> =
        inherited.iter().map(|(skill, text)| SkillSection::new(skill, text)).collect();
    let ancestors: Vec<&Skill> = inherited.iter().map(|(skill, _)| *skill).collect();
    let own = SkillSection::new(skill, text);
    let content = match from_line {
        0 | 1 => compose::compose(&sections, &own, limit),
        _ => lines_from(own.body(), from_line, limit),
    };
    Resolved {
        content,
        assets: present(skill.assets()),
        scripts: present(skill.scripts()),
        inherited_assets: files::inherited(&ancestors, skill, Skill::assets, |asset| &asset.file),
        inherited_scripts: files::inherited(&ancestors, skill, Skill::scripts, |script| {
            &script.file
        }),
        ancestors,
        skill,
    }
}

/// What comes with a skill as a file: what it declares, then what it inherits.
pub fn files<'a>(catalog: &'a Catalog, skill: &'a Skill) -> Vec<Declared<'a>> {
    let ancestors = inherited_from(catalog, skill);
    let own = present(skill.assets()).into_iter().map(Declared::Asset);
    let own = own.chain(present(skill.scripts()).into_iter().map(Declared::Script));
    let assets = files::inherited(&ancestors, skill, Skill::assets, |asset| &asset.file);
    let scripts = files::inherited(&ancestors, skill, Skill::scripts, |script| &script.file);
    let assets = assets.into_iter().map(|found| Declared::Asset(found.declaration));
    let scripts = scripts.into_iter().map(|found| Declared::Script(found.declaration));
    own.chain(assets).chain(scripts).collect()
}

/// Whether a skill comes with files beside its text.
pub fn has_files(catalog: &Catalog, skill: &Skill) -> bool {
    match skill.kind {
        SkillKind::Bundle => catalog
            .files(skill)
            .is_some_and(|folder| folder.files().len() > 1 || !folder.folders().is_empty()),
        SkillKind::Tree => !files(catalog, skill).is_empty(),
    }
}

/// The ancestors whose text and files come along, root first. Only the skill's own `inherit` decides.
pub fn inherited_from<'a>(catalog: &'a Catalog, skill: &'a Skill) -> Vec<&'a Skill> {
    if !skill.fields().inherit {
        return Vec::new();
    }
    let mut ancestors: Vec<&Skill> = catalog.ancestors(skill).collect();
    ancestors.reverse();
    ancestors
}

fn present<'a, T>(declared: impl Iterator<Item = (&'a T, Presence)>) -> Vec<&'a T> {
    declared
        .filter(|(_, presence)| *presence == Presence::Present)
        .map(|(declaration, _)| declaration)
        .collect()
}
