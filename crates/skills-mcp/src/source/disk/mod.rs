//! Reads files of content. No other module opens them.
//!
//! Everything goes through a [`Root`]: a handle to a source's folder, below which the kernel resolves paths. A file is opened
//! without blocking, checked through its handle (regular files only) and read up to a limit. Symbolic links are followed as
//! far as the source's [`Links`] say, and never to credentials. A link that leaves its root must lead to a skill (`link`), and
//! its target is a root of its own.

#[cfg(target_os = "linux")]
mod handle;
mod link;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(test, not(target_os = "linux")))]
mod portable;
mod secret;

use std::{ffi::OsString, io, path::PathBuf, time::Duration};

use skills_core::{
    catalog::{FileEntry, Stamp},
    relpath::RelPath,
};
use thiserror::Error;

use super::watch::Descriptor;
use crate::clock;

pub use link::LinkPolicy;
#[cfg(target_os = "linux")]
pub use linux::Root;
#[cfg(target_os = "linux")]
pub(super) use linux::{folder_identity, stamp_of};
#[cfg(not(target_os = "linux"))]
pub use portable::Root;
#[cfg(not(target_os = "linux"))]
pub(super) use portable::{folder_identity, stamp_of};
pub(crate) use secret::{held_secrets, is_secret};

/// How far symbolic links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Below the root, to a whole skill or a folder of skills elsewhere, and where the [`LinkPolicy`] allows: the
    /// operator's own directories, where people link skills into place. Never to credentials.
    Follow,
    /// Only to paths below the root.
    Inside,
    /// Nowhere.
    Refuse,
}

/// Why a file or folder cannot be read.
#[derive(Debug, Error)]
pub enum DiskError {
    /// Nothing of that name.
    #[error("does not exist")]
    NotFound,
    /// A FIFO, socket, device or folder where a file was expected.
    #[error("is not a regular file")]
    NotRegular,
    /// More bytes than allowed.
    #[error("is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
        /// Its size where that is known.
        bytes: u64,
    },
    /// A link that leads where it may not.
    #[error("is a symbolic link that leads {0}")]
    Link(&'static str),
    /// A link out of its root to something that is no skill.
    #[error(
        "is a symbolic link that leads out of its source, and to no whole skill or folder of skills"
    )]
    NotSkill,
    /// Any other error of the system.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// One folder's entries, in the disk's order.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) identity: FileIdentity,
    /// The folder's fingerprint before its entries were read.
    pub(super) stamp: Stamp,
    /// The watch on it, where a queue was given.
    pub(super) watch: Option<io::Result<Descriptor>>,
    pub(super) entries: Vec<(OsString, ListedEntry)>,
}

/// Device and inode: equal for the same file or folder, however it is reached.
pub type FileIdentity = (u64, u64);

/// The metadata of a file or folder, read without opening it.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntryMetadata {
    pub(super) bytes: u64,
    pub(super) stamp: Stamp,
    pub(super) identity: FileIdentity,
}

impl Root {
    /// Whether the file at a path certainly has the content that it had when it was listed so. A link never has.
    pub fn is_same(&self, path: &RelPath, listed: FileEntry) -> bool {
        let now = self.metadata(path);
        now.is_some_and(|EntryMetadata { bytes, stamp, .. }| {
            FileEntry::Regular { bytes, stamp }.is_same(listed)
        })
    }
}

/// What an entry is, links resolved.
#[derive(Debug)]
pub(super) enum ListedEntry {
    File {
        bytes: u64,
        stamp: Stamp,
        /// Through a link, so that a watch on the folder does not report its changes.
        linked: bool,
    },
    Folder {
        linked: bool,
    },
    Special,
    /// A link to this target, which is not there.
    Dangling(PathBuf),
    Refused(DiskError),
}

impl ListedEntry {
    /// The entry of a link with this target.
    fn of_link(self, target: impl FnOnce() -> Option<PathBuf>) -> Self {
        let leads_nowhere = matches!(self, Self::Refused(DiskError::NotFound));
        let target = if leads_nowhere { target() } else { None };
        target.map_or(self, Self::Dangling)
    }
}

/// A file that changed within this time may change again without a new fingerprint: disks' clocks are coarse, some as coarse as
/// a second, and a fingerprint may be kept for another process.
const STAMP_SETTLE_TIME: Duration = Duration::from_secs(1);

