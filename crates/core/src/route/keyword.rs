//! The keyword formula (ROUTE-2): when a token of the request matches a keyword of a skill.

use crate::tokens::is_short;

/// Whether a request's token matches a keyword; both lower-cased. This is the rule; the index only finds the
/// pairs for which it holds without trying all of them.
pub fn matches(token: &str, keyword: &str) -> bool {
    token == keyword
        || (!is_short(token)
            && !is_short(keyword)
            && (token.contains(keyword) || keyword.contains(token)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_2_equal_containing_and_contained_words_match() {
        let table = [
            ("react", "react", true),
            ("authentication", "auth", true),
            ("auth", "authentication", true),
            ("react", "reactjs", true),
            ("go", "golang", false),
            ("ts", "ts", true),
        ];
        for (token, keyword, expected) in table {
            assert_eq!(matches(token, keyword), expected, "{token} / {keyword}");
        }
    }

    // ROUTE-2
    #[test]
    fn short_on_either_side_means_equality() {
        assert!(!matches("golang", "go"));
        assert!(!matches("json", "js"));
        assert!(!matches("éé", "éété"), "lengths count characters, not bytes");
        assert!(matches("été", "étés"));
    }
}
