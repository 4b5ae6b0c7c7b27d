//! `list_skills`: the tree of skills, whole or from one node down; by levels and pages where it is long.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use skills_core::catalog::{Presence, Skill, TreeNode};

use super::{
    Blocking, Call, Refusal, Reply, Tool, ToolSet, arguments,
    listing::{one_line, shortened},
};

pub(super) const TOOL: Tool = Tool {
    name: "list_skills",
    tool_set: ToolSet::Tree,
    title: "List skills",
    description: "List the tree of skills with descriptions and keywords, to see what there is.",
    read_only: true,
    idempotent: true,
    dangerous: false,
    input: arguments::schema::<ListSkillsInput>,
    output: None,
    blocking: |_, _| Blocking::Never,
    run,
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListSkillsInput {
    /// Only this part of the tree, such as "ui"
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// Go on after this name, as `next` of an answer says
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

#[derive(Serialize)]
struct ListSkillsOutput<'a> {
    tree: Node<'a>,
    /// How to see what was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Node<'a> {
    name: &'a str,
    path: &'a str,
    description: Cow<'a, str>,
    keywords: &'a [String],
    asset_count: usize,
    script_count: usize,
    children: Vec<Node<'a>>,
    /// How many nodes below it were left out.
    #[serde(skip_serializing_if = "is_zero")]
    more: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// How much of each node is shown.
#[derive(Clone, Copy, PartialEq)]
enum Detail {
    Full,
    /// With a shortened description and without keywords.
    Short,
}

/// So many levels are tried where not all fit.
const TRIED_LEVELS: [usize; 3] = [3, 2, 1];
/// A node takes no fewer characters.
const LEAST_NODE_CHARS: usize = 100;

fn run(call: &Call, arguments: Map<String, Value>) -> Result<Reply, Refusal> {
    let input: ListSkillsInput = arguments::read(arguments)?;
    let catalog = &call.snapshot.catalog;
    let mut tree = match &input.path {
        None => catalog.tree(),
        Some(path) => {
            catalog.subtree(path).ok_or_else(|| Refusal::Tool(call.not_found("Path", path)))?
        }
    };
    if !call.profile.every_skill {
        tree.for_models();
    }
    if let Some(after) = &input.after {
        tree.children.retain(|child| child.name > after.as_str());
    }
    let max_chars = call.profile.max_listed_chars();
    if tree.count() * LEAST_NODE_CHARS <= max_chars {
        let whole = Reply::json(&ListSkillsOutput {
            tree: node(&tree, usize::MAX, Detail::Full),
            next: None,
        })?;
        if whole.text.len() <= max_chars {
            return Ok(whole);
        }
    }
    for (levels, detail) in
        TRIED_LEVELS.map(|levels| (levels, Detail::Full)).into_iter().chain([(1, Detail::Short)])
    {
        let next = Some("`more` counts what was left out below a node; to see it, call list_skills with the node's path.".to_owned());
        let cut = Reply::json(&ListSkillsOutput { tree: node(&tree, levels, detail), next })?;
        if cut.text.len() <= max_chars {
            return Ok(cut);
        }
    }
    page(&tree, input.path.as_deref(), max_chars)
}

/// As many children as fit, and how to see those behind them.
fn page(tree: &TreeNode<'_>, path: Option<&str>, max_chars: usize) -> Result<Reply, Refusal> {
    let mut shown = node(tree, 1, Detail::Short);
    let all = std::mem::take(&mut shown.children);
    let behind = |last: &str, left: usize| {
        let path =
            path.map(|path| format!("\"path\": {}, ", Value::from(path))).unwrap_or_default();
        format!(
            "{left} more follow; to see them, call list_skills {{{path}\"after\": {}}}.",
            Value::from(last)
        )
    };
    let mut output = ListSkillsOutput { tree: shown, next: Some(behind("", all.len())) };
    // The longest name that `next` may have to repeat.
    let reserve = all.iter().map(|child| child.name.len()).max().unwrap_or_default();
    let mut left = max_chars.saturating_sub(Reply::json(&output)?.text.len() + reserve);
    let total = all.len();
    for child in all {
        let chars = Reply::json(&child)?.text.len() + 2;
        if chars > left && !output.tree.children.is_empty() {
            break;
        }
        left = left.saturating_sub(chars);
        output.tree.children.push(child);
    }
    let last = output.tree.children.last().map(|child| child.name);
    output.next = last.map(|last| behind(last, total - output.tree.children.len()));
    Reply::json(&output)
}

fn node<'a>(tree: &'a TreeNode<'_>, levels: usize, detail: Detail) -> Node<'a> {
    let fields = tree.skill.map(Skill::fields);
    let present = |presence: Presence| presence == Presence::Present;
    let description = fields.map(|fields| fields.description.as_str()).unwrap_or_default();
    let keywords = fields.map(|fields| fields.keywords.as_slice()).unwrap_or_default();
    let is_last = levels == 0;
    let children = tree.children.iter().filter(|_| !is_last);
    Node {
        name: tree.name,
        path: &tree.path,
        description: match detail {
            Detail::Full => description.into(),
            Detail::Short => shortened(&one_line(description)).into(),
        },
        keywords: if detail == Detail::Full { keywords } else { &[] },
        asset_count: tree
            .skill
            .map_or(0, |skill| skill.assets().filter(|(_, found)| present(*found)).count()),
        script_count: tree
            .skill
            .map_or(0, |skill| skill.scripts().filter(|(_, found)| present(*found)).count()),
        children: children.map(|child| node(child, levels - 1, detail)).collect(),
        more: if is_last { tree.children.iter().map(TreeNode::count).sum() } else { 0 },
    }
}
