//! Own and inherited assets and scripts: the nearest declaration wins.

use std::collections::HashSet;

use super::inherited_from;
use crate::{
    catalog::{Catalog, Presence, Skill},
    document::{AssetDeclaration, ScriptDeclaration},
    relpath::RelPath,
};

/// A declaration of an ancestor.
#[derive(Debug)]
pub struct Inherited<'a, T> {
    /// What it declares.
    pub declaration: &'a T,
    /// The ancestor.
    pub from: &'a Skill,
}

/// A declared file.
#[derive(Debug, Clone, Copy)]
pub enum Declared<'a> {
    /// Under `assets`.
    Asset(&'a AssetDeclaration),
    /// Under `scripts`.
    Script(&'a ScriptDeclaration),
}

impl<'a> Declared<'a> {
    /// Which file.
    pub fn file(&self) -> &'a RelPath {
        match self {
            Self::Asset(asset) => &asset.file,
            Self::Script(script) => &script.file,
        }
    }
}

/// A file found in a skill's chain.
#[derive(Debug, Clone, Copy)]
pub struct FoundFile<'a> {
    /// The skill that declares it.
    pub owner: &'a Skill,
    /// How it is declared.
    pub declared: Declared<'a>,
    /// Whether it was there when the catalog was built.
    pub presence: Presence,
}

/// Looks a file up by its declared path: the skill itself, then, where it inherits, its ancestors from near to far.
pub fn find_file<'a>(
    catalog: &'a Catalog,
    skill: &'a Skill,
    file: &RelPath,
) -> Option<FoundFile<'a>> {
    std::iter::once(skill).chain(inherited_from(catalog, skill).into_iter().rev()).find_map(
        |owner| {
            let asset = owner.assets().find(|(asset, _)| asset.file == *file);
            let asset = asset.map(|(asset, presence)| FoundFile {
                owner,
                declared: Declared::Asset(asset),
                presence,
            });
            asset.or_else(|| {
                let (script, presence) =
                    owner.scripts().find(|(script, _)| script.file == *file)?;
                Some(FoundFile { owner, declared: Declared::Script(script), presence })
            })
        },
    )
}

/// What the ancestors (root first) declare and the skill, or a nearer ancestor, does not declare itself in any way.
pub(super) fn inherited<'a, T: 'a, I>(
    ancestors: &[&'a Skill],
    skill: &'a Skill,
    declared: impl Fn(&'a Skill) -> I,
    file: impl Fn(&T) -> &RelPath,
) -> Vec<Inherited<'a, T>>
where
    I: Iterator<Item = (&'a T, Presence)>,
{
    // From the skill itself upwards: the first declaration of a file, in either list, hides those above it.
    let mut hidden: HashSet<&RelPath> = skill.declared().collect();
    let mut levels = Vec::with_capacity(ancestors.len());
    for from in ancestors.iter().rev().copied() {
        let visible = |(declaration, presence): &(&'a T, Presence)| {
            *presence == Presence::Present && !hidden.contains(file(declaration))
        };
        let level: Vec<Inherited<'a, T>> = declared(from)
            .filter(visible)
            .map(|(declaration, _)| Inherited { declaration, from })
            .collect();
        levels.push(level);
        hidden.extend(from.declared());
    }
    levels.into_iter().rev().flatten().collect()
}
