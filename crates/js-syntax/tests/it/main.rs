//! What the check of a source must say.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests stop the test, as the tests do"
)]

mod bombs;
mod errors;
mod positions;
mod table;

use bailiwick_js_syntax::{Checked, Form, Language, Source, SyntaxError, check};

fn source(language: Language, text: &str) -> Source {
    let path = match language {
        Language::JavaScript => "scripts/tool.js",
        Language::TypeScript => "scripts/tool.ts",
    };
    Source::new(path.parse().unwrap(), language, text.as_bytes()).unwrap()
}

fn javascript(form: Form, text: &str) -> Result<Checked, SyntaxError> {
    check(&source(Language::JavaScript, text), form)
}

fn typescript(form: Form, text: &str) -> Result<Checked, SyntaxError> {
    check(&source(Language::TypeScript, text), form)
}

/// What makes any statements a tool module, on a line below them.
const EXPORTS: &str = "\nexport const description = '', parameters = {}, execute = () => {};\n";

#[test]
fn every_file_of_this_folder_is_a_module_of_it() {
    let listed = include_str!("main.rs");
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.trim_end_matches(".rs").trim_end_matches(".txt");
        assert!(
            module == "main" || listed.contains(&format!("\nmod {module};\n")),
            "{name} is not listed"
        );
    }
}
