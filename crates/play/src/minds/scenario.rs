//! Scenarios: what runs beside a game, is sent its events, and acts as an operator does.
//!
//! A scenario decides in game time, like a mind: after each event, and when it asked to be woken. What it does is an input
//! with the game's time as its stamp, so that a match with a scenario has one outcome at any speed, and replays without it.

use std::fmt;

use trantor_game::{Game, GameEvent};
use trantor_model::{AgentId, Change, Control, Refusal, Show, ShownBy};
use trantor_time::GameTime;

use super::MindGroupState;
use super::table::{Host, Minds, WAKE_SPACING};
use crate::view::{Client, PaceState};

/// Decisions in a row at one instant, each after an answer: more than any script asks, and no endless loop.
const ROUNDS_MAX: usize = 256;

/// A running game with what is around it, as operators and scenarios ask for it.
pub trait OperatorView {
    /// The game.
    fn game(&self) -> &Game;

    /// How it proceeds.
    fn pace(&self) -> PaceState;

    /// Open connections, in the order of the shell's table.
    fn clients(&self) -> Vec<Client>;

    /// Groups of minds, in the order in which they were added.
    fn mind_groups(&self) -> &[MindGroupState];

    /// What the mind of an agent is called, if it has one.
    fn mind_of(&self, agent: AgentId) -> Option<&str>;
}

/// Runs beside a game.
pub trait Scenario {
    /// Takes in the game as it begins.
    fn begin(&mut self, game: &Game);

    /// Takes in a change; the game is as it is after the step that the change is of. Decides nothing.
    fn perceive(&mut self, game: &Game, change: &Change);

    /// Decides at the time of the game: appends to `acts` what it does, in order. Called at the beginning, after an event or an
    /// answer, and when [`Self::wake_at`] is due.
    fn decide(&mut self, game: &Game, acts: &mut Vec<ScenarioAct>);

    /// Takes in the answer of an act. Decides nothing.
    fn answered(&mut self, _act: u64, _answer: Result<String, String>) {}

    /// When it wants to decide again without an event.
    fn wake_at(&self) -> Option<GameTime>;
}

/// One thing that a scenario does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScenarioAct {
    /// Requests something as an operator does. Only what changes the game, the speed and what viewers are shown is carried out:
    /// [`Control::Act`], [`Control::SetFrequency`] and [`Control::Say`].
    Control {
        /// Names the act: it is answered, [`Scenario::answered`] with this number.
        id: u64,
        /// What.
        request: Control,
    },
    /// A line of the operator's console, which may lead to such requests.
    Line {
        /// As above.
        id: u64,
        /// The line.
        line: String,
    },
    /// Shows something to viewers of ours.
    Show(Show),
}

/// Reads a line of a scenario, by what is seen when it is carried out: its requests, which are made one after the other until
/// one is refused, and then what is answered.
pub type ReadLine = fn(&dyn OperatorView, &str) -> Result<(Vec<Control>, String), String>;

/// The scenario of a game, and when it is woken.
pub(super) struct Director {
    scenario: Box<dyn Scenario>,
    read_line: ReadLine,
    /// The pending wake-up; `None` before the agents of the start have joined.
    pub(super) wake: Option<GameTime>,
    woken_at: Option<GameTime>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The game has not begun.
    Waiting,
    /// It is woken for the first time next.
    Beginning,
    Running,
}

impl fmt::Debug for Director {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Director").field("wake", &self.wake).finish()
    }
}

impl Director {
    pub(super) fn new(scenario: Box<dyn Scenario>, read_line: ReadLine) -> Self {
        Self {
            scenario,
            read_line,
            wake: None,
            woken_at: None,
            state: State::Waiting,
        }
    }

    /// The agents of the start have joined: it is woken, and sent events from then on.
    pub(super) fn begin(&mut self, now: GameTime) {
        if self.state == State::Waiting {
            self.state = State::Beginning;
            self.wake = Some(now);
        }
    }

    /// Passes an event on, and carries out what is decided.
    pub(super) fn attend(&mut self, host: &mut impl Host, minds: &Minds, event: &GameEvent) {
        if self.state == State::Running {
            if let GameEvent::Seen(change) = event {
                self.scenario.perceive(host.game(), change);
            }
            self.decide(host, minds);
        }
    }

    pub(super) fn wake(&mut self, host: &mut impl Host, minds: &Minds) {
        self.woken_at = Some(host.game().now());
        if std::mem::replace(&mut self.state, State::Running) == State::Beginning {
            self.scenario.begin(host.game());
        }
        self.decide(host, minds);
    }

    fn decide(&mut self, host: &mut impl Host, minds: &Minds) {
        let mut acts = Vec::new();
        for _ in 0..ROUNDS_MAX {
            self.scenario.decide(host.game(), &mut acts);
            let mut has_answers = false;
            for act in acts.drain(..) {
                match act {
                    ScenarioAct::Show(show) => host.show(ShownBy::Server, show),
                    ScenarioAct::Control { id, request } => {
                        has_answers = true;
                        let done = carry_out(host, request).map_err(|refusal| refusal.to_string());
                        self.scenario.answered(id, done.map(|()| String::new()));
                    }
                    ScenarioAct::Line { id, line } => {
                        has_answers = true;
                        let answer = self.carry_out_line(host, minds, &line);
                        self.scenario.answered(id, answer);
                    }
                }
            }
            if !has_answers {
                break;
            }
        }
        self.schedule(host.game());
    }

    fn carry_out_line(&self, host: &mut impl Host, minds: &Minds, line: &str) -> Result<String, String> {
        let (requests, answer) = (self.read_line)(&Seen { host, minds }, line)?;
        let mut requests = requests.into_iter();
        let done = requests.try_for_each(|request| carry_out(host, request));
        done.map(|()| answer).map_err(|refusal| refusal.to_string())
    }

    /// Sets the wake-up, after anything that may have moved it.
    pub(super) fn schedule(&mut self, game: &Game) {
        if self.state != State::Running {
            return;
        }
        let earliest = self
            .woken_at
            .map_or(game.now(), |at| game.now().max(at + WAKE_SPACING));
        let wake = self.scenario.wake_at().filter(|_| game.winner().is_none());
        self.wake = wake.map(|at| at.max(earliest));
    }
}

/// What a scenario sees while it acts.
struct Seen<'a, H> {
    host: &'a H,
    minds: &'a Minds,
}

impl<H: Host> OperatorView for Seen<'_, H> {
    fn game(&self) -> &Game {
        self.host.game()
    }

    /// The time is that of the decision, whatever the clock shows.
    fn pace(&self) -> PaceState {
        PaceState {
            now: self.host.game().now(),
            ..self.host.pace()
        }
    }

    fn clients(&self) -> Vec<Client> {
        self.host.clients()
    }

    fn mind_groups(&self) -> &[MindGroupState] {
        self.minds.groups()
    }

    fn mind_of(&self, agent: AgentId) -> Option<&str> {
        self.minds.name_of(agent)
    }
}

fn carry_out(host: &mut impl Host, request: Control) -> Result<(), Refusal> {
    match request {
        Control::Act(_) | Control::SetFrequency(_) | Control::Say(_) => host.control(request),
        _ => Err(Refusal::NotForScenarios),
    }
}
