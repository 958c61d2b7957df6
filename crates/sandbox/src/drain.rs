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

impl Stream {
    fn other(self) -> Self {
        match self {
            Self::Stdout => Self::Stderr,
            Self::Stderr => Self::Stdout,
        }
    }
}

/// What was captured, in the order of its arrival.
///
/// Both streams share one budget. Past it the bytes are read and counted, and no more are kept.
/// The cut falls on a byte, wherever that is in a character. However often a program changes
/// between its streams, this takes no more memory than twice the budget.
#[derive(Clone, Debug, Default)]
pub struct Captured {
    bytes: Vec<u8>,
    /// How long each chunk but the last is; chunks alternate between the streams.
    lengths: Lengths,
    first: Option<Stream>,
    last: Option<Stream>,
    /// Where the last chunk begins.
    start: usize,
    dropped: u64,
}

/// Bytes of one stream that arrived without any of the other between them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Chunk<'a> {
    /// Where they came from.
    pub stream: Stream,
    /// The bytes.
    pub bytes: &'a [u8],
}

impl Captured {
    /// Iterates over the chunks.
    pub fn chunks(&self) -> impl Iterator<Item = Chunk<'_>> {
        let mut rest = self.bytes.as_slice();
        let mut lengths = self.lengths.iter();
        let mut stream = self.first;
        std::iter::from_fn(move || {
            let (bytes, left) = rest.split_at_checked(lengths.next().unwrap_or(rest.len()))?;
            rest = left;
            let chunk = stream.map(|stream| Chunk { stream, bytes })?;
            stream = stream.map(Stream::other);
            (!chunk.bytes.is_empty()).then_some(chunk)
        })
    }

    /// Returns the bytes of both streams.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes the bytes of both streams out.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Returns how many bytes are kept.
    pub fn kept(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Returns how many bytes did not fit.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns one stream's bytes together.
    pub fn of(&self, stream: Stream) -> Vec<u8> {
        let chunks = || self.chunks().filter(|chunk| chunk.stream == stream);
        let mut bytes = Vec::with_capacity(chunks().map(|chunk| chunk.bytes.len()).sum());
        chunks().for_each(|chunk| bytes.extend_from_slice(chunk.bytes));
        bytes
    }

    fn take(&mut self, stream: Stream, bytes: &[u8], budget: u64) {
        let budget = usize::try_from(budget).unwrap_or(usize::MAX);
        let room = budget.saturating_sub(self.bytes.len());
        let (kept, dropped) = bytes.split_at(room.min(bytes.len()));
        self.dropped += dropped.len() as u64;
        if kept.is_empty() {
            return;
        }
        if self.last.is_some_and(|last| last != stream) {
            self.lengths.push(self.bytes.len() - self.start, budget);
            self.start = self.bytes.len();
        }
        self.first = self.first.or(Some(stream));
        self.last = Some(stream);
        reserve(&mut self.bytes, kept.len(), budget);
        self.bytes.extend_from_slice(kept);
    }
}

/// Numbers from one on, seven bits a byte: none takes more room than the bytes that it counts.
#[derive(Clone, Debug, Default)]
struct Lengths(Vec<u8>);

impl Lengths {
    fn push(&mut self, mut length: usize, budget: usize) {
        reserve(&mut self.0, 1, budget);
        while length > LOW {
            self.0.push(byte(length) | MORE);
            length >>= 7;
        }
        self.0.push(byte(length));
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        let mut rest = self.0.iter();
        std::iter::from_fn(move || {
            let (mut length, mut shift) = (0, 0);
            loop {
                let byte = *rest.next()?;
                length |= (usize::from(byte) & LOW) << shift;
                shift += 7;
                if byte & MORE == 0 {
                    return Some(length);
                }
            }
        })
    }
}

/// The lowest seven bits of a number.
fn byte(number: usize) -> u8 {
    u8::try_from(number & LOW).unwrap_or_default()
}

/// Makes room for more, twice as much as there was and never beyond a budget that holds it all.
fn reserve(buffer: &mut Vec<u8>, more: usize, budget: usize) {
    let needed = buffer.len().saturating_add(more);
    if needed > buffer.capacity() {
        let wanted = buffer.capacity().saturating_mul(2).min(budget).max(needed);
        buffer.reserve_exact(wanted - buffer.len());
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
const LOW: usize = 0x7f;
const MORE: u8 = 0x80;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stream(is_out: bool) -> Stream {
        if is_out {
            Stream::Stdout
        } else {
            Stream::Stderr
        }
    }

    #[test]
    fn streams_that_alternate_at_every_byte_take_no_more_than_twice_the_budget() {
        const BUDGET: usize = 100_000;
        let mut captured = Captured::default();
        for number in 0..BUDGET + 10 {
            captured.take(stream(number % 2 == 0), b"x", BUDGET as u64);
        }
        assert_eq!((captured.kept(), captured.dropped()), (BUDGET as u64, 10));
        assert_eq!(captured.chunks().count(), BUDGET);
        assert_eq!(captured.of(Stream::Stderr).len(), BUDGET / 2);
        let held = captured.bytes.capacity() + captured.lengths.0.capacity();
        assert!(held <= 2 * BUDGET, "{held}");
    }

    proptest! {
        #[test]
        fn keeps_the_first_bytes_of_the_budget_and_counts_the_rest(
            writes in prop::collection::vec((any::<bool>(), 0_usize..50_000), 0..20),
            budget in 0_u64..200_000,
        ) {
            let mut captured = Captured::default();
            let (mut total, mut all) = (0, Vec::new());
            let mut each = [Vec::new(), Vec::new()];
            for (number, (is_out, length)) in writes.into_iter().enumerate() {
                let bytes = vec![u8::try_from(number).unwrap(); length];
                captured.take(stream(is_out), &bytes, budget);
                total += length as u64;
                let room = usize::try_from(budget).unwrap() - all.len();
                let kept = &bytes[..room.min(length)];
                all.extend_from_slice(kept);
                each[usize::from(!is_out)].extend_from_slice(kept);
            }
            prop_assert_eq!(captured.kept() + captured.dropped(), total);
            prop_assert_eq!(captured.kept(), total.min(budget));
            prop_assert_eq!(captured.bytes(), all);
            prop_assert_eq!([captured.of(Stream::Stdout), captured.of(Stream::Stderr)], each);
            let chunks: Vec<_> = captured.chunks().collect();
            prop_assert!(chunks.windows(2).all(|pair| pair[0].stream != pair[1].stream));
        }
    }
}
