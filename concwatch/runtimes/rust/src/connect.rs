//! The server whose connections tasks hold.

use crate::{command::Command, json::Value, system};
use std::net::{Ipv4Addr, SocketAddrV4};

/// What a task sends, and the server sends back.
pub const LINE: &[u8; 5] = b"ping\n";

const SCHEME: &str = "tcp://127.0.0.1:";

pub struct Server {
    port: u16,
    addresses: u32,
    connections: u32, // so far
}

impl Server {
    pub fn read(command: &Command) -> Result<Self, String> {
        let port = command.text("url").ok().and_then(|url| {
            let digits = url.strip_prefix(SCHEME)?;
            digits.parse().ok().filter(|port| *port > 0)
        });
        let Some(port) = port else {
            let spec = Value::from(command.text("spec")?);
            return Err(format!(
                r#"workload {spec} needs a "url" to connect to; expected {SCHEME}PORT"#
            ));
        };
        let addresses = match command.has("addresses") {
            true => command.whole("addresses", 254)?.max(1) as u32,
            false => 1,
        };
        system::raise_open_file_limit();
        Ok(Server {
            port,
            addresses,
            connections: 0,
        })
    }

    /// The address of the next connection: each of them in turn, since there are not enough ports for many to one.
    pub fn next(&mut self) -> SocketAddrV4 {
        let last = 1 + (self.connections % self.addresses) as u8;
        self.connections = self.connections.wrapping_add(1);
        SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, last), self.port)
    }
}
