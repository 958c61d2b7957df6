//! The way out of a run to which hosts are granted: a proxy on the socket that its sandbox hands
//! out.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use bailiwick_core::CallReport;
use bailiwick_egress::{
    Decision, Dialer, Guard, Proxy, ProxyLimits, ProxyLog, ProxyService, RunningProxy,
};
use bailiwick_policy::{HostPorts, Net};
use serde_json::{Value, json};

use crate::error::ScriptError;

/// The proxies of a host's runs, on a thread that is started when the first of them is needed.
#[derive(Debug, Default)]
pub(crate) struct Exits(Mutex<Option<Arc<ProxyService>>>);

impl Exits {
    /// Prepares the way out of a run, if its policy grants one.
    ///
    /// Whoever prepares it before the run is started learns in time that there can be none.
    pub(crate) fn prepare(&self, net: &Net) -> Result<Option<Exit>, ScriptError> {
        match net {
            Net::None | Net::Loopback | Net::Full => Ok(None),
            Net::Proxy(hosts) => Ok(Some(Exit {
                service: self.service()?,
                hosts: hosts.clone(),
            })),
        }
    }

    fn service(&self) -> Result<Arc<ProxyService>, ScriptError> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(service) = &*slot {
            return Ok(service.clone());
        }
        let service = ProxyService::start(ProxyService::CONNECTIONS);
        let service = service.map_err(|source| ScriptError::Proxy { source })?;
        Ok(slot.insert(Arc::new(service)).clone())
    }
}

/// The way out of one run.
#[derive(Debug)]
pub(crate) struct Exit {
    service: Arc<ProxyService>,
    hosts: HostPorts,
}

impl Exit {
    /// Answers on the run's socket until the answer is closed or dropped.
    pub(crate) fn open(self, listener: OwnedFd) -> OpenExit {
        let dialer = Dialer::new(Guard::new(self.hosts, GRANT));
        let mut limits = ProxyLimits::default();
        limits.log_entries = LOGGED;
        let proxy = Proxy::new(dialer, limits);
        let running = self.service.run(proxy, TcpListener::from(listener));
        OpenExit {
            running,
            _service: self.service,
        }
    }
}

/// A way out that is open.
#[derive(Debug)]
pub(crate) struct OpenExit {
    running: RunningProxy,
    /// It ends with the service, which the runner may drop first.
    _service: Arc<ProxyService>,
}

impl OpenExit {
    /// Ends every connection, and returns what was decided.
    pub(crate) fn close(self) -> Traffic {
        let failure = self.running.failure();
        Traffic {
            failure: failure.map(|error| error.to_string()),
            log: self.running.stop(),
        }
    }
}

/// What went through the way out of a run, and what did not.
#[derive(Debug)]
pub(crate) struct Traffic {
    log: ProxyLog,
    failure: Option<String>,
}

impl Traffic {
    /// Adds to the report of the call what the proxy decided.
    pub(crate) fn observe(&self, report: &mut CallReport) {
        report.network = json!(self.log);
        report.denials.extend(denials(&self.log));
        let omitted = self.log.omitted_refused;
        if omitted > 0 {
            let warning =
                format!("the proxy refused {omitted} more requests, which are not listed");
            report.warnings.push(warning);
        }
        if let Some(failure) = &self.failure {
            let warning = format!("the proxy of the run ended before it: {failure}");
            report.warnings.push(warning);
        }
    }
}

/// What the policy refused, each destination once, in the order in which they were first asked for.
fn denials(log: &ProxyLog) -> Vec<Value> {
    let mut counts: BTreeMap<(&str, String, &str), u64> = BTreeMap::new();
    let mut order = Vec::new();
    for denial in log.denials() {
        let key = (denial.layer, object(denial), denial.hint.as_str());
        let count = counts.entry(key.clone()).or_default();
        if *count == 0 {
            order.push(key);
        }
        *count += 1;
    }
    let listed = order.into_iter().map(|key| {
        let count = counts.get(&key).copied().unwrap_or_default();
        let (layer, object, hint) = key;
        json!({
            "layer": layer,
            "access": "connect",
            "object": object,
            "count": count,
            "hint": hint,
        })
    });
    listed.collect()
}

fn object(denial: &Decision) -> String {
    match (denial.host.as_str(), denial.port) {
        ("", _) => "a request that names no host".to_owned(),
        (host, 0) => host.to_owned(),
        (host, port) if host.contains(':') && !host.starts_with('[') => format!("[{host}]:{port}"),
        (host, port) => format!("{host}:{port}"),
    }
}

/// The key of the policy file that hints name.
const GRANT: &str = "network";
/// How many decisions of each kind, allowed and refused, a report lists; the rest is counted.
const LOGGED: usize = 64;
