//! Which URLs content may name: public ones, over https. The operator may name any.
//!
//! A host is checked here by how it is written, and once more by what it resolves to when the client connects (`client`).
//! The URL is read by the parser that the client uses, so that the two cannot disagree about its host.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::Uri;

/// Endings of names that mean this machine or this network.
const LOCAL_ENDINGS: &[&str] = &[
    "localhost",
    "local",
    "localdomain",
    "internal",
    "intranet",
    "lan",
    "home",
    "corp",
    "private",
    "home.arpa",
];

/// Whether a URL is https and names a public host; else why not.
pub fn public_https(url: &str) -> Result<(), &'static str> {
    let uri: Uri = url.parse().map_err(|_| "it is no URL")?;
    if uri.scheme_str() != Some("https") {
        return Err("it is not https");
    }
    let host = uri.host().unwrap_or_default();
    if let Some(address) = literal(host) {
        return if is_public(address) { Ok(()) } else { Err("the address is not a public one") };
    }
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let labels: Vec<&str> = name.split('.').collect();
    if !name.chars().all(plain) || labels.iter().any(|label| label.is_empty()) {
        return Err("its host is no name");
    }
    // `127.1`, `2130706433` and `0x7f000001` are addresses to a resolver.
    if labels.last().is_some_and(|last| last.starts_with(|c: char| c.is_ascii_digit())) {
        return Err("its host is a number in disguise");
    }
    if labels.len() < 2 {
        return Err("its host is a name of this network only");
    }
    let is_local = |ending: &&&str| {
        name.strip_suffix(**ending).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    match LOCAL_ENDINGS.iter().find(is_local) {
        Some(_) => Err("its host is a name of this network only"),
        None => Ok(()),
    }
}

fn literal(host: &str) -> Option<IpAddr> {
    match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(inner) => inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => host.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
    }
}

/// Whether an address is one of the public internet: not this machine, not a network of one's own, not a special one.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = a == 0
        || a >= 240
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        // Shared by providers, protocol assignments, benchmarks.
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (b == 18 || b == 19))
        || address.is_documentation();
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    // IPv4 addresses in IPv6 form are as public as the IPv4 address.
    let older =
        |high: u16, low: u16| is_public_v4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    let [first, second, third, ..] = address.segments();
    match address.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => return older(high, low),
        [0x2002, ..] => return older(second, third),
        _ => {}
    }
    // Only this eighth is assigned to the public internet; within it, tunnels and documentation are excluded.
    let tunnel_or_example = first == 0x2001 && (second < 0x200 || second == 0xdb8);
    let example = first == 0x3fff && second < 0x1000;
    first & 0xe000 == 0x2000 && !tunnel_or_example && !example
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e05_content_names_public_https_addresses_and_no_others() {
        for url in [
            "https://events.example.org/v1/events",
            "https://bob:secret@h.org/x?key=1",
            "https://events.example.org.:8443/x",
            "https://8.8.8.8/x",
            "https://[2606:4700::1111]/x",
            "https://127.0.0.1@events.example.org/x",
        ] {
            assert_eq!(public_https(url), Ok(()), "{url}");
        }
        for url in [
            "http://events.example.org/x",
            "ftp://events.example.org/x",
            "https://localhost/x",
            "https://LOCALHOST./x",
            "https://x.localhost/",
            "https://printer.local/",
            "https://printer.LOCAL./",
            "https://metadata.google.internal/",
            "https://intranet/",
            "https://127.0.0.1/",
            "https://127.1/",
            "https://127.0.0.1./",
            "https://2130706433/",
            "https://0x7f000001/",
            "https://0x7f.1/",
            "https://0177.0.0.1/",
            "https://events.example.org@127.0.0.1/",
            "https://a:b@[::1]/",
            "https://[::1]/",
            "https://[::]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[::127.0.0.1]/",
            "https://[64:ff9b::10.0.0.1]/",
            "https://[2002:7f00:1::]/",
            "https://[fe80::1]/",
            "https://[fd00::1]/",
            "https://[ff02::1]/",
            "https://0.0.0.0/",
            "https://10.1.2.3/",
            "https://172.16.0.1/",
            "https://192.168.0.1/",
            "https://169.254.169.254/latest",
            "https://100.64.0.1/",
            "https://198.18.0.1/",
            "https://255.255.255.255/",
            "https://224.0.0.1/",
            "https://ex%61mple.org/",
            "https://exa..mple.org/",
            "https:///x",
            "https://",
            "https:events.example.org",
        ] {
            assert!(public_https(url).is_err(), "{url}");
        }
    }
}
