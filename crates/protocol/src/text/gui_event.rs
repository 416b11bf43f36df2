//! What a text viewer is sent, as values: one for each line of the protocol.
//!
//! The same lines in every dialect. Three habits exist for the numbers of agents and eggs; see [`GuiIds`]. How
//! a value becomes bytes is in [`super::gui_writer`], and back in [`super::client`].

#![allow(
    missing_docs,
    reason = "a field has a comment where its name and type leave something open"
)]

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
    Tile { tile: Tile, ground: Counts },
    /// `tna N`: there is a team.
    Team(&'a [u8]),
    /// `pnw #n X Y O L N`: there is an agent.
    Joined {
        agent: AgentId,
        tile: Tile,
        facing: Direction,
        level: Level,
        team: &'a [u8],
    },
    /// `ppo #n X Y O`: where an agent stands and faces.
    Position {
        agent: AgentId,
        tile: Tile,
        facing: Direction,
    },
    /// `plv #n L`: an agent's level.
    Level { agent: AgentId, level: Level },
    /// `pin #n X Y q0 … q6`: what an agent carries.
    Inventory {
        agent: AgentId,
        /// Where it stands; only other servers leave it out.
        tile: Option<Tile>,
        inventory: Counts,
    },
    /// `pex #n`: an agent pushed the others off its tile.
    Ejected { agent: AgentId },
    /// `pbc #n M`: an agent said something.
    Said {
        agent: AgentId,
        /// What, byte for byte.
        text: &'a [u8],
    },
    /// `pic X Y L #n …`: an elevation began.
    RitualStarted {
        tile: Tile,
        /// The level before it.
        level: Level,
        /// The agents that take part, the one that asked first.
        participants: Cow<'a, [AgentId]>,
    },
    /// `pie X Y R`: an elevation ended.
    RitualEnded { tile: Tile, success: bool },
    /// `pfk #n`: an agent began to lay an egg.
    ForkStarted { agent: AgentId },
    /// `pdr #n i`: an agent put one down.
    Put { agent: AgentId, resource: Resource },
    /// `pgt #n i`: an agent picked one up.
    Took { agent: AgentId, resource: Resource },
    /// `pdi #n`: an agent died or left.
    Died { agent: AgentId },
    /// `enw #e #n X Y`: there is an egg.
    EggLaid {
        egg: EggId,
        /// Who laid it; `None`, written `-1`, for eggs of the start and those whose layer is gone.
        layer: Option<AgentId>,
        tile: Tile,
    },
    /// `eht #e`: an egg can be hatched from now on (older rules only).
    EggMatured { egg: EggId },
    /// `ebo #e`: an agent hatched from an egg.
    EggHatched { egg: EggId },
    /// `edi #e`: an egg was destroyed.
    EggDestroyed { egg: EggId },
    /// `sgt T`: the speed.
    Frequency(Frequency),
    /// `seg N`: a team won.
    Won { team: &'a [u8] },
    /// `smg M`: a word from the operator.
    Message(&'a [u8]),
    /// `suc`: there is no such request.
    UnknownRequest,
    /// `sbp`: a request's arguments are wrong.
    BadParameter,
}
