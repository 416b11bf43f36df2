//! What a viewer may say. Messages are numbered from 1 by counting, the hello included.

use serde::{Deserialize, Serialize};
use trantor_model::{AgentId, Lag, TeamId};
use trantor_time::GameTime;

use super::hello::ClientHello;

/// One message from a viewer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToServer {
    /// The first message, and only the first.
    Hello(ClientHello),
    /// Asks for the server's clock; `token` comes back with the answer.
    Probe {
        /// Chosen by the viewer.
        token: u64,
    },
    /// Asks for another speed, in units a second.
    SetFrequency {
        /// `1..=10_000`; anything else is refused.
        frequency: u32,
    },
    /// Asks for game time to stand still.
    Pause,
    /// Asks for game time to go on.
    Resume,
    /// While paused, asks for game time to be moved on.
    Step(StepKind),
    /// Gives back credit for this many pieces of bulk data that were processed.
    Credit {
        /// At most as many as were received and not yet credited.
        items: u32,
    },
    /// The viewer leaves in order.
    Goodbye,
    /// Asks for a recording to be moved to this moment, backwards or forwards.
    Seek {
        /// A moment outside the recording stands for its nearer end.
        at: GameTime,
    },
    /// Subscribes to the commands of an agent that wait for their turn; in place of the agent asked for
    /// before.
    Watch {
        /// Which; `None` for no agent any more.
        agent: Option<AgentId>,
    },
    /// Asks for messages between agents of all teams to travel like this.
    SetLag {
        /// `None` for at once.
        lag: Option<Lag>,
    },
    /// The same of one team.
    SetTeamLag {
        /// Which.
        team: TeamId,
        /// `None` for as the others.
        lag: Option<Option<Lag>>,
    },
}

/// How far a step goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepKind {
    /// To the next whole unit.
    Unit,
    /// To the next deadline of the game, whatever it is.
    Event,
    /// To the end of the first of the actions under way; where there is none, to the next deadline.
    Action,
}
