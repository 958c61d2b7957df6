//! Bounds of JSON that comes out of a guest, checked before anything parses it.

/// Returns how JSON text breaks its bounds, if it does.
///
/// It looks at brackets, commas and strings alone: text that is no JSON passes or fails here and
/// is rejected by the parser.
pub(crate) fn excess(text: &[u8], depth: u32, nodes: u32) -> Option<Excess> {
    let (mut level, mut values) = (0_u32, 1_u32);
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => skip_string(&mut bytes),
            b'[' | b'{' => {
                level += 1;
                if level > depth {
                    return Some(Excess::Depth(depth));
                }
                while bytes.next_if(u8::is_ascii_whitespace).is_some() {}
                let is_empty = matches!(bytes.peek(), Some(b']' | b'}'));
                values = values.saturating_add(u32::from(!is_empty));
            }
            b']' | b'}' => level = level.saturating_sub(1),
            b',' => values = values.saturating_add(1),
            _ => {}
        }
        if values > nodes {
            return Some(Excess::Nodes(nodes));
        }
    }
    None
}

fn skip_string(bytes: &mut impl Iterator<Item = u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}

/// A bound that JSON breaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum Excess {
    #[error("it is nested deeper than {0} levels")]
    Depth(u32),
    #[error("it holds more than {0} values")]
    Nodes(u32),
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn depth_of(value: &Value) -> u32 {
        match value {
            Value::Array(items) => 1 + items.iter().map(depth_of).max().unwrap_or(0),
            Value::Object(members) => 1 + members.values().map(depth_of).max().unwrap_or(0),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        }
    }

    fn nodes_of(value: &Value) -> u32 {
        match value {
            Value::Array(items) => 1 + items.iter().map(nodes_of).sum::<u32>(),
            Value::Object(members) => 1 + members.values().map(nodes_of).sum::<u32>(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            "[\\[\\]{},\"\\\\a ]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 64, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::hash_map("[a-c\"{,]{0,3}", inner, 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    #[test]
    fn blanks_inside_an_empty_container_make_no_value() {
        assert_eq!(excess(b"[ ]", 1, 1), None);
        assert_eq!(excess(b"[ 1 ]", 1, 1), Some(Excess::Nodes(1)));
        assert_eq!(
            excess(json!([[]]).to_string().as_bytes(), 1, 9),
            Some(Excess::Depth(1))
        );
    }

    proptest! {
        #[test]
        fn the_bounds_are_those_of_the_parsed_value(value in any_json(), pretty in any::<bool>()) {
            let text = if pretty {
                serde_json::to_string_pretty(&value).unwrap()
            } else {
                value.to_string()
            };
            let (depth, nodes) = (depth_of(&value), nodes_of(&value));
            prop_assert_eq!(excess(text.as_bytes(), depth, nodes), None);
            if depth > 0 {
                prop_assert!(excess(text.as_bytes(), depth - 1, nodes).is_some());
            }
            if nodes > 1 {
                prop_assert!(excess(text.as_bytes(), depth, nodes - 1).is_some());
            }
        }
    }
}
