//! Mutates valid inputs: values by their structure, texts by their bytes.

use gyre_devcluster::random::Random;
use serde_json::{Map, Value, json};

/// Larger bodies are not multiplied, so that a case stays quick.
const LARGE: usize = 3_000;

/// Texts with a meaning somewhere, and meaningless ones.
const TEXTS: &[&str] = &[
    "",
    "a",
    "b",
    "default",
    "web",
    "one",
    "Never",
    "v1",
    "ConfigMap",
    "metadata.name",
    "null",
    "true",
    "-1",
    "1e9",
    "10Gi",
    "0.5",
    "1n",
    "999999999999999999999Ei",
    "50%",
    "2026-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "0000-00-00T99:99:99Z",
    "1h",
    "-9223372036854775808ns",
    "*/1 * * * *",
    "TZ=Europe/Berlin 0 0 29 2 *",
    "59 23 31 2 *",
    "a.example.com",
    "-not-a-name-",
    "UPPER",
    "ä\u{301}\u{202e}\u{0}\u{10ffff}",
    "\u{feff}",
    "😀😀",
    "a/b/c",
    "../../x",
    "~0~1",
    "{{x}}",
    "(((((((((((((((((((((a+)+)+)+",
    "[[:alpha:]-",
    "%00%ff",
    "AAEC",
    "not base64!",
    "foregroundDeletion",
    "kubernetes",
    "=,!in (",
];

const KEYS: &[&str] = &[
    "metadata",
    "name",
    "namespace",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "managedFields",
    "resourceVersion",
    "uid",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generateName",
    "spec",
    "status",
    "data",
    "template",
    "containers",
    "replicas",
    "$patch",
    "$retainKeys",
    "$setElementOrder/containers",
    "$deleteFromPrimitiveList/finalizers",
    "x-kubernetes-validations",
    "items",
    "properties",
    "type",
    "",
    "f:spec",
    "k:{\"name\":\"one\"}",
    "ä",
];

/// CEL rules: valid, invalid and expensive.
const RULES: &[&str] = &[
    "true",
    "self",
    "self == oldSelf",
    "self.height > 3",
    "has(self.a.b.c)",
    "1 / 0 == 1",
    "9223372036854775807 + 1 > 0",
    "self.all(x, self.all(y, self.all(z, x == y)))",
    "[1,2,3].map(x, [1,2,3].map(y, [x, y])).size() > 0",
    "'a'.matches('(a+)+$')",
    "self.matches('[')",
    "string(self).size() < 5 && self.__namespace__ == ''",
    "((((((((((((((((((((1))))))))))))))))))))",
    "quantity('x').add(1)",
    "duration('1h') + timestamp('9999-12-31T23:59:59Z') > timestamp('0001-01-01T00:00:00Z')",
    "optional.none().value()",
    "self[?'a'].orValue(1)",
    "cel.bind(x, self, x == x)",
    "{'a': 1}['b'] == 2",
    "b'\\xff' == bytes('a')",
    "'%d'.format([1.5])",
    "!!!!!!!!!!!!!!!!!!!!!!true",
    "self.",
    "\u{0}",
    "dyn([1, 'a', self]).exists_one(x, x == 1)",
    "'abc'.substring(-1, 99)",
    "url('http://a').getHost() == ip('::1')",
];

/// More random choices.
pub(crate) trait Draw {
    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T;
    fn size(&mut self, bound: usize) -> usize;
}

impl Draw for Random {
    /// Panics if the slice is empty.
    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.size(from.len())]
    }

    fn size(&mut self, bound: usize) -> usize {
        self.below(bound as u64) as usize
    }
}

pub(crate) fn text(random: &mut Random) -> String {
    match random.below(12) {
        0 => random.pick(TEXTS).repeat(random.size(300)),
        1 => (*random.pick(RULES)).to_owned(),
        2 => random.pick(KEYS).to_string(),
        _ => (*random.pick(TEXTS)).to_owned(),
    }
}

fn number(random: &mut Random) -> Value {
    match random.below(8) {
        0 => json!(i64::MIN),
        1 => json!(u64::MAX),
        2 => json!(1e308),
        3 => json!(0.1),
        4 => json!(i64::from(i32::MAX) + 1),
        5 => json!(-1),
        6 => json!(random.next_u64() as i64),
        _ => json!(random.below(5)),
    }
}

fn nested(random: &mut Random) -> Value {
    let depth = if random.chance(0.1) { random.below(1_000) } else { random.below(200) };
    let is_list = random.chance(0.5);
    let mut value = Value::Null;
    for _ in 0..depth {
        value =
            if is_list { Value::Array(vec![value]) } else { Value::Object(Map::from_iter([("properties".to_owned(), value)])) };
    }
    value
}

