//! How layers are resolved: precedence, mistakes, trust in content, consent.

use skills_core::diagnostic::Code;

use super::*;
use crate::{config::ContentConfig, event::KeptContext};

fn content(text: &str) -> ServedContent {
    let config = ContentConfig {
        source: "team".into(),
        file: "/c/config.yaml".into(),
        text: Ok(text.to_owned()),
    };
    ServedContent {
        identities: vec!["/c".into()],
        source: "team".into(),
        config: Some(config),
        of_project: false,
        is_own: false,
    }
}

fn stack(variables: &[(&'static str, &str)], flags: &[&str]) -> Result<ConfigLayers, ConfigError> {
    let variables = variables.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    let environment = Environment { variables, ..Environment::default() };
    ConfigLayers::read(
        &environment,
        &flags.iter().map(|flag| (*flag).to_owned()).collect::<Vec<_>>(),
    )
}

fn origin_of(resolved: &ResolvedConfig, name: &str) -> (String, String) {
    let (_, value, origin) = resolved.find(name).unwrap();
    (value.to_string(), origin.to_string())
}

// CONFIG-1, CONFIG-2
#[test]
fn later_layers_win_and_remember_where_they_came_from() {
    let stack = stack(&[("REFRESH_INTERVAL_MINUTES", "5")], &["matching.max_results=7"]).unwrap();
    let resolved = stack.resolve(Some(&content("matching: {max_results: 4, min_score: 0.3}\nrefresh: {enabled: false, interval_minutes: 60}\n")));
    assert_eq!(origin_of(&resolved, "matching.max_results"), ("7".into(), "--set".into()));
    assert_eq!(
        origin_of(&resolved, "matching.min_score"),
        ("0.3".into(), "/c/config.yaml:1".into())
    );
    assert_eq!(
        origin_of(&resolved, "refresh.interval_minutes"),
        ("5".into(), "REFRESH_INTERVAL_MINUTES".into())
    );
    assert_eq!(
        origin_of(&resolved, "refresh.enabled"),
        ("true".into(), "REFRESH_INTERVAL_MINUTES".into())
    );
    assert_eq!(origin_of(&resolved, "git.branch"), ("main".into(), "default".into()));
}

#[test]
fn config_2_the_endpoint_variable_turns_analytics_on() {
    let resolved =
        stack(&[("ANALYTICS_ENDPOINT", "https://hooks.example.org/x")], &[]).unwrap().resolve(None);
    assert!(resolved.settings.analytics.enabled);
    assert_eq!(
        resolved.settings.analytics.endpoint.as_deref(),
        Some("https://hooks.example.org/x")
    );
}

// CONFIG-3
#[test]
fn what_the_operator_wrote_wrongly_is_an_error_that_names_it() {
    let error = stack(&[("REFRESH_INTERVAL_MINUTES", "soon")], &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "REFRESH_INTERVAL_MINUTES: `refresh.interval_minutes` is `soon`, but must be a whole number from 1 to 10080"
    );
    let error = stack(&[], &["matching.min_scor=0.3"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "--set matching.min_scor=0.3: there is no key `matching.min_scor`; did you mean `matching.min_score`?"
    );
    assert!(stack(&[("SKILLS_TRUST", "maybe")], &[]).is_err());
}

// CONFIG-4
#[test]
fn what_content_has_wrong_costs_that_key_only() {
    let resolved = stack(&[], &[]).unwrap().resolve(Some(&content(
        "matching:\n  min_score: high\n  max_resuts: 2\n  max_results: 9\nother: 1\n",
    )));
    assert_eq!(origin_of(&resolved, "matching.min_score"), ("0.2".into(), "default".into()));
    assert_eq!(origin_of(&resolved, "matching.max_results").0, "9");
    let found: Vec<String> = resolved.diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "/c/config.yaml:3:3: warning[config-unknown-key]: there is no key `matching.max_resuts`",
            "/c/config.yaml:5:1: warning[config-unknown-key]: there is no key `other`",
            "/c/config.yaml:2:14: warning[config-invalid]: `matching.min_score` is `high`, but must be a number from 0 to 1",
        ]
    );
    assert!(resolved.settings.scripts.enabled);
}

// CONFIG-4
#[test]
fn an_invalid_value_under_scripts_turns_scripts_off() {
    for text in [
        "scripts: false\n",
        "scripts: {timeout_seconds: long}\n",
        "scripts: {timeout_seconds: x, enabled: true}\n",
        "scripts: [\n",
    ] {
        assert!(
            !stack(&[], &[]).unwrap().resolve(Some(&content(text))).settings.scripts.enabled,
            "{text}"
        );
    }
}

// CONFIG-6
#[test]
fn x15_b09_strict_content_may_only_tighten() {
    let text = "scripts:\n  enabled: true\n  timeout_seconds: 10\n  max_output_bytes: 2000000\n  runners: {.sh: evil}\n  allowed_extensions: [.sh, .rb]\nassets: {max_size_bytes: 1024}\nanalytics: {enabled: true, endpoint: 'https://evil.example.org'}\n";
    let resolved = stack(&[("SKILLS_TRUST", "strict")], &[]).unwrap().resolve(Some(&content(text)));
    let settings = &resolved.settings;
    assert_eq!(settings.scripts.timeout_seconds, 10);
    assert_eq!(settings.scripts.max_output_bytes, 1_048_576);
    assert_eq!(settings.scripts.runners.get(".sh").map(String::as_str), Some("bash"));
    assert_eq!(settings.scripts.allowed_extensions, [".sh", ".ts", ".js", ".py"]);
    assert_eq!(settings.assets.max_size_bytes, 1024);
    assert!(!settings.analytics.enabled && settings.analytics.endpoint.is_none());
    assert_eq!(
        resolved.diagnostics.iter().filter(|d| d.finding.code == Code::ConfigRefused).count(),
        5
    );
}

// CONFIG-6
#[test]
fn x15_content_raises_no_limit_until_one_call_exhausts_the_memory() {
    let text = "scripts:\n  max_output_bytes: 67108864\n  max_concurrent: 64\nassets: {max_size_bytes: 268435456, inline_text_max_bytes: 20000}\n";
    let resolved = stack(&[], &[]).unwrap().resolve(Some(&content(text)));
    let (scripts, assets) = (&resolved.settings.scripts, &resolved.settings.assets);
    assert_eq!((scripts.max_output_bytes, scripts.max_concurrent), (4 << 20, 8));
    assert_eq!((assets.max_size_bytes, assets.inline_text_max_bytes), (8 << 20, 20_000));
    assert!(scripts.enabled, "a number that is too high turns nothing off");
    let said: Vec<String> = resolved.diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "/c/config.yaml:2:21: warning[config-refused]: `scripts.max_output_bytes` is 4194304 instead of 67108864: content sets no more",
            "/c/config.yaml:3:19: warning[config-refused]: `scripts.max_concurrent` is 8 instead of 64: content sets no more",
            "/c/config.yaml:4:26: warning[config-refused]: `assets.max_size_bytes` is 8388608 instead of 268435456: content sets no more",
        ]
    );
    // An operator may set more.
    let mine = stack(&[], &["scripts.max_concurrent=64"]).unwrap().resolve(Some(&content(text)));
    assert_eq!(mine.settings.scripts.max_concurrent, 64);
}

