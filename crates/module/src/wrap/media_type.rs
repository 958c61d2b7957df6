//! The syntax of media types.

/// Returns whether a text is a media type: `type/subtype`, then parameters.
///
/// Names follow [RFC 6838 §4.2](https://www.rfc-editor.org/rfc/rfc6838#section-4.2), parameters
/// [RFC 9110 §5.6.6](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.6).
pub(crate) fn is_media_type(text: &str) -> bool {
    if text.len() > MAX_LENGTH {
        return false;
    }
    let (essence, parameters) = match text.find(';') {
        Some(at) => (&text[..at], &text[at..]),
        None => (text, ""),
    };
    let Some((kind, subtype)) = essence.trim_end_matches([' ', '\t']).split_once('/') else {
        return false;
    };
    is_restricted_name(kind) && is_restricted_name(subtype) && are_parameters(parameters)
}

fn is_restricted_name(name: &str) -> bool {
    name.len() <= MAX_NAME
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b))
}

/// Checks zero or more of `; name=value`.
fn are_parameters(mut rest: &str) -> bool {
    while !rest.is_empty() {
        let Some(parameter) = rest.strip_prefix(';') else {
            return false;
        };
        let Some((name, value)) = parameter.trim_start_matches([' ', '\t']).split_once('=') else {
            return false;
        };
        let Some(length) = value_length(value) else {
            return false;
        };
        if !is_token(name) {
            return false;
        }
        rest = value[length..].trim_start_matches([' ', '\t']);
    }
    true
}

/// Returns how long the token or quoted string at the start of a text is.
fn value_length(text: &str) -> Option<usize> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([';', ' ', '\t']).unwrap_or(text.len());
        return is_token(&text[..end]).then_some(end);
    };
    let mut escaped = false;
    for (at, byte) in quoted.bytes().enumerate() {
        match byte {
            _ if !matches!(byte, b'\t' | b' '..=b'~') => return None,
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 2),
            _ => {}
        }
    }
    None
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// The longest restricted name of RFC 6838.
const MAX_NAME: usize = 127;
/// Longer than any registered type with its parameters, and short enough to show, in bytes.
const MAX_LENGTH: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_of_the_registry_pass() {
        for text in [
            "text/plain",
            "text/plain; charset=utf-8",
            "text/plain;charset=\"utf-8\" ; format=flowed",
            "application/vnd.oasis.opendocument.text",
            "image/svg+xml",
            "multipart/mixed; boundary=\"a \\\" b;c\"",
            "APPLICATION/JSON",
        ] {
            assert!(is_media_type(text), "{text}");
        }
    }

    #[test]
    fn anything_else_does_not() {
        let long = format!("text/{}", "x".repeat(128));
        for text in [
            "",
            "/",
            "text",
            "text/",
            "/plain",
            "te xt/plain",
            "text/pl ain",
            "text/plain/x",
            "text/plain;",
            "text/plain; charset",
            "text/plain; =x",
            "text/plain; a=",
            "text/plain; a=b c",
            "text/plain; a=\"open",
            "text/plain; a=\"x\"y",
            "text/plain\n",
            "text/plain; a=\"\n\"",
            "tеxt/plain",
            "*/*",
            ".a/b",
            " text/plain",
            &long,
        ] {
            assert!(!is_media_type(text), "{text:?}");
        }
    }
}
