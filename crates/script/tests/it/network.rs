//! Scripts to which hosts are granted.
//!
//! The hosts are servers of these tests, which the policy names by address and port.

use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use bailiwick_core::{CallContext, Code};
use serde_json::{Value, json};

use crate::bed::{Bed, called, called_in, host_that_says, stdout};

/// Asks for a page as programs do, by what the variables say.
const ASK: &str = "\
import os, socket, sys, urllib.error, urllib.request
def ask(host):
    try: return urllib.request.urlopen(f'http://{host}/', timeout=20).read().decode()
    except urllib.error.HTTPError as error: return f'{error.code} {error.read().decode().strip()}'
    except OSError as error: return type(error).__name__
";

#[tokio::test(flavor = "multi_thread")]
async fn a_granted_host_is_reached_as_programs_reach_hosts() {
    let host = host_that_says("word");
    let Some(bed) = Bed::new(&[&host]) else {
        return;
    };
    let text = format!("{ASK}print(ask('{host}'), ask('{host}'))");
    let outcome = bed.run(&text, &[&host]).await;
    assert_eq!(stdout(&outcome), "word word\n");
    let report = &outcome.report;
    assert_eq!(report.denials, [Value::Null; 0]);
    assert_eq!(report.warnings, [""; 0]);
    let decisions = report.network["decisions"].as_array().expect("a log");
    assert_eq!(decisions.len(), 2, "{decisions:?}");
    for decision in decisions {
        assert_eq!(decision["kind"], "granted", "{decision}");
        let asked = format!(
            "{}:{}",
            decision["host"].as_str().expect("a host"),
            decision["port"]
        );
        assert_eq!(asked, host);
        assert!(decision["bytes_down"].as_u64() > Some(4), "{decision}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_granted_host_is_reached_over_a_tunnel_of_either_kind() {
    let host = host_that_says("word");
    let Some(bed) = Bed::new(&[&host]) else {
        return;
    };
    let (name, port) = host.split_once(':').expect("a port");
    let text = format!(
        "{ASK}
def proxied():
    return socket.create_connection(('127.0.0.1', 3128), 20)
def page(s):
    s.sendall(b'GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')
    return s.makefile('rb').read()[-4:].decode()
s = proxied()
s.sendall(b'CONNECT {host} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n')
head = b''
while not head.endswith(b'\\r\\n\\r\\n'): head += s.recv(1)
print(head.split()[1].decode(), page(s))
s = proxied()
s.sendall(bytes([5, 1, 0])); answer = s.recv(2)
name = b'{name}'
s.sendall(bytes([5, 1, 0, 3, len(name)]) + name + ({port}).to_bytes(2, 'big'))
answer += s.recv(10)
print(answer[:4].hex(), page(s))
"
    );
    let outcome = bed.run(&text, &[&host]).await;
    assert_eq!(stdout(&outcome), "200 word\n05000500 word\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_variables_say_where_the_way_out_is_and_only_where_there_is_one() {
    let host = host_that_says("word");
    let Some(bed) = Bed::new(&[&host]) else {
        return;
    };
    let text = "import os\nfor name, value in sorted(os.environ.items()):\n    if name.lower().endswith('_proxy'): print(f'{name}={value}')\n";
    let (http, socks) = ("http://127.0.0.1:3128", "socks5h://127.0.0.1:3128");
    let expected = format!(
        "ALL_PROXY={socks}\nHTTPS_PROXY={http}\nHTTP_PROXY={http}\nNO_PROXY=\n\
         all_proxy={socks}\nhttp_proxy={http}\nhttps_proxy={http}\nno_proxy=\n"
    );
    assert_eq!(stdout(&bed.run(text, &[&host]).await), expected);
    let outcome = bed.run(text, &[]).await;
    assert_eq!(stdout(&outcome), "");
    assert_eq!(outcome.report.network, Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_not_granted_is_refused_and_the_report_says_what_would_allow_it() {
    let host = host_that_says("word");
    let other = host_that_says("secret");
    let Some(bed) = Bed::new(&[&host]) else {
        return;
    };
    let text = format!(
        "{ASK}
print(ask('{other}')); print(ask('{other}'))
print(ask('metadata.internal'))
print(ask('{host}'))"
    );
    let outcome = bed.run(&text, &[&host]).await;
    let printed = stdout(&outcome);
    assert!(!printed.contains("secret"), "{printed}");
    let answers: Vec<_> = printed
        .lines()
        .filter(|line| line.starts_with("403 "))
        .collect();
    assert_eq!(answers.len(), 3, "{printed}");
    assert!(printed.ends_with("\nword\n"), "{printed}");
    let hint = |object: &str| format!("`grant.network = [\"{object}\"]` allows it");
    assert!(printed.contains(&hint(&other)), "{printed}");
    let port = host.rsplit(':').next().expect("a port");
    let beside = format!("{}; of this host port {port} is granted", hint(&other));
    let denial = |object: &str, count: u64, hint: &str| {
        json!({
            "layer": "proxy",
            "access": "connect",
            "object": object,
            "count": count,
            "hint": hint,
        })
    };
    let unknown = "metadata.internal:80";
    let expected = [
        denial(&other, 2, &beside),
        denial(unknown, 1, &hint(unknown)),
    ];
    assert_eq!(outcome.report.denials, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_does_not_heed_the_variables_reaches_nothing() {
    let host = host_that_says("word");
    let Some(bed) = Bed::new(&[&host]) else {
        return;
    };
    let text = format!(
        "{ASK}
for name in list(os.environ):
    if name.lower().endswith('_proxy'): del os.environ[name]
print(ask('{host}'))
try: print(socket.getaddrinfo('example.com', 80))
except OSError as error: print(type(error).__name__)
try: print(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
except OSError as error: print(type(error).__name__)
"
    );
    let outcome = bed.run(&text, &[&host]).await;
    assert_eq!(stdout(&outcome), "URLError\ngaierror\nPermissionError\n");
    assert_eq!(outcome.report.network["decisions"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_run_lists_what_its_network_refused() {
    let host = host_that_says("word");
    let Some(bed) = Bed::new(&[&host]) else {
        return;
    };
    let text = format!("{ASK}ask('api.example'); sys.exit(3)");
    let outcome = bed.run(&text, &[&host]).await;
    assert_eq!(
        outcome.result.expect_err("a failure").code(),
        Code::ScriptFailed
    );
    assert_eq!(outcome.report.denials[0]["object"], "api.example:80");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_at_the_same_time_have_each_their_own_way_out() {
    let (one, two) = (host_that_says("one"), host_that_says("two"));
    let Some(bed) = Bed::new(&[&one, &two]) else {
        return;
    };
    let text = format!("{ASK}print(ask('{one}')[:3], ask('{two}')[:3])");
    let (first, second) = (bed.script(&text, &[&one]), bed.script(&text, &[&two]));
    for _ in 0..3 {
        let (left, right) = tokio::join!(called(&first), called(&second));
        assert_eq!(
            (stdout(&left), stdout(&right)),
            ("one 403\n".to_owned(), "403 two\n".to_owned())
        );
        assert_eq!(left.report.denials[0]["object"], two.as_str());
        assert_eq!(right.report.denials[0]["object"], one.as_str());
        assert_eq!(
            (left.report.denials.len(), right.report.denials.len()),
            (1, 1)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_run_ends_its_connections() {
    // A host that answers nobody: it says when it is connected to, and when no longer.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
    let host = listener.local_addr().expect("its address").to_string();
    let Some(bed) = Bed::new(&[&host]) else {
        return;
    };
    let tool = bed.script(&format!("{ASK}ask('{host}')"), &[&host]);
    let context = CallContext::new("/");
    let cancel = context.cancel.clone();
    let accepted = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept()?;
        stream.set_read_timeout(Some(Duration::from_mins(1)))?;
        let mut received = Vec::new();
        // Until the run is connected there is nothing that its end could end.
        let mut first = [0; 1];
        std::io::Read::read_exact(&mut stream, &mut first)?;
        cancel.cancel();
        std::io::Read::read_to_end(&mut stream, &mut received)
    });
    let outcome = called_in(&tool, &context).await;
    assert_eq!(
        outcome.result.expect_err("it was cancelled").code(),
        Code::Cancelled
    );
    assert!(outcome.report.confirmed);
    accepted
        .join()
        .expect("a thread")
        .expect("the connection's end");
}
