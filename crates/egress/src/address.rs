//! What kind of network an address belongs to.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The kind of network that an address belongs to, as far as reaching it matters.
///
/// Only [`Public`](Self::Public) addresses are reached by a granted name. Every other class needs a
/// grant of the literal address, because a name says nothing about who answers there.
#[expect(
    clippy::exhaustive_enums,
    reason = "a class that some match forgets would be a network that is reached by accident"
)]
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum AddressClass {
    /// An address that means the same everywhere.
    Public,
    /// A network of an organisation or a home, or of a translator inside one.
    Private,
    /// The machine itself.
    Loopback,
    /// The wire that the machine is connected to.
    LinkLocal,
    /// A service that hands a cloud machine its credentials.
    Metadata,
    /// The space between a carrier and its customers (RFC 6598).
    Shared,
    /// A group of receivers, or everyone on a wire.
    Multicast,
    /// No address; a connection to it ends at the machine itself.
    Unspecified,
    /// Examples in texts, and measurements.
    Documentation,
    /// Set aside by a registry, or a form of writing that is no longer in use.
    Reserved,
}

impl AddressClass {
    /// Returns the class of `address`.
    ///
    /// An IPv6 address that carries an IPv4 address (mapped, compatible, translated, NAT64, 6to4,
    /// Teredo, ISATAP) has the class of what it carries, unless that is public.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }

    /// Says whether a granted name may lead to such an address.
    pub const fn is_public(self) -> bool {
        matches!(self, Self::Public)
    }

    /// Returns the class with its article, as a sentence about an address ends.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "a public address",
            Self::Private => "a private address",
            Self::Loopback => "a loopback address",
            Self::LinkLocal => "a link-local address",
            Self::Metadata => "the address of a metadata service",
            Self::Shared => "an address of a carrier's own network",
            Self::Multicast => "a multicast address",
            Self::Unspecified => "an unspecified address",
            Self::Documentation => "an address for documentation",
            Self::Reserved => "a reserved address",
        }
    }
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Returns the address that is dialled for `address`: an IPv4-mapped one is its IPv4 address.
///
/// # Examples
///
/// ```
/// use bailiwick_egress::canonical;
///
/// assert_eq!(canonical("::ffff:8.8.8.8".parse()?).to_string(), "8.8.8.8");
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
pub fn canonical(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

fn of_v4(address: Ipv4Addr) -> AddressClass {
    if METADATA_V4.contains(&address.octets()) {
        return AddressClass::Metadata;
    }
    match address.octets() {
        [0, 0, 0, 0] => AddressClass::Unspecified,
        [0, ..] | [192, 0, 0, _] | [192, 88, 99, _] => AddressClass::Reserved,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => AddressClass::Private,
        [127, ..] => AddressClass::Loopback,
        [169, 254, ..] => AddressClass::LinkLocal,
        [100, 64..=127, ..] => AddressClass::Shared,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] | [198, 18..=19, ..] => {
            AddressClass::Documentation
        }
        [224..=239, ..] | [255, 255, 255, 255] => AddressClass::Multicast,
        [240..=255, ..] => AddressClass::Reserved,
        [1..=223, ..] => AddressClass::Public,
    }
}

fn of_v6(address: Ipv6Addr) -> AddressClass {
    if METADATA_V6.contains(&address.segments()) {
        return AddressClass::Metadata;
    }
    let (own, carried) = parts(address);
    // What is carried decides where a packet ends up, so it is asked first.
    carried
        .into_iter()
        .flatten()
        .map(of_v4)
        .find(|class| !class.is_public())
        .unwrap_or(own)
}

