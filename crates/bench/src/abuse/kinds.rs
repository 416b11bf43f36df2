//! What abusers do, and as what the server should have counted it.

/// One way to be a nuisance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A player that sends commands without end.
    CommandFlood,
    /// A viewer that asks without end.
    RequestFlood,
    /// Bytes that mean nothing: to the greeting, as a player, as a viewer of ours.
    Garbage,
    /// A line that never ends.
    EndlessLine,
    /// A player that asks and never reads.
    DeafAgent,
    /// A viewer that asks for the whole map, thousands of times, and never reads.
    DeafViewer,
    /// Connects and says nothing.
    HalfOpen,
    /// Connects and goes, as fast as it can.
    Storm,
    /// Joins, asks for ten things, and resets the connection while they are under way.
    Reset,
}

/// The team that abusers join.
pub(super) const TEAM: &str = "grey";

impl Kind {
    /// All of them; a crew is dealt in turn.
    pub(super) const ALL: [Self; 9] = [
        Self::CommandFlood,
        Self::RequestFlood,
        Self::Garbage,
        Self::EndlessLine,
        Self::DeafAgent,
        Self::DeafViewer,
        Self::HalfOpen,
        Self::Storm,
        Self::Reset,
    ];

    /// What stands in the table.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::CommandFlood => "floods of commands",
            Self::RequestFlood => "floods of requests",
            Self::Garbage => "garbage",
            Self::EndlessLine => "endless lines",
            Self::DeafAgent => "players that never read",
            Self::DeafViewer => "viewers that ask for the map and never read",
            Self::HalfOpen => "half-open",
            Self::Storm => "connect storms",
            Self::Reset => "resets with ten commands in flight",
        }
    }

    /// Under which of the server's counts its deeds are to be found, each of them.
    pub(super) fn counted_as(self) -> &'static [&'static str] {
        match self {
            Self::CommandFlood => &["sessions_throttled_peers_total", "commands_dropped_total"],
            Self::RequestFlood | Self::DeafAgent => &["sessions_throttled_peers_total"],
            Self::Garbage => &[
                "sessions_closed_total{reason=\"greeting_failures\"}",
                "sessions_closed_total{reason=\"protocol_error\"}",
                "commands_malformed_total",
            ],
            Self::EndlessLine => &["sessions_closed_total{reason=\"violations\"}"],
            Self::DeafViewer => &[
                "sessions_blocked_peers_total",
                "sessions_closed_total{reason=\"stalled\"}",
            ],
            Self::HalfOpen => &["sessions_closed_total{reason=\"greeting_timeout\"}"],
            Self::Storm => &[
                "listener_rate_limited_total",
                "sessions_closed_total{reason=\"by_peer\"}",
            ],
            Self::Reset => &["sessions_closed_total{reason=\"by_peer\"}"],
        }
    }

    /// Whether it never reads, once it is in.
    pub(super) fn is_deaf(self) -> bool {
        matches!(self, Self::DeafAgent | Self::DeafViewer)
    }

    /// What it says first; the `nth` of its kind may say something else than the others.
    pub(super) fn greeting(self, nth: usize) -> &'static [u8] {
        match self {
            Self::CommandFlood | Self::DeafAgent => b"grey\n",
            Self::RequestFlood | Self::DeafViewer => b"GRAPHIC\n",
            Self::Garbage => [&b"grey\n"[..], b"TRANTOR\n", b"nobody\n"][nth % 3],
            Self::EndlessLine => [&b"grey\n"[..], b"x"][nth % 2],
            Self::HalfOpen | Self::Storm => b"",
            Self::Reset => {
                b"grey\nForward\nForward\nForward\nForward\nForward\nForward\nForward\nForward\nForward\nForward\n"
            }
        }
    }

    /// What it goes on to say, written into `block`. Empty if it says nothing more.
    pub(super) fn fill(self, nth: usize, block: &mut [u8], mut random: impl FnMut() -> u64) -> &[u8] {
        let pattern: &[u8] = match self {
            Self::CommandFlood => b"Forward\nLook\nInventory\n",
            Self::RequestFlood => b"bct 1 1\nppo 1\nsgt\npin 999\n",
            Self::DeafAgent => b"Inventory\nLook\nConnect_nbr\n",
            Self::DeafViewer => b"mct\n",
            Self::EndlessLine => b"x",
            Self::Garbage => {
                for piece in block.chunks_mut(8) {
                    let bytes = random().to_le_bytes();
                    piece.copy_from_slice(&bytes[..piece.len()]);
                }
                // Now and then a line ends, but for those who speak in frames.
                if nth % 3 != 1 {
                    block.iter_mut().step_by(61).for_each(|byte| *byte = b'\n');
                }
                return block;
            }
            Self::HalfOpen | Self::Storm | Self::Reset => return &[],
        };
        let whole = block.len() / pattern.len() * pattern.len();
        for piece in block[..whole].chunks_exact_mut(pattern.len()) {
            piece.copy_from_slice(pattern);
        }
        &block[..whole]
    }
}
