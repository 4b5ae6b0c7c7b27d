//! `list_skills`: the tree of skills, whole or from one node down.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use skills_core::catalog::{Presence, TreeNode};

use super::{Blocking, Call, Refusal, Reply, Tool, ToolSet, arguments};

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
}

#[derive(Serialize)]
struct ListSkillsOutput<'a> {
    tree: Node<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Node<'a> {
    name: &'a str,
    path: &'a str,
    description: &'a str,
    keywords: &'a [String],
    asset_count: usize,
    script_count: usize,
    children: Vec<Node<'a>>,
}

fn run(call: &Call, arguments: Map<String, Value>) -> Result<Reply, Refusal> {
    let input: ListSkillsInput = arguments::read(arguments)?;
    let catalog = &call.snapshot.catalog;
    let tree = match &input.path {
        None => catalog.tree(),
        Some(path) => {
            catalog.subtree(path).ok_or_else(|| Refusal::Tool(call.not_found("Path", path)))?
        }
    };
    Reply::json(&ListSkillsOutput { tree: node(&tree) })
}

fn node<'a>(tree: &'a TreeNode<'_>) -> Node<'a> {
    let fields = tree.skill.map(skills_core::catalog::Skill::fields);
    let present = |presence: Presence| presence == Presence::Present;
    Node {
        name: tree.name,
        path: &tree.path,
        description: fields.map(|fields| fields.description.as_str()).unwrap_or_default(),
        keywords: fields.map(|fields| fields.keywords.as_slice()).unwrap_or_default(),
        asset_count: tree
            .skill
            .map_or(0, |skill| skill.assets().filter(|(_, found)| present(*found)).count()),
        script_count: tree
            .skill
            .map_or(0, |skill| skill.scripts().filter(|(_, found)| present(*found)).count()),
        children: tree.children.iter().map(node).collect(),
    }
}
