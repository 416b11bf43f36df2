//! Commands of operators, carried out: from the server's own console, and over connections.

use trantor_engine::{AdminRefusal, OperatorLine};
use trantor_time::RealTime;

use super::Host;
use crate::actors::CheckResult;
use crate::operator::{self, AdminOp};
use crate::rng::Rng;

/// The stream of random numbers by which an operator's number is a command.
const ADMIN_OPS: u64 = 7;

impl Host {
    /// Carries out a command; returns the answer for the operator.
    pub(super) fn fulfil(&mut self, op: AdminOp, now: RealTime) -> Result<Result<(), AdminRefusal>, String> {
        match op {
            AdminOp::Engine(request) => {
                // What it does is compared with how things were at this instant.
                self.sprints.begin_pass(&mut self.engine, now)?;
                let speed_before = self.engine.game_clock().frequency();
                let told = operator::ask(&mut self.engine, request, now)?;
                self.sprints.note(&self.engine, speed_before);
                Ok(told)
            }
            AdminOp::Save => {
                self.storage.save_now(&self.engine);
                Ok(Ok(()))
            }
        }
    }

    /// Does what operators say over their connections. A line is a number, by which a command is drawn.
    pub(super) fn answer_operators(&mut self, now: RealTime) -> CheckResult {
        while let Some(OperatorLine { conn, line }) = self.engine.poll_operator_line() {
            self.check_operator(conn)?;
            let answer = match line.parse() {
                Ok(number) => {
                    let game = &self.engine.config().game;
                    let op = AdminOp::draw(game, &mut Rng::new(number, ADMIN_OPS));
                    self.reached.count("operators' lines", 1);
                    match self.fulfil(op, now)? {
                        Ok(()) => format!("ok {number}\n"),
                        Err(refusal) => format!("ko {number} {refusal}\n"),
                    }
                }
                Err(_) => "ko this is no number\n".to_owned(),
            };
            self.engine.answer_operator(conn, &answer);
        }
        Ok(())
    }
}