fn managed_fields(random: &mut Random) -> Value {
    let fields = match random.below(4) {
        0 => json!({"f:metadata": {"f:labels": {"f:a": {}, ".": {}}}, "f:data": {"f:a": {}}}),
        1 => {
            json!({"f:spec": {"f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"one\"}": {".": {}, "f:image": {}}}}}}})
        }
        2 => json!({"f:spec": {"f:books": {"k:{\"isbn\":1}": {}, "v:\"x\"": {}, "i:-3": {}, "k:{": {}}, "": [], "x:y": 1}}),
        _ => value(random),
    };
    json!([{
        "manager": text(random), "operation": random.pick(&["Apply", "Update", "", "Delete"]),
        "apiVersion": random.pick(&["v1", "apps/v1", "example.com/v1", "no/such/v9"]),
        "fieldsType": random.pick(&["FieldsV1", "FieldsV2"]), "time": text(random),
        "fieldsV1": fields, "subresource": random.pick(&["", "status", "scale"]),
    }])
}

pub(crate) fn value(random: &mut Random) -> Value {
    match random.below(12) {
        0 => Value::Null,
        1 => json!(random.chance(0.5)),
        2 | 3 => number(random),
        4 => json!([]),
        5 => json!({}),
        6 => nested(random),
        7 => {
            let item = json!({ "name": text(random) });
            let most = if random.chance(0.05) { LARGE } else { 20 };
            let length = random.size(most);
            Value::Array(vec![item; length])
        }
        8 => json!([text(random), number(random), { "name": "x" }, null]),
        9 => {
            let keys = random.size(5);
            Value::Object((0..keys).map(|_| (text(random), number(random))).collect())
        }
        10 => json!([{ "rule": random.pick(RULES), "message": text(random), "fieldPath": text(random) }]),
        _ => json!(text(random)),
    }
}

pub(crate) fn structure(random: &mut Random, value: &mut Value) {
    let times = [0, 1, 1, 1, 2, 3, 8][random.size(7)];
    for _ in 0..times {
        place(random, value);
    }
}

/// Descends to a random place, and changes the value there.
fn place(random: &mut Random, target: &mut Value) {
    let goes_on = random.chance(0.8);
    match target {
        Value::Object(map) if goes_on && !map.is_empty() => {
            let index = random.size(map.len());
            if let Some((_, inner)) = map.iter_mut().nth(index) {
                place(random, inner);
            }
        }
        Value::Array(items) if goes_on && !items.is_empty() => {
            let index = random.size(items.len());
            place(random, &mut items[index]);
        }
        Value::Object(map) => object(random, map),
        Value::Array(items) => list(random, items),
        other => *other = value(random),
    }
}

fn object(random: &mut Random, map: &mut Map<String, Value>) {
    let key = map.keys().nth(random.size(map.len())).cloned().unwrap_or_default();
    match random.below(7) {
        0 => drop(map.remove(&key)),
        1 => drop(map.insert(text(random), value(random))),
        2 => drop(map.insert((*random.pick(KEYS)).to_owned(), value(random))),
        3 => drop(map.insert("managedFields".to_owned(), managed_fields(random))),
        4 => {
            if let Some(inner) = map.remove(&key) {
                drop(map.insert((*random.pick(KEYS)).to_owned(), inner));
            }
        }
        5 => {
            let inner = Value::Object(map.clone());
            drop(map.insert(key, inner));
        }
        _ => drop(map.insert(key, value(random))),
    }
}

fn list(random: &mut Random, items: &mut Vec<Value>) {
    let index = random.size(items.len());
    match random.below(5) {
        0 if !items.is_empty() => drop(items.remove(index)),
        1 => items.insert(index, value(random)),
        2 => items.reverse(),
        _ => {
            let copy = items.get(index).cloned().unwrap_or(Value::Null);
            items.push(copy);
        }
    }
}

/// Valid JSON values that few readers accept.
const ODD: &[&str] = &[
    "1e999",
    "-99999999999999999999999999",
    "18446744073709551616",
    "-0.0",
    "0.1e-400",
    r#""\ud800""#,
    r#""\udfff\ud83d""#,
    r#"{"":[{}],"":null}"#,
    r#"{"a":1,"a":2}"#,
];

pub(crate) const ODD_KEY: &str = "odd";

