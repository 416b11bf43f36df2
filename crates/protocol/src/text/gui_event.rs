//! What a text viewer is sent, as values: one for each line of the protocol.
//!
//! The same lines in every dialect. Three habits exist for the numbers of agents and eggs; see [`GuiIds`]. How
//! a value becomes bytes is in [`super::gui_writer`], and back in [`super::client`].

use std::borrow::Cow;

use trantor_model::{AgentId, Counts, Direction, EggId, Level, MapSize, Resource, Tile};
use trantor_time::Frequency;

/// How the numbers of agents and eggs are written. Viewers of different years insist on different ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GuiIds {
    /// `#3` everywhere: the protocol sheet since 2024.
    #[default]
    Hash,
    /// `3` everywhere: most viewers from 2017 to 2024.
    Plain,
    /// `#3` in `pnw` and `3` elsewhere: the sheet of 2023, taken literally.
    Pnw,
}

/// One message to a text viewer. Borrows its texts and lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuiEvent<'a> {
    /// `msz X Y`: the map.
    MapSize(MapSize),
    /// `bct X Y q0 … q6`: what lies on a tile.
    Tile {
        /// Which.
        tile: Tile,
        /// All seven counts.
        ground: Counts,
    },
    /// `tna N`: there is a team.
    Team(&'a [u8]),
    /// `pnw #n X Y O L N`: there is an agent.
    Joined {
        /// Its number.
        agent: AgentId,
        /// Where it stands.
        tile: Tile,
        /// Where it faces.
        facing: Direction,
        /// Its level.
        level: Level,
        /// Its team's name.
        team: &'a [u8],
    },
    /// `ppo #n X Y O`: where an agent stands and faces.
    Position {
        /// Who.
        agent: AgentId,
        /// Where it stands.
        tile: Tile,
        /// Where it faces.
        facing: Direction,
    },
    /// `plv #n L`: an agent's level.
    Level {
        /// Who.
        agent: AgentId,
        /// Which.
        level: Level,
    },
    /// `pin #n X Y q0 … q6`: what an agent carries.
    Inventory {
        /// Who.
        agent: AgentId,
        /// Where it stands; only other servers leave it out.
        tile: Option<Tile>,
        /// All seven counts.
        inventory: Counts,
    },
    /// `pex #n`: an agent pushed the others off its tile.
    Ejected {
        /// Who pushed.
        agent: AgentId,
    },
    /// `pbc #n M`: an agent said something.
    Said {
        /// Who.
        agent: AgentId,
        /// What, byte for byte.
        text: &'a [u8],
    },
    /// `pic X Y L #n …`: an elevation began.
    RitualStarted {
        /// Where.
        tile: Tile,
        /// The level before it.
        level: Level,
        /// The agents that take part, the one that asked first.
        participants: Cow<'a, [AgentId]>,
    },
    /// `pie X Y R`: an elevation ended.
    RitualEnded {
        /// Where.
        tile: Tile,
        /// Whether it succeeded.
        success: bool,
    },
    /// `pfk #n`: an agent began to lay an egg.
    ForkStarted {
        /// Who.
        agent: AgentId,
    },
    /// `pdr #n i`: an agent put one down.
    Put {
        /// Who.
        agent: AgentId,
        /// What.
        resource: Resource,
    },
    /// `pgt #n i`: an agent picked one up.
    Took {
        /// Who.
        agent: AgentId,
        /// What.
        resource: Resource,
    },
    /// `pdi #n`: an agent died or left.
    Died {
        /// Who.
        agent: AgentId,
    },
    /// `enw #e #n X Y`: there is an egg.
    EggLaid {
        /// Its number.
        egg: EggId,
        /// Who laid it; `None`, written `-1`, for eggs of the start and those whose layer is gone.
        layer: Option<AgentId>,
        /// Where it lies.
        tile: Tile,
    },
    /// `eht #e`: an egg can be hatched from now on (older rules only).
    EggMatured {
        /// Which.
        egg: EggId,
    },
    /// `ebo #e`: an agent hatched from an egg.
    EggHatched {
        /// Which.
        egg: EggId,
    },
    /// `edi #e`: an egg was destroyed.
    EggDestroyed {
        /// Which.
        egg: EggId,
    },
    /// `sgt T`: the speed.
    Frequency(Frequency),
    /// `seg N`: a team won.
    Won {
        /// The team's name.
        team: &'a [u8],
    },
    /// `smg M`: a word from the operator.
    Message(&'a [u8]),
    /// `suc`: there is no such request.
    UnknownRequest,
    /// `sbp`: a request's arguments are wrong.
    BadParameter,
}
