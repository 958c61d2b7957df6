//! Decides who may be reached.

use std::net::{IpAddr, SocketAddr};

use bailiwick_policy::{HostPort, HostPorts};

use crate::address::{AddressClass, canonical};
use crate::destination::{Destination, literal};
use crate::error::Refusal;

/// What is granted, as questions about hosts and addresses.
///
/// A host is asked about before anything is resolved, so that a name which is not granted never
/// reaches a resolver; each address that a granted name leads to is asked about before it is
/// dialled.
///
/// # Examples
///
/// ```
/// use bailiwick_egress::Guard;
/// use bailiwick_policy::HostPorts;
///
/// let hosts = HostPorts::new(["*.example:443".parse()?]).ok_or("no host")?;
/// let guard = Guard::new(hosts, "network");
/// let asked = "api.example:443".parse()?;
/// guard.check(&asked)?;
///
/// let refusal = guard.check_address(&asked, "169.254.169.254".parse()?).unwrap_err();
/// assert_eq!(
///     refusal.to_string(),
///     "`api.example:443` leads to 169.254.169.254, the address of a metadata service"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Guard {
    hosts: HostPorts,
    grant: &'static str,
}

impl Guard {
    /// Returns the guard of `hosts`; `grant` is the key of the policy file that granted them, such
    /// as `network`, and stands in hints alone.
    pub fn new(hosts: HostPorts, grant: &'static str) -> Self {
        Self { hosts, grant }
    }

    /// Returns the grant that lets `destination` through.
    ///
    /// # Errors
    ///
    /// [`Refusal::HostDenied`] if there is none.
    pub fn check(&self, destination: &Destination) -> Result<&HostPort, Refusal> {
        let granted = match destination.address() {
            Some(address) => self.literal(address, destination.port()),
            None => self.hosts.covering(&destination.host(), destination.port()),
        };
        granted.ok_or_else(|| Refusal::HostDenied {
            destination: destination.clone(),
            ports: self.ports_of(destination),
            grant: self.grant,
        })
    }

    /// Returns where to connect for `destination`, which is granted and leads to `address`.
    ///
    /// # Errors
    ///
    /// [`Refusal::AddressDenied`] if the address is not public and not granted itself, with the
    /// destination's port.
    pub fn check_address(
        &self,
        destination: &Destination,
        address: IpAddr,
    ) -> Result<SocketAddr, Refusal> {
        let address = canonical(address);
        let class = AddressClass::of(address);
        let port = destination.port();
        // Nobody means the unspecified address, and nobody answers for a group: no grant opens them.
        let opened = match class {
            AddressClass::Public => true,
            AddressClass::Unspecified | AddressClass::Multicast => false,
            AddressClass::Private
            | AddressClass::Loopback
            | AddressClass::LinkLocal
            | AddressClass::Metadata
            | AddressClass::Shared
            | AddressClass::Documentation
            | AddressClass::Reserved => self.literal(address, port).is_some(),
        };
        if opened {
            Ok(SocketAddr::new(address, port))
        } else {
            Err(Refusal::AddressDenied {
                destination: destination.clone(),
                address,
                class,
                grant: self.grant,
            })
        }
    }

    /// Returns the grant of this very address, in whatever spelling.
    fn literal(&self, address: IpAddr, port: u16) -> Option<&HostPort> {
        self.hosts
            .iter()
            .find(|member| member.port() == port && literal(member.host()) == Some(address))
    }

    /// Returns the ports of the same host that are granted.
    fn ports_of(&self, destination: &Destination) -> Vec<u16> {
        let host = destination.host();
        let mut ports: Vec<_> = self
            .hosts
            .iter()
            .map(HostPort::port)
            .filter(|port| match destination.address() {
                Some(address) => self.literal(address, *port).is_some(),
                None => self.hosts.covering(&host, *port).is_some(),
            })
            .collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(hosts: &str) -> Guard {
        let hosts = hosts.split_whitespace().map(|host| host.parse().unwrap());
        Guard::new(HostPorts::new(hosts).unwrap(), "network")
    }

    fn reach(guard: &Guard, asked: &str, address: &str) -> Result<String, &'static str> {
        let asked = asked.parse().unwrap();
        guard.check(&asked).map_err(|refusal| refusal.kind())?;
        guard
            .check_address(&asked, address.parse().unwrap())
            .map(|address| address.to_string())
            .map_err(|refusal| refusal.kind())
    }

    #[test]
    fn host_and_port_are_decided_together() {
        let guard = guard("api.example:443 *.wild.example:8443");
        assert!(guard.check(&"api.example.:443".parse().unwrap()).is_ok());
        assert!(
            guard
                .check(&"a.b.wild.example:8443".parse().unwrap())
                .is_ok()
        );
        for asked in [
            "api.example:80",
            "wild.example:8443",
            "a.wild.example:443",
            "xapi.example:443",
            "api.example.evil:443",
        ] {
            let refusal = guard.check(&asked.parse().unwrap()).unwrap_err();
            assert_eq!(refusal.kind(), "host_denied", "{asked}");
        }
    }

    #[test]
    fn a_name_opens_public_addresses_alone() {
        let guard = guard("api.example:443");
        assert_eq!(
            reach(&guard, "api.example:443", "8.8.8.8"),
            Ok("8.8.8.8:443".to_owned())
        );
        for address in [
            "127.0.0.1",
            "::1",
            "10.0.0.1",
            "169.254.169.254",
            "0.0.0.0",
            "::ffff:7f00:1",
        ] {
            assert_eq!(
                reach(&guard, "api.example:443", address),
                Err("address_denied"),
                "{address}"
            );
        }
    }

    #[test]
    fn a_literal_grant_opens_its_address_and_port_in_every_spelling() {
        for grant in [
            "10.0.0.1:443",
            "[::ffff:10.0.0.1]:443",
            "[::ffff:a00:1]:443",
        ] {
            let guard = guard(&format!("api.example:443 api.example:80 {grant}"));
            for asked in ["10.0.0.1:443", "[::ffff:10.0.0.1]:443", "api.example:443"] {
                assert_eq!(
                    reach(&guard, asked, "10.0.0.1"),
                    Ok("10.0.0.1:443".to_owned()),
                    "{grant} {asked}"
                );
            }
            assert_eq!(reach(&guard, "10.0.0.1:80", "10.0.0.1"), Err("host_denied"));
            assert_eq!(
                reach(&guard, "api.example:80", "10.0.0.1"),
                Err("address_denied")
            );
            assert_eq!(
                reach(&guard, "api.example:443", "10.0.0.2"),
                Err("address_denied")
            );
        }
    }

    #[test]
    fn no_grant_opens_the_unspecified_address_or_a_group() {
        let guard = guard("0.0.0.0:80 [::]:80 224.0.0.1:80");
        for (asked, address) in [
            ("0.0.0.0:80", "0.0.0.0"),
            ("[::]:80", "::"),
            ("224.0.0.1:80", "224.0.0.1"),
        ] {
            assert_eq!(
                reach(&guard, asked, address),
                Err("address_denied"),
                "{asked}"
            );
        }
    }

    #[test]
    fn a_granted_number_is_no_grant_of_an_address() {
        let guard = guard("2130706433:80 0x7f.1:80 127.1:80");
        assert_eq!(
            reach(&guard, "127.0.0.1:80", "127.0.0.1"),
            Err("host_denied")
        );
    }
}
