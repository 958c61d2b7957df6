//! How declared parameters become argv (contracts 5.2). No shell, no quoting, no expansion.

use bailiwick_core::{Arguments, Param, ParamKind, SkillError, Violation};
use serde_json::Value;

/// Renders a command: the interpreter's prefix, the script, then the parameters in order.
///
/// `resolve` turns the text of a `file` or `dir` parameter into the absolute path that the script
/// is given, or refuses it.
///
/// # Errors
///
/// `E_SKILL_ARGUMENTS_REJECTED` for a value that could be read as an option, contains NUL, or makes
/// the command larger than 128 KiB or 4096 items; whatever `resolve` fails with.
///
/// # Examples
///
/// ```
/// use bailiwick_core::{Param, ParamKind, Schema};
/// use bailiwick_script::argv;
/// use serde_json::json;
///
/// let params = [
///     Param::new("count", "How many.", ParamKind::Integer, true, None)?,
///     Param::new("verbose", "Say more.", ParamKind::Boolean, false, Some("verbose".parse()?))?,
/// ];
/// let arguments = Schema::from_params(&params)?.check(json!({ "count": -3, "verbose": true }))?;
/// let prefix = ["/usr/bin/python3".to_owned(), "-B".to_owned()];
/// let command = argv::render(&prefix, "/skill/scripts/a.py", &params, &arguments, |_, _| unreachable!())?;
/// assert_eq!(command, ["/usr/bin/python3", "-B", "/skill/scripts/a.py", "-3", "--verbose"]);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub fn render(
    prefix: &[String],
    script: &str,
    params: &[Param],
    arguments: &Arguments,
    mut resolve: impl FnMut(&Param, &str) -> Result<String, SkillError>,
) -> Result<Vec<String>, SkillError> {
    let mut argv: Vec<String> = prefix.to_vec();
    argv.push(script.to_owned());
    for param in params {
        let Some(value) = arguments.value(&param.name) else {
            continue;
        };
        if let (ParamKind::Boolean, Some(flag)) = (&param.kind, &param.flag) {
            if value.as_bool() == Some(true) {
                argv.push(flag.to_string());
            }
            continue;
        }
        let text = text_of(param, value)?;
        let text = match param.kind {
            ParamKind::File | ParamKind::Dir => resolve(param, &text)?,
            ParamKind::Boolean
            | ParamKind::Enum { .. }
            | ParamKind::Integer
            | ParamKind::Number
            | ParamKind::String => text,
        };
        argv.extend(param.flag.as_ref().map(ToString::to_string));
        argv.push(text);
    }
    check_size(&argv)?;
    Ok(argv)
}

/// Renders the command of an undeclared script, whose arguments are passed verbatim.
///
/// # Errors
///
/// `E_SKILL_ARGUMENTS_REJECTED` for a NUL, and for more than 128 KiB or 4096 items.
pub fn verbatim(
    prefix: &[String],
    script: &str,
    args: &[String],
) -> Result<Vec<String>, SkillError> {
    for (index, arg) in args.iter().enumerate() {
        if arg.contains('\0') {
            return Err(reject(&format!("/args/{index}"), "it contains NUL"));
        }
    }
    let argv: Vec<String> = prefix
        .iter()
        .cloned()
        .chain([script.to_owned()])
        .chain(args.iter().cloned())
        .collect();
    check_size(&argv)?;
    Ok(argv)
}

fn text_of(param: &Param, value: &Value) -> Result<String, SkillError> {
    let pointer = format!("/{}", param.name);
    match &param.kind {
        ParamKind::Boolean | ParamKind::Number => Ok(value.to_string()),
        ParamKind::Integer => integer_text(value)
            .ok_or_else(|| reject(&pointer, "it is too large to be passed exactly")),
        ParamKind::Dir | ParamKind::Enum { .. } | ParamKind::File | ParamKind::String => {
            let text = value.as_str().unwrap_or_default();
            if text.contains('\0') {
                return Err(reject(&pointer, "it contains NUL"));
            }
            if text.starts_with('-') {
                return Err(reject(
                    &pointer,
                    "it begins with `-` and could be read as an option",
                ));
            }
            Ok(text.to_owned())
        }
    }
}

/// Renders a whole number without a fraction: JSON's `1.0` is the integer 1. Nothing where the
/// number was read as a float that stands for other integers as well.
fn integer_text(value: &Value) -> Option<String> {
    if value.is_i64() || value.is_u64() {
        return Some(value.to_string());
    }
    let float = value
        .as_f64()
        .filter(|float| float.abs() <= LARGEST_EXACT)?;
    // Adding nothing turns a negative zero into zero.
    Some(format!("{:.0}", float + 0.0))
}