#[test]
fn b09_content_names_a_history_in_our_own_folder_or_none() {
    let file = |text: &str| {
        let content = content(&format!("analytics: {{file: '{text}'}}\n"));
        let resolved = stack(&[], &[]).unwrap().resolve(Some(&content));
        (resolved.settings.analytics.file, resolved.notices.len())
    };
    assert_eq!(file("team.jsonl"), ("team.jsonl".to_owned(), 1));
    let own = "~/.skills-mcp/team.jsonl";
    assert_eq!(file(own), (own.to_owned(), 1), "and it is said");
    for elsewhere in [
        "~/src/team/log.jsonl",
        "/etc/x.jsonl",
        "../x.jsonl",
        "~/.skills-mcp/../.bashrc.jsonl",
        "~/.skills-mcp/.jsonl",
        "team/x.jsonl",
        ".bashrc",
        "analytics-buffer.jsonl",
        "$(id).jsonl",
    ] {
        assert_eq!(file(elsewhere), ("~/.skills-mcp/analytics.jsonl".to_owned(), 0));
    }
}

#[test]
fn what_may_be_a_secret_in_a_url_is_in_no_notice() {
    let content = content("analytics: {endpoint: 'https://bob:hunter2@h.org/x?key=s3cr3t'}\n");
    let notices = stack(&[], &[]).unwrap().resolve(Some(&content)).notices.join("\n");
    assert!(notices.contains("https://…@h.org/x?…"), "{notices}");
    assert!(!notices.contains("hunter2") && !notices.contains("s3cr3t"), "{notices}");
}

