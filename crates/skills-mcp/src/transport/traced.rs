//! [`Traced`]: a handler whose every request is reported to telemetry, also those that the SDK answers before the handler.

use std::borrow::Cow;

use rmcp::{
    ErrorData, RoleServer, Service,
    model::{ClientNotification, ClientRequest, ProtocolVersion, ServerConfig, ServerResult},
    service::{NotificationContext, RequestContext},
};

use super::{Handler, handler::CORE_METHODS};
use crate::{
    surface::{EXTENSION_METHODS, TOOLS},
    telemetry::{OTHER_LABEL, TracedOutcome, TracedRequest},
};

/// A handler, and telemetry around it.
#[derive(Debug, Clone)]
pub(super) struct Traced(pub(super) Handler);

impl Service<RoleServer> for Traced {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let watch = self.0.dispatcher.telemetry().watch(|| self.asked(&request, &context));
        let answer = watch.over(self.0.handle_request(request, context)).await;
        watch.answered(|| outcome(&answer));
        answer
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.handle_notification(notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        Service::get_info(&self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Service::supported_protocol_versions(&self.0)
    }
}

impl Traced {
    fn asked<'a>(
        &self,
        request: &'a ClientRequest,
        context: &'a RequestContext<RoleServer>,
    ) -> TracedRequest<'a> {
        let spoken = self.supported_protocol_versions();
        let protocol = context.protocol_version().filter(|version| spoken.contains(version));
        TracedRequest {
            method: method(request),
            tool: tool(request),
            resource: resource(request),
            id: context.id.to_string(),
            protocol: protocol.map(|version| version.as_str().to_owned()),
            traceparent: context.meta.get_traceparent(),
            tracestate: context.meta.get_tracestate(),
        }
    }
}

/// What the SDK does not know, or cannot read, has whatever method the client wrote.
fn method(request: &ClientRequest) -> &str {
    let written = request.method();
    let ours = !matches!(request, ClientRequest::CustomRequest(_));
    let known = CORE_METHODS.contains(&written) || EXTENSION_METHODS.contains(&written);
    if ours || known { written } else { OTHER_LABEL }
}

fn tool(request: &ClientRequest) -> Option<&'static str> {
    let ClientRequest::CallToolRequest(call) = request else {
        return (method(request) == "tools/call").then_some(OTHER_LABEL);
    };
    let named = TOOLS.iter().find(|tool| tool.answers_to(&call.params.name));
    Some(named.map_or(OTHER_LABEL, |tool| tool.name))
}

fn resource(request: &ClientRequest) -> Option<&str> {
    let ClientRequest::ReadResourceRequest(read) = request else { return None };
    Some(&read.params.uri)
}

fn outcome(answer: &Result<ServerResult, ErrorData>) -> TracedOutcome {
    match answer {
        Err(error) => TracedOutcome::Refused(error.code.0),
        Ok(ServerResult::CallToolResult(result)) if result.is_error == Some(true) => {
            TracedOutcome::ToolError
        }
        Ok(_) => TracedOutcome::Done,
    }
}
