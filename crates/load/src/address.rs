//! Where servers listen.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Redis's default port.
pub(crate) const PORT: u16 = 6379;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// Host and port.
    Tcp(String, u16),
    /// A unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let path = text.strip_prefix("unix:").or_else(|| text.starts_with('/').then_some(text));
        if let Some(path) = path {
            return if path.is_empty() {
                Err("the path of the socket is missing".into())
            } else {
                Ok(Self::Unix(path.into()))
            };
        }
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, rest)) => (host, Some(rest.strip_prefix(':').ok_or("after ] comes :PORT")?)),
            // More than one colon without brackets is an IPv6 address alone.
            None if text.matches(':').count() > 1 => (text, None),
            None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
        };
        if host.is_empty() || host.contains(['[', ']', '/']) {
            return Err("use host:port, [IPv6]:port, a path or unix:path".into());
        }
        let port = match port {
            None => PORT,
            Some(port) => port
                .parse()
                .ok()
                .filter(|port| *port > 0)
                .ok_or_else(|| format!("'{port}' is no port; use a number from 1 to 65535"))?,
        };
        Ok(Self::Tcp(host.to_owned(), port))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        let tcp = |host: &str, port| Ok(Address::Tcp(host.into(), port));
        for (text, expected) in [
            ("localhost", tcp("localhost", 6379)),
            ("10.0.0.1:7000", tcp("10.0.0.1", 7000)),
            ("[::1]:7000", tcp("::1", 7000)),
            ("[::1]", tcp("::1", 6379)),
            ("fe80::1", tcp("fe80::1", 6379)),
            ("/run/redis.sock", Ok(Address::Unix("/run/redis.sock".into()))),
            ("unix:here.sock", Ok(Address::Unix("here.sock".into()))),
        ] {
            assert_eq!(text.parse::<Address>(), expected, "{text}");
        }
        for bad in ["", ":6379", "host:", "host:0", "host:65536", "host:x", "unix:", "[::1]x"] {
            assert!(bad.parse::<Address>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_read_back(text in ".{0,30}") {
            if let Ok(address) = text.parse::<Address>() {
                prop_assert_eq!(address.to_string().parse::<Address>(), Ok(address));
            }
        }
    }
}
