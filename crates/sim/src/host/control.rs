//! Who may control the server: reloads that change it, and that nobody else does.

use trantor_engine::{Client, ClientKind, ConnId, Engine, Input};
use trantor_time::RealTime;

use super::Host;
use crate::access::TokenNumber;
use crate::actors::CheckResult;
use crate::fault::{Fault, Sabotage};
use crate::operator::is_held;
use crate::plan::Reload;

impl Host {
    /// The server takes in what a peer says, which changes the speed only if that peer may.
    pub(super) fn hear(&mut self, conn: usize, bytes: &[u8], now: RealTime) -> CheckResult {
        let pace = |engine: &Engine| (engine.game_clock().frequency(), is_held(engine));
        let (before, sprints_to) = (pace(&self.engine), self.engine.sprint_until());
        let id = self.conns[conn].id;
        self.engine.handle(Input::Bytes { conn: id, bytes }, now);
        let after = pace(&self.engine);
        // A sprint may end at the instant at which something is taken in.
        let is_sprint_over = sprints_to.is_some_and(|until| self.engine.game_now() >= until);
        // Lateness is counted at the speed after it, also for what became due in a sprint that began in this very pass.
        self.is_excused |= before != after && is_sprint_over;
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

    /// A line of this operator is about to be carried out.
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

    /// Puts into force what can change while the server runs.
    pub(super) fn carry_out_reload(&mut self, reload: &Reload, sabotage: &Sabotage) {
        // Those who watch by now are told as it was when they began.
        self.note_spectators();
        self.reached.count("reloads", 1);
        let rule = reload.rule;
        let token = match sabotage.is(Fault::OldToken) {
            true => self.engine.config().token.clone(),
            false => rule.token.map(TokenNumber::token),
        };
        self.engine.set_control(rule.control, token);
        self.access.put_into_force(rule);
        if let Some(limits) = &reload.limits {
            self.limits = limits.clone();
            if !sabotage.is(Fault::IgnoredLimits) {
                self.engine.set_limits(limits);
            }
        }
        if let Some(delay) = reload.spectator_delay {
            self.engine.set_spectator_delay(delay);
            self.past.set_delay(delay);
        }
    }
}
