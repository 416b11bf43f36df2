//! Events for text viewers as bytes.

use trantor_model::{Counts, Direction, Level, Tile};

use super::gui_event::{GuiEvent, GuiIds};
use super::number::{push_number, push_spaced};

/// Appends the bytes of one line, with its end.
pub fn write_gui_event(out: &mut Vec<u8>, ids: GuiIds, event: &GuiEvent<'_>) {
    let mut line = LineWriter { out, ids };
    match *event {
        GuiEvent::MapSize(size) => {
            line.word(b"msz")
                .number(u32::from(size.width()))
                .number(u32::from(size.height()));
        }
        GuiEvent::Tile { tile, ref ground } => {
            line.word(b"bct").tile(tile).counts(ground);
        }
        GuiEvent::Team(name) => {
            line.word(b"tna").text(name);
        }
        GuiEvent::Joined {
            agent,
            tile,
            facing,
            level,
            team,
        } => {
            if ids == GuiIds::Pnw {
                line.ids = GuiIds::Hash;
            }
            line.word(b"pnw")
                .id(agent.0)
                .tile(tile)
                .facing(facing)
                .level(level)
                .text(team);
        }
        GuiEvent::Position { agent, tile, facing } => {
            line.word(b"ppo").id(agent.0).tile(tile).facing(facing);
        }
        GuiEvent::Level { agent, level } => {
            line.word(b"plv").id(agent.0).level(level);
        }
        GuiEvent::Inventory {
            agent,
            tile,
            ref inventory,
        } => {
            line.word(b"pin").id(agent.0);
            if let Some(tile) = tile {
                line.tile(tile);
            }
            line.counts(inventory);
        }
        GuiEvent::Ejected { agent } => {
            line.word(b"pex").id(agent.0);
        }
        GuiEvent::Said { agent, text } => {
            line.word(b"pbc").id(agent.0).text(text);
        }
        GuiEvent::RitualStarted {
            tile,
            level,
            ref participants,
        } => {
            line.word(b"pic").tile(tile).level(level);
            for agent in participants.iter() {
                line.id(agent.0);
            }
        }
        GuiEvent::RitualEnded { tile, success } => {
            line.word(b"pie").tile(tile).number(u32::from(success));
        }
        GuiEvent::ForkStarted { agent } => {
            line.word(b"pfk").id(agent.0);
        }
        GuiEvent::Put { agent, resource } => {
            line.word(b"pdr").id(agent.0).number(resource.index() as u32);
        }
        GuiEvent::Took { agent, resource } => {
            line.word(b"pgt").id(agent.0).number(resource.index() as u32);
        }
        GuiEvent::Died { agent } => {
            line.word(b"pdi").id(agent.0);
        }
        GuiEvent::EggLaid { egg, layer, tile } => {
            line.word(b"enw").id(egg.0);
            match layer {
                Some(agent) => line.id(agent.0),
                None => line.no_agent(),
            };
            line.tile(tile);
        }
        GuiEvent::EggMatured { egg } => {
            line.word(b"eht").id(egg.0);
        }
        GuiEvent::EggHatched { egg } => {
            line.word(b"ebo").id(egg.0);
        }
        GuiEvent::EggDestroyed { egg } => {
            line.word(b"edi").id(egg.0);
        }
        GuiEvent::Frequency(frequency) => {
            line.word(b"sgt").number(frequency.get());
        }
        GuiEvent::Won { team } => {
            line.word(b"seg").text(team);
        }
        GuiEvent::Message(text) => {
            line.word(b"smg").text(text);
        }
        GuiEvent::UnknownRequest => {
            line.word(b"suc");
        }
        GuiEvent::BadParameter => {
            line.word(b"sbp");
        }
    }
    out.push(b'\n');
}

/// Appends the parts of one line, each after the first with one space before it.
struct LineWriter<'o> {
    out: &'o mut Vec<u8>,
    ids: GuiIds,
}

