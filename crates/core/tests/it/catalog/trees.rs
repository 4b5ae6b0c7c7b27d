//! The catalog as a tree.

use super::*;

/// `name path`, indented by depth; a folder without a skill of its own is marked.
fn drawn(node: &TreeNode<'_>) -> String {
    let mark = if node.skill.is_some() { "" } else { " (folder)" };
    let below: String = node.children.iter().map(drawn).collect();
    let below: String = below.lines().flat_map(|line| ["  ", line, "\n"]).collect();
    format!("{} {}{mark}\n{below}", node.name, node.path)
}

fn below(catalog: &Catalog, asked: &str) -> String {
    catalog.subtree(asked).map_or_else(|| "nothing".to_owned(), |node| drawn(&node))
}

fn one_source() -> Catalog {
    skills(&[
        "_root.md",
        "ui/_index.md",
        "ui/react/_index.md",
        "ui/react/auth.md",
        "ui/vue/composition.md",
        "api/v1/auth.md",
        "no-inherit.md",
    ])
}

// LIST-2
#[test]
fn one_source_is_the_root_itself() {
    let catalog = one_source();
    assert_eq!(
        drawn(&catalog.tree()),
        "\
root _root
  api api (folder)
    v1 api/v1 (folder)
      auth api/v1/auth
  no-inherit no-inherit
  ui ui/_index
    react ui/react/_index
      auth ui/react/auth
    vue ui/vue (folder)
      composition ui/vue/composition
"
    );
    assert_eq!(catalog.tree().count(), 7);
    assert_eq!(catalog.subtree("ui").unwrap().count(), 4);
}

#[test]
fn an_empty_source_and_no_source_are_an_empty_root() {
    assert_eq!(drawn(&skills(&[]).tree()), "root _root (folder)\n");
    assert_eq!(drawn(&Catalog::default().tree()), "root _root (folder)\n");
    assert_eq!(below(&skills(&[]), "_root"), "root _root (folder)\n");
}

#[test]
fn a_leaf_and_the_category_of_its_name_stand_side_by_side() {
    let catalog = skills(&["auth.md", "auth/_index.md", "auth/login.md", "_index.md"]);
    assert_eq!(
        drawn(&catalog.tree()),
        "\
root _root (folder)
  _index _index
  auth auth
  auth auth/_index
    login auth/login
"
    );
    assert_eq!(below(&catalog, "auth"), "auth auth\n");
    assert_eq!(below(&catalog, "auth/_index"), "auth auth/_index\n  login auth/login\n");
}

// LIST-3
#[test]
fn a_subtree_is_asked_for_by_category_index_leaf_or_folder() {
    let catalog = one_source();
    let vue = "vue ui/vue (folder)\n  composition ui/vue/composition\n";
    for asked in ["ui/vue", "ui/vue/", " ui/vue ", "UI/Vue", "main:ui/vue"] {
        assert_eq!(below(&catalog, asked), vue, "{asked:?}");
    }
    for asked in ["ui/react", "ui/react/_index", "ui/react/_index.md", "Ui/React"] {
        assert_eq!(
            below(&catalog, asked),
            "react ui/react/_index\n  auth ui/react/auth\n",
            "{asked:?}"
        );
    }
    assert_eq!(below(&catalog, "ui/react/auth"), "auth ui/react/auth\n");
    for asked in ["", "/", "root", "_root", "main"] {
        assert_eq!(below(&catalog, asked), drawn(&catalog.tree()), "{asked:?}");
    }
    for asked in ["uix", "ui/rea", "react", "../ui", "other:ui", "main:uix"] {
        assert_eq!(below(&catalog, asked), "nothing", "{asked:?}");
    }
}

fn two_sources() -> Catalog {
    sources(&[
        ("first", &["_root.md", "ui/auth.md", "api/_index.md"]),
        ("second", &["ui/auth.md", "ui/deep/x.md", "api/y.md", "ops/run.md"]),
    ])
}

// LIST-2
#[test]
fn several_sources_are_the_children_of_the_root() {
    // A folder is called like a skill: the first-named source wins the bare path.
    assert_eq!(
        drawn(&two_sources().tree()),
        "\
root _root (folder)
  first _root
    api api/_index
    ui ui (folder)
      auth ui/auth
  second second:_root (folder)
    api second:api (folder)
      y api/y
    ops ops (folder)
      run ops/run
    ui second:ui (folder)
      auth second:ui/auth
      deep ui/deep (folder)
        x ui/deep/x
"
    );
}

#[test]
fn every_path_in_a_tree_finds_its_node_again() {
    fn paths(node: &TreeNode<'_>, into: &mut Vec<String>) {
        into.push(drawn(node));
        node.children.iter().for_each(|child| paths(child, into));
    }
    let catalog = two_sources();
    let mut nodes = Vec::new();
    catalog.tree().children.iter().for_each(|child| paths(child, &mut nodes));
    // The first source's own root shares its path with the root above it.
    for node in nodes.iter().filter(|node| !node.starts_with("first ")) {
        let path = node.lines().next().unwrap().split(' ').nth(1).unwrap();
        assert_eq!(&below(&catalog, path), node, "{path}");
    }
}

#[test]
fn a_source_and_its_folders_are_asked_for_by_name() {
    let catalog = two_sources();
    assert!(below(&catalog, "second").starts_with("second second:_root (folder)\n"));
    assert!(below(&catalog, "FIRST").starts_with("first _root\n  api"));
    assert_eq!(below(&catalog, "second:ops"), below(&catalog, "ops"));
    assert_eq!(below(&catalog, "first:ui"), "ui ui (folder)\n  auth ui/auth\n");
    assert_eq!(below(&catalog, "first:ops"), "nothing");
}
