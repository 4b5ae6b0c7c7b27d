//! A real git repository, and a small local server that offers it over smart HTTP, as well or as badly as a test wants:
//! with a token, with a redirect, or not at all.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use crate::{Home, fixture};

/// A repository, and its working tree.
#[derive(Debug)]
pub struct Remote {
    above: PathBuf,
    work: PathBuf,
    name: String,
}

#[expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test that cannot make its repository has failed"
)]
impl Remote {
    /// A repository without a commit, in the `remotes/` folder of this home.
    pub fn empty(home: &Home, name: &str) -> Self {
        let above = home.path().join("remotes");
        let remote =
            Self { work: above.join(format!("{name}-work")), above, name: name.to_owned() };
        fs::create_dir_all(&remote.work).expect("its folder");
        remote.git(&["init", "-q", "-b", "main", "--separate-git-dir", &format!("../{name}.git")]);
        for (key, value) in [
            ("uploadpack.allowFilter", "true"),
            ("uploadpack.allowAnySHA1InWant", "true"),
            ("gc.auto", "0"),
        ] {
            remote.git(&["config", key, value]);
        }
        remote
    }

    /// A repository with one commit of these files.
    pub fn with(home: &Home, name: &str, fixture: &str) -> Self {
        let remote = Self::empty(home, name);
        remote.commit(fixture);
        remote
    }

    /// Writes these files and commits everything: the new commit.
    pub fn commit(&self, fixture: &str) -> String {
        for (path, text) in fixture::files(fixture) {
            self.write(&path, text);
        }
        self.commit_all()
    }

    /// Writes a file of the next commit.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let file = self.work.join(path);
        fs::create_dir_all(file.parent().expect("a file has a folder")).expect("its folder");
        fs::write(file, text).expect("the file");
    }

    /// Commits the folder as it is: the new commit.
    pub fn commit_all(&self) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "a change"]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Runs git in the folder: what it prints.
    pub fn git(&self, arguments: &[&str]) -> String {
        self.git_reading(arguments, b"")
    }

    /// The same, with standard input.
    pub fn git_reading(&self, arguments: &[&str], input: &[u8]) -> String {
        let mut command = plain_git();
        command.current_dir(&self.work).args(arguments);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("git starts");
        child.stdin.take().expect("stdin is piped").write_all(input).expect("git reads");
        let output = child.wait_with_output().expect("git ends");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {complaint}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// The folder that is worked in.
    pub fn work(&self) -> &Path {
        &self.work
    }

    /// The repository itself.
    pub fn path(&self) -> PathBuf {
        self.above.join(format!("{}.git", self.name))
    }

    /// Its address as a folder.
    pub fn url(&self) -> String {
        format!("file://{}", self.path().display())
    }

    /// Starts a server that offers it over HTTP.
    pub fn serve(&self) -> GitServer {
        GitServer::start(self.above.clone(), format!("{}.git", self.name))
    }
}

#[expect(clippy::disallowed_methods, reason = "the repository is made by git")]
fn plain_git() -> Command {
    let mut command = Command::new("git");
    command.env_clear().env("PATH", "/usr/bin:/bin").env("GIT_CONFIG_NOSYSTEM", "1");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("HOME", "/nowhere");
    for who in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{who}_NAME"), "Ada")
            .env(format!("GIT_{who}_EMAIL"), "ada@example.org");
    }
    command
}

/// How a server behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitServerBehaviour {
    /// It serves every client.
    Open,
    /// It serves clients with this password, whatever their user name.
    Password(String),
    /// It answers with this status and nothing else.
    Status(u16),
    /// It redirects to this server.
    Redirect(String),
    /// It reads a request and does not answer.
    Stall,
    /// It sends the list of branches, then the files byte by byte, with pauses.
    Drip,
    /// It takes so many milliseconds for each answer.
    Slow(u64),
}

/// One received request.
#[derive(Debug, Clone)]
pub struct GitRequest {
    /// `GET` or `POST`.
    pub method: String,
    /// The path with the query.
    pub path: String,
    /// The `Authorization` header, not decoded.
    pub authorization: Option<String>,
}

/// A server of repositories on this machine. Dropping it ends it.
#[derive(Debug)]
pub struct GitServer {
    address: SocketAddr,
    name: String,
    shared: Arc<GitServerState>,
}

#[derive(Debug)]
struct GitServerState {
    root: PathBuf,
    behaviour: Mutex<GitServerBehaviour>,
    requests: Mutex<Vec<GitRequest>>,
    ended: AtomicBool,
}