fn check_size(argv: &[String]) -> Result<(), SkillError> {
    let bytes: usize = argv.iter().map(|item| item.len() + 1).sum();
    if bytes > MAX_ARGV_BYTES {
        return Err(reject(
            "",
            &format!("the command has {bytes} bytes, and 128 KiB is the most"),
        ));
    }
    let items = argv.len();
    if items > MAX_ARGV_ITEMS {
        return Err(reject(
            "",
            &format!("the command has {items} items, and {MAX_ARGV_ITEMS} is the most"),
        ));
    }
    Ok(())
}

fn reject(pointer: &str, reason: &str) -> SkillError {
    Violation::reject(&[Violation::new(pointer, reason)])
}

/// 2^53: beyond it a double (IEEE 754) skips integers.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// The kernel takes strings of at most 32 pages each (`execve(2)`, `MAX_ARG_STRLEN`); the whole
/// command is held to one such string, so no item can be refused later.
const MAX_ARGV_BYTES: usize = 128 * 1024;
/// As many as one launch carries.
const MAX_ARGV_ITEMS: usize = 4096;

#[cfg(test)]
mod tests {
    use bailiwick_core::Schema;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn param(name: &str, kind: ParamKind, required: bool, flag: Option<&str>) -> Param {
        Param::new(name, "D.", kind, required, flag.map(|f| f.parse().unwrap())).unwrap()
    }

    fn argv(params: &[Param], values: Value) -> Result<Vec<String>, SkillError> {
        let arguments = Schema::from_params(params).unwrap().check(values).unwrap();
        let argv = render(&["i".into()], "s", params, &arguments, |_, text| {
            Ok(format!("/abs/{text}"))
        })?;
        Ok(argv[2..].to_vec())
    }

    #[test]
    fn positionals_keep_their_order_and_flags_are_two_items() {
        let params = [
            param("a", ParamKind::String, true, None),
            param("n", ParamKind::Number, false, Some("--num")),
            param("b", ParamKind::Boolean, true, None),
            param("f", ParamKind::File, true, Some("file")),
        ];
        let given = json!({ "f": "x", "b": false, "a": "$(id) `x` \"q\"", "n": -1.5 });
        assert_eq!(
            argv(&params, given).unwrap(),
            [
                "$(id) `x` \"q\"",
                "--num",
                "-1.5",
                "false",
                "--file",
                "/abs/x"
            ]
        );
    }

    #[test]
    fn a_boolean_flag_stands_only_when_true() {
        let params = [param("v", ParamKind::Boolean, false, Some("verbose"))];
        assert_eq!(argv(&params, json!({ "v": true })).unwrap(), ["--verbose"]);
        assert!(argv(&params, json!({ "v": false })).unwrap().is_empty());
        assert!(argv(&params, json!({})).unwrap().is_empty());
    }

    #[test]
    fn whole_floats_are_rendered_as_integers() {
        let params = [param("n", ParamKind::Integer, true, None)];
        assert_eq!(argv(&params, json!({ "n": 3.0 })).unwrap(), ["3"]);
        assert_eq!(
            argv(&params, json!({ "n": -9_007_199_254_740_993_i64 })).unwrap(),
            ["-9007199254740993"]
        );
        assert_eq!(argv(&params, json!({ "n": -0.0 })).unwrap(), ["0"]);
        let huge: Value = serde_json::from_str("{\"n\": 123456789012345678901234567890}").unwrap();
        assert!(
            argv(&params, huge).is_err(),
            "a value is never changed in silence"
        );
    }

    #[test]
    fn a_text_that_could_be_an_option_is_rejected_with_its_pointer() {
        for kind in [ParamKind::String, ParamKind::File, ParamKind::Dir] {
            let error = argv(&[param("a", kind, true, None)], json!({ "a": "-rf" })).unwrap_err();
            assert_eq!(error.details()["violations"][0]["pointer"], "/a");
        }
        assert!(
            argv(
                &[param("a", ParamKind::String, true, None)],
                json!({ "a": "x\0y" })
            )
            .is_err()
        );
    }

    #[test]
    fn verbatim_arguments_keep_leading_dashes_and_refuse_nul() {
        assert_eq!(
            verbatim(&["i".into()], "s", &["--help".into()]).unwrap(),
            ["i", "s", "--help"]
        );
        assert!(verbatim(&[], "s", &["a\0".into()]).is_err());
        assert!(verbatim(&[], "s", &["x".repeat(MAX_ARGV_BYTES)]).is_err());
        let many = vec!["x".to_owned(); MAX_ARGV_ITEMS];
        assert!(verbatim(&[], "s", &many).is_err());
        assert!(verbatim(&[], "s", &many[1..]).is_ok());
    }

    proptest! {
        #[test]
        fn no_text_becomes_an_option_or_more_than_one_item(text in any::<String>()) {
            let params = [param("a", ParamKind::String, true, None)];
            match argv(&params, json!({ "a": text })) {
                Ok(items) => {
                    prop_assert_eq!(items.as_slice(), std::slice::from_ref(&text));
                    prop_assert!(!text.starts_with('-') && !text.contains('\0'));
                }
                Err(_) => prop_assert!(text.starts_with('-') || text.contains('\0')),
            }
        }
    }
}
