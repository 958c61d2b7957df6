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
    count: impl FnMut(usize),
) -> Result<(), Broken>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut passing = Passing {
        from,
        to,
        ready: Vec::new(),
        count,
    };
    match framing {
        Framing::Empty => {}
        Framing::Length(length) => passing.exactly(length).await?,
        Framing::UntilClose => while passing.all_that_is_there().await? {},
        Framing::Chunked => passing.all_chunks(chunks).await?,
    }
    passing.write().await
}

/// A body under way. What was read is written together, however small its pieces were: otherwise
/// chunks of one byte would cost a system call each.
struct Passing<'a, R, W, C> {
    from: &'a mut Source<R>,
    to: &'a mut W,
    ready: Vec<u8>,
    count: C,
}

impl<R, W, C> Passing<'_, R, W, C>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
    C: FnMut(usize),
{
    async fn all_chunks(&mut self, chunks: bool) -> Result<(), Broken> {
        loop {
            let size = self.chunk_size().await?;
            if chunks {
                self.ready
                    .extend_from_slice(format!("{size:x}\r\n").as_bytes());
            }
            if size == 0 {
                self.drop_trailers().await?;
            } else {
                self.exactly(size).await?;
                if self.drop_line(0).await? != 0 {
                    return Err(Broken::Sender);
                }
            }
            if chunks {
                self.ready.extend_from_slice(b"\r\n");
            }
            if size == 0 {
                return Ok(());
            }
        }
    }

    async fn exactly(&mut self, length: u64) -> Result<(), Broken> {
        let mut left = length;
        while left > 0 {
            if self.from.held().is_empty() {
                self.read().await?;
            }
            let held = self.from.held();
            let taken = usize::try_from(left).map_or(held.len(), |left| left.min(held.len()));
            self.ready.extend_from_slice(&held[..taken]);
            self.from.consume(taken);
            left -= taken as u64;
        }
        Ok(())
    }

    /// Passes on what is held or comes next; false at the end of the stream.
    async fn all_that_is_there(&mut self) -> Result<bool, Broken> {
        let bytes = self.from.some().await.map_err(sender)?;
        let length = bytes.len();
        self.ready.extend_from_slice(bytes);
        self.from.consume(length);
        self.write().await?;
        Ok(length > 0)
    }

    /// Reads the line before a chunk.
    async fn chunk_size(&mut self) -> Result<u64, Broken> {
        loop {
            let held = self.from.held();
            let line = &held[..held.len().min(MAX_LINE)];
            match httparse::parse_chunk_size(line) {
                Ok(Status::Complete((length, size))) => {
                    self.from.consume(length);
                    return Ok(size);
                }
                Ok(Status::Partial) if line.len() < MAX_LINE => {}
                Ok(Status::Partial) | Err(_) => return Err(Broken::Sender),
            }
            self.read().await?;
        }
    }

    /// Reads the trailers after the last chunk and drops them.
    async fn drop_trailers(&mut self) -> Result<(), Broken> {
        for _ in 0..MAX_TRAILERS {
            if self.drop_line(MAX_LINE).await? == 0 {
                return Ok(());
            }
        }
        Err(Broken::Sender)
    }

    /// Drops a line of at most `longest` bytes that ends in CR LF, and returns its length.
    async fn drop_line(&mut self, longest: usize) -> Result<usize, Broken> {
        loop {
            let held = self.from.held();
            let mut pairs = held.windows(2).take(longest + 1);
            if let Some(end) = pairs.position(|pair| pair == b"\r\n") {
                self.from.consume(end + 2);
                return Ok(end);
            }
            if held.len() >= longest + 2 {
                return Err(Broken::Sender);
            }
            self.read().await?;
        }
    }

    /// Reads more; what is ready is written first, because more may be long in coming.
    async fn read(&mut self) -> Result<(), Broken> {
        self.write().await?;
        if self.from.more().await.map_err(sender)? {
            Ok(())
        } else {
            Err(Broken::Sender)
        }
    }

    async fn write(&mut self) -> Result<(), Broken> {
        if self.ready.is_empty() {
            return Ok(());
        }
        self.to.write_all(&self.ready).await.map_err(receiver)?;
        (self.count)(self.ready.len());
        self.ready.clear();
        Ok(())
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
