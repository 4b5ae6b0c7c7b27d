//! A PostgreSQL of a test's own: a cluster in a temporary folder, reached by a socket in there, gone with the test. Only where
//! a test needs it, it listens on a port of loopback too.
//!
//! `initdb` refuses root, so root gives the folder to another user first. What was started is stopped by its number, also
//! when a test fails.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use skills_testkit::{Home, TEST_TIMEOUT};

/// Whom root starts it as: `nobody`.
const NOBODY: &str = "65534";

/// A running database server.
pub(crate) struct Cluster {
    /// Where it lies; its own folder in there is `data`.
    pub(crate) folder: Home,
    /// What it is started with.
    pub(crate) settings: &'static [&'static str],
    /// Where it listens on loopback, if it does.
    port: Option<u16>,
    server: Option<Child>,
}

impl Cluster {
    /// Makes and starts one with these settings.
    pub(crate) fn start(settings: &'static [&'static str]) -> Self {
        let mut cluster = Self::made(settings);
        cluster.up();
        cluster
    }

    /// Makes and starts one that listens on loopback too, and says where.
    pub(crate) fn start_on_a_port(settings: &'static [&'static str]) -> (Self, u16) {
        let mut cluster = Self::made(settings);
        cluster.up_on_a_port();
        let port = cluster.port.unwrap();
        (cluster, port)
    }

    fn made(settings: &'static [&'static str]) -> Self {
        let cluster = Self { folder: Home::new(), port: None, server: None, settings };
        if is_root() {
            let owner = format!("{NOBODY}:{NOBODY}");
            let given = Command::new("chown").arg(owner).arg(cluster.folder.path()).status();
            assert!(given.unwrap().success());
        }
        let made = cluster
            .command("initdb")
            .args(["--no-sync", "--no-instructions", "--auth=trust", "--encoding=UTF8"])
            .args(["--locale=C.UTF-8", "--username=skills", "--pgdata"])
            .arg(cluster.data())
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        cluster
    }

    /// Its URL, of the database that is always there.
    pub(crate) fn url(&self) -> String {
        match self.port {
            Some(port) => format!("postgres://skills@127.0.0.1:{port}/postgres"),
            None => format!("postgres://skills@{}/postgres", self.socket().replace('/', "%2F")),
        }
    }

    /// The folder of its socket.
    fn socket(&self) -> String {
        self.folder.path().to_str().unwrap().to_owned()
    }

    /// Starts the server on a port of loopback. Another program may be faster to take one that was free; then there is
    /// another.
    fn up_on_a_port(&mut self) {
        for _ in 0..10 {
            let probe = TcpListener::bind("127.0.0.1:0").unwrap();
            self.port = Some(probe.local_addr().unwrap().port());
            drop(probe);
            match self.try_up() {
                Ok(()) => return,
                Err(log) => assert!(log.contains("Address already in use"), "{log}"),
            }
        }
        panic!("no port is free for long enough");
    }

    /// Starts the server and waits until it lets us in.
    pub(crate) fn up(&mut self) {
        // Nothing is encrypted on a socket of this machine.
        if self.settings.contains(&"ssl=on") {
            return self.up_on_a_port();
        }
        if let Err(log) = self.try_up() {
            panic!("PostgreSQL did not start: {log}");
        }
    }

    fn try_up(&mut self) -> Result<(), String> {
        let (listen, port) = match self.port {
            Some(port) => ("127.0.0.1", port.to_string()),
            None => ("", "5432".to_owned()),
        };
        let log = fs::File::create(self.folder.path().join("log")).unwrap();
        let server = self
            .command("postgres")
            .arg("-D")
            .arg(self.data())
            .args(["-p", &port, "-c", &format!("listen_addresses={listen}")])
            .args(self.settings)
            .args(["-c", &format!("unix_socket_directories={}", self.socket())])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.server = Some(server);
        let started = Instant::now();
        loop {
            let ready = self
                .command("pg_isready")
                .args(["-q", "-h", &self.socket(), "-U", "skills", "-p", &port])
                .status()
                .unwrap();
            if ready.success() {
                return Ok(());
            }
            let ended = self.server.as_mut().unwrap().try_wait().unwrap();
            if ended.is_some() || started.elapsed() > TEST_TIMEOUT {
                let log = fs::read_to_string(self.folder.path().join("log"));
                // One that has ended has no number any more.
                if ended.is_some() {
                    self.server = None;
                }
                self.down();
                return Err(log.unwrap_or_default());
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Stops the server, with clients connected too.
    pub(crate) fn down(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        // Through setpriv it is still the same process; SIGINT is its fast shutdown.
        let _ = Command::new("kill").args(["-INT", &server.id().to_string()]).status();
        let started = Instant::now();
        while server.try_wait().ok().flatten().is_none() {
            if started.elapsed() > TEST_TIMEOUT {
                let _ = server.kill();
                let _ = server.wait();
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A program of PostgreSQL, as a user it accepts.
    pub(crate) fn command(&self, name: &str) -> Command {
        let program = programs().join(name);
        if !is_root() {
            return self.folder.command(program);
        }
        let mut command = self.folder.command("setpriv");
        command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]).arg(program);
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.down();
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Where Debian keeps the programs of the newest version that is installed.
fn programs() -> PathBuf {
    let found = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let mut found: Vec<PathBuf> =
        found.map(|entry| entry.path()).filter(|path| path.join("bin/initdb").exists()).collect();
    found.sort_by_key(|path| version(path));
    found.pop().expect("the Debian package `postgresql` is installed").join("bin")
}
