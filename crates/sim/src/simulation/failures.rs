//! The phase with faults: machine stalls, power failures, network faults, console commands and reloads.

use trantor_time::{Clock, RealSpan};

use super::{CRASHES_MAX, Simulation};
use crate::actors::CheckResult;
use crate::console;

impl Simulation {
    pub(super) fn inject_machine_stall(&mut self) {
        if self.rng.one_in(self.plan.machine.stall_one_in) {
            self.clock
                .advance(RealSpan::from_millis(i64::from(self.rng.between(1, 600))));
            self.server.expect_lateness();
        }
    }

    /// Advances the clock by the time that the server's loop waited for the disk.
    pub(super) fn wait_for_disk(&mut self) {
        let write_wait = self.server.storage.disk.take_write_wait();
        if write_wait > RealSpan::ZERO {
            self.clock.advance(write_wait);
            self.server.expect_lateness();
        }
    }

    /// All connections break, and the server restarts from its disk.
    pub(super) fn inject_power_failure(&mut self) -> CheckResult {
        if self.crashes == CRASHES_MAX || !self.rng.one_in(self.plan.machine.crash_one_in) {
            return Ok(());
        }
        let now = self.clock.now();
        self.crashes += 1;
        self.note_reached();
        for peer in 0..self.peers.len() {
            if self.peers[peer].conn.is_some() {
                self.disconnect(peer, now);
            }
        }
        self.server
            .crash(&std::mem::take(&mut self.received))
            .map_err(|reason| format!("after crash {}: {reason}", self.crashes))
    }

    pub(super) fn inject_network_faults(&mut self) {
        let open: Vec<usize> = (0..self.peers.len())
            .filter(|peer| self.peers[*peer].conn.is_some())
            .collect();
        if open.is_empty() {
            return;
        }
        let now = self.clock.now();
        let network_faults = self.plan.network_faults;
        let peer = *self.rng.pick(&open);
        let index = self.peers[peer]
            .conn
            .expect("`open` holds peers with a connection");
        if self.rng.one_in(network_faults.stall_one_in) {
            let until = now + RealSpan::from_millis(i64::from(self.rng.between(1, 800)));
            let is_up = self.rng.one_in(2);
            let mut conn = self.server.network.conns[index].borrow_mut();
            let line = if is_up { &mut conn.up } else { &mut conn.down };
            line.hold_until(until);
        }
        if self.rng.one_in(network_faults.reset_one_in) {
            self.server.network.conns[index].borrow_mut().reset();
            self.disconnect(peer, now);
        } else if self.rng.one_in(network_faults.half_open_one_in) {
            let mut conn = self.server.network.conns[index].borrow_mut();
            conn.up.die();
            conn.down.die();
            drop(conn);
            self.disconnect(peer, now);
        }
    }

    pub(super) fn run_operator(&mut self) {
        let now = self.clock.now();
        if self.admin_wake.is_none_or(|wake| wake > now) {
            return;
        }
        let pause_ms = self.rng.between(1, 2 * self.plan.admin_ms);
        self.admin_wake = Some(now + RealSpan::from_millis(i64::from(pause_ms)));
        self.server
            .say(console::draw_line(&self.plan.config.game, &mut self.rng));
    }

    pub(super) fn reload_options(&mut self) {
        let now = self.clock.now();
        if self.reload_wake.is_none_or(|wake| wake > now) {
            return;
        }
        let rng = &mut self.control_rng;
        let pause_ms = rng.between(1, 2 * self.plan.reload_ms);
        self.reload_wake = Some(now + RealSpan::from_millis(i64::from(pause_ms)));
        self.server.reload(rng);
    }
}
