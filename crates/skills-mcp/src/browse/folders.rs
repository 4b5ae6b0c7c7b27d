//! The catalog as a tree: as many levels as a page has room for, the rest behind links.

use std::{
    collections::{HashSet, VecDeque},
    ptr,
};

use skills_core::catalog::{SkillKind, TreeNode};
use skills_page::{
    catalog::{TreeCrumb, TreePage, TreeRow, TreeStep},
    format::query,
    frame::{PageGroup, Paging},
};

use super::{PageSource, filtered::FindingCounts};

/// So many rows are on one page, about.
const MAX_TREE_ROWS: usize = 300;
/// So many of the rows directly below a folder are on one page.
const CHILDREN_PER_PAGE: usize = 200;
/// Deeper folders are behind a link.
const MAX_SHOWN_DEPTH: usize = 8;

/// The whole tree, or the part below a folder; none where there is no such folder.
pub(super) fn tree_page(source: &PageSource, under: &str, page: usize) -> Option<TreePage> {
    let catalog = &source.snapshot.catalog;
    let node = if under.is_empty() { catalog.tree() } else { catalog.subtree(under)? };
    let address = if under.is_empty() { "/skills".to_owned() } else { folder_address(under) };
    let paging = Paging::new(page, node.children.len(), CHILDREN_PER_PAGE, &address);
    let mut children = node.children.iter().skip(paging.skipped(CHILDREN_PER_PAGE));
    let children: Vec<&TreeNode<'_>> = children.by_ref().take(CHILDREN_PER_PAGE).collect();
    let writer =
        TreeWriter { source, findings: FindingCounts::of(source), expanded: expanded(&children) };
    let mut steps = Vec::new();
    // The root's own skill stands first, since it has no row above.
    if under.is_empty() && node.skill.is_some() && paging.page == 1 {
        steps.push(TreeStep::Leaf(TreeRow { opened_at: None, ..writer.row(&node) }));
    }
    for child in children {
        writer.write(child, &mut steps);
    }
    let is_part = !under.is_empty();
    Some(TreePage {
        head: source.head(),
        frame: source.frame.at(PageGroup::Skills),
        crumbs: if is_part { crumbs(&node.path) } else { Vec::new() },
        folder: is_part.then(|| TreeRow { opened_at: None, ..writer.row(&node) }),
        steps,
        paging,
    })
}

fn folder_address(path: &str) -> String {
    format!("/skills?under={}", query(path))
}

/// The folders above one, the whole tree first.
fn crumbs(path: &str) -> Vec<TreeCrumb> {
    let mut crumbs =
        vec![TreeCrumb { name: "All skills".to_owned(), address: "/skills".to_owned() }];
    let folder = path.strip_suffix("/_index").unwrap_or(path);
    let above = folder.rsplit_once('/').map_or("", |(above, _)| above);
    let mut address = String::new();
    for name in above.split('/').filter(|name| !name.is_empty()) {
        if !address.is_empty() {
            address.push('/');
        }
        address.push_str(name);
        crumbs.push(TreeCrumb { name: name.to_owned(), address: folder_address(&address) });
    }
    crumbs
}

/// The nodes whose children are shown: level by level, for as long as there is room.
fn expanded<'a>(children: &[&'a TreeNode<'a>]) -> HashSet<*const TreeNode<'a>> {
    let mut rows = children.len();
    let mut expanded = HashSet::new();
    let mut waiting: VecDeque<(&TreeNode<'_>, usize)> =
        children.iter().map(|child| (*child, 1)).collect();
    while let Some((node, depth)) = waiting.pop_front() {
        let has_room = rows + node.children.len() <= MAX_TREE_ROWS && depth < MAX_SHOWN_DEPTH;
        if has_room && !node.children.is_empty() {
            rows += node.children.len();
            expanded.insert(ptr::from_ref(node));
            waiting.extend(node.children.iter().map(|child| (child, depth + 1)));
        }
    }
    expanded
}

struct TreeWriter<'a> {
    source: &'a PageSource,
    findings: FindingCounts,
    expanded: HashSet<*const TreeNode<'a>>,
}

impl TreeWriter<'_> {
    /// A node and what is shown below it. The depth of what is shown is limited, so this may call itself.
    fn write(&self, node: &TreeNode<'_>, steps: &mut Vec<TreeStep>) {
        let row = self.row(node);
        if !self.is_expanded(node) {
            steps.push(TreeStep::Leaf(row));
            return;
        }
        steps.push(TreeStep::Open(TreeRow { opened_at: None, ..row }));
        for child in &node.children {
            self.write(child, steps);
        }
        steps.push(TreeStep::Close);
    }

    fn is_expanded(&self, node: &TreeNode<'_>) -> bool {
        self.expanded.contains(&ptr::from_ref(node).cast())
    }

    fn row(&self, node: &TreeNode<'_>) -> TreeRow {
        let below = node.children.iter().map(TreeNode::count).sum();
        let skill = node.skill;
        TreeRow {
            name: node.name.to_owned(),
            identity: skill.map(|skill| skill.identity.to_string()),
            about: skill.map(|skill| skill.fields().description.clone()).unwrap_or_default(),
            is_bundle: skill.is_some_and(|skill| skill.kind == SkillKind::Bundle),
            below,
            opened_at: (below > 0).then(|| folder_address(&node.path)),
            findings: skill.map_or(0, |skill| self.findings.get(self.source, skill)),
        }
    }
}