/// Returns the class of the form itself and the IPv4 addresses that the form carries.
fn parts(address: Ipv6Addr) -> (AddressClass, [Option<Ipv4Addr>; 2]) {
    let segments = address.segments();
    let carried = |high: usize| Some(v4(segments[high], segments[high + 1]));
    let last = carried(6);
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0] => (AddressClass::Unspecified, NOTHING),
        [0, 0, 0, 0, 0, 0, 0, 1] => (AddressClass::Loopback, NOTHING),
        // Mapped: the IPv4 address itself.
        [0, 0, 0, 0, 0, 0xffff, _, _] => (AddressClass::Public, [last, None]),
        // Compatible (RFC 4291) and translated (RFC 2765): no network uses them any more.
        [0, 0, 0, 0, 0 | 0xffff, 0, _, _] => (AddressClass::Reserved, [last, None]),
        // NAT64 (RFC 6052): how a host without IPv4 reaches a public one.
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] => (AddressClass::Public, [last, None]),
        // NAT64 of a network's own (RFC 8215).
        [0x64, 0xff9b, 1, _, _, _, _, _] => (AddressClass::Private, [last, None]),
        // Teredo (RFC 4380): its server, and its client with every bit turned over.
        [0x2001, 0, _, _, _, _, _, _] => {
            let client = v4(!segments[6], !segments[7]);
            (AddressClass::Reserved, [carried(2), Some(client)])
        }
        [0x2001, 0xdb8, _, _, _, _, _, _] | [0x3fff, 0..=0xfff, _, _, _, _, _, _] => {
            (AddressClass::Documentation, NOTHING)
        }
        [0x2001, 2, 0, _, _, _, _, _] => (AddressClass::Documentation, NOTHING),
        [0x2001, 0..=0x1ff, _, _, _, _, _, _] => (AddressClass::Reserved, NOTHING),
        // 6to4 (RFC 3056).
        [0x2002, _, _, _, _, _, _, _] => (AddressClass::Public, [carried(1), isatap(segments)]),
        [0x2000..=0x3fff, _, _, _, _, _, _, _] => (AddressClass::Public, [isatap(segments), None]),
        [0xfc00..=0xfdff | 0xfec0..=0xfeff, _, _, _, _, _, _, _] => {
            (AddressClass::Private, [isatap(segments), None])
        }
        [0xfe80..=0xfebf, _, _, _, _, _, _, _] => {
            (AddressClass::LinkLocal, [isatap(segments), None])
        }
        [0xff00..=0xffff, _, _, _, _, _, _, _] => (AddressClass::Multicast, NOTHING),
        // Outside 2000::/3 nothing else is given out.
        [_, _, _, _, _, _, _, _] => (AddressClass::Reserved, NOTHING),
    }
}

/// Returns the IPv4 address in an interface identifier of ISATAP (RFC 5214).
fn isatap(segments: [u16; 8]) -> Option<Ipv4Addr> {
    matches!(segments[4..6], [0 | 0x200, 0x5efe]).then(|| v4(segments[6], segments[7]))
}

