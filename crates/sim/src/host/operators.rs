//! Executes commands of operators, from the server's console and over connections.

use trantor_engine::{AdminRefusal, OperatorLine};
use trantor_time::RealTime;

use super::Host;
use crate::actors::CheckResult;
use crate::operator::{self, AdminOp};
use crate::rng::Rng;

/// Random stream that maps an operator's number to a command.
const ADMIN_OPS: u64 = 7;

impl Host {
    /// Executes a command; returns the engine's answer.
    pub(super) fn execute(&mut self, op: AdminOp, now: RealTime) -> Result<Result<(), AdminRefusal>, String> {
        match op {
            AdminOp::Engine(request) => {
                // Its effect is compared with the state at this instant.
                self.sprints.begin_pass(&mut self.engine, now)?;
                let speed_before = self.engine.game_clock().frequency();
                let result = operator::ask(&mut self.engine, request, now)?;
                self.sprints.note(&self.engine, speed_before);
                Ok(result)
            }
            AdminOp::Save => {
                self.storage.save_now(&self.engine);
                Ok(Ok(()))
            }
        }
    }

    /// Executes and answers operator lines. A line is a number, which seeds the draw of a command.
    pub(super) fn answer_operators(&mut self, now: RealTime) -> CheckResult {
        while let Some(OperatorLine { conn, line }) = self.engine.poll_operator_line() {
            self.check_operator(conn)?;
            let answer = match line.parse() {
                Ok(number) => {
                    let game = &self.engine.config().game;
                    let op = AdminOp::draw(game, &mut Rng::new(number, ADMIN_OPS));
                    self.coverage.count("operator lines", 1);
                    match self.execute(op, now)? {
                        Ok(()) => format!("ok {number}\n"),
                        Err(refusal) => format!("ko {number} {refusal}\n"),
                    }
                }
                Err(_) => "ko not a number\n".to_owned(),
            };
            self.engine.answer_operator(conn, &answer);
        }
        Ok(())
    }
}
