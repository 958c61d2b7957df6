//! A body, passed on up to its end and no further.

use std::io;

use httparse::Status;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use crate::source::Source;

use super::fields::Framing;

/// Why a body was not passed on to its end.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The sender stopped early, or broke the rules of its framing.
    Sender,
    /// The receiver takes no more.
    Receiver,
}

/// Passes a body on and calls `count` with the number of bytes of each write.
///
/// Chunks are read and written anew, without extensions and trailers; with `chunks` false their
/// bytes alone are written.
pub(crate) async fn copy<R, W>(
    from: &mut Source<R>,
    to: &mut W,
    framing: Framing,
    chunks: bool,
    mut count: impl FnMut(usize),
) -> Result<(), Broken>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    match framing {
        Framing::Empty => Ok(()),
        Framing::Length(length) => exactly(from, to, length, &mut count).await,
        Framing::UntilClose => loop {
            let bytes = from.some().await.map_err(sender)?;
            if bytes.is_empty() {
                return Ok(());
            }
            let length = bytes.len();
            to.write_all(bytes).await.map_err(receiver)?;
            from.consume(length);
            count(length);
        },
        Framing::Chunked => loop {
            let size = chunk_size(from).await?;
            if size == 0 {
                trailers(from).await?;
                if chunks {
                    to.write_all(b"0\r\n\r\n").await.map_err(receiver)?;
                    count(5);
                }
                return Ok(());
            }
            if chunks {
                let line = format!("{size:x}\r\n");
                to.write_all(line.as_bytes()).await.map_err(receiver)?;
                count(line.len());
            }
            exactly(from, to, size, &mut count).await?;
            if line(from, 0).await? != 0 {
                return Err(Broken::Sender);
            }
            if chunks {
                to.write_all(b"\r\n").await.map_err(receiver)?;
                count(2);
            }
        },
    }
}

async fn exactly<R, W>(
    from: &mut Source<R>,
    to: &mut W,
    length: u64,
    count: &mut impl FnMut(usize),
) -> Result<(), Broken>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut left = length;
    while left > 0 {
        let bytes = from.some().await.map_err(sender)?;
        if bytes.is_empty() {
            return Err(Broken::Sender);
        }
        let taken = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
        to.write_all(&bytes[..taken]).await.map_err(receiver)?;
        from.consume(taken);
        count(taken);
        left -= taken as u64;
    }
    Ok(())
}

/// Reads the line before a chunk.
async fn chunk_size<R: AsyncRead + Unpin>(from: &mut Source<R>) -> Result<u64, Broken> {
    loop {
        let held = &from.held()[..from.held().len().min(MAX_LINE)];
        match httparse::parse_chunk_size(held) {
            Ok(Status::Complete((length, size))) => {
                from.consume(length);
                return Ok(size);
            }
            Ok(Status::Partial) if held.len() < MAX_LINE => {}
            Ok(Status::Partial) | Err(_) => return Err(Broken::Sender),
        }
        more(from).await?;
    }
}

/// Reads the trailers after the last chunk and drops them.
async fn trailers<R: AsyncRead + Unpin>(from: &mut Source<R>) -> Result<(), Broken> {
    for _ in 0..MAX_TRAILERS {
        if line(from, MAX_LINE).await? == 0 {
            return Ok(());
        }
    }
    Err(Broken::Sender)
}

/// Reads a line of at most `longest` bytes that ends in CR LF, drops it, and returns its length.
async fn line<R: AsyncRead + Unpin>(from: &mut Source<R>, longest: usize) -> Result<usize, Broken> {
    loop {
        let held = from.held();
        if let Some(end) = held
            .windows(2)
            .take(longest + 1)
            .position(|pair| pair == b"\r\n")
        {
            from.consume(end + 2);
            return Ok(end);
        }
        if held.len() >= longest + 2 {
            return Err(Broken::Sender);
        }
        more(from).await?;
    }
}

async fn more<R: AsyncRead + Unpin>(from: &mut Source<R>) -> Result<(), Broken> {
    if from.more().await.map_err(sender)? {
        Ok(())
    } else {
        Err(Broken::Sender)
    }
}

fn sender(_: io::Error) -> Broken {
    Broken::Sender
}

fn receiver(_: io::Error) -> Broken {
    Broken::Receiver
}

/// The longest line between chunks.
const MAX_LINE: usize = 1024;
/// The most lines after the last chunk.
const MAX_TRAILERS: usize = 32;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns what arrives of `bytes`, and what is left, or nothing if the body is broken.
    fn copied(bytes: &[u8], framing: Framing, chunks: bool) -> Option<(Vec<u8>, Vec<u8>)> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut from = Source::new(bytes);
            let mut to = Vec::new();
            let mut counted = 0;
            let count = |bytes| counted += bytes;
            copy(&mut from, &mut to, framing, chunks, count)
                .await
                .ok()?;
            assert_eq!(counted, to.len());
            let mut left = from.held().to_vec();
            while from.more().await.unwrap() {
                left = from.held().to_vec();
            }
            Some((to, left))
        })
    }

    #[test]
    fn a_body_ends_where_it_ends() {
        let (body, left) = copied(b"abcdGET http://", Framing::Length(4), true).unwrap();
        assert_eq!((&body[..], &left[..]), (&b"abcd"[..], &b"GET http://"[..]));
        let bytes = b"3;ext=1\r\nabc\r\nA\r\n0123456789\r\n0\r\nX: 1\r\n\r\nGET";
        let (body, left) = copied(bytes, Framing::Chunked, true).unwrap();
        assert_eq!(body, b"3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n");
        assert_eq!(left, b"GET");
        let (body, _) = copied(bytes, Framing::Chunked, false).unwrap();
        assert_eq!(body, b"abc0123456789");
    }

    #[test]
    fn a_broken_body_is_not_mended() {
        for bytes in [
            &b"3\r\nabcd\r\n0\r\n\r\n"[..],
            b"3\r\nab",
            b"3\nabc\n0\n\n",
            b"-1\r\n",
            b"fffffffffffffffff\r\n",
            b"\r\n",
            b"0\r\nX: 1\r\n",
            b"0 x\r\n\r\n",
            b"g\r\n",
        ] {
            assert!(
                copied(bytes, Framing::Chunked, true).is_none(),
                "{}",
                bytes.escape_ascii()
            );
        }
        let long = [b"1;".to_vec(), vec![b'x'; 2 * MAX_LINE]].concat();
        assert!(copied(&long, Framing::Chunked, true).is_none());
        let endless = [b"0\r\n".to_vec(), b"x: 1\r\n".repeat(100), b"\r\n".to_vec()].concat();
        assert!(copied(&endless, Framing::Chunked, true).is_none());
        assert!(copied(b"abc", Framing::Length(4), true).is_none());
    }

    proptest! {
        #[test]
        fn chunks_written_anew_say_the_same(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..8)) {
            let mut bytes = Vec::new();
            for part in &parts {
                bytes.extend(format!("{:X};a\r\n", part.len()).into_bytes());
                bytes.extend(part);
                bytes.extend(b"\r\n");
            }
            bytes.extend(b"0\r\n\r\n");
            let (body, _) = copied(&bytes, Framing::Chunked, true).unwrap();
            let (again, _) = copied(&body, Framing::Chunked, true).unwrap();
            prop_assert_eq!(&again, &body);
            prop_assert_eq!(copied(&bytes, Framing::Chunked, false).unwrap().0, parts.concat());
        }
    }
}
