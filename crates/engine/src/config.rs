//! What an engine is made from, checked and ready to use.
//!
//! How a person writes these options down, and what is refused, is the server's: it has the command line and
//! the file. Nothing here belongs to one connection; all of it holds for the whole server.

use std::fmt;
use std::hint::black_box;
use std::net::IpAddr;

use trantor_game::GameConfig;
use trantor_model::EggId;
use trantor_protocol::limits::TOKEN_BYTES_MAX;
use trantor_protocol::text::{Dialect, GuiIds};
use trantor_protocol::{TokenError, read_token};
use trantor_time::overload::OVERLOAD_MAX;
use trantor_time::{Frequency, RealSpan};

use crate::limits::Limits;

/// Everything about a server's engine that is settled before it starts.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// The game itself.
    pub game: GameConfig,
    /// Units a second at the start.
    pub frequency: Frequency,
    /// Whether peers are greeted and time begins at once, or only at an operator's command.
    pub auto_start: bool,
    /// Real time from the start after which the leading team wins.
    pub match_duration: Option<RealSpan>,
    /// The words spoken with agents.
    pub dialect: Dialect,
    /// The unit in which agents of the 42 dialects are sent their food.
    pub inventory_food: InventoryFood,
    /// The number of places that a newborn agent is sent.
    pub join_places: JoinPlaces,
    /// How text viewers see the numbers of agents and eggs.
    pub gui_ids: GuiIds,
    /// What text viewers are sent of a refill.
    pub refill_updates: RefillUpdates,
    /// Which peers may change the speed, pause, step, and operate.
    pub control: ControlAccess,
    /// What they show for [`ControlAccess::Token`] and [`ControlAccess::User`]; without one no peer can.
    pub token: Option<Token>,
    /// How much later than it happens viewers see the game, if they may not control it.
    pub spectator_delay: RealSpan,
    /// How far the game may lag before it slows down instead; `None`: without limit.
    pub overload_max: Option<RealSpan>,
    /// What peers may do to the server.
    pub limits: Limits,
    /// Whether game time waits for agents, and how long at most at one moment. It then leaps from moment to
    /// moment, whatever the frequency, and the game plays by [`trantor_game::Rules::lock_step`].
    pub lock_step: Option<RealSpan>,
    /// Name and version of the program, as sent to frame viewers.
    pub program: String,
}

/// The unit in which agents of the 42 dialects are sent their food.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InventoryFood {
    /// In units of life left, as in their subject.
    #[default]
    Life,
    /// In meals, as most of their servers do and most of their programs expect.
    Meals,
}

/// The number of places that a newborn agent is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JoinPlaces {
    /// Those left once it has its own.
    #[default]
    After,
    /// Its own with them, as servers of School 42 do, whose programs leave when they are sent 0.
    Before,
}

impl JoinPlaces {
    pub(crate) fn of(self, left: u32) -> u32 {
        match self {
            Self::After => left,
            Self::Before => left.saturating_add(1),
        }
    }
}

/// What text viewers are sent of a refill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RefillUpdates {
    /// The tiles that changed.
    #[default]
    Changed,
    /// Every tile of the map.
    All,
    /// Nothing; they ask when they want to know.
    Nothing,
}

