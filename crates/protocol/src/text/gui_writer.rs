//! Events for text viewers as bytes.

use trantor_model::{Counts, Direction, Level, Resource, Tile};

use super::gui_event::{GuiEvent, GuiIds};
use super::number::{push_number, push_spaced};

/// Appends the bytes of one line, with its end.
pub fn write_gui_event(out: &mut Vec<u8>, ids: GuiIds, event: &GuiEvent<'_>) {
    let line = &mut LineWriter { out, ids };
    let line = match *event {
        GuiEvent::MapSize(size) => {
            let (width, height) = (u32::from(size.width()), u32::from(size.height()));
            line.word(b"msz").number(width).number(height)
        }
        GuiEvent::Tile { tile, ref ground } => line.word(b"bct").tile(tile).counts(ground),
        GuiEvent::Team(name) => line.word(b"tna").text(name),
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
            let line = line.word(b"pnw").id(agent.0).tile(tile);
            line.facing(facing).level(level).text(team)
        }
        GuiEvent::Position { agent, tile, facing } => line.word(b"ppo").id(agent.0).tile(tile).facing(facing),
        GuiEvent::Level { agent, level } => line.word(b"plv").id(agent.0).level(level),
        GuiEvent::Inventory {
            agent,
            tile,
            ref inventory,
        } => {
            let line = line.word(b"pin").id(agent.0);
            if let Some(tile) = tile {
                line.tile(tile);
            }
            line.counts(inventory)
        }
        GuiEvent::Ejected { agent } => line.word(b"pex").id(agent.0),
        GuiEvent::Said { agent, text } => line.word(b"pbc").id(agent.0).text(text),
        GuiEvent::RitualStarted {
            tile,
            level,
            ref participants,
        } => {
            let line = line.word(b"pic").tile(tile).level(level);
            participants.iter().fold(line, |line, agent| line.id(agent.0))
        }
        GuiEvent::RitualEnded { tile, success } => line.word(b"pie").tile(tile).number(u32::from(success)),
        GuiEvent::ForkStarted { agent } => line.word(b"pfk").id(agent.0),
        GuiEvent::Put { agent, resource } => line.word(b"pdr").id(agent.0).resource(resource),
        GuiEvent::Took { agent, resource } => line.word(b"pgt").id(agent.0).resource(resource),
        GuiEvent::Died { agent } => line.word(b"pdi").id(agent.0),
        GuiEvent::EggLaid { egg, layer, tile } => {
            let line = line.word(b"enw").id(egg.0);
            let line = match layer {
                Some(agent) => line.id(agent.0),
                None => line.no_agent(),
            };
            line.tile(tile)
        }
        GuiEvent::EggMatured { egg } => line.word(b"eht").id(egg.0),
        GuiEvent::EggHatched { egg } => line.word(b"ebo").id(egg.0),
        GuiEvent::EggDestroyed { egg } => line.word(b"edi").id(egg.0),
        GuiEvent::Frequency(frequency) => line.word(b"sgt").number(frequency.get()),
        GuiEvent::Won { team } => line.word(b"seg").text(team),
        GuiEvent::Message(text) => line.word(b"smg").text(text),
        GuiEvent::UnknownRequest => line.word(b"suc"),
        GuiEvent::BadParameter => line.word(b"sbp"),
    };
    line.out.push(b'\n');
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

    fn resource(&mut self, resource: Resource) -> &mut Self {
        self.number(resource.index() as u32)
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
