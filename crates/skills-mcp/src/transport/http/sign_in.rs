//! What a client needs to sign in first: where, and for what (RFC 9728).

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::Response,
};
use serde_json::json;
use skills_http::{
    issuer::Issuer,
    serving::{error, json},
};

use super::{MCP_PATH, endpoint::McpEndpoint};

/// Where the metadata of this server are; those of `/mcp` are behind it.
pub(super) const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// The metadata of this server as something that is protected.
pub(super) async fn metadata(State(endpoint): State<Arc<McpEndpoint>>) -> Response {
    let Some(issuer) = endpoint.gate.issuer() else {
        return error(StatusCode::NOT_FOUND, "there is no sign-in here");
    };
    let settings = issuer.settings();
    let mut metadata = json!({
        "resource": settings.audience,
        "authorization_servers": [settings.url],
        "bearer_methods_supported": ["header"],
        "resource_name": "skills-mcp",
    });
    if let (Some(scope), Some(metadata)) = (&settings.scope, metadata.as_object_mut()) {
        metadata.insert("scopes_supported".to_owned(), json!([scope]));
    }
    json(StatusCode::OK, &metadata)
}

/// The header that says how to get in.
pub(super) fn challenge(
    issuer: Option<&Issuer>,
    headers: &HeaderMap,
    code: Option<&str>,
) -> String {
    let mut fields = Vec::new();
    if let Some(issuer) = issuer {
        fields.push(format!("resource_metadata=\"{}\"", metadata_url(issuer, headers)));
        if let Some(scope) = &issuer.settings().scope {
            fields.push(format!("scope=\"{scope}\""));
        }
    }
    fields.extend(code.map(|code| format!("error=\"{code}\"")));
    if fields.is_empty() { "Bearer".to_owned() } else { format!("Bearer {}", fields.join(", ")) }
}

/// The address of the metadata: at the address that tokens are for, else where the client found this server.
fn metadata_url(issuer: &Issuer, headers: &HeaderMap) -> String {
    let audience = issuer.settings().audience.as_str();
    let origin = audience.split_once("://").map(|(scheme, rest)| {
        let host = rest.split('/').next().unwrap_or(rest);
        (format!("{scheme}://{host}"), rest.get(host.len()..).unwrap_or_default().to_owned())
    });
    let (origin, path) = origin.unwrap_or_else(|| {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        (format!("http://{}", host.unwrap_or("localhost")), MCP_PATH.to_owned())
    });
    // Of a path that is not ours the metadata are where all are.
    let path = if path.trim_end_matches('/') == MCP_PATH { MCP_PATH } else { "" };
    format!("{origin}{METADATA_PATH}{path}")
}
