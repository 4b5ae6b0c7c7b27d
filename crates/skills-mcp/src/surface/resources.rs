//! Skills as resources: the `SKILL.md` of every published skill is listed, and every file of one is read.

use sha2::{Digest as _, Sha256};
use skills_core::document::ContentDigest;

use super::{
    Refusal,
    cursor::PagedList,
    published::{FileContent, Publication, description},
};

/// So many resources are on one page.
const MAX_RESOURCES_ON_PAGE: usize = 1_000;

/// A resource as it is listed.
#[derive(Debug)]
pub struct ListedResource {
    /// Its address.
    pub uri: String,
    /// The skill's name.
    pub name: String,
    /// The skill's description.
    pub description: String,
}

/// Addresses of a kind, with a variable that clients fill in.
#[derive(Debug)]
pub struct ResourceForm {
    /// The template, as RFC 6570 spells it.
    pub template: &'static str,
    /// Its variable.
    pub variable: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What is there.
    pub description: &'static str,
    /// Their type, where all have the same.
    pub mime_type: Option<&'static str>,
}

/// Every kind of address.
pub const RESOURCE_FORMS: &[ResourceForm] = &[
    ResourceForm {
        template: "skill://{+skill}/SKILL.md",
        variable: "skill",
        name: "skill",
        description: "The instructions of a skill",
        mime_type: Some("text/markdown"),
    },
    ResourceForm {
        template: "skill://{+path}",
        variable: "path",
        name: "skill-file",
        description: "A file of a skill: its instructions, or what lies beside them",
        mime_type: None,
    },
];

impl Publication {
    /// A page of resources, and the cursor of the next.
    pub fn resources(
        &self,
        cursor: Option<&str>,
    ) -> Result<(Vec<ListedResource>, Option<String>), Refusal> {
        let after = PagedList::Resources.key(cursor)?;
        let rest = self.addresses.after(after.as_deref());
        let page = rest.get(..rest.len().min(MAX_RESOURCES_ON_PAGE)).unwrap_or_default();
        let listed = page.iter().filter_map(|address| {
            let description = description(self.skill(address)?);
            let name = address.name().to_owned();
            Some(ListedResource { uri: address.text_uri(), name, description })
        });
        let last = page.last().filter(|_| page.len() < rest.len());
        let next = last.map(|last| PagedList::Resources.cursor(&last.root));
        Ok((listed.collect(), next))
    }

    /// What a resource says.
    pub fn read(&self, uri: &str) -> Result<FileContent, Refusal> {
        self.file(uri)
    }

    /// The same for two snapshots only where the list of resources is.
    pub fn resources_digest(&self) -> ContentDigest {
        let mut all = Sha256::new();
        for address in self.addresses.after(None) {
            let Some(skill) = self.skill(address) else { continue };
            all.update(address.root.as_bytes());
            all.update([0]);
            all.update(&*skill.fields().description);
            all.update([0]);
        }
        all.finalize().into()
    }
}
