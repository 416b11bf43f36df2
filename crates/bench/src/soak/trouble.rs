//! What a system may do to a server: hold it up for a while, or give it nothing.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};
use trantor_time::RealSpan;

use super::sleep;
use crate::child::Server;

/// Connections made while there are no descriptors for them.
const LATECOMERS: usize = 50;

/// Descriptors that are left to the server.
const DESCRIPTORS_LEFT: u64 = 4;

/// How long an answer may take once there is room again.
const PATIENCE: Duration = Duration::from_secs(10);

/// Stops the process for ten seconds. It answers as before when it goes on.
pub(super) fn stop_for_ten_seconds(server: &Server) -> Result<()> {
    kill_process(server.pid(), Signal::STOP)?;
    sleep(RealSpan::from_secs(10));
    kill_process(server.pid(), Signal::CONT)?;
    ensure!(
        greeting(&mut TcpStream::connect(server.address)?)? == "WELCOME\n",
        "a server that was stopped does not greet"
    );
    Ok(())
}

/// Takes the server's descriptors away while connections come, and gives them back. It says that it backs off, and all who
/// waited are greeted in the end.
pub(super) fn take_descriptors_away(server: &Server) -> Result<()> {
    let pid = Some(server.pid());
    let before = server.metric("trantor_listener_back_offs_total")?;
    let open = server.descriptors()? as u64;
    let few = Rlimit {
        current: Some(open + DESCRIPTORS_LEFT),
        // A server has the same as its parent, and may not have more.
        maximum: getrlimit(Resource::Nofile).maximum,
    };
    let usual = prlimit(pid, Resource::Nofile, few)?;
    let latecomers: Result<Vec<TcpStream>, _> = (0..LATECOMERS)
        .map(|_| TcpStream::connect(server.address))
        .collect();
    sleep(RealSpan::from_millis(1_500));
    prlimit(pid, Resource::Nofile, usual)?;
    for mut latecomer in latecomers? {
        let greeting = greeting(&mut latecomer).context("somebody who waited for a descriptor")?;
        ensure!(greeting == "WELCOME\n", "somebody who waited hears {greeting:?}");
    }
    ensure!(
        server.metric("trantor_listener_back_offs_total")? > before,
        "a server without descriptors does not say so"
    );
    Ok(())
}

fn greeting(stream: &mut TcpStream) -> Result<String> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(line)
}
