//! What `URL` means inside a guest: the WHATWG URL standard, by the `url` crate.

use serde_json::{Value, json};
use url::{Url, quirks};

/// Answers a question of the prelude's `URL`: JSON in, JSON out, no effect.
///
/// `parse` takes `[input, base or null]`, `set` takes `[href, component, value]`; both answer with
/// every component, or with `ok: false`.
pub(crate) fn answer(operation: &str, arguments: &str) -> String {
    let arguments: Vec<Value> = serde_json::from_str(arguments).unwrap_or_default();
    let text = |index: usize| arguments.get(index).and_then(Value::as_str);
    let url = match operation {
        "parse" => text(0).and_then(|input| parse(input, text(1))),
        "set" => text(0)
            .and_then(|href| Url::parse(href).ok())
            .zip(text(1).zip(text(2)))
            .map(|(url, (component, value))| set(url, component, value)),
        _ => None,
    };
    url.map_or_else(|| json!({ "ok": false }), |url| components(&url))
        .to_string()
}

fn parse(input: &str, base: Option<&str>) -> Option<Url> {
    let base = match base {
        Some(base) => Some(Url::parse(base).ok()?),
        None => None,
    };
    Url::options().base_url(base.as_ref()).parse(input).ok()
}

/// Sets a component as the standard's setters do, which leave what they cannot take as it was.
fn set(mut url: Url, component: &str, value: &str) -> Url {
    match component {
        "href" => {
            // The prelude throws where the new address does not parse; it asks with `parse` first.
            let _ = quirks::set_href(&mut url, value);
        }
        "protocol" => {
            let _ = quirks::set_protocol(&mut url, value);
        }
        "username" => {
            let _ = quirks::set_username(&mut url, value);
        }
        "password" => {
            let _ = quirks::set_password(&mut url, value);
        }
        "host" => {
            let _ = quirks::set_host(&mut url, value);
        }
        "hostname" => {
            let _ = quirks::set_hostname(&mut url, value);
        }
        "port" => {
            let _ = quirks::set_port(&mut url, value);
        }
        "pathname" => quirks::set_pathname(&mut url, value),
        "search" => quirks::set_search(&mut url, value),
        "hash" => quirks::set_hash(&mut url, value),
        _ => {}
    }
    url
}

fn components(url: &Url) -> Value {
    json!({
        "ok": true,
        "url": {
            "href": quirks::href(url),
            "origin": quirks::origin(url),
            "protocol": quirks::protocol(url),
            "username": quirks::username(url),
            "password": quirks::password(url),
            "host": quirks::host(url),
            "hostname": quirks::hostname(url),
            "port": quirks::port(url),
            "pathname": quirks::pathname(url),
            "search": quirks::search(url),
            "hash": quirks::hash(url),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn href(answer: &str) -> Option<String> {
        let answer: Value = serde_json::from_str(answer).unwrap();
        answer["url"]["href"].as_str().map(str::to_owned)
    }

    #[test]
    fn addresses_are_parsed_against_a_base_and_in_their_own_right() {
        let parsed = answer(
            "parse",
            r#"["../b?x=1#y", "https://user@exämple.test:443/a/c"]"#,
        );
        assert_eq!(
            href(&parsed).unwrap(),
            "https://user@xn--exmple-cua.test/b?x=1#y"
        );
        assert_eq!(href(&answer("parse", r#"["/a", null]"#)), None);
        assert_eq!(href(&answer("parse", r#"["/a", "no base"]"#)), None);
    }

    #[test]
    fn a_setter_leaves_what_it_cannot_take() {
        let set = |component: &str, value: &str| {
            let arguments = json!(["https://a.test/p", component, value]).to_string();
            href(&answer("set", &arguments)).unwrap()
        };
        assert_eq!(set("port", "8080"), "https://a.test:8080/p");
        assert_eq!(set("port", "x"), "https://a.test/p");
        assert_eq!(set("hash", "z"), "https://a.test/p#z");
        assert_eq!(set("nothing", "z"), "https://a.test/p");
    }

    #[test]
    fn a_malformed_question_has_no_answer_but_a_refusal() {
        for (operation, arguments) in [("parse", "["), ("parse", "[]"), ("set", "[1]"), ("", "")] {
            assert_eq!(answer(operation, arguments), r#"{"ok":false}"#);
        }
    }
}
