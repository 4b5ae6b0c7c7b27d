//! Counts as OpenMetrics text. Labels are names of tools, outcomes, severities and sources: none comes from a request, and
//! none names a skill.

use std::fmt::Write as _;

use skills_core::diagnostic::Severity;

use super::operations::sync_ages;
use crate::surface::Dispatcher;

/// What the text is.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The text of this moment.
pub(super) fn text(dispatcher: &Dispatcher, sessions: usize) -> String {
    let mut out = MetricsText::default();
    let tools = dispatcher.counts().tools();
    out.family("skills_mcp_calls", "counter", "Calls of tools by their outcome");
    for tool in &tools {
        for (outcome, count) in tool.outcomes.iter().filter(|(_, count)| *count > 0) {
            let labels = format!("tool=\"{}\",outcome=\"{}\"", tool.tool, outcome.word());
            out.sample("skills_mcp_calls_total", &labels, count);
        }
    }
    out.family("skills_mcp_call_seconds", "histogram", "How long calls of tools took");
    for tool in tools.iter().filter(|tool| tool.total() > 0) {
        let name = tool.tool;
        for (most, count) in &tool.buckets {
            let labels = format!("tool=\"{name}\",le=\"{most}\"");
            out.sample("skills_mcp_call_seconds_bucket", &labels, count);
        }
        let all = format!("tool=\"{name}\",le=\"+Inf\"");
        out.sample("skills_mcp_call_seconds_bucket", &all, tool.total());
        let labels = format!("tool=\"{name}\"");
        out.sample("skills_mcp_call_seconds_count", &labels, tool.total());
        out.sample("skills_mcp_call_seconds_sum", &labels, tool.seconds);
    }
    let store = dispatcher.store();
    if let Some(snapshot) = store.known() {
        out.family("skills_mcp_skills", "gauge", "Skills that are served");
        out.sample("skills_mcp_skills", "", snapshot.catalog.len());
        out.family("skills_mcp_diagnostics", "gauge", "Findings about the content");
        for severity in [Severity::Error, Severity::Warning, Severity::Info] {
            let labels = format!("severity=\"{}\"", severity.name());
            let count = snapshot.catalog.findings_count(severity);
            out.sample("skills_mcp_diagnostics", &labels, count);
        }
    }
    out.family("skills_mcp_sync_age_seconds", "gauge", "Time since a repository was last synced");
    for (source, age) in sync_ages(store) {
        let labels = format!("source=\"{}\"", escaped(&source));
        out.sample("skills_mcp_sync_age_seconds", &labels, age.as_secs());
    }
    out.family("skills_mcp_late_answers", "counter", "Answers before all changes were published");
    out.sample("skills_mcp_late_answers_total", "", store.late());
    out.family("skills_mcp_sessions", "gauge", "Open sessions of clients with a handshake");
    out.sample("skills_mcp_sessions", "", sessions);
    out.0.push_str("# EOF\n");
    out.0
}

#[derive(Default)]
struct MetricsText(String);

impl MetricsText {
    fn family(&mut self, name: &str, kind: &str, about: &str) {
        let _ = writeln!(self.0, "# TYPE {name} {kind}\n# HELP {name} {about}.");
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = if labels.is_empty() {
            writeln!(self.0, "{name} {value}")
        } else {
            writeln!(self.0, "{name}{{{labels}}} {value}")
        };
    }
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
