//! What a script may read: the system's programs and libraries, its runner's own, and nothing of anybody's home.
//!
//! A list of what is allowed, as the kernel knows no exceptions from what is. Settings in `/etc` are named one by one,
//! as secrets lie among them. Missing places cost nothing.

use std::path::{Path, PathBuf};

use crate::{
    script::ground::Ground,
    source::{held_secrets, is_secret},
};

/// Programs and libraries, as distributions lay them out.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/snap",
    "/home/linuxbrew/.linuxbrew",
];

/// Settings that programs read to work at all: loading, names, time, language, certificates, addresses.
const SETTINGS: &[&str] = &[
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "nsswitch.conf",
    "passwd",
    "group",
    "hosts",
    "host.conf",
    "hostname",
    "resolv.conf",
    "gai.conf",
    "protocols",
    "services",
    "networks",
    "localtime",
    "timezone",
    "locale.alias",
    "locale.conf",
    "locale.gen",
    "os-release",
    "lsb-release",
    "debian_version",
    "redhat-release",
    "alpine-release",
    "alternatives",
    "ssl/certs",
    "ssl/cert.pem",
    "ssl/openssl.cnf",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "pki/ca-trust/extracted",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "mime.types",
    "magic",
    "inputrc",
    "terminfo",
    "shells",
    "perl",
    "python3",
    "python3.11",
    "python3.12",
    "python3.13",
    "fonts",
    "java",
];

/// Everything that may be read, but for the script's own folders.
pub(in crate::script) fn readable(toolchain: &[PathBuf]) -> Vec<PathBuf> {
    let system = SYSTEM.iter().map(PathBuf::from);
    let settings = SETTINGS.iter().map(|name| Path::new("/etc").join(name));
    system.chain(settings).chain(toolchain.iter().cloned()).collect()
}

/// Where a runner's own libraries lie: the folder around its `bin`, as it was found and where its links lead. A folder
/// with credentials in it, such as `~/.cargo`, is not opened as a whole: then only the one the program lies in is. All
/// is decided by where folders really lie, as a name may lead anywhere.
pub(in crate::script) fn toolchain(program: &Path, ground: &Ground) -> Vec<PathBuf> {
    let mut opened: Vec<PathBuf> = Vec::new();
    let Ok(real) = program.canonicalize() else { return opened };
    let folders = [program.parent(), real.parent()].into_iter().flatten();
    for folder in folders.filter_map(|folder| folder.canonicalize().ok()) {
        let programs = ["bin", "sbin", "shims"].iter().any(|name| folder.ends_with(name));
        let around = folder.parent().filter(|_| programs).unwrap_or(&folder);
        let sound = |place: &Path| {
            let secret =
                is_secret(place, Path::new("/nowhere")) || held_secrets(place).next().is_some();
            // What a user's own programs keep for themselves lies in `~/.local` too.
            !secret && !place.ends_with(".local") && !ground.is_too_much(place)
        };
        let place = [around, &folder, &real].into_iter().find(|place| sound(place));
        opened.extend(place.map(Path::to_path_buf));
    }
    opened.dedup();
    opened.retain(|folder| !SYSTEM.iter().any(|system| folder.starts_with(system)));
    opened
}

#[cfg(test)]
mod tests {
    use skills_testkit::Home;

    use super::*;
    use crate::config::Environment;

    #[test]
    fn a_toolchain_in_the_home_folder_is_opened_and_the_home_folder_is_not() {
        let home = Home::new();
        let ground = Ground::new(&Environment {
            home: Some(home.path().to_path_buf()),
            directory: "/".into(),
            ..Environment::default()
        });
        home.write(".nvm/versions/node/v22/bin/node", "");
        home.write(".cargo/bin/tool", "");
        home.write(".cargo/credentials.toml", "");
        home.write(".local/bin/mine", "");
        home.write("bin/mine", "");
        home.write("alone", "");
        let opened = |program: &str| -> Vec<String> {
            let real = home.path().canonicalize().unwrap();
            let below = |folder: PathBuf| folder.strip_prefix(&real).unwrap().display().to_string();
            toolchain(&real.join(program), &ground).into_iter().map(below).collect()
        };
        assert_eq!(opened(".nvm/versions/node/v22/bin/node"), [".nvm/versions/node/v22"]);
        assert_eq!(opened(".cargo/bin/tool"), [".cargo/bin"]);
        assert_eq!(opened(".local/bin/mine"), [".local/bin"]);
        assert_eq!(opened("bin/mine"), ["bin"]);
        assert_eq!(opened("alone"), ["alone"]);
        for system in ["/usr/bin/env", "/bin/sh", "/var/../bin/sh", "/etc/../usr/bin/../bin/env"] {
            assert_eq!(toolchain(Path::new(system), &ground), Vec::<PathBuf>::new(), "{system}");
        }
        // However a way winds, it is where it leads that counts: never the home folder, never what holds it.
        let real = home.path().canonicalize().unwrap();
        let winding = real.join("work/../bin/mine");
        home.write("work/x", "");
        std::os::unix::fs::symlink(&real, real.join("work/bin")).unwrap();
        assert_eq!(toolchain(&winding, &ground), [real.join("bin")]);
        assert_eq!(toolchain(&real.join("work/bin/alone"), &ground), [real.join("alone")]);
    }

    #[test]
    fn nothing_that_may_be_read_holds_secrets_by_its_name() {
        for place in readable(&[]) {
            assert!(!is_secret(&place, Path::new("/nowhere")), "{}", place.display());
        }
    }
}
