//! Schemas and arguments: the input is a schema, a line break and arguments. A schema is accepted
//! or refused without a panic or a hang, and arguments that pass it pass it again.
#![no_main]

use bailiwick_core::{Code, Schema};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|text: &str| {
    let Some((schema, arguments)) = text.split_once('\n') else {
        return;
    };
    let (Ok(schema), Ok(arguments)) = (parse(schema), parse(arguments)) else {
        return;
    };
    let schema = match Schema::from_author(schema) {
        Ok(schema) => schema,
        Err(error) => {
            assert_eq!(error.code(), Code::ManifestInvalid);
            return;
        }
    };
    match schema.check(arguments) {
        Ok(proven) => assert!(schema.check(proven.to_value()).is_ok()),
        Err(error) => {
            assert_eq!(error.code(), Code::ArgumentsRejected);
            assert!(error.model_text().chars().count() <= 400);
        }
    }
});

fn parse(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text)
}
