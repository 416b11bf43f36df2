//! Access control: applies reloads, and checks that only allowed peers control the server.

use trantor_engine::{Client, ClientKind, ConnId, Engine, Input};
use trantor_time::RealTime;

use super::Host;
use crate::access::TokenNumber;
use crate::actors::CheckResult;
use crate::fault::{Fault, FaultInjector};
use crate::operator::is_held;
use crate::plan::Reload;

impl Host {
    /// Passes bytes to the engine and checks that only an allowed peer changes the speed.
    pub(super) fn handle_bytes(&mut self, conn: usize, bytes: &[u8], now: RealTime) -> CheckResult {
        let speed_of = |engine: &Engine| (engine.game_clock().frequency(), is_held(engine));
        let (before, sprints_to) = (speed_of(&self.engine), self.engine.sprint_until());
        let id = self.conns[conn].id;
        self.engine.handle(Input::Bytes { conn: id, bytes }, now);
        let after = speed_of(&self.engine);
        // A sprint may end at the instant of the input.
        let is_sprint_over = sprints_to.is_some_and(|until| self.engine.game_now() >= until);
        // Lateness is computed at the speed after the sprint, also for deadlines that became due within it.
        self.is_late_expected |= before != after && is_sprint_over;
        if before == after || is_sprint_over {
            return Ok(());
        }
        let is_text_viewer =
            |client: Client| client.conn == id && matches!(client.kind, ClientKind::TextViewer);
        let is_text_viewer = self.engine.clients().any(is_text_viewer);
        let (rule, credentials) = (self.access.now(), self.conns[conn].credentials);
        match rule.allows_speed(credentials, is_text_viewer) {
            true => Ok(()),
            false => Err(format!(
                "{credentials:?} changed the speed from {before:?} to {after:?} under {rule:?}"
            )),
        }
    }

    /// Checks that the sender of an operator line is allowed to control the server.
    pub(super) fn check_operator(&self, conn: ConnId) -> CheckResult {
        let Some(conn) = self.served.get(&conn) else {
            return Ok(());
        };
        let (rule, credentials) = (self.access.now(), self.conns[*conn].credentials);
        match rule.allows(credentials) {
            true => Ok(()),
            false => Err(format!("{credentials:?} operates under {rule:?}")),
        }
    }

    pub(super) fn apply_reload(&mut self, reload: &Reload, injector: &FaultInjector) {
        // Existing viewers keep their delay.
        self.record_delays();
        self.coverage.count("reloads", 1);
        let rule = reload.rule;
        let token = match injector.is(Fault::StaleToken) {
            true => self.engine.config().token.clone(),
            false => rule.token.map(TokenNumber::token),
        };
        self.engine.set_control(rule.control, token);
        self.access.set(rule);
        if let Some(limits) = &reload.limits {
            self.limits = limits.clone();
            if !injector.is(Fault::IgnoredLimits) {
                self.engine.set_limits(limits);
            }
        }
        if let Some(delay) = reload.spectator_delay {
            self.engine.set_spectator_delay(delay);
            self.world_history.set_delay(delay);
        }
    }
}
