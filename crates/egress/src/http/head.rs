//! Finds the end of a head.

use tokio::io::AsyncRead;

use crate::source::Source;

/// Why there is no head.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum HeadFault {
    /// The stream ended or broke first.
    Closed,
    /// The head is longer than it may be.
    TooLarge,
}

/// Reads a head with its empty line, of at most `longest` bytes, and nothing behind it.
pub(crate) async fn read<R: AsyncRead + Unpin>(
    from: &mut Source<R>,
    longest: usize,
) -> Result<Vec<u8>, HeadFault> {
    // What was looked at is not looked at again: a head that comes byte by byte costs no more.
    let mut looked_at = 0;
    loop {
        let held = from.held();
        match end(held, looked_at) {
            Some(end) if end <= longest => {
                let head = held[..end].to_vec();
                from.consume(end);
                return Ok(head);
            }
            Some(_) => return Err(HeadFault::TooLarge),
            None if held.len() >= longest => return Err(HeadFault::TooLarge),
            None => looked_at = held.len(),
        }
        if !from.more().await.map_err(|_| HeadFault::Closed)? {
            return Err(HeadFault::Closed);
        }
    }
}

/// Returns the length of the head, of which the first `looked_at` bytes hold no end.
///
/// A line may end without its carriage return, because the parser reads it so as well.
pub(crate) fn end(bytes: &[u8], looked_at: usize) -> Option<usize> {
    let start = looked_at.saturating_sub(3);
    let tail = &bytes[start..];
    (0..tail.len()).find_map(|at| {
        let after = tail[at..].strip_prefix(b"\n")?;
        let length = match after {
            [b'\n', ..] => 2,
            [b'\r', b'\n', ..] => 3,
            [..] => return None,
        };
        Some(start + at + length)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_found_wherever_the_pieces_end() {
        let head = b"GET http://a/ HTTP/1.1\r\nA: b\r\n\r\nmore";
        let length = head.len() - 4;
        for looked_at in 0..length {
            assert_eq!(end(&head[..length - 1], 0), None);
            assert_eq!(end(head, looked_at), Some(length), "{looked_at}");
        }
        assert_eq!(end(b"a\n\nb", 0), Some(3));
        assert_eq!(end(b"a\n\r\rb\n", 0), None);
    }
}
