//! What goes in as arguments comes out as the result.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::bed::{self, call, success};

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        // Beyond 53 bits JavaScript has no whole numbers.
        (-(1_i64 << 53)..(1 << 53)).prop_map(Value::from),
        any::<f64>().prop_filter_map("JSON has no such number", |number| {
            let is_whole = number.fract() == 0.0;
            (number.is_finite() && !is_whole).then(|| json!(number))
        }),
        any::<String>().prop_map(Value::from),
        "[\\\\\"/u0-9a-f\u{0}-\u{1f}\u{2028}\u{fffd}\u{1F600}]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        let key = prop_oneof![
            any::<String>(),
            Just("__proto__".to_owned()),
            Just("constructor".to_owned()),
            Just("toJSON".to_owned()),
            Just("then".to_owned()),
            "[0-9]{1,3}",
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map(key, inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn arguments_come_back_as_they_went(value in any_json(), text in any::<String>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let arguments = json!({ "value": value, "text": text });
        let (direct, hosted) = runtime.block_on(async {
            let direct = bed::arrow("async (args) => args").await;
            let hosted = bed::arrow("async (args, context) => (await \
             context.test.echo(args))[0]").await;
            (
                success(call(&direct, arguments.clone()).await),
                success(call(&hosted, arguments.clone()).await),
            )
        });
        prop_assert_eq!(&direct, &arguments);
        prop_assert_eq!(&hosted, &arguments);
    }
}
