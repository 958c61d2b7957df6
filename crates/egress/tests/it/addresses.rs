//! Ways to name an address that nobody granted.

use bailiwick_egress::{Resolver, SystemResolver};

use super::support::{Names, Origin, Run, guard, socks_name, verdict};

/// Addresses of the host, of its networks and of metadata services, in every form.
const FORBIDDEN: &[&str] = &[
    "127.0.0.1",
    "127.255.255.254",
    "0.0.0.0",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "100.64.0.1",
    "169.254.169.254",
    "169.254.170.2",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.2.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "240.0.0.1",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:0:169.254.169.254",
    "64:ff9b::169.254.169.254",
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::8.8.8.8",
    "2002:a9fe:a9fe::1",
    "2002:7f00:1::",
    "2001:0:808:808:0:0:5601:5601",
    "2001:0:a9fe:a9fe::",
    "2a00::5efe:a9fe:a9fe",
    "fd00:ec2::254",
    "fc00::1",
    "fe80::1",
    "fe80::a9fe:a9fe",
    "fec0::1",
    "ff02::1",
    "2001:db8::1",
    "100::1",
];

#[test]
fn a_granted_name_leads_to_no_special_address_in_any_spelling() {
    for address in FORBIDDEN {
        let run = Run::new("api.example:80", &format!("api.example: {address}"));
        assert_eq!(
            run.connects_to("api.example:80"),
            "403 address_denied",
            "{address}"
        );
        let answer = run.ask("GET http://api.example/ HTTP/1.1\r\n\r\n");
        assert_eq!(verdict(&answer), "403 address_denied", "{address}");
        assert_eq!(
            run.socks(&socks_name(1, "api.example", 80)).0,
            2,
            "{address}"
        );
        let log = run.end();
        assert_eq!(log.denials().count(), 3, "{address}");
        for denial in log.denials() {
            assert_eq!((denial.layer, denial.kind), ("resolver", "address_denied"));
        }
    }
}

#[test]
fn the_same_name_is_reached_once_the_address_is_granted_too() {
    let origin = Origin::answering("HTTP/1.1 204 No Content\r\n\r\n");
    let port = origin.port;
    for mapped in ["127.0.0.1", "::ffff:127.0.0.1"] {
        let names = format!("api.example: {mapped}");
        let closed = Run::new(&format!("api.example:{port}"), &names);
        let request = format!("GET http://api.example:{port}/ HTTP/1.1\r\n\r\n");
        assert_eq!(verdict(&closed.ask(&request)), "403 address_denied");
        let open = Run::new(&format!("api.example:{port} 127.0.0.1:{port}"), &names);
        assert_eq!(verdict(&open.ask(&request)), "204");
    }
}

#[test]
fn a_literal_address_is_refused_unless_that_address_is_granted() {
    let run = Run::new("*.example:80 8.8.8.8:80", "");
    for address in FORBIDDEN {
        let host = if address.contains(':') {
            format!("[{address}]")
        } else {
            (*address).to_owned()
        };
        assert_eq!(
            run.connects_to(&format!("{host}:80")),
            "403 host_denied",
            "{address}"
        );
        assert_eq!(run.socks(&socks_name(1, address, 80)).0, 2, "{address}");
    }
    assert!(run.names.asked().is_empty());
}

#[test]
fn a_number_reaches_neither_resolver_nor_host() {
    let origin = Origin::echo();
    let port = origin.port;
    // Whatever is granted in such a spelling opens nothing either.
    let run = Run::new(
        &format!("2130706433:{port} 0x7f.1:{port} 127.1:{port} 0177.0.0.1:{port}"),
        "",
    );
    for host in [
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0X7F.0.0.1",
        "017700000001",
        "0177.0.0.1",
        "127.1",
        "127.0.1",
        "127.0.0.1.1",
        "127.0.0.01",
        "00000127.0.0.1",
        "2130706433.",
    ] {
        let verdict_of = run.connects_to(&format!("{host}:{port}"));
        assert_eq!(verdict_of, "400 host_rejected", "{host}");
        let answer = run.ask(format!("GET http://{host}:{port}/ HTTP/1.1\r\n\r\n"));
        assert_eq!(verdict(&answer), "400 host_rejected", "{host}");
        assert_eq!(run.socks(&socks_name(1, host, port)).0, 2, "{host}");
    }
    assert_eq!(
        run.connects_to(&format!("127.0.0.1:{port}")),
        "403 host_denied"
    );
    assert!(run.names.asked().is_empty());
}

#[tokio::test]
async fn what_the_system_makes_of_a_number_is_refused_by_its_address() {
    // The control: this is how a number would get in, were it a name.
    let resolver = SystemResolver::new();
    for number in ["2130706433", "0x7f.1", "0177.0.0.1", "127.1"] {
        let addresses = resolver.resolve(number).await.unwrap();
        assert!(
            addresses.iter().all(std::net::IpAddr::is_loopback),
            "{number}"
        );
        let guard = guard("api.example:80");
        let asked = "api.example:80".parse().unwrap();
        for address in addresses {
            let refusal = guard.check_address(&asked, address).unwrap_err();
            assert_eq!(refusal.kind(), "address_denied", "{number}");
        }
    }
}

#[test]
fn a_name_in_another_alphabet_or_with_user_information_is_rejected() {
    let run = Run::with(
        "api.example:80",
        Names::new("api.example: 8.8.8.8"),
        |_, _| {},
    );
    for host in [
        "api.ex\u{430}mple",
        "ａpi.example",
        "api。example",
        "user@api.example",
        "api.example:80@evil.example",
        "api%2eexample",
        "api.example\\.evil.example",
        "api_example",
    ] {
        let answer = run.ask(format!("CONNECT {host}:80 HTTP/1.1\r\n\r\n"));
        let verdict = verdict(&answer);
        assert!(
            verdict == "400 host_rejected" || verdict == "400 request_rejected",
            "{host} {verdict}"
        );
    }
    assert!(run.names.asked().is_empty());
}
