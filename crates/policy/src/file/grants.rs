//! Reads the grants of a table, and checks each against what it may not exceed.

use std::fmt;
use std::net::IpAddr;

use bailiwick_core::Capability;
use toml::de::DeTable;

use super::reader::{Located, Reader};
use crate::context::{self, ContextGrants};
use crate::env::EnvName;
use crate::grants::{Grants, PathGrant};
use crate::host_port::HostPort;
use crate::network::Net;
use crate::order::{Axis, Widening};
use crate::path::HostPath;
use crate::policy::SandboxPolicy;
use crate::rights::Rights;

/// The grants that a table writes; a key that is not there is nothing said.
#[derive(Debug, Default)]
pub(crate) struct WrittenGrants {
    read: Option<Vec<Located<HostPath>>>,
    write: Option<Vec<Located<HostPath>>>,
    param_read: Option<Vec<Located<HostPath>>>,
    param_write: Option<Vec<Located<HostPath>>>,
    env: Option<Vec<Located<EnvName>>>,
    net: Option<Located<Net>>,
    context: Option<Vec<Located<Capability>>>,
}

/// What written grants may not exceed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ceiling<'c> {
    /// What every run may hold.
    pub(crate) policy: &'c SandboxPolicy,
    /// What a call may name.
    pub(crate) params: &'c SandboxPolicy,
    /// What isolated tools may call.
    pub(crate) context: &'c ContextGrants,
    /// What to do about a grant beyond it.
    pub(crate) hint: &'static str,
}

