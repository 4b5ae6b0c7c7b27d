//! Completion of what a client fills in: the names and addresses of skills, and the paths of their files.

use super::published::{Publication, SCHEME};
use super::resources::RESOURCE_FORMS;

/// The protocol allows no more.
const MAX_COMPLETIONS: usize = 100;

/// What may stand where a client has this so far.
#[derive(Debug, Default)]
pub struct Completions {
    /// The first of them.
    pub values: Vec<String>,
    /// How many there are.
    pub total: usize,
}

impl Publication {
    /// Completes the variable of a template of resources. What begins with the text comes first, then what contains it. Templates
    /// and variables that the server does not have are completed with nothing.
    pub fn complete_resource(&self, template: &str, variable: &str, so_far: &str) -> Completions {
        let form = RESOURCE_FORMS
            .iter()
            .find(|form| form.variable == variable && plain(form.template) == plain(template));
        let Some(form) = form else { return Completions::default() };
        let so_far = so_far.strip_prefix(SCHEME).unwrap_or(so_far);
        let addresses = self.addresses.after(None).iter();
        let places = addresses.filter_map(|address| address.root.strip_prefix(SCHEME));
        if form.variable == "skill" {
            return matching(places.map(str::to_owned), so_far);
        }
        match self.files_at(so_far) {
            files if files.is_empty() => {
                matching(places.map(|place| format!("{place}/SKILL.md")), so_far)
            }
            files => matching(files.into_iter(), so_far),
        }
    }

    /// The files of the skill that a path has begun to name a file of.
    fn files_at(&self, so_far: &str) -> Vec<String> {
        let Some((folder, _)) = so_far.rsplit_once('/') else { return Vec::new() };
        let Some((address, _)) = self.addresses.find(&format!("{SCHEME}{folder}")) else {
            return Vec::new();
        };
        let Some(skill) = self.skill(address) else { return Vec::new() };
        let uris = std::iter::once(address.text_uri()).chain(self.uris_beside(address, skill));
        uris.filter_map(|uri| uri.strip_prefix(SCHEME).map(str::to_owned)).collect()
    }
}

/// A template without the sign that says that slashes stay: clients are known that do not write it.
fn plain(template: &str) -> String {
    template.replace("{+", "{")
}

fn matching(all: impl Iterator<Item = String>, so_far: &str) -> Completions {
    let wanted = so_far.to_lowercase();
    let mut ranked: Vec<(bool, String)> = all
        .filter_map(|value| {
            let folded = value.to_lowercase();
            folded.contains(&wanted).then(|| (!folded.starts_with(&wanted), value))
        })
        .collect();
    ranked.sort_unstable();
    let total = ranked.len();
    Completions {
        values: ranked.into_iter().take(MAX_COMPLETIONS).map(|(_, value)| value).collect(),
        total,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_with_the_text_comes_before_what_contains_it() {
        let all = ["api/auth", "auth", "Authors", "pdf"].map(str::to_owned);
        let found = matching(all.into_iter(), "AUTH");
        assert_eq!(
            (found.values.as_slice(), found.total),
            (["Authors", "auth", "api/auth"].map(str::to_owned).as_slice(), 3)
        );
        let many = matching((0..250).map(|number| format!("s{number}")), "s");
        assert_eq!((many.values.len(), many.total), (MAX_COMPLETIONS, 250));
    }
}
