//! What operators wish for, done: at the server's own console, and over connections.

use trantor_engine::{AdminRefusal, OperatorLine};
use trantor_time::RealTime;

use super::Host;
use crate::actors::Verdict;
use crate::dice::Dice;
use crate::fault::Sabotage;
use crate::operator::{self, Wish};

/// The stream of dice by which an operator's number is a wish.
const WISHES: u64 = 7;

impl Host {
    /// Does what an operator wishes for; answers what he is told.
    pub(super) fn fulfil(
        &mut self,
        wish: Wish,
        now: RealTime,
        sabotage: &mut Sabotage,
    ) -> Result<Result<(), AdminRefusal>, String> {
        match wish {
            Wish::Engine(request) => {
                // What it does is compared with how things were at this instant.
                self.sprints.begin_pass(&mut self.engine, now)?;
                let speed_before = self.engine.game_clock().frequency();
                let told = operator::ask(&mut self.engine, request, now)?;
                self.sprints.note(&self.engine, speed_before);
                Ok(told)
            }
            Wish::Save => {
                self.keeping.save_now(&self.engine, now, sabotage);
                Ok(Ok(()))
            }
        }
    }

    /// Does what operators say over their connections. A line is a number, by which a wish is drawn.
    pub(super) fn answer_operators(&mut self, now: RealTime, sabotage: &mut Sabotage) -> Verdict {
        while let Some(OperatorLine { conn, line }) = self.engine.poll_operator_line() {
            self.check_operator(conn)?;
            let answer = match line.parse() {
                Ok(number) => {
                    let game = &self.engine.config().game;
                    let wish = Wish::draw(game, &mut Dice::new(number, WISHES));
                    self.reached.count("operators' lines", 1);
                    match self.fulfil(wish, now, sabotage)? {
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
