//! `serve --http`: MCP over HTTP, for many clients.

#![expect(clippy::disallowed_methods, reason = "this command listens on a port")]

use std::{
    io::Write as _,
    net::{SocketAddr, ToSocketAddrs as _},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use skills_http::{
    bearer::NamedTokens,
    issuer::{Issuer, IssuerSettings},
    webhook::WebhookSecret,
};
use tokio::net::TcpListener;

use super::{Context, Failure, Output, serve};
use crate::{
    config::{FileStamp, file_stamp, read_secret, secret},
    surface::{Dispatcher, RemoteClients, ServerProfile},
    transport::{self, Gate, GateSettings, Handler, MCP_PATH, serve_http},
    usage::Recording,
};

/// How soon a change of the token file counts.
const TOKEN_FILE_INTERVAL: Duration = Duration::from_secs(1);
/// Events may take so long to be written and sent at the end.
const EVENTS_TIMEOUT: Duration = Duration::from_secs(2);
/// Each connection is a file; systems allow a process few by default and many where it asks.
const WANTED_OPEN_FILES: u64 = 16_384;
/// Requests of one client in a second.
const DEFAULT_RATE_LIMIT: u32 = 500;

/// How to serve over HTTP.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Over HTTP")]
pub(super) struct HttpOptions {
    /// Serve MCP over HTTP here, at /mcp, for many clients; port 0 picks a free port and prints it
    #[arg(long, value_name = "ADDRESS:PORT")]
    http: Option<String>,
    /// Another host name of this server, such as that of a proxy; may be given several times
    #[arg(long = "host", value_name = "NAME", requires = "http")]
    hosts: Vec<String>,
    /// Let in the clients with a token of this file: lines of `NAME = TOKEN [LIMIT …]`, read again
    /// when it changes [env: `SKILLS_HTTP_TOKENS`]
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,
    /// Let in the clients with a token (JWT) of this OpenID or OAuth issuer
    #[arg(long, value_name = "URL", requires = "http")]
    issuer: Option<String>,
    /// What the issuer's tokens must be for: the address of this server as clients know it, such as
    /// `https://skills.example.org/mcp`
    #[arg(long, value_name = "URL", requires = "issuer")]
    audience: Option<String>,
    /// The scope that the issuer's tokens must have
    #[arg(long, value_name = "SCOPE", requires = "issuer")]
    scope: Option<String>,
    /// The claim of the issuer's tokens that names the skills and folders that their clients may
    /// see; a token without it is refused
    #[arg(long, value_name = "CLAIM", requires = "issuer")]
    limits_claim: Option<String>,
    /// Requests that one client may send in a second; 0 for no limit
    #[arg(long, value_name = "NUMBER", default_value_t = DEFAULT_RATE_LIMIT, requires = "http")]
    rate_limit: u32,
    /// Let clients run scripts, in private folders on this machine
    #[arg(long, requires = "http")]
    allow_scripts: bool,
    /// Let in every client that reaches an address other than loopback, without any token
    #[arg(long, requires = "http")]
    insecure: bool,
    /// Sync when a git host reports a push to /hooks/refresh, signed with the secret in this file
    /// [env: `SKILLS_WEBHOOK_SECRET`]
    #[arg(long, value_name = "FILE", requires = "http")]
    webhook_secret_file: Option<PathBuf>,
}

impl HttpOptions {
    /// Whether the server is to listen on a port.
    pub(super) fn is_chosen(&self) -> bool {
        self.http.is_some()
    }
}

pub(super) fn run(context: &Context, options: &HttpOptions) -> Result<ExitCode, Failure> {
    let listen = listen_address(options.http.as_deref().unwrap_or_default())?;
    // Before the first reading: what changes after it, while the server starts, is found by the next look.
    let read_as = options.token_file.as_deref().map(file_stamp);
    let tokens = tokens(options.token_file.as_deref())?;
    let webhook = webhook_secret(options)?;
    let asks = options.token_file.is_some() || !tokens.is_empty() || options.issuer.is_some();
    if !asks && !options.insecure && !listen.ip().to_canonical().is_loopback() {
        return Err(Failure::usage(
            format!(
                "--http {listen}: other machines reach this address, and no token is asked for"
            ),
            "use --token-file FILE or --issuer URL, listen on 127.0.0.1, or say --insecure",
        ));
    }
    let store = Arc::new(context.serving_store()?);
    let remote = RemoteClients { may_run_scripts: options.allow_scripts };
    let profile = ServerProfile { remote: Some(remote), ..context.profile()? };
    serve::prepare(&store, &profile);
    allow_many_files();
    let recording = Recording::start(&context.environment, &store);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        // Before anything is answered: a parent may end us as soon as it hears of us.
        let stop = transport::logged_signal();
        let listener = bind(listen).await?;
        let address = listener.local_addr()?;
        let issuer = issuer(options, address).await?;
        let settings = GateSettings {
            listen: address,
            hosts: options.hosts.clone(),
            tokens,
            issuer,
            asks,
            rate_limit: options.rate_limit,
        };
        let gate = Arc::new(Gate::new(settings));
        if let (Some(file), Some(known)) = (&options.token_file, read_as) {
            tokio::spawn(follow_tokens(file.clone(), known, Arc::clone(&gate)));
        }
        serve::spawn_tasks(&store, &recording);
        let runs = crate::script::Runs::new(&context.environment);
        let (sink, telemetry) = (recording.sink(), recording.telemetry());
        let dispatcher = Dispatcher::new(Arc::clone(&store), profile, runs, sink, telemetry);
        announce(address, asks);
        serve_http(Handler::new(dispatcher), listener, gate, webhook, stop).await;
        Ok(ExitCode::SUCCESS)
    });
    store.stop_syncing();
    recording.close(|| Instant::now() + EVENTS_TIMEOUT);
    tracing::info!(late = store.late(), "stopped");
    runtime.shutdown_background();
    result
}