/// Writes a value as equivalent JSON text, with escapes, white space, and repeated keys, of which
/// the last one counts. With `odd`, maps have one more key, with a value that few readers accept.
pub(crate) fn spelled(random: &mut Random, value: &Value, odd: bool) -> String {
    let chance = |random: &mut Random, probability: f64| if random.chance(0.5) { probability } else { 0.0 };
    let style = Style {
        escape: chance(random, 0.3),
        space: chance(random, 0.1),
        repeat: chance(random, 0.05),
        odd: if odd { 0.3 } else { 0.0 },
    };
    let mut text = String::new();
    style.write(random, value, 0, &mut text);
    text
}

/// The depth beyond which values are written plainly.
const DEEP: usize = 100;

/// The probability of each variation.
struct Style {
    escape: f64,
    space: f64,
    repeat: f64,
    odd: f64,
}

impl Style {
    fn write(&self, random: &mut Random, value: &Value, depth: usize, text: &mut String) {
        self.space(random, text);
        match value {
            deep if depth > DEEP => text.push_str(&deep.to_string()),
            Value::String(string) => self.string(random, string, text),
            Value::Array(items) => {
                text.push('[');
                for (index, item) in items.iter().enumerate() {
                    text.push_str(if index > 0 { "," } else { "" });
                    self.write(random, item, depth + 1, text);
                }
                text.push(']');
            }
            Value::Object(map) => self.map(random, map, depth, text),
            scalar => text.push_str(&scalar.to_string()),
        }
        self.space(random, text);
    }

    fn map(&self, random: &mut Random, map: &Map<String, Value>, depth: usize, text: &mut String) {
        text.push('{');
        let mut separator = "";
        let mut key = |name: &str, text: &mut String| {
            text.push_str(separator);
            separator = ",";
            // Keys are escaped no more than necessary, as by all writers.
            text.push_str(&Value::from(name).to_string().replace('<', "\\u003c").replace('&', "\\u0026"));
            text.push(':');
        };
        if random.chance(self.odd) {
            key(ODD_KEY, text);
            let lists = if random.chance(0.05) { random.size(20_000) } else { 0 };
            text.push_str(&"[".repeat(lists));
            text.push_str(random.pick::<&str>(ODD));
            text.push_str(&"]".repeat(lists));
        }
        for (name, inner) in map {
            if random.chance(self.repeat) {
                key(name, text);
                text.push_str(&value(random).to_string());
            }
            key(name, text);
            self.write(random, inner, depth + 1, text);
        }
        self.space(random, text);
        text.push('}');
    }

    fn string(&self, random: &mut Random, string: &str, text: &mut String) {
        text.push('"');
        for letter in string.chars() {
            match letter {
                '"' | '\\' => text.extend(['\\', letter]),
                '/' if random.chance(self.escape) => text.push_str("\\/"),
                _ if letter.is_control() || random.chance(self.escape) => {
                    let mut units = [0; 2];
                    for unit in letter.encode_utf16(&mut units) {
                        text.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                _ => text.push(letter),
            }
        }
        text.push('"');
    }

    fn space(&self, random: &mut Random, text: &mut String) {
        if random.chance(self.space) {
            text.push_str(random.pick::<&str>(&[" ", "\t", "   "]));
        }
    }
}

pub(crate) fn bytes(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..=random.below(4) {
        let (from, to) = (random.size(bytes.len() + 1), random.size(bytes.len() + 1));
        let (from, to) = (from.min(to), from.max(to));
        match random.below(7) {
            0 => drop(bytes.drain(from..to)),
            1 if bytes.len() < 100_000 => {
                let copy = bytes[from..to].to_vec();
                drop(bytes.splice(from..from, copy));
            }
            2 => bytes.truncate(to),
            3 => drop(bytes.splice(from..from, text(random).into_bytes())),
            4 => bytes.insert(from, random.next_u64() as u8),
            _ => {
                if let Some(byte) = bytes.get_mut(from) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
    }
}

/// Writes a value as JSON, sometimes with a repeated field or white space.
pub(crate) fn json_text(random: &mut Random, value: &Value) -> Vec<u8> {
    let mut text = if random.chance(0.1) { format!("{value:#}") } else { value.to_string() };
    if random.chance(0.05)
        && let Some(rest) = text.strip_prefix('{')
    {
        text = format!("{{\"metadata\":{{\"name\":\"twice\"}},{rest}");
    }
    if random.chance(0.03) {
        text = text.replacen(":1", ":1e99999", 1);
    }
    if random.chance(0.01) {
        // Nests more deeply than any reader accepts.
        let opening = *random.pick(&["[", "{\"a\":", "{\"metadata\":{\"labels\":", "- ", "? ", "[{"]);
        text = opening.repeat(random.size(100_000));
    }
    let mut text = text.into_bytes();
    if random.chance(0.08) {
        bytes(random, &mut text);
    }
    text
}