/// A fingerprint of these numbers, unless the file changed too lately.
fn stamp(changed: Duration, known: &[i128]) -> Stamp {
    let age = clock::since_epoch().checked_sub(changed);
    if age.is_some_and(|age| age > STAMP_SETTLE_TIME) { Stamp::of(known) } else { Stamp::UNSURE }
}

#[cfg(test)]
mod tests {
    //! The same table for both implementations of `Root`, which must refuse the same things.

    use std::{fs, os::unix::fs::symlink, path::Path, sync::Arc};

    use skills_testkit::Home;

    use super::*;
    use crate::config::Trust;

    const CANARY: &str = "canary-7f3a";

    /// A root with one of everything, and a secret beside it.
    fn home() -> Home {
        let home = Home::with("//- a.md\nplain\n//- sub/b.md\nbelow\n");
        home.write("skills-private/x.md", CANARY);
        home.write(".ssh/id_ed25519", CANARY);
        let skills = home.skills();
        symlink("sub/b.md", skills.join("inside.md")).unwrap();
        home.write("skills/.aws/credentials", CANARY);
        symlink(".aws/credentials", skills.join("aws.md")).unwrap();
        symlink(home.path().join("skills-private/x.md"), skills.join("outside.md")).unwrap();
        symlink(home.path().join("skills-private"), skills.join("outside")).unwrap();
        symlink(home.path().join(".ssh/id_ed25519"), skills.join("key.md")).unwrap();
        symlink(home.path().join(".ssh"), skills.join("keys")).unwrap();
        // What is a skill, where a skill may stand, and what only looks like one.
        home.write("elsewhere/pdf/SKILL.md", "---\ndescription: d\n---\nwhole");
        home.write("elsewhere/pdf/data.txt", "of a skill");
        home.write("elsewhere/team/a/SKILL.md", "---\ndescription: d\n---\nof a team");
        home.write("elsewhere/team/plain.txt", "beside");
        home.write("elsewhere/one.md", "---\nkeywords: [k]\ndescription: d\n---\nalone");
        home.write("skills/declares.md", "---\nkeywords: [k]\ndescription: d\n---\n");
        home.write("skills/bundle/SKILL.md", "---\ndescription: d\n---\n");
        let link = |name: &str, target: &str| {
            symlink(home.path().join(target), skills.join(name)).unwrap();
        };
        link("pdf", "elsewhere/pdf");
        link("team", "elsewhere/team");
        link("declares", "elsewhere/team");
        link("assets", "elsewhere/team");
        link("bundle/team", "elsewhere/team");
        link("bundle/pdf", "elsewhere/pdf");
        link("bundle/one.md", "elsewhere/one.md");
        link("one.md", "elsewhere/one.md");
        link("one.txt", "elsewhere/one.md");
        link("absolute.md", "skills/a.md");
        link("home", "");
        link("disk", "/");
        symlink("../pdf/data.txt", home.path().join("elsewhere/team/aside.txt")).unwrap();
        symlink("../pdf", home.path().join("elsewhere/team/again")).unwrap();
        symlink("plain.txt", home.path().join("elsewhere/team/within.txt")).unwrap();
        symlink(home.path().join("skills-private/x.md"), home.path().join("elsewhere/pdf/out.txt"))
            .unwrap();
        symlink("loop-b", skills.join("loop-a")).unwrap();
        symlink("loop-a", skills.join("loop-b")).unwrap();
        symlink("a.md", skills.join("link-0")).unwrap();
        for link in 1..=45 {
            symlink(format!("link-{}", link - 1), skills.join(format!("link-{link}"))).unwrap();
        }
        assert!(
            std::process::Command::new("mkfifo")
                .arg(skills.join("fifo.md"))
                .status()
                .unwrap()
                .success()
        );
        std::os::unix::net::UnixListener::bind(skills.join("socket.md")).unwrap();
        symlink("/dev/zero", skills.join("zero.md")).unwrap();
        fs::create_dir(skills.join("folder.md")).unwrap();
        fs::File::create(skills.join("sparse.md")).unwrap().set_len(10 << 30).unwrap();
        home
    }

    /// The text of a file, or the kind of error.
    fn said(read: Result<Vec<u8>, DiskError>) -> String {
        match read {
            Ok(bytes) => String::from_utf8(bytes).unwrap().trim().to_owned(),
            Err(DiskError::Link(_) | DiskError::NotSkill) => "<link>".to_owned(),
            Err(DiskError::NotFound) => "<none>".to_owned(),
            Err(DiskError::NotRegular) => "<special>".to_owned(),
            Err(DiskError::TooLarge { .. }) => "<large>".to_owned(),
            Err(DiskError::Io(error)) => format!("<io {error}>"),
        }
    }

