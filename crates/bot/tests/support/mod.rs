//! Trantor's server on a thread of the test.

use std::net::SocketAddr;

use trantor_server::background::Background;
use trantor_server::options::Options;

/// A server on a port of its choice, with a fixed seed.
pub fn serve(options: &Options) -> Background {
    let listen = SocketAddr::new(options.bind, 0);
    Background::start(listen, options.engine_config(7)).expect("a thread, and a port on loopback")
}