#[expect(clippy::expect_used, reason = "a test that cannot start its server has failed")]
impl GitServer {
    fn start(root: PathBuf, name: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its number");
        let shared = Arc::new(GitServerState {
            root,
            behaviour: Mutex::new(GitServerBehaviour::Open),
            requests: Mutex::default(),
            ended: AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                if serving.ended.load(Ordering::SeqCst) {
                    return;
                }
                let serving = Arc::clone(&serving);
                // A client may close the connection early.
                thread::spawn(move || drop(serving.answer(&connection)));
            }
        });
        Self { address, name, shared }
    }

    /// The repository's address.
    pub fn url(&self) -> String {
        format!("http://{}/{}", self.address, self.name)
    }

    /// The server's own address.
    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sets its behaviour from now on.
    pub fn behave(&self, behaviour: GitServerBehaviour) {
        *self.shared.behaviour.lock().unwrap_or_else(PoisonError::into_inner) = behaviour;
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<GitRequest> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many fetches were started.
    pub fn fetches(&self) -> usize {
        let list =
            |request: &&GitRequest| request.method == "GET" && request.authorization.is_none();
        self.requests().iter().filter(list).count()
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

impl GitServerState {
    fn answer(&self, connection: &TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(connection.try_clone()?);
        let mut out = connection.try_clone()?;
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut words = line.split_whitespace().map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        let header = |name: &str| {
            headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone())
        };
        let length =
            header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0_u64);
        let mut body = Vec::new();
        reader.take(length).read_to_end(&mut body)?;
        let authorization = header("authorization");
        let request = GitRequest {
            method: method.clone(),
            path: path.clone(),
            authorization: authorization.clone(),
        };
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        let behaviour = self.behaviour.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let nothing = |out: &mut TcpStream, head: &str| {
            write!(out, "HTTP/1.1 {head}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        };
        match &behaviour {
            GitServerBehaviour::Stall => {
                self.wait_until_ended();
                Ok(())
            }
            GitServerBehaviour::Status(status) => nothing(&mut out, &format!("{status} No")),
            GitServerBehaviour::Redirect(to) => {
                nothing(&mut out, &format!("302 Found\r\nLocation: {to}{path}"))
            }
            GitServerBehaviour::Password(password) if authorization != Some(basic(password)) => {
                nothing(&mut out, "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"git\"")
            }
            GitServerBehaviour::Drip if method == "POST" => {
                write!(
                    out,
                    "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-result\r\nConnection: close\r\n\r\n"
                )?;
                self.drip(&mut out)
            }
            GitServerBehaviour::Slow(millis) => {
                thread::sleep(Duration::from_millis(*millis));
                self.serve(&mut out, &method, &path, &headers, &body)
            }
            GitServerBehaviour::Open
            | GitServerBehaviour::Password(_)
            | GitServerBehaviour::Drip => self.serve(&mut out, &method, &path, &headers, &body),
        }
    }

    fn wait_until_ended(&self) {
        while !self.ended.load(Ordering::SeqCst) {
            let stalls = *self.behaviour.lock().unwrap_or_else(PoisonError::into_inner)
                == GitServerBehaviour::Stall;
            if !stalls {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn drip(&self, out: &mut TcpStream) -> std::io::Result<()> {
        while !self.ended.load(Ordering::SeqCst) {
            out.write_all(b"0")?;
            out.flush()?;
            thread::sleep(Duration::from_secs(1));
        }
        Ok(())
    }

    /// Answers by `git http-backend`.
    fn serve(
        &self,
        out: &mut TcpStream,
        method: &str,
        path: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> std::io::Result<()> {
        let (place, query) = path.split_once('?').unwrap_or((path, ""));
        let mut command = plain_git();
        command
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", &self.root)
            .env("GIT_HTTP_EXPORT_ALL", "1");
        command.env("REQUEST_METHOD", method).env("PATH_INFO", place).env("QUERY_STRING", query);
        command.env("CONTENT_LENGTH", body.len().to_string()).env("REMOTE_ADDR", "127.0.0.1");
        for (name, variable) in [
            ("content-type", "CONTENT_TYPE"),
            ("content-encoding", "HTTP_CONTENT_ENCODING"),
            ("git-protocol", "HTTP_GIT_PROTOCOL"),
        ] {
            if let Some((_, value)) = headers.iter().find(|(own, _)| own == name) {
                command.env(variable, value);
            }
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(body)?;
        }
        let mut answer = Vec::new();
        if let Some(mut stdout) = child.stdout.take() {
            stdout.read_to_end(&mut answer)?;
        }
        child.wait()?;
        let head = b"\r\n\r\n";
        let end = answer.windows(4).position(|window| window == head).unwrap_or(0);
        let (head, content) = answer.split_at(end);
        let head = String::from_utf8_lossy(head);
        let status =
            head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
        let kept: Vec<&str> = head.lines().filter(|line| !line.starts_with("Status: ")).collect();
        let length = content.len().saturating_sub(4);
        write!(
            out,
            "HTTP/1.1 {status}\r\n{}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n",
            kept.join("\r\n")
        )?;
        out.write_all(content.get(4..).unwrap_or_default())
    }
}

/// The header that carries this password under the name of a token.
fn basic(password: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::from("Basic ");
    for three in format!("x-access-token:{password}").as_bytes().chunks(3) {
        let byte = |at: usize| three.get(at).copied().map_or(0, u32::from);
        let number = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit =
                DIGITS.get((number >> (18 - 6 * place) & 63) as usize).copied().unwrap_or(b'=');
            text.push(if place > three.len() { '=' } else { char::from(digit) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_encoded_as_http_requires() {
        assert_eq!(basic("abc"), "Basic eC1hY2Nlc3MtdG9rZW46YWJj");
        assert_eq!(basic("abcd"), "Basic eC1hY2Nlc3MtdG9rZW46YWJjZA==");
    }
}