impl EngineConfig {
    /// A server of `game` with everything else as by default.
    pub fn new(game: GameConfig) -> Self {
        Self {
            game,
            frequency: Frequency::new(100).expect("100 is a frequency"),
            auto_start: true,
            match_duration: None,
            dialect: Dialect::default(),
            inventory_food: InventoryFood::default(),
            join_places: JoinPlaces::default(),
            gui_ids: GuiIds::default(),
            refill_updates: RefillUpdates::default(),
            control: ControlAccess::Loopback,
            token: None,
            spectator_delay: RealSpan::ZERO,
            overload_max: Some(OVERLOAD_MAX),
            limits: Limits::default(),
            lock_step: None,
            program: concat!("trantor ", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }

    /// The first egg that text viewers are sent.
    ///
    /// In the sheets of Epitech's older server and of School 42 a game begins with places and without eggs. Viewers written for them
    /// look up the layer of an egg, and end where there is none (docs/decisions/0118).
    pub fn first_egg_told(&self) -> EggId {
        match self.dialect {
            Dialect::Epitech => EggId(0),
            Dialect::Epitech2016 | Dialect::French42 | Dialect::English42 => self.game.first_egg_laid(),
        }
    }
}

/// Which peers may control the server. Its own console always may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlAccess {
    /// All of them.
    Everyone,
    /// Those on the machine itself, whichever user's they are.
    Loopback,
    /// Those that show the token that the shell has left for programs of its own user. Text viewers on the machine itself,
    /// which know no tokens, may change the speed and nothing else.
    User,
    /// Those that show the server's token, wherever they are.
    Token,
    /// No peer: only the server's own console.
    Off,
}

impl ControlAccess {
    /// Whether a peer that comes from `peer`, and has shown the token or has not, may control the server.
    pub(crate) fn allows(self, peer: IpAddr, has_token: bool) -> bool {
        match self {
            Self::Everyone => true,
            Self::Loopback => peer.to_canonical().is_loopback(),
            Self::User | Self::Token => has_token,
            Self::Off => false,
        }
    }

    /// As `allows`, for a text viewer and the speed.
    pub(crate) fn allows_speed(self, peer: IpAddr, has_token: bool) -> bool {
        self.allows(peer, has_token) || (self == Self::User && peer.to_canonical().is_loopback())
    }

    /// Whether a token that is shown means something.
    pub(crate) fn asks_for_token(self) -> bool {
        matches!(self, Self::User | Self::Token)
    }

    pub(crate) fn refusal(self) -> &'static str {
        match self {
            Self::Everyone | Self::Loopback => "this server is controlled from its own machine only",
            Self::User => "this server is controlled by the user who runs it (--token-file, --control)",
            Self::Token => "this server is controlled only by those who show its token (--token-file)",
            Self::Off => "this server is controlled from its own console only",
        }
    }
}

/// A secret that authorises control of the server. Never shown, and compared in constant time.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// Padded with zeros.
    bytes: [u8; TOKEN_BYTES_MAX],
    len: usize,
}

impl Token {
    /// The token in the first line of a file with this text.
    ///
    /// # Errors
    /// If there is none, or one that is too easy to guess.
    pub fn read(text: &str) -> Result<Self, TokenError> {
        read_token(text).map(|token| Self {
            bytes: padded(token.as_bytes()),
            len: token.len(),
        })
    }

    /// Whether `shown` is this token. How long that takes does not depend on either.
    pub fn is(&self, shown: &[u8]) -> bool {
        let has_other_length = u8::from(shown.len() != self.len);
        let shown = padded(&shown[..shown.len().min(TOKEN_BYTES_MAX)]);
        // Keeps the compiler from ending the comparison at the first difference.
        let difference = self
            .bytes
            .iter()
            .zip(&shown)
            .fold(has_other_length, |sum, (ours, theirs)| {
                black_box(sum | (ours ^ theirs))
            });
        difference == 0
    }
}

fn padded(bytes: &[u8]) -> [u8; TOKEN_BYTES_MAX] {
    let mut padded = [0; TOKEN_BYTES_MAX];
    padded[..bytes.len()].copy_from_slice(bytes);
    padded
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_itself_and_nothing_else() {
        let words = ["0123456789abcdef", "0123456789abcdeF", "0123456789abcdef0"];
        for ours in words {
            let token = Token::read(ours).unwrap();
            for shown in words {
                assert_eq!(token.is(shown.as_bytes()), ours == shown, "{ours} {shown}");
            }
            for shown in [&b""[..], b"0123456789abcdef\0", b"0123456789abcde"] {
                assert!(!token.is(shown), "{ours} {}", shown.escape_ascii());
            }
            assert!(!format!("{token:?}").contains("0123"), "it is not shown in a log");
        }
        let longest = "x".repeat(TOKEN_BYTES_MAX);
        let token = Token::read(&longest).unwrap();
        assert!(token.is(longest.as_bytes()));
        assert!(!token.is(format!("{longest}x").as_bytes()));
    }
}