fn listen_address(text: &str) -> Result<SocketAddr, Failure> {
    let found = text.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    found.ok_or_else(|| {
        Failure::usage(
            format!("--http is `{text}`"),
            "use an address and a port, such as 127.0.0.1:8080 or [::1]:0",
        )
    })
}

async fn bind(listen: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(listen).await.map_err(|error| {
        Failure::environment(format!("{listen}: {error}"))
            .with_hint("name another with --http ADDRESS:PORT; port 0 picks a free port")
    })
}

/// The one line of output: the parent process reads which port it is.
fn announce(address: SocketAddr, asks: bool) {
    Output::new().line(format!("listening on http://{address}"));
    let _ = std::io::stdout().flush();
    let loopback = address.ip().to_canonical().is_loopback();
    let who = if asks { "clients with a token" } else { "every client that reaches it" };
    tracing::info!("MCP is at http://{address}{MCP_PATH}, for {who}");
    if !loopback {
        tracing::warn!("{address} speaks plain HTTP: put a proxy that speaks TLS in front of it");
    }
}

/// The tokens of the environment and of the file.
fn tokens(file: Option<&Path>) -> Result<NamedTokens, Failure> {
    let hint = "write lines of NAME = TOKEN, and behind the token what it is limited to";
    let named = NamedTokens::parse(&secret("SKILLS_HTTP_TOKENS").unwrap_or_default());
    let mut tokens =
        named.map_err(|error| Failure::usage(format!("SKILLS_HTTP_TOKENS: {error}"), hint))?;
    let Some(file) = file else { return Ok(tokens) };
    let shown = file.display();
    let text = read_secret(file).map_err(|error| {
        let hint = "name a file that you own and that only you may read";
        Failure::usage(format!("--token-file {shown}: {error}"), hint)
    })?;
    let of_file = NamedTokens::parse(&text)
        .map_err(|error| Failure::usage(format!("--token-file {shown}: {error}"), hint))?;
    if of_file.is_empty() {
        tracing::warn!("--token-file {shown} has no token, so no client is let in by it");
    }
    tokens.extend(of_file);
    Ok(tokens)
}

/// Reads the tokens again when their file is not as it was when they were read. A file that cannot be read changes nothing.
async fn follow_tokens(file: PathBuf, mut known: Option<FileStamp>, gate: Arc<Gate>) {
    loop {
        tokio::time::sleep(TOKEN_FILE_INTERVAL).await;
        let now = file_stamp(&file);
        if now == known {
            continue;
        }
        known = now;
        match tokens(Some(&file)) {
            Ok(tokens) => {
                tracing::info!(tokens = tokens.len(), "the token file was read again");
                gate.replace_tokens(tokens);
            }
            Err(failure) => {
                tracing::warn!("the tokens stay as they were: {}", failure.message());
            }
        }
    }
}

async fn issuer(options: &HttpOptions, address: SocketAddr) -> Result<Option<Issuer>, Failure> {
    let Some(url) = &options.issuer else { return Ok(None) };
    let own = format!("http://{address}{MCP_PATH}");
    let audience = match &options.audience {
        Some(audience) => audience.clone(),
        None if address.ip().to_canonical().is_loopback() => own,
        None => {
            return Err(Failure::usage(
                "--issuer is set, and not what its tokens must be for",
                "add --audience with the address of this server as clients know it, such as https://skills.example.org/mcp",
            ));
        }
    };
    let settings = IssuerSettings {
        url: url.clone(),
        audience,
        scope: options.scope.clone(),
        limits_claim: options.limits_claim.clone(),
    };
    let issuer = Issuer::new(settings)
        .map_err(|error| Failure::usage(format!("--issuer: {error}"), "name an https URL"))?;
    if issuer.prepare().await.is_err() {
        tracing::warn!("the issuer's keys are fetched when the first of its tokens comes");
    }
    Ok(Some(issuer))
}

fn webhook_secret(options: &HttpOptions) -> Result<Option<WebhookSecret>, Failure> {
    let (text, origin) = match &options.webhook_secret_file {
        None => (secret("SKILLS_WEBHOOK_SECRET"), "SKILLS_WEBHOOK_SECRET".to_owned()),
        Some(file) => {
            let origin = format!("--webhook-secret-file {}", file.display());
            let text = read_secret(file).map_err(|error| {
                let hint = "name a file that you own and that only you may read";
                Failure::usage(format!("{origin}: {error}"), hint)
            })?;
            (Some(text), origin)
        }
    };
    let Some(text) = text else { return Ok(None) };
    WebhookSecret::new(text.trim()).map(Some).ok_or_else(|| {
        let hint = "use a long random one, such as the output of `openssl rand -hex 32`";
        Failure::usage(format!("{origin}: the secret has fewer than 16 characters"), hint)
    })
}

/// Raises the limit of open files as far as this process may.
fn allow_many_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let wanted = maximum.map_or(WANTED_OPEN_FILES, |most| most.min(WANTED_OPEN_FILES));
        if current.is_some_and(|current| current < wanted) {
            let raised = Rlimit { current: Some(wanted), maximum };
            if let Err(error) = setrlimit(Resource::Nofile, raised) {
                tracing::warn!("the limit of open files stays as it is: {error}");
            }
        }
    }
}
