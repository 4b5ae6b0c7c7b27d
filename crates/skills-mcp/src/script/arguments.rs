//! Arguments → `SKILL_ARG_*` variables: declared names only, defaults filled in, never a value in a message.

use std::collections::BTreeMap;

use skills_core::document::Argument;

/// What the kernel takes of one variable, less some bytes for its name.
const MAX_VALUE_BYTES: usize = 120_000;
/// All variables together; the kernel takes about two megabytes with the rest of the environment.
const MAX_TOTAL_BYTES: usize = 1_000_000;
const VARIABLE_PREFIX: &str = "SKILL_ARG_";

/// The variables of a run, or what is wrong with its arguments.
pub(super) fn variables(
    declared: &[Argument],
    given: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, String> {
    check_missing(declared, given)?;
    check_undeclared(declared, given)?;
    let mut variables: BTreeMap<String, (String, &str)> = BTreeMap::new();
    for argument in declared {
        let Some(value) = given.get(&argument.name).or(argument.default.as_ref()) else { continue };
        let variable = variable(&argument.name)?;
        check_value(&argument.name, value)?;
        let taken = (value.clone(), argument.name.as_str());
        if let Some((_, other)) = variables.insert(variable.clone(), taken) {
            return Err(format!(
                "its arguments '{other}' and '{}' would both be {variable}. Its author must rename one of them",
                argument.name
            ));
        }
    }
    let total: usize = variables.iter().map(|(name, (value, _))| name.len() + value.len()).sum();
    if total > MAX_TOTAL_BYTES {
        return Err(format!(
            "its arguments are {total} bytes together, over the limit of {MAX_TOTAL_BYTES}. Pass large data in a file"
        ));
    }
    Ok(variables.into_iter().map(|(name, (value, _))| (name, value)).collect())
}

fn check_missing(declared: &[Argument], given: &BTreeMap<String, String>) -> Result<(), String> {
    let lacks = |argument: &&Argument| {
        argument.required && argument.default.is_none() && !given.contains_key(&argument.name)
    };
    let missing: Vec<String> = declared
        .iter()
        .filter(lacks)
        .map(|argument| format!("'{}' ({})", argument.name, argument.description))
        .collect();
    match missing.as_slice() {
        [] => Ok(()),
        [one] => Err(format!("it needs the argument {one}. Call again with it in args")),
        more => {
            Err(format!("it needs the arguments {}. Call again with them in args", more.join(", ")))
        }
    }
}

fn check_undeclared(declared: &[Argument], given: &BTreeMap<String, String>) -> Result<(), String> {
    let known = |name: &str| declared.iter().any(|argument| argument.name == name);
    let Some(unknown) = given.keys().find(|name| !known(name)) else { return Ok(()) };
    let names: Vec<&str> = declared.iter().map(|argument| argument.name.as_str()).collect();
    let takes = if names.is_empty() { "no arguments".to_owned() } else { names.join(", ") };
    Err(format!("it declares no argument '{unknown:.100}'; it takes {takes}"))
}

/// `config-path` → `SKILL_ARG_CONFIG_PATH`.
fn variable(name: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !name.chars().all(plain) || name.len() > 100 {
        return Err(format!(
            "its argument '{name:.100}' cannot be the name of a variable. Its author must use letters, digits, '_', '-' or '.'"
        ));
    }
    Ok(format!("{VARIABLE_PREFIX}{}", name.replace(['-', '.'], "_").to_ascii_uppercase()))
}

fn check_value(name: &str, value: &str) -> Result<(), String> {
    if value.contains('\0') {
        return Err(format!("the value of '{name}' holds a NUL character, which no variable can"));
    }
    if value.len() > MAX_VALUE_BYTES {
        return Err(format!(
            "the value of '{name}' is {} bytes, over the limit of {MAX_VALUE_BYTES}. Pass large data in a file",
            value.len()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argument(name: &str, required: bool, default: Option<&str>) -> Argument {
        let default = default.map(str::to_owned);
        Argument { name: name.into(), description: format!("about {name}"), required, default }
    }

    fn given(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn names_become_variables_and_defaults_are_filled_in() {
        let declared = [
            argument("config_path", true, None),
            argument("dry-run", false, Some("no")),
            argument("PATH", false, None),
        ];
        let variables =
            variables(&declared, &given(&[("config_path", "./a b"), ("PATH", "/evil")])).unwrap();
        let expected = given(&[
            ("SKILL_ARG_CONFIG_PATH", "./a b"),
            ("SKILL_ARG_DRY_RUN", "no"),
            ("SKILL_ARG_PATH", "/evil"),
        ]);
        assert_eq!(variables, expected);
    }

    #[test]
    fn all_missing_arguments_are_listed_with_what_they_mean() {
        let declared =
            [argument("a", true, None), argument("b", true, None), argument("c", true, Some("x"))];
        assert_eq!(
            variables(&declared, &given(&[])).unwrap_err(),
            "it needs the arguments 'a' (about a), 'b' (about b). Call again with them in args"
        );
    }

    #[test]
    fn x02_what_cannot_be_a_variable_of_its_own_is_refused_without_its_value() {
        let collide = [argument("A-B", false, Some("1")), argument("a_b", false, Some("2"))];
        assert!(variables(&collide, &given(&[])).unwrap_err().contains("SKILL_ARG_A_B"));
        let odd = [argument("a=b", true, None)];
        assert!(variables(&odd, &given(&[("a=b", "x")])).unwrap_err().contains("author"));
        let one = [argument("a", true, None)];
        for value in ["x\0y".to_owned(), "s".repeat(MAX_VALUE_BYTES + 1)] {
            let refused = variables(&one, &given(&[("a", &value)])).unwrap_err();
            assert!(refused.contains("'a'") && refused.len() < 200, "{refused}");
        }
        assert!(
            variables(&one, &given(&[("a", "1"), ("zz", "secret")])).unwrap_err().contains("'zz'")
        );
        let many: Vec<Argument> = (0..10).map(|n| argument(&format!("n{n}"), true, None)).collect();
        let large = "v".repeat(MAX_VALUE_BYTES);
        let all = many.iter().map(|argument| (argument.name.clone(), large.clone())).collect();
        assert!(variables(&many, &all).unwrap_err().contains("together"));
    }
}
