//! Reading with what was read too far.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// A stream together with the bytes of it that nobody has used yet.
#[derive(Debug)]
pub(crate) struct Source<R> {
    stream: R,
    held: Vec<u8>,
    start: usize,
}

impl<R: AsyncRead + Unpin> Source<R> {
    pub(crate) fn new(stream: R) -> Self {
        Self {
            stream,
            held: Vec::new(),
            start: 0,
        }
    }

    /// Returns what was read and not used.
    pub(crate) fn held(&self) -> &[u8] {
        &self.held[self.start..]
    }

    /// Gives up the first `count` bytes of what is held.
    pub(crate) fn consume(&mut self, count: usize) {
        self.start = self.held.len().min(self.start + count);
        if self.start == self.held.len() {
            self.held.clear();
            self.start = 0;
        }
    }

    /// Reads at least one more byte behind what is held; false at the end of the stream.
    pub(crate) async fn more(&mut self) -> io::Result<bool> {
        if self.start > 0 {
            self.held.drain(..self.start);
            self.start = 0;
        }
        self.held.reserve(READ);
        Ok((&mut self.stream)
            .take(READ as u64)
            .read_buf(&mut self.held)
            .await?
            > 0)
    }

    /// Returns what is held, or what is read if nothing is; empty at the end of the stream.
    pub(crate) async fn some(&mut self) -> io::Result<&[u8]> {
        if self.held().is_empty() {
            self.more().await?;
        }
        Ok(self.held())
    }
}

/// How much is read at once.
pub(crate) const READ: usize = 16 * 1024;