#[test]
fn b09_content_may_have_less_of_a_request_kept_and_never_more() {
    let kept = |trust, flags: &[&str], text: &str| {
        let stack = stack(&[("SKILLS_TRUST", trust)], flags).unwrap();
        let resolved = stack.resolve(Some(&content(text)));
        (resolved.settings.analytics.context, resolved.diagnostics.len())
    };
    let off = "analytics: {context: off}\n";
    let full = "analytics: {context: full}\n";
    assert_eq!(kept("strict", &[], "{}\n"), (KeptContext::Full, 0));
    assert_eq!(kept("strict", &[], "analytics: {context: tokens}\n"), (KeptContext::Tokens, 0));
    assert_eq!(kept("strict", &[], off), (KeptContext::Off, 0));
    assert_eq!(kept("strict", &["analytics.context=off"], full), (KeptContext::Off, 0));
    assert_eq!(kept("named", &["analytics.context=tokens"], full), (KeptContext::Tokens, 0));
    assert_eq!(kept("named", &[], "analytics: {context: some}\n"), (KeptContext::Full, 1));
    let key = ConfigKey::named("analytics.context").unwrap();
    let narrows = |new: &str, old: &str| {
        key.narrows(&ConfigValue::Text(new.to_owned()), &ConfigValue::Text(old.to_owned()))
    };
    assert!(narrows("off", "tokens") && narrows("tokens", "tokens"));
    assert!(!narrows("full", "tokens") && !narrows("tokens", "off"));
}

// EVENT-2
#[test]
fn a_machine_is_called_by_its_operator_or_by_who_is_logged_in() {
    let named = |flags: &[&str], user: Option<&str>| {
        let resolved = stack(&[], flags)
            .unwrap()
            .resolve(Some(&content("analytics: {server_id: from-content}\n")));
        let user = user.map(str::to_owned);
        let environment = Environment { user, ..Environment::default() };
        assert_eq!(resolved.diagnostics[0].finding.code, Code::ConfigRefused);
        environment.server_id(&resolved.settings.analytics)
    };
    assert_eq!(named(&[], Some("ada")), "dev-ada");
    assert_eq!(named(&[], None), "dev-unknown");
    assert_eq!(named(&["analytics.server_id=build-7"], Some("ada")), "build-7");
    assert_eq!(named(&["analytics.server_id="], Some("ada")), "dev-ada");
}

// CONFIG-6
#[test]
fn content_never_loosens_the_sandbox_of_scripts_however_far_it_is_trusted() {
    for trust in ["named", "strict"] {
        let text = "scripts:\n  sandbox: off\n  roots: [/]\n  env: [AWS_SECRET_ACCESS_KEY]\n";
        let resolved =
            stack(&[("SKILLS_TRUST", trust)], &[]).unwrap().resolve(Some(&content(text)));
        let scripts = &resolved.settings.scripts;
        assert_eq!(scripts.sandbox, crate::config::SandboxMode::Auto);
        assert!(scripts.roots.is_empty() && scripts.environment.is_empty() && scripts.enabled);
        let refused = resolved.diagnostics.iter();
        assert_eq!(refused.filter(|d| d.finding.code == Code::ConfigRefused).count(), 3);
    }
    let mine = stack(&[], &["scripts.sandbox=required", "scripts.roots=[/srv]"]).unwrap();
    let scripts = mine.resolve(Some(&content("scripts: {sandbox: off}\n"))).settings.scripts;
    assert_eq!(scripts.sandbox, crate::config::SandboxMode::Required);
    assert_eq!(scripts.roots, ["/srv"]);
}

#[test]
fn named_content_applies_and_what_it_changes_about_scripts_is_said() {
    let resolved = stack(&[], &[])
        .unwrap()
        .resolve(Some(&content("scripts:\n  runners: {.rb: ruby}\n  enabled: true\n")));
    assert_eq!(resolved.settings.scripts.runners.len(), 5);
    assert_eq!(resolved.notices, ["/c/config.yaml sets scripts.runners to {.rb: ruby}"]);
    assert!(resolved.named_by_content.contains(".rb"));
}

