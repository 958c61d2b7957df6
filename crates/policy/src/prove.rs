//! Proofs that one policy lies within another, or the point at which it does not.

use std::fmt;
use std::net::Ipv4Addr;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::certificate::Certificate;
use crate::compare::{Comparison, Fact, compare};
use crate::env::EnvName;
use crate::host_port::{HostPort, HostPorts};
use crate::limits::LimitAxis;
use crate::network::{Net, Unix};
use crate::order::{Axis, Widening};
use crate::path::HostPath;
use crate::policy::SandboxPolicy;
use crate::rights::Rights;
use crate::syscalls::SyscallProfile;
use crate::threat::ThreatClass;

/// Proves that `narrow` allows nothing that `wide` does not, or finds something that it does.
///
/// [`derive()`](crate::derive()) and [`SandboxPolicy::widens`] decide by the same comparisons.
///
/// # Errors
///
/// A [`CounterExample`]: one thing that `narrow` allows and `wide` does not.
///
/// # Examples
///
/// ```
/// use bailiwick_policy::{HostPath, Origin, Rights, SandboxPolicy, prove};
///
/// let docs: HostPath = "/home/ada/docs".parse()?;
/// let reads = SandboxPolicy::deny_all().grant(docs.clone(), Rights::READ_ONLY, Origin::Code);
/// let writes = SandboxPolicy::deny_all().grant(docs, Rights::READ_WRITE, Origin::Code);
///
/// let certificate = prove(&reads, &writes)?;
/// certificate.check(&reads, &writes)?;
/// assert!(certificate.check(&writes, &reads).is_err());
///
/// let example = prove(&writes, &reads).unwrap_err();
/// assert!(example.is_true_of(&writes, &reads));
/// assert_eq!(example.point().to_string(), "write /home/ada/docs");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn prove(narrow: &SandboxPolicy, wide: &SandboxPolicy) -> Result<Certificate, CounterExample> {
    let comparisons = compare(narrow, wide);
    match comparisons.iter().find_map(|one| refute(one, narrow)) {
        Some(example) => Err(example.under(wide)),
        None => Ok(Certificate::of(comparisons)),
    }
}

/// One thing that a policy allows and its ceiling does not.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, thiserror::Error)]
#[error("allowed beyond the ceiling: {point}; {witness}")]
pub struct CounterExample {
    #[serde(flatten)]
    witness: Box<Widening>,
    point: Point,
}

impl CounterExample {
    /// Returns the part of the policy that is too wide.
    pub fn axis(&self) -> Axis {
        self.witness.axis()
    }

    /// Returns the breakpoint: the path, program or name, where the axis has more than one.
    pub fn at(&self) -> Option<&str> {
        self.witness.at()
    }

    /// Returns what is asked for.
    pub fn wanted(&self) -> &str {
        self.witness.wanted()
    }

    /// Returns what the ceiling holds.
    pub fn held(&self) -> &str {
        self.witness.held()
    }

    /// Returns the witness, with the rule that asks and the next step.
    pub fn witness(&self) -> &Widening {
        &self.witness
    }

    /// Returns the one thing that the policy allows and its ceiling does not.
    pub fn point(&self) -> &Point {
        &self.point
    }

    /// Says whether `narrow` allows the point and `wide` does not, by asking both.
    pub fn is_true_of(&self, narrow: &SandboxPolicy, wide: &SandboxPolicy) -> bool {
        self.point.is_allowed_by(narrow) && !self.point.is_allowed_by(wide)
    }

    /// Returns the counter-example as JSON.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn under(mut self, wide: &SandboxPolicy) -> Self {
        self.witness = Box::new(self.witness.under(wide.written_in().cloned()));
        self
    }
}

/// One thing that a run may do, so that two policies can be asked about it.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    /// Uses a path with one right.
    File {
        /// The path.
        path: HostPath,
        /// The right.
        access: Rights,
    },
    /// Has a loopback device of the run's own.
    Loopback,
    /// Reaches a host outside the run.
    Host(#[serde(serialize_with = "as_text")] HostPort),
    /// Reaches Unix sockets.
    Sockets(Unix),
    /// Starts a program.
    Program(HostPath),
    /// Makes every system call of a profile.
    Calls(SyscallProfile),
    /// Uses an amount of what a limit bounds.
    Amount {
        /// The limit.
        #[serde(serialize_with = "as_text")]
        axis: LimitAxis,
        /// Nanoseconds for time, bytes for sizes, else a count; none for any amount at all.
        amount: Option<u64>,
    },
    /// Sees a variable of the host's environment.
    Variable(EnvName),
    /// Runs on a machine that does not close a class of threats.
    Machine {
        /// The class.
        open: ThreatClass,
    },
}

