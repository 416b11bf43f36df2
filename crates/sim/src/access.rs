//! Model of access control: the current rule and its history.
//!
//! A reload may change the rule while a request is in flight. A peer therefore checks an answer against all rules since it
//! connected.

use trantor_engine::{Control, Token};

use crate::rng::Rng;

/// Number of a token, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TokenNumber(u32);

impl TokenNumber {
    /// Never the server's token.
    const WRONG: Self = Self(u32::MAX);

    /// The token as peers present it.
    pub(crate) fn text(self) -> String {
        format!("token-of-the-server-{}", self.0)
    }

    /// The token as the server is configured with it.
    pub(crate) fn token(self) -> Token {
        Token::read(&self.text()).expect("a token")
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Credentials {
    /// Connects from a loopback address.
    pub(crate) is_local: bool,
    pub(crate) token: Option<TokenNumber>,
}

/// Access rule; `token` is set where `control` requires one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) control: Control,
    pub(crate) token: Option<TokenNumber>,
}

impl Rule {
    pub(crate) fn first(control: Control) -> Self {
        let needs_token = matches!(control, Control::Token | Control::User);
        Self {
            control,
            token: needs_token.then_some(TokenNumber(0)),
        }
    }

    fn allows(self, peer: Credentials) -> bool {
        match self.control {
            Control::Everyone => true,
            Control::Loopback => peer.is_local,
            Control::User | Control::Token => peer.token.is_some() && peer.token == self.token,
            Control::Nobody => false,
        }
    }

    fn refuses_token(self, peer: Credentials) -> bool {
        self.token.is_some() && peer.token.is_some() && peer.token != self.token
    }
}

/// What a peer was allowed since it connected, for as long as requests and answers may be in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowed {
    /// Some rule allowed control.
    pub(crate) once: bool,
    /// Every rule allowed control.
    pub(crate) always: bool,
    /// Some rule refused its token.
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
    /// Oldest first; the last one is current. Never empty.
    rules: Vec<Rule>,
}

impl Access {
    pub(crate) fn new(first: Rule) -> Self {
        Self { rules: vec![first] }
    }

    fn now(&self) -> Rule {
        *self.rules.last().expect("rules are never empty")
    }

    pub(crate) fn count(&self) -> usize {
        self.rules.len()
    }

    pub(crate) fn set(&mut self, rule: Rule) {
        self.rules.push(rule);
    }

    /// For a peer that connected when there were `count` rules.
    pub(crate) fn allowed_since(&self, count: usize, peer: Credentials) -> Allowed {
        Allowed::new(&self.rules[count - 1..], peer)
    }

    /// A random rule, maybe the current one.
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
        let needs_token = matches!(control, Control::Token | Control::User);
        let kept = self.now().token.filter(|_| rng.one_in(2));
        let another = TokenNumber(self.rules.len() as u32);
        Rule {
            control,
            token: needs_token.then(|| kept.unwrap_or(another)),
        }
    }

    /// The token that a peer presents: mostly the current one, else an earlier one, a wrong one or none.
    pub(crate) fn draw_presented(&self, rng: &mut Rng) -> Option<TokenNumber> {
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