impl LineWriter<'_> {
    fn word(&mut self, word: &[u8; 3]) -> &mut Self {
        self.out.extend_from_slice(word);
        self
    }

    fn number(&mut self, value: u32) -> &mut Self {
        push_spaced(self.out, value);
        self
    }

    fn id(&mut self, id: u32) -> &mut Self {
        self.id_mark();
        push_number(self.out, id);
        self
    }

    fn no_agent(&mut self) -> &mut Self {
        self.id_mark();
        self.out.extend_from_slice(b"-1");
        self
    }

    fn id_mark(&mut self) {
        let mark: &[u8] = if self.ids == GuiIds::Hash { b" #" } else { b" " };
        self.out.extend_from_slice(mark);
    }

    fn tile(&mut self, tile: Tile) -> &mut Self {
        self.number(u32::from(tile.x)).number(u32::from(tile.y))
    }

    fn facing(&mut self, facing: Direction) -> &mut Self {
        self.number(u32::from(facing.number()))
    }

    fn level(&mut self, level: Level) -> &mut Self {
        self.number(u32::from(level.get()))
    }

    fn counts(&mut self, counts: &Counts) -> &mut Self {
        for count in counts.0 {
            self.number(count);
        }
        self
    }

    fn text(&mut self, text: &[u8]) -> &mut Self {
        self.out.push(b' ');
        self.out.extend_from_slice(text);
        self
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use trantor_model::{AgentId, EggId, MapSize, Resource};
    use trantor_time::Frequency;

    use super::*;

    fn check(event: GuiEvent<'_>, hash: &str, plain: &str) {
        for (ids, expected) in [(GuiIds::Hash, hash), (GuiIds::Plain, plain), (GuiIds::Pnw, plain)] {
            // The one line in which the sheet of 2023 has the mark.
            let expected = if ids == GuiIds::Pnw && matches!(event, GuiEvent::Joined { .. }) {
                hash
            } else {
                expected
            };
            let mut out = Vec::new();
            write_gui_event(&mut out, ids, &event);
            assert_eq!(
                String::from_utf8(out).unwrap(),
                format!("{expected}\n"),
                "{ids:?}"
            );
        }
    }

    fn same(event: GuiEvent<'_>, expected: &str) {
        check(event, expected, expected);
    }

    #[test]
    fn every_line_has_the_shape_of_the_sheet() {
        let agent = AgentId(12);
        let egg = EggId(7);
        let tile = Tile { x: 4, y: 999 };
        let ground = Counts([9, 1, 2, 3, 4, 5, 4_000_000_000]);
        same(GuiEvent::MapSize(MapSize::new(20, 1000).unwrap()), "msz 20 1000");
        same(
            GuiEvent::Tile { tile, ground },
            "bct 4 999 9 1 2 3 4 5 4000000000",
        );
        same(GuiEvent::Team(b"red"), "tna red");
        for (facing, number) in Direction::ALL.into_iter().zip(1..) {
            let level = Level::new(number).unwrap();
            check(
                GuiEvent::Joined {
                    agent,
                    tile,
                    facing,
                    level,
                    team: b"red",
                },
                &format!("pnw #12 4 999 {number} {number} red"),
                &format!("pnw 12 4 999 {number} {number} red"),
            );
            check(
                GuiEvent::Position { agent, tile, facing },
                &format!("ppo #12 4 999 {number}"),
                &format!("ppo 12 4 999 {number}"),
            );
        }
        check(
            GuiEvent::Level {
                agent,
                level: Level::LAST,
            },
            "plv #12 8",
            "plv 12 8",
        );
        check(
            GuiEvent::Inventory {
                agent,
                tile: Some(tile),
                inventory: ground,
            },
            "pin #12 4 999 9 1 2 3 4 5 4000000000",
            "pin 12 4 999 9 1 2 3 4 5 4000000000",
        );
        check(GuiEvent::Ejected { agent }, "pex #12", "pex 12");
        check(
            GuiEvent::Said {
                agent,
                text: b"hello  \"you\"",
            },
            "pbc #12 hello  \"you\"",
            "pbc 12 hello  \"you\"",
        );
        let participants = [agent, AgentId(0), AgentId(3)];
        let level = Level::new(2).unwrap();
        check(
            GuiEvent::RitualStarted {
                tile,
                level,
                participants: Cow::Borrowed(&participants),
            },
            "pic 4 999 2 #12 #0 #3",
            "pic 4 999 2 12 0 3",
        );
        same(GuiEvent::RitualEnded { tile, success: true }, "pie 4 999 1");
        same(GuiEvent::RitualEnded { tile, success: false }, "pie 4 999 0");
        check(GuiEvent::ForkStarted { agent }, "pfk #12", "pfk 12");
        for (resource, number) in Resource::ALL.into_iter().zip(0..) {
            check(
                GuiEvent::Put { agent, resource },
                &format!("pdr #12 {number}"),
                &format!("pdr 12 {number}"),
            );
            check(
                GuiEvent::Took { agent, resource },
                &format!("pgt #12 {number}"),
                &format!("pgt 12 {number}"),
            );
        }
        check(GuiEvent::Died { agent }, "pdi #12", "pdi 12");
        check(
            GuiEvent::EggLaid {
                egg,
                layer: Some(agent),
                tile,
            },
            "enw #7 #12 4 999",
            "enw 7 12 4 999",
        );
        check(
            GuiEvent::EggLaid {
                egg,
                layer: None,
                tile,
            },
            "enw #7 #-1 4 999",
            "enw 7 -1 4 999",
        );
        check(GuiEvent::EggMatured { egg }, "eht #7", "eht 7");
        check(GuiEvent::EggHatched { egg }, "ebo #7", "ebo 7");
        check(GuiEvent::EggDestroyed { egg }, "edi #7", "edi 7");
        same(GuiEvent::Frequency(Frequency::new(100).unwrap()), "sgt 100");
        same(GuiEvent::Won { team: b"red" }, "seg red");
        same(GuiEvent::Message(b"say \"hi\" "), "smg say \"hi\" ");
        same(GuiEvent::UnknownRequest, "suc");
        same(GuiEvent::BadParameter, "sbp");
    }

    #[test]
    fn bytes_of_a_broadcast_are_passed_on() {
        let mut out = Vec::new();
        let event = GuiEvent::Said {
            agent: AgentId(0),
            text: b"\xff\0\x80",
        };
        write_gui_event(&mut out, GuiIds::Hash, &event);
        assert_eq!(out, b"pbc #0 \xff\0\x80\n");
    }
}
