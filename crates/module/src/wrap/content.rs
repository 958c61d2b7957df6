//! The border between what a handler returns and what a response may be.

use bailiwick_core::{Content, Media, RawOutput};

use crate::wrap::media_type::is_media_type;

/// Narrows a handler's answer to a response's content (contracts 3.2).
///
/// # Errors
///
/// What it was instead, in our words and never in the handler's.
pub(crate) fn narrow(raw: RawOutput) -> Result<Content, &'static str> {
    match raw {
        RawOutput::Text(text) => Ok(Content::Text(text)),
        RawOutput::Bytes(bytes) => Ok(Content::Bytes(Media::new(OCTETS, bytes))),
        RawOutput::Media(media) => {
            check_media(&media)?;
            Ok(Content::Bytes(media))
        }
        RawOutput::MediaList(list) => {
            list.iter().try_for_each(check_media)?;
            Ok(Content::Media(list))
        }
        RawOutput::Nothing => Err("nothing"),
        RawOutput::Json(_) => Err("a JSON value"),
        RawOutput::Prebuilt(_) => Err("an artifact that the host did not make"),
    }
}

/// Returns how many bytes of content there are.
pub(crate) fn measure(content: &Content) -> u64 {
    let bytes = match content {
        Content::Text(text) => text.len(),
        Content::Bytes(media) => media.bytes.len(),
        Content::Media(list) => list.iter().map(|media| media.bytes.len()).sum(),
    };
    bytes as u64
}

fn check_media(media: &Media) -> Result<(), &'static str> {
    if !is_media_type(&media.media_type) {
        return Err("media whose media type is malformed");
    }
    if !media.name.as_deref().is_none_or(is_file_name) {
        return Err("media whose file name is not a plain name");
    }
    Ok(())
}

/// Returns whether a text can stand where people see a file's name and nothing else.
fn is_file_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_FILE_NAME
        && !matches!(name, "." | "..")
        && !name.contains(|c: char| c.is_control() || c == '/' || c == '\\')
}

const OCTETS: &str = "application/octet-stream";
/// The longest name that common file systems take, in bytes.
const MAX_FILE_NAME: usize = 255;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_shapes_pass() {
        assert_eq!(narrow("hi".into()), Ok(Content::Text("hi".to_owned())));
        assert_eq!(
            narrow(vec![1_u8, 2].into()),
            Ok(Content::Bytes(Media::new(OCTETS, vec![1_u8, 2])))
        );
        let png = Media::new("image/png", vec![1_u8]).name("plot.png");
        assert_eq!(narrow(png.clone().into()), Ok(Content::Bytes(png.clone())));
        assert_eq!(
            narrow(vec![png.clone()].into()),
            Ok(Content::Media(vec![png]))
        );
        assert_eq!(
            narrow(Vec::<Media>::new().into()),
            Ok(Content::Media(Vec::new()))
        );
    }

    #[test]
    fn a_file_name_is_no_path() {
        for name in ["a.txt", "übung 1.pdf", "..."] {
            assert!(is_file_name(name), "{name}");
        }
        for name in ["", ".", "..", "a/b", "a\\b", "a\nb", &"x".repeat(256)] {
            assert!(!is_file_name(name), "{name:?}");
        }
    }
}
