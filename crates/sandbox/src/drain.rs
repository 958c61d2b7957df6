//! The run's output: two streams, one budget, and a count of what did not fit.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

use crate::error::SandboxError;

/// A stream of a program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a program has these two")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// What was captured, in the order of its arrival.
///
/// Both streams share one budget. Past it the bytes are read and counted, and no more are kept.
/// The cut falls on a byte, wherever that is in a character.
#[derive(Clone, Debug, Default)]
pub struct Captured {
    chunks: Vec<Chunk>,
    kept: u64,
    dropped: u64,
}

/// Bytes of one stream that arrived without any of the other between them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Chunk {
    /// Where they came from.
    pub stream: Stream,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Captured {
    /// Returns the chunks.
    pub fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// Returns how many bytes are kept.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// Returns how many bytes did not fit.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns one stream's bytes together.
    pub fn of(&self, stream: Stream) -> Vec<u8> {
        let chunks = self.chunks.iter().filter(|chunk| chunk.stream == stream);
        chunks
            .flat_map(|chunk| chunk.bytes.iter().copied())
            .collect()
    }

    fn take(&mut self, stream: Stream, bytes: &[u8], budget: u64) {
        let room = usize::try_from(budget.saturating_sub(self.kept)).unwrap_or(usize::MAX);
        let (kept, dropped) = bytes.split_at(room.min(bytes.len()));
        self.dropped += dropped.len() as u64;
        if kept.is_empty() {
            return;
        }
        self.kept += kept.len() as u64;
        match self.chunks.last_mut() {
            Some(last) if last.stream == stream => last.bytes.extend_from_slice(kept),
            Some(_) | None => self.chunks.push(Chunk {
                stream,
                bytes: kept.to_vec(),
            }),
        }
    }
}

/// The reading ends of both streams.
#[derive(Debug)]
pub(crate) struct Drain {
    pipes: [Option<OwnedFd>; 2],
    captured: Captured,
    budget: u64,
    buffer: Vec<u8>,
}

impl Drain {
    /// Takes the reading ends.
    pub(crate) fn new(stdout: OwnedFd, stderr: OwnedFd, budget: u64) -> Result<Self, SandboxError> {
        for pipe in [&stdout, &stderr] {
            fcntl_getfl(pipe)
                .and_then(|flags| fcntl_setfl(pipe, flags | OFlags::NONBLOCK))
                .map_err(|errno| SandboxError::host("prepare the output pipes", errno))?;
        }
        Ok(Self {
            pipes: [Some(stdout), Some(stderr)],
            captured: Captured::default(),
            budget,
            buffer: vec![0; CHUNK],
        })
    }

    /// Returns the streams that are still open, for polling.
    pub(crate) fn open(&self) -> impl Iterator<Item = (Stream, BorrowedFd<'_>)> {
        STREAMS
            .into_iter()
            .zip(&self.pipes)
            .filter_map(|(stream, pipe)| pipe.as_ref().map(|pipe| (stream, pipe.as_fd())))
    }

    /// Says whether both streams have ended.
    pub(crate) fn is_finished(&self) -> bool {
        self.pipes.iter().all(Option::is_none)
    }

    /// Reads what a stream has now, and at most a few buffers of it, so that a program that never
    /// stops writing cannot keep the host from looking at the clock.
    pub(crate) fn read(&mut self, stream: Stream) {
        let [stdout, stderr] = &mut self.pipes;
        let slot = match stream {
            Stream::Stdout => stdout,
            Stream::Stderr => stderr,
        };
        for _ in 0..READS {
            let Some(pipe) = slot else { return };
            match rustix::io::read(pipe, &mut self.buffer) {
                Ok(0) => *slot = None,
                Ok(length) => {
                    let bytes = self.buffer.get(..length).unwrap_or_default();
                    self.captured.take(stream, bytes, self.budget);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => *slot = None,
            }
        }
    }

    /// Returns how many bytes did not fit so far.
    pub(crate) fn dropped(&self) -> u64 {
        self.captured.dropped
    }

    /// Ends reading.
    pub(crate) fn finish(self) -> Captured {
        self.captured
    }
}

const STREAMS: [Stream; 2] = [Stream::Stdout, Stream::Stderr];
/// What a pipe holds.
const CHUNK: usize = 64 << 10;
const READS: u32 = 16;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keeps_the_first_bytes_of_the_budget_and_counts_the_rest(
            writes in prop::collection::vec((any::<bool>(), 0_usize..50), 0..20),
            budget in 0_u64..200,
        ) {
            let mut captured = Captured::default();
            let mut total = 0;
            for (is_out, length) in writes {
                let stream = if is_out { Stream::Stdout } else { Stream::Stderr };
                captured.take(stream, &vec![b'x'; length], budget);
                total += length as u64;
            }
            prop_assert_eq!(captured.kept() + captured.dropped(), total);
            prop_assert_eq!(captured.kept(), total.min(budget));
            let chunks = captured.chunks();
            prop_assert!(chunks.windows(2).all(|pair| pair[0].stream != pair[1].stream));
        }
    }
}
