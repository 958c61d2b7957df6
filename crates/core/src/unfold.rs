//! How often, and how far down, a schema has a validator look at one value.
//!
//! A validator recurses through `allOf`, `$ref` and the like, and nothing bounds it: forty
//! definitions that each name the next one twice keep it busy for years, and a chain of a thousand
//! ends the process on its stack. So both are counted beforehand, from the schema alone.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// What checking a value takes, by how deep the value nests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unfolded(Vec<Level>);

#[derive(Clone, Copy, Debug, Default)]
struct Level {
    /// How often schemas are applied along one way down a value.
    visits: u64,
    /// How many schemas stand below one another on the longest way.
    steps: u64,
}

impl Unfolded {
    /// Counts for a schema and for values of up to `deepest` levels.
    ///
    /// # Errors
    ///
    /// What is wrong with the schema, where even a flat value would take too much.
    pub(crate) fn of(root: &Value, deepest: usize) -> Result<Self, String> {
        let mut graph = Graph::new(root);
        let first = graph.node(root, 0)?;
        // Every schema that is ever applied to a part of a value.
        let mut next = 0;
        while let Some(schema) = graph.begun.get(next).copied() {
            graph.node(schema, 0)?;
            next += 1;
        }
        let nodes: Vec<&Node<'_>> = graph.nodes.iter().filter_map(Option::as_ref).collect();
        let mut below = vec![Level::default(); nodes.len()];
        let mut levels = Vec::with_capacity(deepest + 1);
        for _ in 0..=deepest {
            below = nodes
                .iter()
                .map(|node| node.level(&graph, &below))
                .collect();
            levels.push(below.get(first).copied().unwrap_or_default());
        }
        let flat = levels.get(FLAT).copied().unwrap_or_default();
        if flat.visits > MAX_FLAT_VISITS || flat.steps > MAX_STEPS {
            return Err("it refers to its own parts too often".to_owned());
        }
        Ok(Self(levels))
    }

    /// Returns whether a value of this depth, with this many values in it, is cheap to check.
    pub(crate) fn admits(&self, depth: usize, values: u64) -> bool {
        self.0.get(depth).is_some_and(|level| {
            level.steps <= MAX_STEPS && level.visits.saturating_mul(values) <= MAX_VISITS
        })
    }
}

/// Counts the values in a value, itself among them.
pub(crate) fn values(json: &Value) -> u64 {
    match json {
        Value::Object(map) => 1 + map.values().map(values).sum::<u64>(),
        Value::Array(items) => 1 + items.iter().map(values).sum::<u64>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

/// A schema with all that it applies to the same value.
#[derive(Clone, Default)]
struct Node<'a> {
    visits: u64,
    steps: u64,
    /// What it applies to which parts of the value, how often, and how many steps further down.
    parts: HashMap<(Part<'a>, usize), (u64, u64)>,
}

/// A part of a value.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Part<'a> {
    Member(&'a str),
    EveryMember,
    Item(usize),
    EveryItem,
}

impl Node<'_> {
    fn level(&self, graph: &Graph<'_>, below: &[Level]) -> Level {
        let mut steps = self.steps;
        let mut one: HashMap<Part<'_>, u64> = HashMap::new();
        let (mut members, mut items) = (0_u64, 0_u64);
        for ((part, schema), (times, further)) in &self.parts {
            let of = graph.index(*schema).and_then(|index| below.get(index));
            let of = of.copied().unwrap_or_default();
            steps = steps.max(further.saturating_add(of.steps));
            let visits = times.saturating_mul(of.visits);
            let sum = match part {
                Part::EveryMember => &mut members,
                Part::EveryItem => &mut items,
                Part::Member(_) | Part::Item(_) => one.entry(*part).or_default(),
            };
            *sum = sum.saturating_add(visits);
        }
        let most = |of_member: bool| {
            let of_kind = one
                .iter()
                .filter(|(part, _)| matches!(part, Part::Member(_)) == of_member);
            of_kind.map(|(_, visits)| *visits).max().unwrap_or(0)
        };
        let parts = most(true)
            .saturating_add(members)
            .max(most(false).saturating_add(items));
        Level {
            visits: self.visits.saturating_add(parts),
            steps,
        }
    }
}

/// The schemas of a document, each by the place where it lies in memory.
struct Graph<'a> {
    root: &'a Value,
    anchors: HashMap<&'a str, Vec<&'a Value>>,
    /// The number of each schema that was reached.
    numbers: HashMap<*const Value, usize>,
    /// None while a schema is being looked at.
    nodes: Vec<Option<Node<'a>>>,
    /// The schemas of parts, by the number that `parts` name them with.
    begun: Vec<&'a Value>,
    begun_numbers: HashMap<*const Value, usize>,
    edges: usize,
}

