//! TCP connections that are opened and closed.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;

use super::link::{Kind, LIMIT, listener};
use crate::body::{Body, Order, Prepared};
use crate::failure::{Failure, refused_by};

/// A listening socket and its address.
struct Connects {
    listener: TcpListener,
    address: SocketAddr,
}

pub(super) fn connects(_: &Order<'_>) -> Prepared {
    let (what, cure) = Kind::Tcp.refusal();
    let refused = |failure: Failure| refused_by(what, failure, cure);
    let listener = listener().map_err(|error| refused(error.into()))?;
    let address = listener.local_addr().map_err(|error| refused(error.into()))?;
    let connects = Connects { listener, address };
    // Shown once with a limit: where packets are dropped, connect would wait for minutes.
    let tried = TcpStream::connect_timeout(&address, LIMIT).map_err(Failure::of("connect"));
    tried.and_then(|near| connects.close(&near)).map_err(refused)?;
    Ok(Box::new(connects))
}

impl Connects {
    /// Accepts the connection that was just made, and closes its far end; the near one closes next.
    fn close(&self, near: &TcpStream) -> Result<(), Failure> {
        let (far, _) = self.listener.accept().map_err(Failure::of("accept"))?;
        set_socket_linger(near, Some(Duration::ZERO)).map_err(Failure::of("SO_LINGER"))?;
        drop(far);
        Ok(())
    }
}

impl Body for Connects {
    fn run(&mut self, times: u64) -> Result<u64, Failure> {
        for _ in 0..times {
            let near = TcpStream::connect(self.address).map_err(Failure::of("connect"))?;
            self.close(&near)?;
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use crate::body;
    use tiermark_model::OsCall;

    /// Connections to or from a port that are not open any more and still known to the kernel.
    fn waiting() -> usize {
        let all = std::fs::read_to_string("/proc/net/tcp").unwrap();
        // State 06 is TIME_WAIT (tcp_states.h).
        let of_loopback =
            |line: &&str| line.split_whitespace().nth(1).is_some_and(|local| local.starts_with("0100007F"));
        all.lines().filter(of_loopback).filter(|line| line.split_whitespace().nth(3) == Some("06")).count()
    }

    #[test]
    fn no_connection_stays_behind() {
        const TIMES: u64 = 500;
        let before = waiting();
        body(&OsCall::new("tcp loopback connect".into())).unwrap().run(TIMES).unwrap();
        // Others of this machine may leave some.
        assert!(waiting() < before + TIMES as usize / 2, "{before} before, then {}", waiting());
    }
}
