//! Scenarios: what runs beside a game, is sent its events, and acts as an operator does.
//!
//! A scenario decides in game time, like a mind: after each event, and when it asked to be woken. What it does is an input
//! with the game's time as its stamp, so that a match with a scenario has one outcome at any speed, and replays without it.

use std::fmt;

use trantor_game::{Game, GameEvent, GameInput, Handled};
use trantor_model::{AgentId, Change, Show, ShownBy};
use trantor_time::{Frequency, GameSpan, GameTime};

use super::MindGroupState;
use super::table::{Host, Minds, WAKE_SPACING};
use crate::{AdminRequest, Client, LockStepState};

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

/// How a game proceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaceState {
    /// `None` in a leap, which has no speed.
    pub frequency: Option<Frequency>,
    /// `None` unless it is in lock-step.
    pub lock_step: Option<LockStepState>,
    /// Whether it was started.
    pub is_started: bool,
    /// Whether it is paused.
    pub is_paused: bool,
    /// When its sprint ends.
    pub sprint_until: Option<GameTime>,
    /// Its time.
    pub now: GameTime,
    /// Game time that was given up since the machine could not keep up, if any was.
    pub slipped: Option<GameSpan>,
}

/// Runs beside a game.
pub trait Scenario {
    /// Takes in the game as it begins.
    fn begin(&mut self, game: &Game);

    /// Takes in a change; the game is as it is after the step that the change is of. Decides nothing.
    fn perceive(&mut self, game: &Game, change: &Change);

    /// Decides at the time of the game, without acting: at the beginning, after an event or an answer, and when
    /// [`Self::wake_at`] is due.
    fn decide(&mut self, game: &Game);

    /// The next thing that it has decided to do; what a request says may depend on what is seen now.
    fn next_act(&mut self, seen: &dyn OperatorView) -> Option<ScenarioAct>;

    /// Takes in what came of a request. Decides nothing.
    fn answered(&mut self, request: u64, answer: Result<(), String>);

    /// When it wants to decide again without an event.
    fn wake_at(&self) -> Option<GameTime>;
}

/// One thing that a scenario does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScenarioAct {
    /// Requests something as an operator does, one after the other until one is refused. Only what changes the game, the
    /// speed and what viewers are shown is carried out: [`AdminRequest::Act`], [`AdminRequest::SetFrequency`] and
    /// [`AdminRequest::Say`].
    Request {
        /// Names the requests.
        id: u64,
        /// What.
        requests: Vec<AdminRequest>,
    },
    /// Shows something to viewers of ours.
    Show(Show),
    /// It has been answered without the engine, and decides again.
    Answered,
}

/// The scenario of a game, and when it is woken.
pub(super) struct Director {
    scenario: Box<dyn Scenario>,
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
    pub(super) fn new(scenario: Box<dyn Scenario>) -> Self {
        Self {
            scenario,
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
        for _ in 0..ROUNDS_MAX {
            self.scenario.decide(host.game());
            let mut has_answers = false;
            while let Some(act) = self.scenario.next_act(&Seen { host, minds }) {
                match act {
                    ScenarioAct::Show(show) => host.show(ShownBy::Server, show),
                    ScenarioAct::Answered => has_answers = true,
                    ScenarioAct::Request { id, requests } => {
                        has_answers = true;
                        let mut requests = requests.into_iter();
                        let answer = requests.try_for_each(|request| carry_out(host, request));
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

fn carry_out(host: &mut impl Host, request: AdminRequest) -> Result<(), String> {
    match request {
        AdminRequest::Act(action) => match host.hand_in(GameInput::Admin(action)) {
            Handled::Refused(refusal) => Err(format!("the game refuses: {refusal}")),
            Handled::Done | Handled::Joined(_) => Ok(()),
        },
        other => host.request(other).map_err(|refusal| refusal.to_string()),
    }
}
