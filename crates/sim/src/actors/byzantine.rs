//! A byzantine client: violates the protocols. It checks nothing; the other actors check that it harms none of them.

use trantor_engine::EngineConfig;
use trantor_protocol::wire::{ClientHello, ToServer, WIRE_VERSION, write_frame};
use trantor_time::RealTime;

use super::{Actor, CheckResult, Context};
use crate::rng::Rng;

/// See the module.
pub(super) struct Byzantine {
    teams: Vec<String>,
    wake: Option<RealTime>,
    has_greeted: bool,
}

impl Byzantine {
    pub(super) fn new(config: &EngineConfig, now: RealTime) -> Self {
        Self {
            teams: config.game.teams.clone(),
            wake: Some(now),
            has_greeted: false,
        }
    }

    fn write_violation(&mut self, rng: &mut Rng, out: &mut Vec<u8>) {
        match rng.below(10) {
            0 => out.extend(rng.bytes(60)),
            1 => out.extend(std::iter::repeat_n(b'x', rng.between(1, 40_000) as usize)),
            2 => out.extend(b"\n\r\n\0\n"),
            3 => out.extend(b"mct 1\nppo #99999999999\nbct -1 3\nsst 0\nsst x\n"),
            4 => out.extend(b"Incantation now\nTake\nSet gold\nBroadcast\n"),
            5 => out.extend(rng.pick(&["GRAPHIC\n", "ADMIN\n", "ADMIN x\n"]).as_bytes()),
            6 => out.extend(format!("{}\n", rng.pick(&self.teams)).into_bytes()),
            7 => {
                out.extend(rng.between(0, 70_000).to_le_bytes());
                out.extend(rng.bytes(20));
            }
            8 => {
                let credit = ToServer::Credit {
                    items: rng.between(0, 1_000),
                };
                write_frame(out, &credit).expect("a short message");
            }
            _ => {
                let hello = ClientHello {
                    version: WIRE_VERSION + rng.below(2) as u16,
                    program: "byzantine".to_owned(),
                };
                write_frame(out, &ToServer::Hello(hello)).expect("a short message");
            }
        }
    }
}

impl Actor for Byzantine {
    fn receive(&mut self, _: &[u8], _: &Context<'_>) -> CheckResult {
        Ok(())
    }

    fn act(&mut self, context: &Context<'_>, rng: &mut Rng, out: &mut Vec<u8>) -> bool {
        if context.is_settling {
            self.wake = None;
        }
        if self.wake.is_none_or(|wake| wake > context.now) {
            return true;
        }
        self.wake = Some(context.now + rng.millis(5, 200));
        if !self.has_greeted && !rng.one_in(4) {
            let words = ["TRANTOR\n", "GRAPHIC\n", "ADMIN\n", "red\n", "nobody\n"];
            out.extend(rng.pick(&words).as_bytes());
        }
        self.has_greeted = true;
        self.write_violation(rng, out);
        !rng.one_in(20)
    }

    fn wake(&self) -> Option<RealTime> {
        self.wake
    }
}