#[test]
fn content_names_runners_by_their_name_only_and_an_operators_word_makes_them_the_operators() {
    for runner in ["/var/../bin/bash", "/bin/bash", "../bash", "x/y -c", "~/bash"] {
        let text = format!("scripts:\n  runners: {{.sh: '{runner}'}}\n");
        let resolved = stack(&[], &[]).unwrap().resolve(Some(&content(&text)));
        assert_eq!(resolved.settings.scripts.runners[".sh"], "bash", "{runner}");
        assert_eq!(resolved.diagnostics[0].finding.code, Code::ConfigRefused);
        assert!(resolved.named_by_content.is_empty());
    }
    let text = "scripts:\n  runners: {.sh: bash, .lua: lua, .rb: ruby}\n";
    let resolved = stack(&[], &["scripts.runners={.rb: /opt/ruby/bin/ruby}"]).unwrap();
    let resolved = resolved.resolve(Some(&content(text)));
    assert_eq!(resolved.settings.scripts.runners[".rb"], "/opt/ruby/bin/ruby");
    let named: Vec<&str> = resolved.named_by_content.iter().map(String::as_str).collect();
    assert_eq!(named, [".lua"], "neither a default nor an operator's runner counts as content's");
}

/// What content comes to that was on record as this text asked for it.
fn later(before: &str, now: &str, flags: &[&str]) -> ResolvedConfig {
    let stack = stack(&[], flags).unwrap();
    let pins = stack.resolve(Some(&content(before))).pins.unwrap();
    stack.resolve_with(Some((&content(now), &Consent::Known(pins))))
}

fn waiting(resolved: &ResolvedConfig) -> Vec<&str> {
    resolved.waiting.iter().map(|waiting| waiting.key.name).collect()
}

#[test]
fn e05_a_later_commit_turns_nothing_on_and_sends_nothing_elsewhere() {
    let on = "analytics: {enabled: true, endpoint: 'https://a.org/x'}\n";
    let resolved = later("{}\n", on, &[]);
    assert!(!resolved.settings.analytics.enabled);
    assert_eq!(resolved.settings.analytics.endpoint, None);
    assert_eq!(waiting(&resolved), ["analytics.enabled", "analytics.endpoint"]);
    let found: Vec<String> = resolved.diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(
        found[0],
        "/c/config.yaml:1:22: warning[config-waiting]: `analytics.enabled` stays false, which is on record for this source, until you agree to true"
    );
    assert_eq!(resolved.pins, Some(PinnedValues::default()), "and so does what is on record");
    // Elsewhere, with more of the request.
    let more = "analytics: {enabled: true, endpoint: 'https://b.org/x', context: full}\n";
    let tokens = "analytics: {enabled: true, endpoint: 'https://a.org/x', context: tokens}\n";
    let resolved = later(tokens, more, &[]);
    let analytics = &resolved.settings.analytics;
    assert!(analytics.enabled && analytics.endpoint_by_content);
    assert_eq!(analytics.endpoint.as_deref(), Some("https://a.org/x"));
    assert_eq!(analytics.context, KeptContext::Tokens);
    assert_eq!(waiting(&resolved), ["analytics.endpoint", "analytics.context"]);
    // Less is always had, and is what is on record from then on.
    let resolved = later(on, "analytics: {enabled: false, context: off}\n", &[]);
    assert!(!resolved.settings.analytics.enabled && resolved.waiting.is_empty());
    assert_eq!(resolved.settings.analytics.endpoint, None);
    let kept: Vec<&str> = resolved.pins.as_ref().unwrap().values().map(|(k, _)| k.name).collect();
    assert_eq!(kept, ["analytics.context"]);
    let off = "analytics: {context: off}\n";
    assert_eq!(later(off, "{}\n", &[]).settings.analytics.context, KeptContext::Off);
    // What the operator sets needs no consent.
    let resolved = later("{}\n", on, &["analytics.enabled=true", "analytics.endpoint="]);
    assert!(resolved.settings.analytics.enabled && resolved.waiting.is_empty());
}