fn v4(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

const NOTHING: [Option<Ipv4Addr>; 2] = [None, None];

/// Where clouds hand out credentials, over IPv4. One of them lies in a public range.
const METADATA_V4: [[u8; 4]; 8] = [
    [169, 254, 169, 254], // nearly all of them
    [169, 254, 170, 2],   // containers on AWS
    [169, 254, 170, 23],  // pods on AWS
    [169, 254, 0, 23],    // Tencent
    [169, 254, 42, 42],   // Scaleway
    [100, 100, 100, 200], // Alibaba
    [192, 0, 0, 192],     // Oracle, classic
    [168, 63, 129, 16],   // Azure's wire server
];

/// The same over IPv6.
const METADATA_V6: [[u16; 8]; 5] = [
    [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254],      // AWS
    [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23],       // pods on AWS
    [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254],       // Google
    [0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe], // Oracle
    [0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42],        // Scaleway
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn class(text: &str) -> AddressClass {
        AddressClass::of(text.parse().unwrap())
    }

    /// Every way to write `v4` as an IPv6 address that some network turns back into it.
    fn spellings(v4: Ipv4Addr) -> Vec<Ipv6Addr> {
        let [a, b, c, d] = v4.octets().map(u16::from);
        let (high, low) = (a << 8 | b, c << 8 | d);
        [
            [0, 0, 0, 0, 0, 0xffff, high, low],
            [0, 0, 0, 0, 0xffff, 0, high, low],
            [0x64, 0xff9b, 0, 0, 0, 0, high, low],
            [0x64, 0xff9b, 1, 0, 0, 0, high, low],
            [0x2002, high, low, 0, 0, 0, 0, 1],
            [0x2001, 0, high, low, 0, 0, 0xf7f7, 0xf7f7],
            [0x2001, 0, 0x808, 0x808, 0, 0, !high, !low],
            [0x2a00, 1, 2, 3, 0, 0x5efe, high, low],
            [0x2a00, 1, 2, 3, 0x200, 0x5efe, high, low],
        ]
        .map(Ipv6Addr::from)
        .to_vec()
    }

    #[test]
    fn every_class_has_its_borders() {
        for (first, last, expected) in [
            ("0.0.0.0", "0.0.0.0", AddressClass::Unspecified),
            ("0.0.0.1", "0.255.255.255", AddressClass::Reserved),
            ("10.0.0.0", "10.255.255.255", AddressClass::Private),
            ("100.64.0.0", "100.127.255.255", AddressClass::Shared),
            ("127.0.0.0", "127.255.255.255", AddressClass::Loopback),
            ("169.254.0.0", "169.254.255.255", AddressClass::LinkLocal),
            ("172.16.0.0", "172.31.255.255", AddressClass::Private),
            ("192.0.0.0", "192.0.0.255", AddressClass::Reserved),
            ("192.0.2.0", "192.0.2.255", AddressClass::Documentation),
            ("192.168.0.0", "192.168.255.255", AddressClass::Private),
            ("198.18.0.0", "198.19.255.255", AddressClass::Documentation),
            ("203.0.113.0", "203.0.113.255", AddressClass::Documentation),
            ("224.0.0.0", "239.255.255.255", AddressClass::Multicast),
            ("240.0.0.0", "255.255.255.254", AddressClass::Reserved),
            (
                "255.255.255.255",
                "255.255.255.255",
                AddressClass::Multicast,
            ),
            ("fc00::", "fdff:ffff::", AddressClass::Private),
            ("fe80::", "febf:ffff::", AddressClass::LinkLocal),
            ("fec0::", "feff:ffff::", AddressClass::Private),
            ("ff00::", "ffff::1", AddressClass::Multicast),
            ("2001:db8::", "2001:db8:ffff::", AddressClass::Documentation),
            ("3fff::", "3fff:fff::", AddressClass::Documentation),
            ("2001:100::", "2001:1ff::", AddressClass::Reserved),
            ("100::", "1fff::", AddressClass::Reserved),
            ("4000::", "fbff::", AddressClass::Reserved),
            ("::", "::", AddressClass::Unspecified),
            ("::1", "::1", AddressClass::Loopback),
            ("::2", "::ffff", AddressClass::Reserved),
        ] {
            assert_eq!(class(first), expected, "{first}");
            assert_eq!(class(last), expected, "{last}");
        }
    }

    #[test]
    fn the_neighbours_of_a_special_range_are_public() {
        for address in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2001:200::",
            "2001:db7::1",
            "2001:db9::1",
            "2606:4700::1111",
            "3ffe::",
            "3fff:1000::",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
            "::ffff:8.8.8.8",
        ] {
            assert_eq!(class(address), AddressClass::Public, "{address}");
        }
    }

    #[test]
    fn metadata_is_known_in_every_spelling() {
        for octets in METADATA_V4 {
            let v4 = Ipv4Addr::from(octets);
            assert_eq!(AddressClass::of(v4.into()), AddressClass::Metadata, "{v4}");
            for v6 in spellings(v4) {
                assert_eq!(AddressClass::of(v6.into()), AddressClass::Metadata, "{v6}");
            }
        }
        assert_eq!(class("::169.254.169.254"), AddressClass::Metadata);
        for address in ["fd00:ec2::254", "fd20:ce::254", "fd00:c1::a9fe:a9fe"] {
            assert_eq!(class(address), AddressClass::Metadata, "{address}");
        }
    }

    proptest! {
        #[test]
        fn no_spelling_makes_an_address_public(v4 in any::<u32>().prop_map(Ipv4Addr::from)) {
            let plain = AddressClass::of(v4.into());
            for v6 in spellings(v4) {
                let spelled = AddressClass::of(v6.into());
                if plain.is_public() {
                    continue;
                }
                prop_assert_eq!(spelled, plain, "{} as {}", v4, v6);
            }
        }

        #[test]
        fn a_mapped_address_is_its_own_ipv4_address(v4 in any::<u32>().prop_map(Ipv4Addr::from)) {
            let mapped = IpAddr::V6(v4.to_ipv6_mapped());
            prop_assert_eq!(canonical(mapped), IpAddr::V4(v4));
            prop_assert_eq!(AddressClass::of(mapped), AddressClass::of(canonical(mapped)));
        }

        #[test]
        fn public_ipv6_is_inside_what_is_given_out(bits in any::<u128>()) {
            let v6 = Ipv6Addr::from_bits(bits);
            if AddressClass::of(v6.into()).is_public() {
                let [first, second, ..] = v6.segments();
                let carried = v6.to_ipv4_mapped().is_some() || (first, second) == (0x64, 0xff9b);
                prop_assert!(first >> 13 == 1 || carried, "{}", v6);
            }
        }

        #[test]
        fn public_ipv4_agrees_with_the_standard_library(bits in any::<u32>()) {
            let v4 = Ipv4Addr::from_bits(bits);
            if AddressClass::of(v4.into()).is_public() {
                prop_assert!(!v4.is_private() && !v4.is_loopback() && !v4.is_link_local());
                prop_assert!(!v4.is_multicast() && !v4.is_broadcast() && !v4.is_documentation());
                prop_assert!(!v4.is_unspecified());
            }
        }
    }
}