impl WrittenGrants {
    /// Reads the keys of `table`.
    pub(crate) fn read(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Self {
        let written = Self {
            read: reader.paths(table, "read"),
            write: reader.paths(table, "write"),
            param_read: reader.paths(table, "param_read"),
            param_write: reader.paths(table, "param_write"),
            env: reader.parsed_list(table, "env"),
            net: network(reader, table),
            context: capabilities(reader, table),
        };
        written.reject_interfaces(reader);
        written.reject_idle(reader);
        written
    }

    /// Notes every grant that `ceiling` does not hold.
    pub(crate) fn check(&self, reader: &mut Reader<'_>, ceiling: Ceiling<'_>) {
        let Ceiling {
            policy: ceiling,
            params,
            context,
            hint,
        } = ceiling;
        for (list, rights, ceiling) in [
            (&self.read, Rights::READ_ONLY, ceiling),
            (&self.write, Rights::READ_WRITE, ceiling),
            (&self.param_read, Rights::READ_ONLY, params),
            (&self.param_write, Rights::READ_WRITE, params),
        ] {
            for root in list.iter().flatten() {
                let held = ceiling.effective_rights(&root.value);
                if !held.contains(rights) {
                    reader.widened(&root.span, Widening::path(&root.value, rights, held), hint);
                }
            }
        }
        for name in self.env.iter().flatten() {
            if !ceiling.env().contains_key(&name.value) {
                let widening =
                    Widening::missing(Axis::Env, &name.value, &reader.origin(&name.span));
                reader.widened(&name.span, widening, hint);
            }
        }
        if let Some(net) = self
            .net
            .as_ref()
            .filter(|net| !net.value.is_within(ceiling.net()))
        {
            let widening = Widening::plain(Axis::Net, &net.value, ceiling.net());
            reader.widened(&net.span, widening, hint);
        }
        for name in self.context.iter().flatten() {
            if let Some(widening) = context::beyond(context, &name.value) {
                reader.widened(&name.span, widening, hint);
            }
        }
    }

    /// Returns what was written, with `otherwise` where nothing was said.
    pub(crate) fn over(&self, reader: &Reader<'_>, otherwise: &Grants) -> Grants {
        let roots =
            |written: &Option<Vec<Located<HostPath>>>, otherwise: &[PathGrant]| match written {
                Some(written) => written
                    .iter()
                    .map(|root| PathGrant {
                        path: root.value.clone(),
                        origin: reader.origin(&root.span),
                    })
                    .collect(),
                None => otherwise.to_vec(),
            };
        Grants {
            read: roots(&self.read, &otherwise.read),
            write: roots(&self.write, &otherwise.write),
            param_read: roots(&self.param_read, &otherwise.param_read),
            param_write: roots(&self.param_write, &otherwise.param_write),
            env: match &self.env {
                Some(written) => written
                    .iter()
                    .map(|name| (name.value.clone(), reader.origin(&name.span)))
                    .collect(),
                None => otherwise.env.clone(),
            },
            net: match &self.net {
                Some(net) if net.value == Net::None => None,
                Some(net) => Some((net.value.clone(), reader.origin(&net.span))),
                None => otherwise.net.clone(),
            },
            context: match &self.context {
                Some(written) => written
                    .iter()
                    .map(|name| (name.value.clone(), reader.origin(&name.span)))
                    .collect(),
                None => otherwise.context.clone(),
            },
            undeclared_scripts: otherwise.undeclared_scripts.clone(),
        }
    }

    fn paths(&self) -> [&Option<Vec<Located<HostPath>>>; 4] {
        [&self.read, &self.write, &self.param_read, &self.param_write]
    }

    fn reject_interfaces(&self, reader: &mut Reader<'_>) {
        for root in self.paths().into_iter().flatten().flatten() {
            reject_interface(reader, root);
        }
    }

    /// Notes every root that another one of the same table covers already.
    fn reject_idle(&self, reader: &mut Reader<'_>) {
        let [read, write, param_read, param_write] = self.paths();
        for (list, wider) in [
            (read, vec![write]),
            (write, vec![]),
            (param_read, vec![read, write, param_write]),
            (param_write, vec![write]),
        ] {
            let list = list.as_deref().unwrap_or_default();
            for (place, root) in list.iter().enumerate() {
                // Of two equal entries of one list, the second is the idle one.
                let own = list.iter().enumerate().filter(|(other_place, other)| {
                    *other_place != place && (other.value != root.value || *other_place < place)
                });
                let own = own.map(|(_, other)| other);
                let covering = own
                    .chain(wider.iter().copied().flatten().flatten())
                    .find(|other| root.value.starts_with(&other.value));
                if let Some(covering) = covering {
                    reject_covered(reader, root, covering);
                }
            }
        }
        let context = self.context.as_deref().unwrap_or_default();
        for name in context {
            let is_wider = |other: &&Located<Capability>| {
                other.value != name.value && other.value.covers(&name.value)
            };
            if let Some(covering) = context.iter().find(is_wider) {
                reject_covered(reader, name, covering);
            }
        }
    }
}

/// Notes a path that is an interface of the kernel and can never be granted.
pub(crate) fn reject_interface(reader: &mut Reader<'_>, root: &Located<HostPath>) {
    if let Some(interface) = root.value.kernel_interface() {
        let message = format!(
            "`{}` cannot be granted: `{interface}` is an interface of the kernel",
            root.value
        );
        reader.reject_with(&root.span, message, "name the folders that are needed");
    }
}

/// Notes an entry that has no effect beside a wider one.
fn reject_covered<T: fmt::Display>(reader: &mut Reader<'_>, idle: &Located<T>, by: &Located<T>) {
    let message = format!(
        "`{}` has no effect: `{}` ({}) covers it",
        idle.value,
        by.value,
        reader.origin(&by.span)
    );
    reader.reject_with(&idle.span, message, "remove it, or the one that covers it");
}

fn capabilities(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Option<Vec<Located<Capability>>> {
    let mut names = Vec::new();
    for item in reader.texts(table, "context")? {
        match context::capability(&item.value) {
            Ok(name) => names.push(item.map(|_| name)),
            Err(refused) => reader.reject_with(&item.span, refused.message, refused.hint),
        }
    }
    Some(reader.once(names))
}

fn network(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Option<Located<Net>> {
    let span = table.get("network")?.span();
    let mut words: Vec<Located<Net>> = Vec::new();
    for item in reader.texts(table, "network")? {
        match reach(&item.value) {
            Ok(reach) if words.iter().any(|word| word.value == reach) => {
                reader.reject(
                    &item.span,
                    "this stands in the list already and has no effect",
                );
            }
            Ok(reach) => words.push(item.map(|_| reach)),
            Err(refused) => reader.reject_with(&item.span, refused.message, refused.hint),
        }
    }
    for word in &words {
        let is_wider =
            |other: &&Located<Net>| other.value != word.value && word.value.is_within(&other.value);
        if let Some(covering) = words.iter().find(is_wider) {
            reject_covered(reader, word, covering);
        }
    }
    let all = words.iter().map(|word| &word.value);
    let value = all.fold(Net::None, |net, word| net.join(word));
    Some(Located { value, span })
}

/// Why a word of `network` is refused.
#[derive(Debug)]
pub(crate) struct ReachRefused {
    pub(crate) message: String,
    pub(crate) hint: &'static str,
}

/// Reads one word of `network`.
pub(crate) fn reach(word: &str) -> Result<Net, ReachRefused> {
    if word == "loopback" {
        return Ok(Net::Loopback);
    }
    let Ok(host) = word.parse::<HostPort>() else {
        return Err(ReachRefused {
            message: format!(
                "`{}` is neither `loopback` nor `host:port`",
                word.escape_debug()
            ),
            hint: "write `loopback`, or a host with its port, such as `api.example:443`",
        });
    };
    reject_unreachable(&host)?;
    Ok(Net::to_hosts([host]))
}

/// Refuses hosts that the proxy never connects to, whoever asks.
fn reject_unreachable(host: &HostPort) -> Result<(), ReachRefused> {
    let name = host.host();
    let address = name.trim_start_matches('[').trim_end_matches(']');
    match address.parse::<IpAddr>() {
        Ok(address) if address.is_unspecified() => Err(ReachRefused {
            message: format!(
                "`{host}` cannot be granted: nobody means that address, and it leads to this \
                 machine"
            ),
            hint: "name the address that is meant",
        }),
        Ok(address) if address.is_multicast() => Err(ReachRefused {
            message: format!("`{host}` cannot be granted: it is the address of a group"),
            hint: "name the address of one host",
        }),
        Ok(_) => Ok(()),
        // Resolvers read such a name as an address, in one of several ways.
        Err(_) if is_number(name.rsplit('.').next().unwrap_or(name)) => Err(ReachRefused {
            message: format!(
                "`{host}` has no effect: it names no host and no address as it is written"
            ),
            hint: "write an address in full, such as `192.0.2.1:443` or `[2001:db8::1]:443`",
        }),
        Err(_) => Ok(()),
    }
}

fn is_number(label: &str) -> bool {
    let hexadecimal = label.strip_prefix("0x").filter(|rest| {
        let mut digits = rest.bytes();
        digits.all(|byte| byte.is_ascii_hexdigit())
    });
    hexadecimal.is_some() || label.bytes().all(|byte| byte.is_ascii_digit())
}
