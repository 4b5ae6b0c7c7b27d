//! A name somebody asked for → one skill. Names are looked up, never joined to a path.

use super::{Catalog, Skill};

impl Catalog {
    /// The skill of this name: its identity or `source:path`; a category also without `/_index`; the file name's
    /// `.md` may be there. Exact case wins over the same letters in another case.
    pub fn find(&self, asked: &str) -> Option<&Skill> {
        let trimmed = asked.trim().trim_end_matches('/');
        let bare = trimmed.strip_suffix(".md").unwrap_or(trimmed);
        let index = format!("{bare}/_index");
        // As it stands first: a file may be called `a.md.md`, or have blanks in its name.
        let names = [asked, trimmed, bare, &index];
        let exact = names.iter().find_map(|name| self.identities.get(*name));
        let folded = || names.iter().find_map(|name| self.folded.get(&name.to_lowercase()));
        self.skill(*exact.or_else(folded)?)
    }

    /// Identities that look like what was asked for, best first, at most five.
    pub fn near(&self, asked: &str) -> Vec<&str> {
        let asked = asked.to_lowercase();
        let last = asked.rsplit('/').next().unwrap_or_default();
        let mut scored: Vec<(f64, &str)> = self
            .skills
            .iter()
            .map(|skill| {
                let identity = skill.identity.to_lowercase();
                let called = identity.strip_suffix("/_index").unwrap_or(&identity);
                let name = called.rsplit('/').next().unwrap_or_default();
                let whole = strsim::jaro_winkler(&asked, called);
                // A right name in the wrong folder is nearer than a wrong name in the right one.
                let by_name = strsim::jaro_winkler(last, name) * 0.98;
                (whole.max(by_name), &*skill.identity)
            })
            .filter(|(score, _)| *score >= 0.8)
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        scored.into_iter().take(5).map(|(_, identity)| identity).collect()
    }
}