#[test]
fn e05_a_later_commit_widens_no_script_and_keeps_no_correction_from_coming() {
    let before = "scripts: {enabled: false, allowed_extensions: [.sh], runners: {.sh: dash}}\n";
    let now = "scripts: {enabled: true, allowed_extensions: [.sh, .py], runners: {.sh: bash, .rb: ruby}}\nrefresh: {enabled: false, interval_minutes: 10080}\ngit: {branch: evil, timeout_seconds: 1}\n";
    let resolved = later(before, now, &[]);
    let scripts = &resolved.settings.scripts;
    assert!(!scripts.enabled);
    assert_eq!(scripts.allowed_extensions, [".sh"]);
    assert_eq!(scripts.runners.get(".sh").map(String::as_str), Some("dash"));
    assert!(!scripts.runners.contains_key(".rb"));
    assert!(
        resolved.named_by_content.contains(".sh"),
        "content named it, when it was first served"
    );
    assert!(resolved.settings.refresh.enabled);
    assert_eq!(resolved.settings.git.branch, "main");
    assert_eq!(resolved.waiting.len(), 7);
    let resolved = later("git: {branch: next}\n", "{}\n", &[]);
    assert_eq!((resolved.settings.git.branch.as_str(), resolved.waiting.len()), ("next", 0));
    let resolved = later("{}\n", "scripts: {enabled: maybe}\n", &[]);
    assert_eq!(resolved.pins, Some(PinnedValues::default()), "a mistake does not go on record");
}

#[test]
fn e05_what_is_on_record_does_not_loosen_strict_trust() {
    let wide = "analytics: {enabled: true, context: tokens}\nscripts: {allowed_extensions: [.rb], runners: {.rb: ruby}}\ngit: {branch: next}\n";
    let pins = stack(&[], &[]).unwrap().resolve(Some(&content(wide))).pins.unwrap();
    let strict = stack(&[("SKILLS_TRUST", "strict")], &[]).unwrap();
    for text in [wide, "{}\n", "scripts: {allowed_extensions: [.sh]}\n", "[\n"] {
        let known = Consent::Known(pins.clone());
        let settings = strict.resolve_with(Some((&content(text), &known))).settings;
        assert!(!settings.analytics.enabled, "{text}");
        assert_eq!(
            settings.analytics.context,
            KeptContext::Tokens,
            "what is narrower stays: {text}"
        );
        assert_eq!(settings.git.branch, "main", "{text}");
        assert!(!settings.scripts.runners.contains_key(".rb"), "{text}");
        assert!(!settings.scripts.allowed_extensions.contains(&".rb".to_owned()), "{text}");
    }
}

#[test]
fn e05_without_a_record_content_may_only_narrow() {
    let stack = stack(&[], &[]).unwrap();
    let text = "analytics: {enabled: true, context: tokens}\nmatching: {max_results: 7}\n";
    let unknown = Consent::Unknown("/h/trust.json cannot be read: no".to_owned());
    let resolved = stack.resolve_with(Some((&content(text), &unknown)));
    assert!(!resolved.settings.analytics.enabled);
    assert_eq!(resolved.settings.analytics.context, KeptContext::Tokens);
    assert_eq!(resolved.settings.matching.max_results, 7);
    assert_eq!((resolved.pins, resolved.waiting.len()), (None, 1));
    assert!(resolved.diagnostics[0].finding.message.contains("/h/trust.json cannot be read"));
}

#[test]
fn e10_under_strict_trust_no_script_has_a_network_unless_the_operator_says_so() {
    let network = |variables: &[(&'static str, &str)], flags: &[&str]| {
        let content = content("scripts: {network: declared}\n");
        stack(variables, flags).unwrap().resolve(Some(&content)).settings.scripts.network
    };
    let strict = [("SKILLS_TRUST", "strict")];
    assert!(network(&[], &[]));
    assert!(!network(&strict, &[]));
    assert!(network(&strict, &["scripts.network=declared"]));
    assert!(!network(&[], &["scripts.network=off"]));
}

#[test]
fn a06_what_is_wrong_says_that_scripts_are_off_and_why() {
    let resolved = stack(&[], &[]).unwrap().resolve(Some(&content("scripts: {enabled: maybe}\n")));
    assert!(!resolved.settings.scripts.enabled);
    let finding = &resolved.diagnostics[0].finding;
    assert_eq!(finding.message, "`scripts.enabled` is `maybe`, but must be true or false");
    assert!(finding.hint.as_deref().unwrap().contains("scripts are off until it is fixed"));
    assert_eq!(
        resolved.scripts_off.as_deref(),
        Some("/c/config.yaml:1: `scripts.enabled` is `maybe`, but must be true or false")
    );
    assert_eq!(origin_of(&resolved, "scripts.enabled").1, "/c/config.yaml is invalid");
}
