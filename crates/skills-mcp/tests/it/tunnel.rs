//! A proxy on this machine that stands for the host of an https endpoint: it takes the connection that is meant for it,
//! speaks TLS with a certificate made for the test, and hands each request on to an [`Endpoint`].

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
    thread,
};

use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use skills_testkit::{Endpoint, Home};

use crate::support::run;

/// The host it stands for.
pub(crate) const HOST: &str = "events.example.org";

pub(crate) struct Tunnel {
    address: SocketAddr,
    authority: PathBuf,
    asked: Arc<Mutex<Vec<String>>>,
    pub(crate) endpoint: Arc<Endpoint>,
}

impl Tunnel {
    pub(crate) fn start(home: &Home) -> Self {
        let folder = home.path().join("tls");
        let config = Arc::new(certified(&folder));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let tunnel = Self {
            address: listener.local_addr().unwrap(),
            authority: folder.join("ca.pem"),
            asked: Arc::default(),
            endpoint: Arc::new(Endpoint::start()),
        };
        let (asked, endpoint) = (Arc::clone(&tunnel.asked), Arc::clone(&tunnel.endpoint));
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (config, asked) = (Arc::clone(&config), Arc::clone(&asked));
                let endpoint = Arc::clone(&endpoint);
                // A client that leaves early fails no test.
                thread::spawn(move || drop(carry(connection, config, &asked, &endpoint)));
            }
        });
        tunnel
    }

    /// The same command, with its way out through here.
    pub(crate) fn before(&self, mut command: Command) -> Command {
        command.env("HTTPS_PROXY", format!("http://{}", self.address));
        command.env("SSL_CERT_FILE", &self.authority);
        command
    }

    /// The hosts that a connection was asked for to, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// A certificate for the host, and an authority for it in `ca.pem`.
fn certified(folder: &Path) -> ServerConfig {
    fs::create_dir_all(folder).unwrap();
    let script = format!(
        "exec 2>&1; key='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
        openssl req -x509 $key -keyout ca.key -out ca.pem -subj /CN=test -days 30
        openssl req $key -keyout own.key -out own.csr -subj /CN={HOST}
        printf 'subjectAltName=DNS:{HOST}\\nbasicConstraints=CA:FALSE\\n' > own.ext
        openssl x509 -req -in own.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 20 -extfile own.ext -out own.pem"
    );
    let (code, out, _) = run(Command::new("sh").args(["-ec", &script]).current_dir(folder));
    assert_eq!(code, 0, "{out}");
    let certificate = CertificateDer::from_pem_file(folder.join("own.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join("own.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    builder.unwrap().with_no_client_auth().with_single_cert(vec![certificate], key).unwrap()
}

fn carry(
    mut connection: TcpStream,
    config: Arc<ServerConfig>,
    asked: &Mutex<Vec<String>>,
    endpoint: &Endpoint,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(connection.try_clone()?).lines();
    let first = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    let host = first.split_whitespace().nth(1).unwrap_or_default().to_owned();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    asked.lock().unwrap().push(host.clone());
    if host != format!("{HOST}:443") {
        return write!(connection, "HTTP/1.1 502 Bad Gateway\r\n\r\n");
    }
    write!(connection, "HTTP/1.1 200 OK\r\n\r\n")?;
    let tls = ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut secured = BufReader::new(StreamOwned::new(tls, connection));
    loop {
        let mut request = Vec::new();
        let mut length = 0;
        loop {
            let start = request.len();
            if secured.read_until(b'\n', &mut request)? == 0 {
                return Ok(());
            }
            let line = String::from_utf8_lossy(request.get(start..).unwrap()).to_lowercase();
            if let Some(text) = line.strip_prefix("content-length:") {
                length = text.trim().parse().unwrap_or(0);
            }
            if line.trim().is_empty() {
                break;
            }
        }
        (&mut secured).take(length).read_to_end(&mut request)?;
        let place =
            endpoint.url().trim_start_matches("http://").split('/').next().map(str::to_owned);
        let mut inner = TcpStream::connect(place.unwrap_or_default())?;
        inner.write_all(&request)?;
        let mut answer = Vec::new();
        inner.shutdown(std::net::Shutdown::Write)?;
        inner.read_to_end(&mut answer)?;
        secured.get_mut().write_all(&answer)?;
        secured.get_mut().flush()?;
    }
}
