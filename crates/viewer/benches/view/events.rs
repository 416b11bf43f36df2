//! What it costs to take over what happened, for the events and the inspector's last commands: each agent begins a command
//! every 7 units, and every other one takes something.

use std::io::Write;

use trantor_client::{FeedEntry, FeedKind, Scene, Who};
use trantor_model::{AgentId, CommandKind, Resource, TeamId};
use trantor_time::GameTime;
use trantor_viewer::hud::Hud;

use super::figures::{Samples, own};
use super::{WARMING, WORLDS};

/// Commands that an agent begins in a frame: 100 units a second, 60 frames a second, 7 units each.
const BEGUN_A_FRAME: f64 = 100.0 / 60.0 / 7.0;

pub fn measure(frames: usize, out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(out, "\n| what happened | entries a frame | median | p99 | max |")?;
    writeln!(out, "|---|---|---|---|---|")?;
    for (_, agents, _) in WORLDS {
        let mut hud = Hud::new(false);
        let scene = Scene::default();
        let mut samples = Samples::default();
        let (mut told, mut entries) = (0u32, 0u32);
        for frame in 0..frames + WARMING {
            let until = (f64::from(agents) * BEGUN_A_FRAME * (frame + 1) as f64) as u32;
            let at = GameTime::from_units(i64::from(told) * 7 / i64::from(agents));
            let start = own();
            entries = 0;
            while told < until {
                let who = Who {
                    agent: AgentId(told % agents),
                    team: TeamId(0),
                };
                let kind = FeedKind::Started(who, CommandKind::Take);
                hud.add_event(&FeedEntry { at, kind }, &scene);
                if told % 2 == 0 {
                    let kind = FeedKind::Carried(who, Resource::Food, true);
                    hud.add_event(&FeedEntry { at, kind }, &scene);
                }
                entries += 1 + u32::from(told % 2 == 0);
                told += 1;
            }
            if frame >= WARMING {
                samples.push(own() - start);
            }
        }
        writeln!(
            out,
            "| {agents} agents | {entries} | {:.3} | {:.3} | {:.3} |",
            samples.median(),
            samples.at(0.99),
            samples.max()
        )?;
    }
    Ok(())
}