impl<'a> Graph<'a> {
    fn new(root: &'a Value) -> Self {
        let mut anchors = HashMap::new();
        collect_anchors(root, &mut anchors);
        Self {
            root,
            anchors,
            numbers: HashMap::new(),
            nodes: Vec::new(),
            begun: Vec::new(),
            begun_numbers: HashMap::new(),
            edges: 0,
        }
    }

    /// Returns the number of the node of the schema of a part.
    fn index(&self, part: usize) -> Option<usize> {
        let schema: *const Value = *self.begun.get(part)?;
        self.numbers.get(&schema).copied()
    }

    /// Looks at a schema, `chain` schemas below the one that begins with the value.
    fn node(&mut self, schema: &'a Value, chain: u64) -> Result<usize, String> {
        if let Some(number) = self.numbers.get(&std::ptr::from_ref(schema)).copied() {
            let is_done = self.nodes.get(number).is_some_and(Option::is_some);
            return if is_done {
                Ok(number)
            } else {
                Err("it refers to itself without going into the value".to_owned())
            };
        }
        if chain > MAX_CHAIN {
            return Err("it refers to its own parts in too long a chain".to_owned());
        }
        let number = self.nodes.len();
        self.numbers.insert(schema, number);
        self.nodes.push(None);
        let mut node = Node {
            visits: 1,
            steps: 1,
            parts: HashMap::new(),
        };
        if let Value::Object(map) = schema {
            if map.get("$id").is_some_and(Value::is_string) && !std::ptr::eq(schema, self.root) {
                return Err("only its root may have an `$id`".to_owned());
            }
            self.parts_of(map, &mut node)?;
            // What is not evaluated is found by looking through all of these again.
            let looks = ["unevaluatedProperties", "unevaluatedItems"];
            let is_looking = looks.iter().any(|word| map.contains_key(*word));
            let times = if is_looking { LOOKS } else { 1 };
            for same in self.same_value(map)? {
                let other = self.node(same, chain + 1)?;
                let Some(Some(other)) = self.nodes.get(other).cloned() else {
                    continue;
                };
                self.count(other.parts.len())?;
                let visits = other.visits.saturating_mul(times);
                node.visits = node.visits.saturating_add(visits);
                node.steps = node.steps.max(other.steps + 1);
                for (part, (often, further)) in other.parts {
                    let sum = node.parts.entry(part).or_default();
                    sum.0 = sum.0.saturating_add(often.saturating_mul(times));
                    sum.1 = sum.1.max(further + 1);
                }
            }
        }
        if node.steps > MAX_CHAIN {
            return Err("it refers to its own parts in too long a chain".to_owned());
        }
        if let Some(place) = self.nodes.get_mut(number) {
            *place = Some(node);
        }
        Ok(number)
    }

