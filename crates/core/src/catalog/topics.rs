//! What a catalog is about, in a line: the names of its skills where they are few, else the words that many names share.
//!
//! A word of a description says little by itself ("use", "project"), so only words that occur in a name count, and their
//! occurrences in descriptions decide among them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Skill, SkillKind};
use crate::{
    diagnostic::one_line,
    tokens::{MIN_PARTIAL_CHARS, is_stop_word},
};

/// Words that names of any catalog have: everyday verbs, and nouns that say nothing of a subject.
const VAGUE_WORDS: &[&str] = &[
    "access",
    "add",
    "advanced",
    "advisor",
    "agent",
    "agents",
    "analysis",
    "analytics",
    "analyze",
    "analyzer",
    "app",
    "application",
    "apps",
    "architect",
    "architecture",
    "assistant",
    "automation",
    "based",
    "basic",
    "basics",
    "before",
    "best",
    "build",
    "builder",
    "building",
    "business",
    "change",
    "check",
    "checker",
    "cli",
    "client",
    "code",
    "common",
    "comprehensive",
    "config",
    "configuration",
    "connect",
    "content",
    "context",
    "control",
    "core",
    "create",
    "creating",
    "creation",
    "creator",
    "custom",
    "customize",
    "data",
    "debug",
    "debugging",
    "deploy",
    "deployment",
    "design",
    "designer",
    "dev",
    "develop",
    "developer",
    "development",
    "docs",
    "document",
    "documentation",
    "edit",
    "editor",
    "engine",
    "engineer",
    "engineering",
    "error",
    "existing",
    "expert",
    "feature",
    "file",
    "files",
    "find",
    "fix",
    "fixer",
    "flow",
    "framework",
    "gen",
    "generate",
    "generation",
    "generator",
    "get",
    "getting",
    "guide",
    "guidelines",
    "handle",
    "handling",
    "helper",
    "implement",
    "implementation",
    "improve",
    "init",
    "install",
    "integrate",
    "integration",
    "issues",
    "language",
    "lifecycle",
    "list",
    "local",
    "make",
    "manage",
    "management",
    "manager",
    "master",
    "mcp",
    "migrate",
    "migration",
    "mode",
    "model",
    "models",
    "monitor",
    "monitoring",
    "multi",
    "native",
    "new",
    "open",
    "operations",
    "optimization",
    "optimize",
    "optimizer",
    "patterns",
    "perf",
    "performance",
    "plan",
    "planner",
    "planning",
    "platform",
    "plugin",
    "practices",
    "prep",
    "pro",
    "process",
    "product",
    "production",
    "program",
    "project",
    "prompt",
    "prompts",
    "quality",
    "query",
    "quick",
    "quickstart",
    "read",
    "recipe",
    "reference",
    "release",
    "report",
    "research",
    "resource",
    "review",
    "reviewer",
    "run",
    "runner",
    "running",
    "scan",
    "scanner",
    "script",
    "sdk",
    "search",
    "self",
    "server",
    "service",
    "services",
    "set",
    "setting",
    "settings",
    "setup",
    "simple",
    "skill",
    "skills",
    "solution",
    "source",
    "spec",
    "specialist",
    "standard",
    "standards",
    "start",
    "started",
    "state",
    "strategies",
    "strategy",
    "system",
    "systems",
    "task",
    "tasks",
    "team",
    "template",
    "templates",
    "test",
    "testing",
    "tests",
    "text",
    "time",
    "tool",
    "tooling",
    "tools",
    "track",
    "tracker",
    "troubleshoot",
    "troubleshooting",
    "tuning",
    "update",
    "upgrade",
    "use",
    "user",
    "users",
    "using",
    "validate",
    "version",
    "work",
    "workflow",
    "workflows",
    "working",
    "write",
    "writer",
    "writing",
];
/// More topics are a list that nobody reads.
const MAX_TOPICS: usize = 30;
/// A word in a name counts as much as so many descriptions with it.
const NAME_WEIGHT: usize = 3;
/// Fewer skills than this do not make a topic.
const MIN_SKILLS: usize = 2;

/// The topics of these skills, at most so many characters, the same for the same skills in any order.
pub fn topics<'a>(skills: impl Iterator<Item = &'a Skill>, max_chars: usize) -> String {
    let skills: Vec<&Skill> = skills.collect();
    let labels: BTreeSet<String> = skills.iter().filter_map(|skill| named(skill)).collect();
    let all = joined(labels.iter().map(String::as_str), usize::MAX);
    if labels.len() <= MAX_TOPICS && all.chars().count() <= max_chars {
        return all;
    }
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for skill in &skills {
        for word in words(subject(skill)) {
            *names.entry(word).or_default() += 1;
        }
    }
    let mut weights: BTreeMap<&str, usize> =
        names.iter().map(|(word, count)| (word.as_str(), count * NAME_WEIGHT)).collect();
    for skill in &skills {
        for word in words(&skill.fields().description) {
            if let Some(weight) = weights.get_mut(word.as_str()) {
                *weight += 1;
            }
        }
    }
    let mut shared: Vec<(&str, usize)> =
        weights.into_iter().filter(|(word, _)| names.get(*word) >= Some(&MIN_SKILLS)).collect();
    shared.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    joined(shared.into_iter().map(|(word, _)| word).take(MAX_TOPICS), max_chars)
}

/// A skill's name as a topic: the folder of a category, and nothing of the root, which is about everything.
fn named(skill: &Skill) -> Option<String> {
    let label = skill.label.strip_suffix("/_index").unwrap_or(&skill.label);
    (label != "_root").then(|| one_line(label))
}

/// The part of a skill's name that says what it is about: the folders of a tree skill.
fn subject(skill: &Skill) -> &str {
    match skill.kind {
        SkillKind::Bundle => &skill.label,
        SkillKind::Tree => {
            skill.label.rsplit_once('/').map_or(&*skill.label, |(folders, _)| folders)
        }
    }
}

/// The telling words of a text, each once.
fn words(text: &str) -> BTreeSet<String> {
    let lowered = text.to_lowercase();
    let telling = |word: &&str| {
        word.chars().count() >= MIN_PARTIAL_CHARS
            && word.chars().any(char::is_alphabetic)
            && !is_stop_word(word)
            && VAGUE_WORDS.binary_search(word).is_err()
    };
    lowered.split(|c: char| !c.is_alphanumeric()).filter(telling).map(str::to_owned).collect()
}

/// As many of these as fit, separated by commas.
fn joined<'a>(words: impl Iterator<Item = &'a str>, max_chars: usize) -> String {
    let mut text = String::new();
    let mut chars: usize = 0;
    for word in words {
        let separator = if text.is_empty() { "" } else { ", " };
        chars = chars.saturating_add(separator.len() + word.chars().count());
        if chars > max_chars {
            break;
        }
        text.push_str(separator);
        text.push_str(word);
    }
    text
}
