//! What a run or a sweep has reached: a simulation in which nothing happens finds nothing.

use std::fmt;

use trantor_engine::{CloseReason, EngineStats};

/// Counts of one run, or of several added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Steps of the simulation.
    pub steps: u64,
    /// Deadlines of the game that were carried out.
    pub deadlines: u64,
    /// Agents that joined.
    pub joined: u64,
    /// Agents that died.
    pub died: u64,
    /// Agents above level 1, counted when they were first seen there.
    pub elevated: u64,
    /// Commands beyond the ten that may be open.
    pub commands_dropped: u64,
    /// Connections that broke or were closed by their peers.
    pub closed_by_peer: u64,
    /// Connections that were let go for breaking the wire's rules.
    pub protocol_errors: u64,
    /// Times at which a viewer's mirror was compared with the world.
    pub mirrors_compared: u64,
    /// Times at which all that a viewer in text was told was compared with the world.
    pub worlds_compared: u64,
    /// Those of them with the world as it was so long ago.
    pub past_worlds_compared: u64,
    /// Passes in which the game clock slipped, since the machine had stood still.
    pub slips: u64,
    /// Sprints that ended at the unit they were asked for.
    pub sprints: u64,
    /// Lines of operators that were carried out or refused, and answered.
    pub operator_lines: u64,
    /// Reloads of the options.
    pub reloads: u64,
    /// Wrong tokens that were shown.
    pub tokens_refused: u64,
    /// Moments of a game in lock-step that were passed.
    pub leaps: u64,
    /// Those of them that had been waited at for as long as is allowed.
    pub waited: u64,
    /// Times that the power of the server's machine failed, and it went on from its disk.
    pub crashes: u64,
    /// Saves that were written whole.
    pub saves: u64,
    /// Saves that were rolled forward by the journal.
    pub rolled_forward: u64,
    /// Those of them that were rolled from one piece to the next: too few for [`Self::least`].
    pub rolled_over_seams: u64,
    /// Writes that the disk refused.
    pub refusals: u64,
    /// Files with another bit than was written.
    pub rotted: u64,
    /// Connections that were closed since a limit was reached.
    pub limited: u64,
    /// Lines that text viewers received, compared with those that the journal sends.
    pub lines_compared: u64,
    /// Times at which the mirror of one who watched the recording of a run was compared.
    pub reruns_compared: u64,
}

/// Whether a connection is closed so that a limit holds.
fn is_limit(reason: CloseReason) -> bool {
    matches!(
        reason,
        CloseReason::TooManyConnections
            | CloseReason::TooManyFromAddress
            | CloseReason::Evicted
            | CloseReason::MemoryFull
            | CloseReason::Stalled
            | CloseReason::Idle
            | CloseReason::GreetingTimeout
    )
}

impl Reached {
    /// What one life of a server has reached; what outlives it is added by whoever knows.
    pub(crate) fn new(stats: &EngineStats, elevated: u64) -> Self {
        let counters = &stats.counters;
        let closed = |reason: CloseReason| counters.closed[reason.index()];
        Self {
            deadlines: counters.deadlines_fired(),
            joined: counters.joined,
            died: closed(CloseReason::Died),
            elevated,
            commands_dropped: counters.commands_dropped,
            closed_by_peer: counters.closed_by_peer,
            protocol_errors: closed(CloseReason::ProtocolError),
            slips: stats.slips,
            tokens_refused: counters.tokens_refused,
            limited: CloseReason::ALL
                .into_iter()
                .filter(|reason| is_limit(*reason))
                .map(closed)
                .sum(),
            ..Self::default()
        }
    }

    /// Adds what another run has reached.
    pub fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.deadlines += other.deadlines;
        self.joined += other.joined;
        self.died += other.died;
        self.elevated += other.elevated;
        self.commands_dropped += other.commands_dropped;
        self.closed_by_peer += other.closed_by_peer;
        self.protocol_errors += other.protocol_errors;
        self.mirrors_compared += other.mirrors_compared;
        self.worlds_compared += other.worlds_compared;
        self.past_worlds_compared += other.past_worlds_compared;
        self.slips += other.slips;
        self.sprints += other.sprints;
        self.operator_lines += other.operator_lines;
        self.reloads += other.reloads;
        self.tokens_refused += other.tokens_refused;
        self.leaps += other.leaps;
        self.waited += other.waited;
        self.crashes += other.crashes;
        self.saves += other.saves;
        self.rolled_forward += other.rolled_forward;
        self.rolled_over_seams += other.rolled_over_seams;
        self.refusals += other.refusals;
        self.rotted += other.rotted;
        self.limited += other.limited;
        self.lines_compared += other.lines_compared;
        self.reruns_compared += other.reruns_compared;
    }

    /// The least of all counts: 0 if anything was never reached.
    pub fn least(&self) -> u64 {
        let agents = self
            .joined
            .min(self.died)
            .min(self.elevated)
            .min(self.commands_dropped);
        let connections = self.closed_by_peer.min(self.protocol_errors);
        let rest = self
            .steps
            .min(self.deadlines)
            .min(self.mirrors_compared)
            .min(self.worlds_compared)
            .min(self.past_worlds_compared)
            .min(self.slips)
            .min(self.sprints)
            .min(self.operator_lines)
            .min(self.reloads)
            .min(self.tokens_refused)
            .min(self.leaps)
            .min(self.waited);
        let disk = self
            .crashes
            .min(self.saves)
            .min(self.rolled_forward)
            .min(self.refusals)
            .min(self.rotted)
            .min(self.limited)
            .min(self.lines_compared)
            .min(self.reruns_compared);
        agents.min(connections).min(rest).min(disk)
    }
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} steps, {} deadlines; {} agents joined, {} died, {} rose; {} commands too many; {} hang-ups, \
             {} protocol errors; {} mirrors compared, {} worlds in text, {} of them later; {} slips, {} sprints, {} operators' lines; {} reloads, {} wrong tokens; {} leaps, {} after the longest wait; {} crashes, {} saves, {} rolled forward, {} of them over seams, {} writes refused, {} files rotten; {} limits reached; {} lines compared with the journal, {} mirrors compared in recordings",
            self.steps,
            self.deadlines,
            self.joined,
            self.died,
            self.elevated,
            self.commands_dropped,
            self.closed_by_peer,
            self.protocol_errors,
            self.mirrors_compared,
            self.worlds_compared,
            self.past_worlds_compared,
            self.slips,
            self.sprints,
            self.operator_lines,
            self.reloads,
            self.tokens_refused,
            self.leaps,
            self.waited,
            self.crashes,
            self.saves,
            self.rolled_forward,
            self.rolled_over_seams,
            self.refusals,
            self.rotted,
            self.limited,
            self.lines_compared,
            self.reruns_compared
        )
    }
}