    /// Lists the schemas that one applies to the very value it is applied to.
    fn same_value(&self, map: &'a Map<String, Value>) -> Result<Vec<&'a Value>, String> {
        let mut list = Vec::new();
        for (word, value) in map {
            match (word.as_str(), value) {
                ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => list.extend(schemas),
                ("not" | "if" | "then" | "else", schema) => list.push(schema),
                ("dependentSchemas" | "dependencies", Value::Object(schemas)) => {
                    list.extend(schemas.values());
                }
                ("$ref" | "$dynamicRef", Value::String(target)) => {
                    list.extend(self.targets(target)?);
                }
                _ => {}
            }
        }
        Ok(list)
    }

    /// Notes the schemas that one applies to parts of the value.
    fn parts_of(&mut self, map: &'a Map<String, Value>, node: &mut Node<'a>) -> Result<(), String> {
        for (word, value) in map {
            match (word.as_str(), value) {
                ("properties", Value::Object(schemas)) => {
                    for (name, schema) in schemas {
                        self.part(Part::Member(name), schema, node)?;
                    }
                }
                ("patternProperties", Value::Object(schemas)) => {
                    for schema in schemas.values() {
                        self.part(Part::EveryMember, schema, node)?;
                    }
                }
                ("additionalProperties" | "unevaluatedProperties" | "propertyNames", schema) => {
                    self.part(Part::EveryMember, schema, node)?;
                }
                ("prefixItems", Value::Array(schemas)) => {
                    for (index, schema) in schemas.iter().enumerate() {
                        self.part(Part::Item(index), schema, node)?;
                    }
                }
                ("items" | "contains" | "unevaluatedItems", schema) => {
                    self.part(Part::EveryItem, schema, node)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn part(
        &mut self,
        part: Part<'a>,
        schema: &'a Value,
        node: &mut Node<'a>,
    ) -> Result<(), String> {
        if !schema.is_object() {
            return Ok(());
        }
        self.count(1)?;
        let next = self.begun.len();
        let number = *self.begun_numbers.entry(schema).or_insert(next);
        if number == next {
            self.begun.push(schema);
        }
        let sum = node.parts.entry((part, number)).or_default();
        *sum = (sum.0.saturating_add(1), sum.1.max(1));
        Ok(())
    }

    fn count(&mut self, edges: usize) -> Result<(), String> {
        self.edges = self.edges.saturating_add(edges);
        if self.edges > MAX_EDGES {
            return Err("it refers to its own parts too often".to_owned());
        }
        Ok(())
    }

    /// Finds what a reference within the document names.
    fn targets(&self, reference: &str) -> Result<Vec<&'a Value>, String> {
        let nothing = || format!("the reference {reference:?} points to nothing");
        let fragment = decoded(reference.trim_start_matches('#')).ok_or_else(nothing)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            let target = self.root.pointer(&fragment).ok_or_else(nothing)?;
            return Ok(vec![target]);
        }
        self.anchors
            .get(fragment.as_str())
            .cloned()
            .ok_or_else(nothing)
    }
}

fn collect_anchors<'a>(json: &'a Value, anchors: &mut HashMap<&'a str, Vec<&'a Value>>) {
    match json {
        Value::Object(map) => {
            for word in ["$anchor", "$dynamicAnchor"] {
                if let Some(name) = map.get(word).and_then(Value::as_str) {
                    anchors.entry(name).or_default().push(json);
                }
            }
            for value in map.values() {
                collect_anchors(value, anchors);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_anchors(item, anchors)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Resolves the `%41` of a fragment.
fn decoded(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = rest.get(2..)?;
    }
    String::from_utf8(bytes).ok()
}

/// Schemas that may be applied to one value below one another.
const MAX_CHAIN: u64 = 48;

/// Schemas that may stand below one another in all, over a value and its parts. A validator has
/// been seen to take some 2 KiB of stack for each where nothing is optimised.
const MAX_STEPS: u64 = 320;

/// How deep a value nests that holds nothing but scalars.
const FLAT: usize = 2;

/// Schemas that may be applied to such a value.
const MAX_FLAT_VISITS: u64 = 10_000;

/// Schemas that may be applied in one check, which are about a second's worth.
const MAX_VISITS: u64 = 20_000_000;

/// How often a schema with `unevaluatedProperties` looks at what is evaluated beside it.
const LOOKS: u64 = 3;

/// Uses of schemas that are counted at all.
const MAX_EDGES: usize = 100_000;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::Schema;

    const DEEPEST: usize = 64;

    fn refused(schema: &Value) -> String {
        Unfolded::of(schema, DEEPEST).unwrap_err()
    }

    /// Definitions of which each is made of the next one, and the last of `end`.
    fn chain(length: usize, link: impl Fn(Value) -> Value, end: Value) -> Value {
        let mut definitions = Map::new();
        for index in 0..length {
            let next = json!({ "$ref": format!("#/$defs/a{}", index + 1) });
            definitions.insert(format!("a{index}"), link(next));
        }
        definitions.insert(format!("a{length}"), end);
        json!({ "$defs": definitions, "$ref": "#/$defs/a0" })
    }

    #[test]
    fn a_schema_that_doubles_with_each_reference_is_refused() {
        let twice = |next: Value| json!({ "allOf": [next.clone(), next] });
        assert!(refused(&chain(20, twice, json!({}))).contains("too often"));
        let looking = |next| json!({ "unevaluatedProperties": false, "allOf": [next] });
        assert!(refused(&chain(20, looking, json!({}))).contains("too often"));
    }

    #[test]
    fn a_long_chain_of_references_is_refused() {
        assert!(refused(&chain(1500, |next| next, json!({}))).contains("chain"));
        let circle = chain(2, |next| next, json!({ "$ref": "#/$defs/a0" }));
        assert!(refused(&circle).contains("refers to itself"));
    }

    #[test]
    fn what_doubles_with_each_level_of_a_value_takes_shallow_values_alone() {
        let node = json!({ "$ref": "#/$defs/node" });
        let schema = Schema::from_author(json!({
            "properties": { "x": node },
            "$defs": { "node": { "items": { "allOf": [node, node] } } },
        }));
        let nested = |levels: usize| {
            let inner = (0..levels).fold(json!(1), |inner, _| json!([inner]));
            json!({ "x": inner })
        };
        let schema = schema.unwrap();
        assert!(schema.check(nested(8)).is_ok());
        let error = schema.check(nested(40)).unwrap_err();
        assert!(error.message().contains("this schema"), "{error}");
    }

    #[test]
    fn a_tree_takes_values_as_deep_as_any() {
        let node = json!({ "$ref": "#/$defs/node" });
        let schema = Schema::from_author(json!({
            "properties": { "tree": node },
            "$defs": { "node": {
                "type": "object",
                "properties": { "left": node, "right": node, "name": { "type": "string" } },
                "additionalProperties": false,
            } },
        }));
        let schema = schema.unwrap();
        let tree = (0..50).fold(json!({}), |tree, _| json!({ "left": tree, "right": {} }));
        assert!(schema.check(json!({ "tree": tree })).is_ok());
    }

    #[test]
    fn the_longest_way_that_is_taken_fits_a_worker_s_stack() {
        let deep = chain(
            40,
            |next| next,
            json!({ "items": { "$ref": "#/$defs/a0" }, "type": "array" }),
        );
        let schema = json!({ "properties": { "x": deep["$defs"]["a0"] }, "$defs": deep["$defs"] });
        let checked = std::thread::Builder::new()
            .stack_size(1 << 20)
            .spawn(move || {
                let schema = Schema::from_author(schema).unwrap();
                let taken = (1..60).rev().find(|levels| {
                    let value = (0..*levels).fold(json!(1), |inner, _| json!([inner]));
                    let answer = schema.check(json!({ "x": value }));
                    !answer.unwrap_err().message().contains("this schema")
                });
                taken.unwrap()
            });
        assert!(checked.unwrap().join().unwrap() > 3);
    }

    #[test]
    fn references_are_found_by_pointer_and_by_anchor() {
        for reference in ["#/$defs/a%20b~1c", "#here", "#"] {
            let schema = json!({
                "$defs": { "a b/c": { "$anchor": "here" } },
                "properties": { "x": { "$ref": reference } },
            });
            assert!(Unfolded::of(&schema, DEEPEST).is_ok(), "{reference}");
        }
        for reference in ["#/nowhere", "#nobody", "#/%zz"] {
            assert!(refused(&json!({ "$ref": reference })).contains("nothing"));
        }
        let inner = json!({ "allOf": [{ "$id": "https://example.test/" }] });
        assert!(refused(&inner).contains("`$id`"));
    }
}
