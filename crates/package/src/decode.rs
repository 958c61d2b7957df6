//! From the bytes of a text file to text that may be parsed.

use std::ops::Range;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::id::DiagnosticId;
use crate::text::{BOM, Lines, SourceText};

/// Decodes a text file: at most `cap` bytes of UTF-8 without NUL. A byte order mark is reported
/// and stays in the text, so that offsets are those of the file.
pub(crate) fn decode<'a>(
    bytes: &'a [u8],
    file: &str,
    cap: usize,
    found: &mut Vec<Diagnostic>,
) -> Option<&'a str> {
    if bytes.len() > cap {
        found.push(
            Diagnostic::error(
                DiagnosticId::FileTooLarge,
                format!("the file has more than {cap} bytes"),
            )
            .in_file(file)
            .help("move long material to files of its own"),
        );
        return None;
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let offset = error.valid_up_to();
            let valid = String::from_utf8_lossy(&bytes[..offset]);
            let source = Arc::new(SourceText::new(file, &valid));
            found.push(
                Diagnostic::error(
                    DiagnosticId::TextNotUtf8,
                    format!("byte {offset} is not UTF-8"),
                )
                .at(&source, offset..offset)
                .help("save the file as UTF-8"),
            );
            return None;
        }
    };
    if let Some(offset) = text.find('\0') {
        let source = Arc::new(SourceText::new(file, &text[..=offset]));
        found.push(
            Diagnostic::error(
                DiagnosticId::TextControlCharacter,
                format!("byte {offset} is NUL"),
            )
            .at(&source, offset..offset + 1)
            .help("remove it; a text file has no NUL"),
        );
        return None;
    }
    if text.starts_with(BOM) {
        let message = "the file begins with a byte order mark, which is skipped";
        found.push(Diagnostic::note(DiagnosticId::TextByteOrderMark, message).in_file(file));
    }
    Some(text)
}

/// Refuses what no reader of YAML should have to judge: control characters, and tabs that indent.
pub(crate) fn check_characters(
    source: &Arc<SourceText>,
    span: &Range<usize>,
) -> Result<(), Diagnostic> {
    let text = &source.text()[span.clone()];
    if let Some((offset, c)) = text
        .char_indices()
        .find(|(_, c)| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
    {
        let start = span.start + offset;
        return Err(Diagnostic::error(
            DiagnosticId::TextControlCharacter,
            format!("the control character U+{:04X} stands here", u32::from(c)),
        )
        .at(source, start..start + c.len_utf8())
        .help("remove it"));
    }
    for line in Lines::new(text) {
        let indentation = line.text.len() - line.text.trim_start_matches([' ', '\t']).len();
        let tab = line.text[..indentation].find('\t');
        if let (Some(tab), true) = (tab, indentation < line.text.len()) {
            let start = span.start + line.start + tab;
            return Err(
                Diagnostic::error(DiagnosticId::YamlTab, "a tab indents this line")
                    .at(source, start..start + 1)
                    .help("indent with spaces"),
            );
        }
    }
    Ok(())
}
