//! [`Streaks`]: how often in a row each skill was called useless, by all processes of this user together.
//!
//! A client starts a process per session, so one process rarely sees a skill rated three times. The history has it, but
//! may be a gigabyte; hence a small file of its own. It is a hint: a process that is killed between the history and this file
//! has not counted. Not here: what is done about a streak.

use std::{collections::BTreeMap, io};

use super::{disk, folder::JournalFolder};

/// So many skills are remembered; those with the shortest streaks are forgotten first.
const MAX_STREAKS: usize = 1_000;
/// No file with so many is larger.
const MAX_STREAKS_BYTES: u64 = 4 * 1024 * 1024;

type StreakCounts = BTreeMap<String, u64>;

/// The streaks that this process knows of, for where the file cannot be read or written.
#[derive(Debug, Default)]
pub(crate) struct Streaks(StreakCounts);

impl Streaks {
    /// Counts one more piece of feedback: how often in a row it says that the skill is useless.
    pub(crate) fn rated(
        &mut self,
        folder: Option<&JournalFolder>,
        skill: &str,
        useful: bool,
    ) -> u64 {
        let ours = rate(&mut self.0, skill, useful);
        let shared = folder.map(|folder| change(folder, skill, useful));
        match shared {
            Some(Ok(all)) => all,
            Some(Err(error)) => {
                tracing::debug!("analytics: feedback is counted in this process only: {error}");
                ours
            }
            None => ours,
        }
    }
}

/// Counts in the file that all processes share.
fn change(folder: &JournalFolder, skill: &str, useful: bool) -> io::Result<u64> {
    let path = folder.streaks();
    let read = || -> io::Result<StreakCounts> {
        // One that cannot be understood is begun anew.
        Ok(serde_json::from_slice(&disk::read(&path, MAX_STREAKS_BYTES)?).unwrap_or_default())
    };
    // Most skills are useful, and then there is nothing to write.
    if useful && !read()?.contains_key(skill) {
        return Ok(0);
    }
    let _lock = disk::lock(&path)?;
    let mut counts = read()?;
    let in_a_row = rate(&mut counts, skill, useful);
    disk::replace(&path, &serde_json::to_vec(&counts)?)?;
    Ok(in_a_row)
}

fn rate(counts: &mut StreakCounts, skill: &str, useful: bool) -> u64 {
    if useful {
        counts.remove(skill);
        return 0;
    }
    let count = counts.get(skill).copied().unwrap_or(0).saturating_add(1);
    counts.insert(skill.to_owned(), count);
    while counts.len() > MAX_STREAKS {
        let others = counts.iter().filter(|(name, _)| *name != skill);
        let shortest = others.min_by_key(|(_, count)| **count).map(|(name, _)| name.clone());
        let Some(shortest) = shortest else { break };
        counts.remove(&shortest);
    }
    count
}

#[cfg(test)]
mod tests {
    use skills_testkit::Home;

    use super::*;

    #[test]
    fn a03_a_streak_is_counted_over_processes_and_ends_with_one_good_word() {
        let home = Home::new();
        let folder = JournalFolder::new(home.path());
        let rated = |skill: &str, useful| Streaks::default().rated(Some(&folder), skill, useful);
        assert_eq!(rated("a", true), 0);
        assert!(disk::listed(&home.path().join(".skills-mcp")).unwrap().is_empty());
        assert_eq!([rated("a", false), rated("b", false), rated("a", false)], [1, 1, 2]);
        assert_eq!(rated("a", true), 0);
        assert_eq!([rated("a", false), rated("b", false)], [1, 2]);
        // What is damaged is begun anew.
        disk::replace(&folder.streaks(), b"{\"b\":").unwrap();
        assert_eq!(rated("b", false), 1);
    }

    #[test]
    fn a03_without_a_file_a_process_counts_for_itself_and_memory_has_a_bound() {
        let mut streaks = Streaks::default();
        assert_eq!([1, 2].map(|_| streaks.rated(None, "long", false)), [1, 2]);
        for number in 0..3_000 {
            streaks.rated(None, &format!("s{number}"), false);
        }
        assert_eq!(streaks.0.len(), MAX_STREAKS);
        assert_eq!(streaks.rated(None, "long", false), 3, "the longest is not forgotten");
        let home = Home::new();
        // A folder stands in the file's place.
        let folder = JournalFolder::new(home.path());
        drop(disk::lock(&folder.streaks().join("x")).unwrap());
        assert_eq!(streaks.rated(Some(&folder), "long", false), 4);
    }
}