impl Point {
    /// Says whether a policy allows it.
    pub fn is_allowed_by(&self, policy: &SandboxPolicy) -> bool {
        match self {
            Self::File { path, access } => policy.effective_rights(path).contains(*access),
            Self::Loopback => *policy.net() != Net::None,
            Self::Host(host) => match policy.net() {
                Net::None | Net::Loopback => false,
                Net::Proxy(hosts) => hosts.covers(host),
                Net::Full => true,
            },
            Self::Sockets(reach) => *reach <= policy.unix(),
            Self::Program(program) => policy.exec().contains_key(program),
            Self::Calls(profile) => *profile <= policy.syscalls(),
            Self::Amount { axis, amount } => match (policy.limits().amount(*axis), amount) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(bound), Some(amount)) => *amount <= bound,
            },
            Self::Variable(name) => policy.env().contains_key(name),
            Self::Machine { open } => !policy.required().contains(open),
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, access } => write!(f, "{access} {path}"),
            Self::Loopback => f.write_str("a loopback device"),
            Self::Host(host) => write!(f, "connect {host}"),
            Self::Sockets(reach) => write!(f, "Unix sockets: {reach}"),
            Self::Program(program) => write!(f, "start {program}"),
            Self::Calls(profile) => write!(f, "the system calls of `{profile}`"),
            Self::Amount {
                axis,
                amount: Some(amount),
            } => write!(f, "{axis} of {}", axis.show(*amount)),
            Self::Amount { axis, amount: None } => write!(f, "{axis} without a limit"),
            Self::Variable(name) => write!(f, "see the variable {name}"),
            Self::Machine { open } => write!(f, "run where nothing closes {open}"),
        }
    }
}

/// Finds a point at which a comparison that does not hold fails.
fn refute(comparison: &Comparison, narrow: &SandboxPolicy) -> Option<CounterExample> {
    let witness = Box::new(comparison.witnesses(narrow).into_iter().next()?);
    let point = match &comparison.fact {
        Fact::Files { at, wanted, held } => Point::File {
            path: at.clone(),
            access: wanted.difference(*held).first(),
        },
        Fact::Net { wanted, held } => beyond(wanted, held),
        Fact::Unix { wanted, .. } => Point::Sockets(*wanted),
        Fact::Exec { at, .. } => Point::Program(at.clone()),
        Fact::Syscalls { wanted, .. } => Point::Calls(*wanted),
        Fact::Limit { axis, wanted, .. } => Point::Amount {
            axis: *axis,
            amount: *wanted,
        },
        Fact::Env { name, .. } => Point::Variable(name.clone()),
        Fact::Require { class, .. } => Point::Machine { open: *class },
    };
    Some(CounterExample { witness, point })
}

/// Finds what `wanted` reaches and `held` does not, where it is not within.
fn beyond(wanted: &Net, held: &Net) -> Point {
    let held = match held {
        Net::Proxy(hosts) => Some(hosts),
        Net::None | Net::Loopback | Net::Full => None,
    };
    let host = match wanted {
        Net::Full => anywhere_but(held),
        Net::Proxy(hosts) => hosts.beyond(held),
        Net::None | Net::Loopback => None,
    };
    host.map_or(Point::Loopback, Point::Host)
}

/// Returns an address that `hosts` does not let through: no pattern stands for an address, and
/// there are fewer members than addresses.
fn anywhere_but(hosts: Option<&HostPorts>) -> Option<HostPort> {
    (DOCUMENTED..=u32::MAX)
        .map(|address| HostPort::address(Ipv4Addr::from(address), 443))
        .find(|host| hosts.is_none_or(|hosts| !hosts.covers(host)))
}

fn as_text<S: Serializer>(what: &impl fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(what)
}

/// `192.0.2.0`, the first address that documentation may use (RFC 5737).
const DOCUMENTED: u32 = 0xC000_0200;