    fn check(links: Links, expected: &[(&str, &str)]) {
        let home = home();
        let linux = Root::open(&home.skills(), links).unwrap();
        let portable = portable::Root::open(&home.skills(), links).unwrap();
        for (path, want) in expected {
            let path = RelPath::parse(path).unwrap();
            assert_eq!(said(linux.read(&path, 1000)), *want, "linux, {links:?}, {path}");
            assert_eq!(said(portable.read(&path, 1000)), *want, "portable, {links:?}, {path}");
        }
    }

    const ALWAYS: &[(&str, &str)] = &[
        ("a.md", "plain"),
        ("sub/b.md", "below"),
        ("none.md", "<none>"),
        ("a.md/x", "<none>"),
        ("folder.md", "<special>"),
        ("fifo.md", "<special>"),
        ("socket.md", "<special>"),
        ("sparse.md", "<large>"),
    ];

    #[test]
    fn f05_f07_f08_f10_e06_a_link_leads_inside_or_to_a_skill_and_never_to_credentials() {
        check(Links::Follow, ALWAYS);
        check(
            Links::Follow,
            &[
                ("inside.md", "below"),
                ("aws.md", "<link>"),
                ("absolute.md", "plain"),
                ("outside.md", "<link>"),
                ("outside/x.md", "<link>"),
                ("key.md", "<link>"),
                ("keys/id_ed25519", "<link>"),
                ("zero.md", "<link>"),
                ("loop-a", "<link>"),
                ("link-45", "<link>"),
                ("link-3", "plain"),
                // Whole skills, anywhere.
                ("pdf/data.txt", "of a skill"),
                ("bundle/pdf/data.txt", "of a skill"),
                ("pdf/out.txt", "<link>"),
                // Folders of skills, where one may stand; they are roots of their own.
                ("team/a/SKILL.md", "---\ndescription: d\n---\nof a team"),
                ("team/plain.txt", "beside"),
                ("team/within.txt", "beside"),
                ("team/aside.txt", "<link>"),
                ("team/again/data.txt", "of a skill"),
                ("team/again/out.txt", "<link>"),
                ("declares/plain.txt", "<link>"),
                ("assets/plain.txt", "<link>"),
                ("bundle/team/plain.txt", "<link>"),
                // Single files.
                ("one.md", "---\nkeywords: [k]\ndescription: d\n---\nalone"),
                ("one.txt", "<link>"),
                ("bundle/one.md", "<link>"),
                // Above.
                ("home/elsewhere/pdf/data.txt", "<link>"),
                ("disk/etc/hostname", "<link>"),
            ],
        );
    }

    #[test]
    fn e06_the_operator_allows_further_folders_and_credentials_stay_closed_there() {
        let home = home();
        home.write("skills-private/.ssh/id", CANARY);
        let allow = ["~/skills-private".to_owned(), "/".to_owned()];
        for allow in [&allow[..1], &allow[1..]] {
            let policy = Arc::new(LinkPolicy::new(allow, Some(home.path()), Trust::Named));
            let linux = Root::open(&home.skills(), Links::Follow).unwrap();
            let linux = linux.with_policy(Arc::clone(&policy));
            let portable = portable::Root::open(&home.skills(), Links::Follow).unwrap();
            let portable = portable.with_policy(policy);
            for (path, want) in [
                ("outside.md", CANARY),
                ("outside/x.md", CANARY),
                ("outside/.ssh/id", "<link>"),
                ("key.md", "<link>"),
            ] {
                let path = RelPath::parse(path).unwrap();
                assert_eq!(said(linux.read(&path, 1000)), want, "linux, {path}");
                assert_eq!(said(portable.read(&path, 1000)), want, "portable, {path}");
            }
        }
    }

    #[test]
    fn f03_f05_links_kept_inside_lead_nowhere_else() {
        check(Links::Inside, ALWAYS);
        check(
            Links::Inside,
            &[
                ("inside.md", "below"),
                ("aws.md", "<link>"),
                ("outside.md", "<link>"),
                ("outside/x.md", "<link>"),
                ("key.md", "<link>"),
                ("zero.md", "<link>"),
                ("loop-a", "<link>"),
            ],
        );
    }

    #[test]
    fn f05_where_links_are_refused_not_even_those_inside_are_followed() {
        check(Links::Refuse, ALWAYS);
        check(
            Links::Refuse,
            &[("inside.md", "<link>"), ("outside/x.md", "<link>"), ("link-0", "<link>")],
        );
    }

