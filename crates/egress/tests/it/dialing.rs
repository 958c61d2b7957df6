//! What is resolved and what is dialled.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use bailiwick_egress::{DialLimits, Dialer};

use super::support::{Names, Origin, Run, guard, socks_name, verdict};

#[test]
fn a_name_that_changes_its_mind_is_asked_once() {
    let origin = Origin::answering("HTTP/1.1 204 No Content\r\n\r\n");
    let port = origin.port;
    let grants = format!("rebind.example:{port} 127.0.0.1:{port}");
    let run = Run::new(&grants, "rebind.example: 127.0.0.1,169.254.169.254");
    let request = format!("GET http://rebind.example:{port}/ HTTP/1.1\r\n\r\n");
    assert_eq!(verdict(&run.ask(&request)), "204");
    assert_eq!(
        run.names.asked().len(),
        1,
        "checked and dialled is one answer"
    );
    // The next connection asks anew, and its own answer is checked.
    assert_eq!(verdict(&run.ask(&request)), "403 address_denied");
    assert_eq!(run.names.asked().len(), 2);
}

#[test]
fn one_forbidden_address_refuses_the_whole_answer() {
    for answer in [
        "8.8.8.8 127.0.0.1",
        "127.0.0.1 8.8.8.8",
        "8.8.8.8 2606:4700::1 ::ffff:10.0.0.1",
    ] {
        let run = Run::new("api.example:443", &format!("api.example: {answer}"));
        assert_eq!(
            run.connects_to("api.example:443"),
            "403 address_denied",
            "{answer}"
        );
    }
}

#[test]
fn a_name_that_is_not_granted_is_never_resolved() {
    let run = Run::new("api.example:443", "api.example: 8.8.8.8");
    for asked in [
        "secret-data.evil.example:443",
        "api.example.evil:443",
        "api.example:80",
        "example:443",
    ] {
        assert_eq!(run.connects_to(asked), "403 host_denied", "{asked}");
    }
    assert!(run.names.asked().is_empty());
}

#[test]
fn connect_to_a_port_that_is_not_granted_is_refused_with_the_line_that_allows_it() {
    let run = Run::new("api.example:443 api.example:8443", "api.example: 8.8.8.8");
    let answer = run.ask("CONNECT api.example:22 HTTP/1.1\r\n\r\n");
    insta::assert_snapshot!(answer, @r#"
    HTTP/1.1 403 Forbidden
    Content-Type: text/plain; charset=utf-8
    Content-Length: 138
    X-Bailiwick-Refusal: host_denied
    Connection: close

    host_denied: `api.example:22` is not granted
    hint: `grant.network = ["api.example:22"]` allows it; of this host port 443, 8443 is granted
    "#);
}

#[test]
fn addresses_are_dialled_in_order_until_one_answers() {
    let origin = Origin::answering("HTTP/1.1 204 No Content\r\n\r\n");
    let port = origin.port;
    let grants = format!("api.example:{port} 127.0.0.2:{port} 127.0.0.1:{port}");
    let run = Run::new(&grants, "api.example: 127.0.0.2 127.0.0.1");
    let answer = run.ask(format!("GET http://api.example:{port}/ HTTP/1.1\r\n\r\n"));
    assert_eq!(verdict(&answer), "204");
    let log = run.end();
    assert_eq!(log.decisions[0].address, Some([127, 0, 0, 1].into()));
}

#[test]
fn what_is_allowed_and_out_of_reach_is_no_denial() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let grants = format!("api.example:{port} 127.0.0.1:{port} gone.example:{port}");
    let run = Run::new(&grants, "api.example: 127.0.0.1");
    assert_eq!(
        run.connects_to(&format!("api.example:{port}")),
        "502 unreachable"
    );
    assert_eq!(
        run.connects_to(&format!("gone.example:{port}")),
        "502 unresolved"
    );
    assert_eq!(run.socks(&socks_name(1, "api.example", port)).0, 5);
    assert_eq!(run.socks(&socks_name(1, "gone.example", port)).0, 4);
    assert_eq!(run.end().denials().count(), 0);
}

#[test]
fn a_resolver_that_never_answers_is_not_waited_for() {
    let run = Run::with("api.example:443", Names::silent(), |_, dial| {
        dial.resolve = Duration::from_millis(20);
    });
    assert_eq!(run.connects_to("api.example:443"), "504 resolve_expired");
    assert_eq!(run.socks(&socks_name(1, "api.example", 443)).0, 6);
}

#[tokio::test]
async fn a_host_that_never_answers_is_not_waited_for() {
    // A queue that is full leaves further connections without an answer.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address: SocketAddr = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
        waiting.push(stream);
    }
    let mut limits = DialLimits::default();
    limits.connect = Duration::from_millis(50);
    let dialer = Dialer::with_resolver(guard(&address.to_string()), Arc::new(Names::new("")));
    let refusal = dialer
        .with_limits(limits)
        .dial(&address.to_string().parse().unwrap())
        .await;
    assert_eq!(refusal.unwrap_err().kind(), "connect_expired");
}

#[tokio::test]
async fn who_connects_for_itself_is_given_checked_addresses() {
    let names = "api.example: 8.8.8.8 ::ffff:1.1.1.1\nevil.example: 10.0.0.1";
    let dialer = Dialer::with_resolver(guard("*.example:443"), Arc::new(Names::new(names)));
    let addresses = dialer
        .resolve(&"api.example:443".parse().unwrap())
        .await
        .unwrap();
    assert_eq!(
        addresses,
        [
            "8.8.8.8:443".parse().unwrap(),
            "1.1.1.1:443".parse().unwrap()
        ]
    );
    let refusal = dialer
        .resolve(&"evil.example:443".parse().unwrap())
        .await
        .unwrap_err();
    assert_eq!(
        refusal.hint(),
        "a name does not open it; `grant.network = [\"10.0.0.1:443\"]` does"
    );
}
