//! The Skills extension's methods, which the SDK does not know: what it adds to its own results is added here.

use rmcp::{
    ErrorData, RoleServer,
    model::{CustomRequest, CustomResult, ProtocolVersion},
    service::RequestContext,
};
use serde_json::{Map, Value, json};

use super::{
    encode,
    handler::{Handler, LISTS_TTL_MS, access},
    list::List,
};
use crate::surface::{Publication, answer};

impl Handler {
    /// Answers a method of the extension.
    pub(super) async fn extension(
        &self,
        request: CustomRequest,
        context: &RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == "skills/list" {
            self.notifier.was_listed(List::Skills);
        }
        let CustomRequest { method, params, .. } = request;
        let answer = move |skills: &Publication| answer(skills, &method, params.as_ref());
        let answered = self.dispatcher.publication(&access(context), &context.ct, answer).await;
        let mut result: Map<String, Value> = answered.map_err(encode::error)?;
        let is_stateless = context
            .protocol_version()
            .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        if is_stateless {
            result.insert("resultType".to_owned(), json!("complete"));
        }
        result.insert("ttlMs".to_owned(), json!(LISTS_TTL_MS));
        result.insert("cacheScope".to_owned(), json!("private"));
        if let Some(meta) = self.server_meta(context) {
            result.insert("_meta".to_owned(), Value::Object(meta.0));
        }
        Ok(CustomResult::new(Value::Object(result)))
    }
}
