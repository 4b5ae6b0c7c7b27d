//! [`Gate`]: who may send a request, how often, and what they may see.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{
    http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    response::Response,
};
use skills_core::{catalog::Access, diagnostic::escaped};
use skills_http::{
    bearer::{NamedTokens, Principal, bearer},
    guard::{GuardRefusal, HttpGuard},
    issuer::{Issuer, TokenRefusal},
    log_limit::LogLimit,
    rate::{RateLimit, RatedClient},
    serving::{PeerAddress, error, refused, unavailable},
    shares::RequestSender,
};

use tokio::sync::watch;

use super::sign_in;
use crate::transport::streams::StreamOwner;

/// Between two lines of the log about requests of the same kind that were refused.
pub(super) const REFUSALS_LOG_INTERVAL: Duration = Duration::from_mins(1);

/// What a gate is made of.
#[derive(Debug)]
pub struct GateSettings {
    /// Where the server listens.
    pub listen: SocketAddr,
    /// Host names that it has beside its address.
    pub hosts: Vec<String>,
    /// The tokens that are let in.
    pub tokens: NamedTokens,
    /// The issuer whose tokens are let in.
    pub issuer: Option<Issuer>,
    /// Whether a token is asked for.
    pub asks: bool,
    /// Requests of one client in a second; zero is no limit.
    pub rate_limit: u32,
}

/// The gate of a server.
#[derive(Debug)]
pub struct Gate {
    guard: HttpGuard,
    tokens: watch::Sender<Arc<NamedTokens>>,
    issuer: Option<Issuer>,
    asks: bool,
    rates: RateLimit,
    refused_tokens: LogLimit,
    unchecked_tokens: LogLimit,
}

/// Who sent a request, and what they may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AdmittedCaller {
    /// None where no token is asked for.
    pub(super) principal: Option<Principal>,
    pub(super) access: Access,
}

impl AdmittedCaller {
    /// Whose memory its request and its answer take.
    pub(super) fn sender(&self) -> RequestSender {
        let principal = self.principal.as_ref();
        principal.map_or(RequestSender::Any, |principal| {
            RequestSender::Named(Arc::clone(&principal.name))
        })
    }

    /// Puts what the handler needs to know of the caller among the extensions of its request.
    pub(super) fn attach_to(&self, extensions: &mut Extensions) {
        extensions.insert(self.access.clone());
        if let Some(principal) = &self.principal {
            extensions.insert(StreamOwner(Arc::clone(&principal.name)));
        }
    }
}

impl Gate {
    /// The gate of these settings.
    pub fn new(settings: GateSettings) -> Self {
        let GateSettings { listen, hosts, tokens, issuer, asks, rate_limit } = settings;
        Self {
            guard: HttpGuard::of_host(listen, &hosts),
            tokens: watch::Sender::new(Arc::new(tokens)),
            issuer,
            asks,
            rates: RateLimit::new(rate_limit),
            refused_tokens: LogLimit::every(REFUSALS_LOG_INTERVAL),
            unchecked_tokens: LogLimit::every(REFUSALS_LOG_INTERVAL),
        }
    }

    /// Lets in these tokens from now on, and no others.
    pub fn replace_tokens(&self, tokens: NamedTokens) {
        self.tokens.send_replace(Arc::new(tokens));
    }

    /// Ends when the token of this principal is none any more. Tokens of an issuer are not in the list, and are not taken away.
    pub(super) fn revoked(&self, principal: Principal) -> impl Future<Output = ()> + Send + use<> {
        let mut tokens = self.tokens.subscribe();
        let is_listed = principal.token.is_some();
        async move {
            let is_gone = |tokens: &Arc<NamedTokens>| is_listed && !tokens.has(&principal);
            if tokens.wait_for(is_gone).await.map(drop).is_err() {
                // The server ends.
                std::future::pending::<()>().await;
            }
        }
    }

    /// The issuer whose tokens are let in.
    pub fn issuer(&self) -> Option<&Issuer> {
        self.issuer.as_ref()
    }

    /// Checks a request before its body is read.
    pub(super) async fn admit(&self, parts: &Parts) -> Result<AdmittedCaller, Response> {
        let by_address = RatedClient::at(address(parts));
        if let Some(refused) = self.refuse_origin(&parts.method, &parts.headers) {
            return Err(refused);
        }
        if !self.asks {
            let admitted = AdmittedCaller { principal: None, access: Access::All };
            return self.refuse_rate(&by_address).map_or(Ok(admitted), Err);
        }
        match self.authorize(bearer(&parts.headers)).await {
            Ok(principal) => {
                self.refuse_rate(&by_name(&principal)).map_or(Ok(caller(principal)), Err)
            }
            Err(refusal) => {
                // Those who guess are counted too.
                let too_many = self.refuse_rate(&by_address);
                Err(too_many.unwrap_or_else(|| self.unauthorized(&parts.headers, refusal.as_ref())))
            }
        }
    }

