//! Time and chance, as far as a guest is granted them.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bailiwick_core::{Code, SkillError};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

/// What a guest learns when it asks for the time.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Clock {
    /// Nothing; the asking is recorded as a denial.
    #[default]
    Deny,
    /// The time of the host.
    System,
    /// Always the same time, so that a call can be replayed.
    Fixed(Duration),
}

impl Clock {
    /// Returns milliseconds since the Unix epoch, or since the call began.
    pub(crate) fn read(&self, which: Which, begun: Instant) -> Option<f64> {
        let since = match (self, which) {
            (Self::Deny, Which::TimeOfDay | Which::Monotonic) => return None,
            (Self::System, Which::TimeOfDay) => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default(),
            (Self::System, Which::Monotonic) => begun.elapsed(),
            (Self::Fixed(time), Which::TimeOfDay) => *time,
            (Self::Fixed(_), Which::Monotonic) => Duration::ZERO,
        };
        Some(since.as_secs_f64() * 1000.0)
    }
}

/// Which clock a guest reads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Which {
    TimeOfDay,
    Monotonic,
}

/// Where a guest's random numbers come from.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Random {
    /// Nowhere; the asking is recorded as a denial.
    #[default]
    Deny,
    /// The operating system.
    System,
    /// A seed, so that a call can be replayed.
    Seeded(u64),
}

/// The random numbers of one call.
pub(crate) enum Stream {
    Deny,
    System,
    Seeded(Box<ChaCha20Rng>),
}

impl Stream {
    pub(crate) fn new(random: &Random) -> Self {
        match random {
            Random::Deny => Self::Deny,
            Random::System => Self::System,
            Random::Seeded(seed) => Self::Seeded(Box::new(ChaCha20Rng::seed_from_u64(*seed))),
        }
    }

    /// Fills bytes; `false` where nothing is granted.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) -> Result<bool, getrandom::Error> {
        match self {
            Self::Deny => return Ok(false),
            Self::System => getrandom::fill(bytes)?,
            Self::Seeded(generator) => generator.fill_bytes(bytes),
        }
        Ok(true)
    }

    /// Returns a seed for the guest's own use, such as that of its generator. Where chance is
    /// denied it is always the same, which is no secret: the guest cannot be told apart by it.
    pub(crate) fn entropy(&mut self) -> Result<u64, getrandom::Error> {
        let mut bytes = [0; 8];
        let is_granted = self.fill(&mut bytes)?;
        Ok(if is_granted {
            u64::from_le_bytes(bytes)
        } else {
            UNGRANTED_SEED
        })
    }
}

/// Says that a guest asked for the time or for chance without holding it.
pub(crate) fn denied(capability: &str) -> SkillError {
    SkillError::new(
        Code::IsolatedCapabilityDenied,
        format!("`{capability}` is not granted to the tool"),
    )
    .with_hint(format!(
        "grant it with `grant.context = [\"{capability}\"]` in the policy file, or with `--grant \
         context={capability}` for one run"
    ))
    .with_detail("capability", capability)
}

/// The seed of everything a guest shuffles for itself where `random` is not granted.
const UNGRANTED_SEED: u64 = 0x9E37_79B9_7F4A_7C15;
