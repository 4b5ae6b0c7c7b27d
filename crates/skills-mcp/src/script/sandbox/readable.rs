//! What a script may read: the system's programs and libraries and its runner's own, and nothing of a home folder.
//!
//! It is a list of what is allowed, because the kernel knows no exceptions below that. So `/usr` is not opened as a whole
//! (`/usr/local/etc` and `/usr/src` may hold credentials and projects), and files of `/etc` are named one by one. A path
//! that does not exist is harmless.

use std::path::{Path, PathBuf};

use crate::{
    paths::real_path,
    programs::{SYSTEM_PROGRAMS, is_in_system_programs},
    script::host::ScriptHost,
    source::{held_secrets, is_secret},
};

/// Where settings of the system are; some distributions keep those that the operator did not change below `/usr`.
const SETTINGS_FOLDERS: &[&str] = &["/etc", "/usr/etc"];

/// Files in them that programs need: loading, names, time, language, certificates, addresses.
const SYSTEM_SETTINGS: &[&str] = &[
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

/// What programs of Homebrew need of its own settings: certificates.
const HOMEBREW_SETTINGS: &[&str] =
    &["/home/linuxbrew/.linuxbrew/etc/ca-certificates", "/home/linuxbrew/.linuxbrew/etc/openssl@3"];

/// Everything that may be read besides the script's own folders.
pub(in crate::script) fn readable(toolchain: &[PathBuf]) -> Vec<PathBuf> {
    let system = SYSTEM_PROGRAMS.iter().map(PathBuf::from);
    let settings = SETTINGS_FOLDERS
        .iter()
        .flat_map(|folder| SYSTEM_SETTINGS.iter().map(|name| Path::new(folder).join(name)));
    let homebrew = HOMEBREW_SETTINGS.iter().map(PathBuf::from);
    system.chain(settings).chain(homebrew).chain(toolchain.iter().cloned()).collect()
}

/// The folders of a runner's own libraries: the one around its `bin`, both of the path and of its target. Where that folder
/// holds credentials, as `~/.cargo` does, only the `bin` is opened, or only the program. Real paths decide, because a path may
/// lead anywhere.
pub(in crate::script) fn toolchain(program: &Path, host: &ScriptHost) -> Vec<PathBuf> {
    let mut opened: Vec<PathBuf> = Vec::new();
    let Some(real) = real_path(program) else { return opened };
    let folders = [program.parent(), real.parent()].into_iter().flatten();
    // Their libraries are the system's too, and settings may be beside those.
    let is_own = |folder: &PathBuf| !is_in_system_programs(folder);
    for folder in folders.filter_map(real_path).filter(is_own) {
        let programs = ["bin", "sbin", "shims"].iter().any(|name| folder.ends_with(name));
        let around = folder.parent().filter(|_| programs).unwrap_or(&folder);
        let is_safe = |path: &Path| {
            let secret =
                is_secret(path, Path::new("/nowhere")) || held_secrets(path).next().is_some();
            // Programs of the user keep their data in `~/.local` too.
            !secret && !path.ends_with(".local") && !host.is_too_broad(path)
        };
        let path = [around, &folder, &real].into_iter().find(|path| is_safe(path));
        opened.extend(path.map(Path::to_path_buf));
    }
    opened.dedup();
    opened.retain(|folder| !is_in_system_programs(folder));
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
        let host = ScriptHost::new(&Environment {
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
            toolchain(&real.join(program), &host).into_iter().map(below).collect()
        };
        assert_eq!(opened(".nvm/versions/node/v22/bin/node"), [".nvm/versions/node/v22"]);
        assert_eq!(opened(".cargo/bin/tool"), [".cargo/bin"]);
        assert_eq!(opened(".local/bin/mine"), [".local/bin"]);
        assert_eq!(opened("bin/mine"), ["bin"]);
        assert_eq!(opened("alone"), ["alone"]);
        for system in ["/usr/bin/env", "/bin/sh", "/var/../bin/sh", "/etc/../usr/bin/../bin/env"] {
            assert_eq!(toolchain(Path::new(system), &host), Vec::<PathBuf>::new(), "{system}");
        }
        // The real path counts: never the home folder, never a folder that holds it.
        let real = home.path().canonicalize().unwrap();
        let winding = real.join("work/../bin/mine");
        home.write("work/x", "");
        std::os::unix::fs::symlink(&real, real.join("work/bin")).unwrap();
        assert_eq!(toolchain(&winding, &host), [real.join("bin")]);
        assert_eq!(toolchain(&real.join("work/bin/alone"), &host), [real.join("alone")]);
    }

    #[test]
    fn nothing_that_may_be_read_holds_secrets_by_its_name() {
        for place in readable(&[]) {
            assert!(!is_secret(&place, Path::new("/nowhere")), "{}", place.display());
        }
    }

    #[test]
    fn of_the_system_its_programs_are_read_and_not_its_settings_or_what_people_keep_there() {
        let may_read =
            |file: &str| readable(&[]).iter().any(|place| Path::new(file).starts_with(place));
        for file in [
            "/usr/local/etc/npmrc",
            "/usr/local/cargo/credentials.toml",
            "/usr/local/src/x",
            "/home/linuxbrew/.linuxbrew/etc/npmrc",
            "/home/linuxbrew/.linuxbrew/var/postgres/x",
            "/usr/etc/npmrc",
            "/usr/src/app/.env",
            "/etc/npmrc",
        ] {
            assert!(!may_read(file), "{file}");
        }
        for file in [
            "/usr/bin/python3",
            "/usr/lib/python3/dist-packages",
            "/usr/lib/x86_64-linux-gnu/libc.so.6",
            "/usr/libexec/git-core/git",
            "/usr/share/nodejs",
            "/usr/local/bin/node",
            "/usr/local/lib/node_modules",
            "/usr/local/lib/python3.13",
            "/usr/local/go/bin/go",
            "/usr/etc/nsswitch.conf",
            "/home/linuxbrew/.linuxbrew/Cellar/node/22/bin/node",
        ] {
            assert!(may_read(file), "{file}");
        }
    }
}