    /// Checks a request for a page, with the token that its browser brought before, if it brought one. None asks for one.
    #[cfg(feature = "browse")]
    pub(super) async fn admit_page(
        &self,
        parts: &Parts,
        brought: Option<&str>,
    ) -> Result<Option<AdmittedCaller>, Response> {
        let by_address = RatedClient::at(address(parts));
        if let Some(refused) = self.refuse_origin(&parts.method, &parts.headers) {
            return Err(refused);
        }
        if !self.asks {
            let admitted = AdmittedCaller { principal: None, access: Access::All };
            return self.refuse_rate(&by_address).map_or(Ok(Some(admitted)), Err);
        }
        match self.authorize(bearer(&parts.headers).or(brought)).await {
            Ok(principal) => {
                self.refuse_rate(&by_name(&principal)).map_or(Ok(Some(caller(principal))), Err)
            }
            Err(_) => self.refuse_rate(&by_address).map_or(Ok(None), Err),
        }
    }

    /// The answer to a request that names another host, or that a page of another site sent. The protocol wants 403 for both.
    fn refuse_origin(&self, method: &Method, headers: &HeaderMap) -> Option<Response> {
        Some(match self.guard.check_origin(method, headers).err()? {
            refusal @ GuardRefusal::Host => error(StatusCode::FORBIDDEN, refusal.reason()),
            refusal @ (GuardRefusal::Origin | GuardRefusal::Token) => refused(refusal),
        })
    }

    /// Counts one request of a client; the answer where it is one too many.
    pub(super) fn refuse_rate(&self, client: &RatedClient) -> Option<Response> {
        if self.rates.admits(client) {
            return None;
        }
        let reason = "too many requests in a second; wait a moment";
        let mut response = error(StatusCode::TOO_MANY_REQUESTS, reason);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        Some(response)
    }

    async fn authorize(&self, token: Option<&str>) -> Result<Principal, Option<TokenRefusal>> {
        let token = token.ok_or(None)?;
        let tokens = Arc::clone(&self.tokens.borrow());
        if let Some(principal) = tokens.find(token) {
            return Ok(principal.clone());
        }
        match &self.issuer {
            Some(issuer) => issuer.check(token).await.map_err(Some),
            None => Err(Some(TokenRefusal::Invalid("no such token".to_owned()))),
        }
    }

    fn unauthorized(&self, headers: &HeaderMap, refusal: Option<&TokenRefusal>) -> Response {
        let (status, code, reason) = match refusal {
            None => {
                (StatusCode::UNAUTHORIZED, None, "send a token: Authorization: Bearer TOKEN".into())
            }
            Some(TokenRefusal::Invalid(why)) => {
                if let Some(times) = self.refused_tokens.count(1) {
                    tracing::info!(times, "a token was refused: {}", escaped(why));
                }
                let reason = "the token is not valid here, or not any more".to_owned();
                (StatusCode::UNAUTHORIZED, Some("invalid_token"), reason)
            }
            Some(TokenRefusal::Insufficient(why)) => {
                (StatusCode::FORBIDDEN, Some("insufficient_scope"), why.clone())
            }
            Some(TokenRefusal::Unavailable(why)) => {
                if let Some(times) = self.unchecked_tokens.count(1) {
                    tracing::warn!(times, "a token could not be checked: {}", escaped(why));
                }
                return unavailable("the keys of the issuer cannot be had now; try again");
            }
        };
        let mut response = error(status, &reason);
        let challenge = sign_in::challenge(self.issuer.as_ref(), headers, code);
        if let Ok(challenge) = HeaderValue::try_from(challenge) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

fn by_name(principal: &Principal) -> RatedClient {
    RatedClient::Name(Arc::clone(&principal.name))
}

/// What a principal may see.
fn caller(principal: Principal) -> AdmittedCaller {
    let access = principal.limited_to.as_deref().map(Access::only).unwrap_or_default();
    AdmittedCaller { principal: Some(principal), access }
}

/// Where a request comes from.
pub(super) fn address(parts: &Parts) -> IpAddr {
    let known = parts.extensions.get::<PeerAddress>();
    known.map_or(Ipv4Addr::UNSPECIFIED.into(), |address| address.0)
}
