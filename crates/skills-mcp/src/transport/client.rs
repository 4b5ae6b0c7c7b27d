//! A client of our own server, through the SDK: for `demo`, which shows what an agent sees, and for `doctor`,
//! which tries the protocol.

#![expect(
    clippy::disallowed_methods,
    reason = "the only process started here is this very program"
)]

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use rmcp::{
    RoleClient,
    model::{CallToolRequestParams, ProtocolVersion},
    service::{ClientLifecycleMode, RunningService, serve_client_with_lifecycle},
};
use serde_json::{Map, Value};
use thiserror::Error;
use tokio::process::{Child, Command};

/// A server that has not answered by then has failed.
const SERVER_TIMEOUT: Duration = Duration::from_secs(20);

/// Which kind of client to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// `initialize` first, as clients up to 2025-11-25 do.
    Handshake,
    /// Metadata on every request, as of 2026-07-28.
    Stateless,
}

/// A child server and the connection to it. Dropping it ends the server.
#[derive(Debug)]
pub struct Client {
    service: RunningService<RoleClient, ()>,
    child: Child,
}

/// What a round trip came to.
#[derive(Debug)]
pub struct Tried {
    /// The revision both agreed on.
    pub version: String,
    /// The tools it lists.
    pub tools: Vec<String>,
    /// From the start of the process to the list.
    pub took: Duration,
}

/// Why a server could not be talked to.
#[derive(Debug, Error)]
pub enum ClientError {
    /// It did not start.
    #[error("{} does not start: {error}", program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It did not answer in time.
    #[error("the server did not answer within {} s", SERVER_TIMEOUT.as_secs())]
    Slow,
    /// It answered something else.
    #[error("{0}")]
    Protocol(String),
}

impl Client {
    /// Starts this program as a server with these arguments, and shakes hands. Its log is dropped.
    pub async fn start(
        program: &Path,
        arguments: &[String],
        era: Era,
    ) -> Result<Self, ClientError> {
        let mut command = Command::new(program);
        command.args(arguments);
        Self::connect(program, command, era).await
    }

    /// The same with nothing of the operator's environment, so that nothing but the arguments decides.
    pub async fn start_alone(
        program: &Path,
        arguments: &[String],
        era: Era,
    ) -> Result<Self, ClientError> {
        let mut command = Command::new(program);
        command.args(arguments).env_clear();
        Self::connect(program, command, era).await
    }

    async fn connect(program: &Path, mut command: Command, era: Era) -> Result<Self, ClientError> {
        let spawned = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        let mut child =
            spawned.map_err(|error| ClientError::Spawn { program: program.to_owned(), error })?;
        let (Some(output), Some(input)) = (child.stdout.take(), child.stdin.take()) else {
            return Err(ClientError::Protocol("the server has no pipes".to_owned()));
        };
        let lifecycle = match era {
            Era::Handshake => ClientLifecycleMode::Initialize,
            Era::Stateless => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
        };
        let service = in_time(serve_client_with_lifecycle((), (output, input), lifecycle)).await?;
        Ok(Self { service, child })
    }

    /// Starts a server, asks it for its tools, and stops it.
    pub async fn try_out(
        program: &Path,
        arguments: &[String],
        era: Era,
    ) -> Result<Tried, ClientError> {
        let started = Instant::now();
        let client = Self::start(program, arguments, era).await?;
        let tools = in_time(client.service.list_all_tools()).await?;
        let took = started.elapsed();
        let version = match era {
            Era::Stateless => ProtocolVersion::V_2026_07_28.to_string(),
            Era::Handshake => client
                .service
                .peer_info()
                .map(|info| info.protocol_version.to_string())
                .unwrap_or_default(),
        };
        client.stop().await;
        Ok(Tried {
            version,
            tools: tools.into_iter().map(|tool| tool.name.into_owned()).collect(),
            took,
        })
    }

    /// Calls a tool: whether it says it failed, and its text.
    pub async fn call(
        &self,
        tool: &'static str,
        arguments: Map<String, Value>,
    ) -> Result<(bool, String), ClientError> {
        let request = CallToolRequestParams::new(tool).with_arguments(arguments);
        let result = in_time(self.service.call_tool(request)).await?;
        let text =
            result.content.first().and_then(|block| block.as_text()).map(|text| text.text.clone());
        Ok((result.is_error.unwrap_or(false), text.unwrap_or_default()))
    }

    /// Closes the connection and waits for the server to leave.
    pub async fn stop(mut self) {
        let _ = self.service.cancel().await;
        let _ = tokio::time::timeout(Duration::from_secs(2), self.child.wait()).await;
    }
}

async fn in_time<T, E: std::fmt::Display>(
    answer: impl Future<Output = Result<T, E>>,
) -> Result<T, ClientError> {
    match tokio::time::timeout(SERVER_TIMEOUT, answer).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(ClientError::Protocol(error.to_string())),
        Err(_) => Err(ClientError::Slow),
    }
}
