//! Who may control the server: the rule said again, and what has been in force since the server began.
//!
//! What a peer says is under way while a reload changes the rule. A peer therefore judges an answer by all that was in force
//! since it connected; the host judges what is carried out by what is in force at that instant.

use trantor_engine::{Control, Token};

use crate::rng::Rng;

/// A token, by its number. No number is used for another token later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TokenNumber(u32);

impl TokenNumber {
    /// Never a server's token.
    const WRONG: Self = Self(u32::MAX);

    /// The token as peers show it.
    pub(crate) fn text(self) -> String {
        format!("token-of-the-server-{}", self.0)
    }

    /// The token as the server has it.
    pub(crate) fn token(self) -> Token {
        Token::read(&self.text()).expect("a token")
    }
}

/// What a peer has to show for itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credentials {
    /// Whether it connects from the server's own machine.
    pub(crate) is_local: bool,
    pub(crate) token: Option<TokenNumber>,
}

/// A rule that is in force: with a token where it asks for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) control: Control,
    pub(crate) token: Option<TokenNumber>,
}

impl Rule {
    /// With a token where `control` asks for one.
    pub(crate) fn first(control: Control) -> Self {
        let asks_for_token = matches!(control, Control::Token | Control::User);
        Self {
            control,
            token: asks_for_token.then_some(TokenNumber(0)),
        }
    }

    pub(crate) fn allows(self, peer: Credentials) -> bool {
        match self.control {
            Control::Everyone => true,
            Control::Loopback => peer.is_local,
            Control::User | Control::Token => peer.token.is_some() && peer.token == self.token,
            Control::Nobody => false,
        }
    }

    /// The same for the speed, where text viewers of the server's own machine may do more.
    pub(crate) fn allows_speed(self, peer: Credentials, is_text_viewer: bool) -> bool {
        let is_excepted = is_text_viewer && peer.is_local && self.control == Control::User;
        is_excepted || self.allows(peer)
    }

    fn refuses_token(self, peer: Credentials) -> bool {
        self.token.is_some() && peer.token.is_some() && peer.token != self.token
    }
}

/// What a peer may have been answered since it connected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowed {
    /// At some time it could control the server.
    pub(crate) once: bool,
    /// At all times.
    pub(crate) always: bool,
    /// At some time its token was a wrong one.
    pub(crate) is_token_refused: bool,
}

impl Allowed {
    fn new(rules: &[Rule], peer: Credentials) -> Self {
        Self {
            once: rules.iter().any(|rule| rule.allows(peer)),
            always: rules.iter().all(|rule| rule.allows(peer)),
            is_token_refused: rules.iter().any(|rule| rule.refuses_token(peer)),
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Access {
    /// In order; the last one is in force. Never empty.
    rules: Vec<Rule>,
}

impl Access {
    pub(crate) fn new(first: Rule) -> Self {
        Self { rules: vec![first] }
    }

    pub(crate) fn now(&self) -> Rule {
        *self.rules.last().expect("one is in force")
    }

    /// How many rules have been in force.
    pub(crate) fn count(&self) -> usize {
        self.rules.len()
    }

    pub(crate) fn put_into_force(&mut self, rule: Rule) {
        self.rules.push(rule);
    }

    /// What a peer may have been answered that connected when there were `count` rules.
    pub(crate) fn allowed_since(&self, count: usize, peer: Credentials) -> Allowed {
        Allowed::new(&self.rules[count - 1..], peer)
    }

    /// Another rule, or the same once more.
    pub(crate) fn draw_next(&self, rng: &mut Rng) -> Rule {
        let kinds = [
            Control::Token,
            Control::Token,
            Control::User,
            Control::User,
            Control::Everyone,
            Control::Loopback,
            Control::Nobody,
        ];
        let control = *rng.pick(&kinds);
        let asks_for_token = matches!(control, Control::Token | Control::User);
        let kept = self.now().token.filter(|_| rng.one_in(2));
        let another = TokenNumber(self.rules.len() as u32);
        Rule {
            control,
            token: asks_for_token.then(|| kept.unwrap_or(another)),
        }
    }

    /// The token that a peer shows: mostly the right one, or that of earlier, a wrong one, none.
    pub(crate) fn draw_shown(&self, rng: &mut Rng) -> Option<TokenNumber> {
        let right = self.now().token;
        let mut used = self.rules.iter().rev().filter_map(|rule| rule.token);
        match rng.below(6) {
            0 => None,
            1 => Some(TokenNumber::WRONG),
            2 => used.find(|token| Some(*token) != right),
            _ => right,
        }
    }
}
