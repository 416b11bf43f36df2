//! What goes wrong while anything may: the machine, its power, the network, and an operator who does as he likes.

use trantor_time::{Clock, RealSpan};

use super::{CRASHES_MAX, Universe};
use crate::actors::CheckResult;
use crate::operator::AdminOp;
use crate::oracle::Oracle;
use crate::plan::Reload;

impl Universe {
    pub(super) fn machine_stalls(&mut self) {
        if self.rng.one_in(self.plan.machine.stall_one_in) {
            self.clock
                .advance(RealSpan::from_millis(i64::from(self.rng.between(1, 600))));
            self.host.excuse();
        }
    }

    /// The server's loop has waited for its disk.
    pub(super) fn disk_is_slow(&mut self) {
        let took = self.host.storage.disk.take_time();
        if took > RealSpan::ZERO {
            self.clock.advance(took);
            self.host.excuse();
        }
    }

    /// Everybody's connection breaks, and the server begins again with what was on its disk.
    pub(super) fn power_fails(&mut self) -> CheckResult {
        if self.crashes == CRASHES_MAX || !self.rng.one_in(self.plan.machine.crash_one_in) {
            return Ok(());
        }
        let now = self.clock.now();
        self.crashes += 1;
        self.note_reached();
        self.oracle = Oracle::new(self.host.limits.clone());
        for peer in 0..self.peers.len() {
            if self.peers[peer].conn.is_some() {
                self.lose(peer, now);
            }
        }
        self.host
            .crash(now, &std::mem::take(&mut self.received))
            .map_err(|reason| format!("after crash {}: {reason}", self.crashes))
    }

    pub(super) fn network_fails(&mut self) {
        let open: Vec<usize> = (0..self.peers.len())
            .filter(|peer| self.peers[*peer].conn.is_some())
            .collect();
        if open.is_empty() {
            return;
        }
        let now = self.clock.now();
        let network_faults = self.plan.network_faults;
        let peer = *self.rng.pick(&open);
        let index = self.peers[peer].conn.expect("only those with a connection");
        if self.rng.one_in(network_faults.stall_one_in) {
            let until = now + RealSpan::from_millis(i64::from(self.rng.between(1, 800)));
            let is_up = self.rng.one_in(2);
            let conn = &mut self.host.conns[index];
            let line = if is_up { &mut conn.up } else { &mut conn.down };
            line.hold_until(until);
        }
        if self.rng.one_in(network_faults.reset_one_in) {
            self.host.reset(index);
            self.lose(peer, now);
        } else if self.rng.one_in(network_faults.half_open_one_in) {
            let conn = &mut self.host.conns[index];
            conn.up.die();
            conn.down.die();
            self.lose(peer, now);
        }
    }

    pub(super) fn operator_acts(&mut self) {
        let now = self.clock.now();
        if self.admin_wake.is_none_or(|wake| wake > now) {
            return;
        }
        let pause_ms = self.rng.between(1, 2 * self.plan.admin_ms);
        self.admin_wake = Some(now + RealSpan::from_millis(i64::from(pause_ms)));
        self.host
            .operate(AdminOp::draw(&self.plan.config.game, &mut self.rng));
    }

    pub(super) fn options_change(&mut self) {
        let now = self.clock.now();
        if self.reload_wake.is_none_or(|wake| wake > now) {
            return;
        }
        let rng = &mut self.control_rng;
        let pause_ms = rng.between(1, 2 * self.plan.reload_ms);
        self.reload_wake = Some(now + RealSpan::from_millis(i64::from(pause_ms)));
        let rule = self.host.access.draw_next(rng);
        self.host.reload(Reload::draw(rule, rng));
    }
}