    #[test]
    fn f10_a_file_that_grows_while_it_is_read_stays_within_the_cap() {
        let home = Home::with("//- grow.md\nx\n");
        let root = Root::open(&home.skills(), Links::Follow).unwrap();
        let path = RelPath::parse("grow.md").unwrap();
        assert_eq!(root.read(&path, 2).unwrap().len(), 2);
        home.write("skills/grow.md", "x".repeat(3));
        assert!(matches!(root.read(&path, 2), Err(DiskError::TooLarge { limit: 2, .. })));
    }

    #[test]
    fn links_of_a_source_may_lead_anywhere_inside_its_boundary_and_nowhere_else() {
        let home = Home::new();
        home.write("project/.agents/skills/git/SKILL.md", "shared");
        home.write("project/.claude/skills/own/SKILL.md", "own");
        home.write("outside/SKILL.md", CANARY);
        let skills = home.path().join("project/.claude/skills");
        symlink("../../.agents/skills/git", skills.join("git")).unwrap();
        symlink("../../../outside", skills.join("out")).unwrap();
        let inside = RelPath::parse(".claude/skills").unwrap();
        let boundary = home.path().join("project");
        let linux = Root::within(&boundary, inside.clone(), Links::Inside).unwrap();
        let portable = portable::Root::within(&boundary, inside, Links::Inside).unwrap();
        for (path, want) in
            [("own/SKILL.md", "own"), ("git/SKILL.md", "shared"), ("out/SKILL.md", "<link>")]
        {
            let path = RelPath::parse(path).unwrap();
            assert_eq!(said(linux.read(&path, 1000)), want, "linux, {path}");
            assert_eq!(said(portable.read(&path, 1000)), want, "portable, {path}");
        }
    }

    #[test]
    fn e06_a_link_to_a_root_leads_neither_above_itself_nor_to_credentials() {
        let home = home();
        home.write("team/x/a.md", "x");
        let links = [
            ("skills", "", true),
            ("team/beside", "../elsewhere", true),
            ("team/within", "x", true),
            ("team/up", "..", false),
            ("team/self", ".", false),
            ("team/disk", "/", false),
            ("team/keys", "../.ssh", false),
        ];
        for (path, target, may) in links {
            let path = home.path().join(path);
            if !target.is_empty() {
                symlink(target, &path).unwrap();
            }
            let linux = Root::open(&path, Links::Follow).unwrap().reached_by(&path);
            assert_eq!(linux.is_ok(), may, "linux, {target}");
            let portable = portable::Root::open(&path, Links::Follow).unwrap().reached_by(&path);
            assert_eq!(portable.is_ok(), may, "portable, {target}");
        }
    }

    #[test]
    fn e06_a_folder_that_becomes_a_root_of_its_own_is_reached_as_links_allow() {
        let home = home();
        home.write("team/skills/a.md", "x");
        home.write("team/b.md", CANARY);
        home.write("mixed/notes.txt", CANARY);
        let at = |path: &str| home.path().join(path);
        symlink("../b.md", at("team/skills/beside.md")).unwrap();
        symlink("skills", at("team/within")).unwrap();
        symlink("../mixed", at("team/out")).unwrap();
        let names = [("skills", true), ("within", true), ("out", false), ("none", false)];
        for links in [Links::Inside, Links::Follow] {
            for (name, may) in names {
                let name = RelPath::parse(name).unwrap();
                let linux = Root::open(&at("team"), links).unwrap().descend(&name);
                let portable = portable::Root::open(&at("team"), links).unwrap().descend(&name);
                assert_eq!((linux.is_ok(), portable.is_ok()), (may, may), "{links:?} {name}");
                let (Ok(linux), Ok(portable)) = (linux, portable) else { continue };
                for (file, want) in [("a.md", "x"), ("beside.md", "<link>")] {
                    let file = RelPath::parse(file).unwrap();
                    let read = [said(linux.read(&file, 1000)), said(portable.read(&file, 1000))];
                    assert!(read.iter().all(|read| read == want), "{links:?} {file}: {read:?}");
                }
            }
        }
    }

    #[test]
    fn a_root_that_is_not_a_folder_is_refused() {
        let home = Home::with("//- a.md\nx\n");
        assert!(Root::open(&home.skills().join("a.md"), Links::Follow).is_err());
        assert!(matches!(
            Root::open(Path::new("/nowhere/at/all"), Links::Follow),
            Err(DiskError::NotFound)
        ));
    }
}
