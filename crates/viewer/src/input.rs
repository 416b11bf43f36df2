//! Keys and their actions; bindings can be changed and saved. And the input events since the last frame, in order.
//!
//! Keys are named as they are written on the keyboard in use (`a`, `+`, `space`, `f12`), not by their place, so that
//! help and keyboard agree in every country; the arrows do what `w a s d` do wherever those are awkward.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use clap::ValueEnum;
use winit::dpi::PhysicalPosition;
use winit::event::{ElementState, MouseButton, MouseScrollDelta};
use winit::keyboard::{Key, NamedKey, PhysicalKey};

/// Declares each action once: its name, its help text, and its default keys.
macro_rules! actions {
    ($($name:ident: $meaning:literal, $keys:expr;)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Action {
            $($name,)+
        }

        impl Action {
            /// All, in the order in which help lists them.
            pub const ALL: &'static [Action] = &[$(Self::$name),+];

            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => $meaning),+ }
            }

            pub const fn usual_keys(self) -> &'static [&'static str] {
                match self { $(Self::$name => &$keys),+ }
            }
        }
    };
}

actions! {
    Pause: "pause, resume", ["space"];
    StepUnit: "one unit on (paused)", ["."];
    StepEvent: "to the next event (paused)", ["n"];
    StepAction: "to the end of an action (paused)", [","];
    Faster: "faster", ["+", "="];
    Slower: "slower", ["-"];
    MuchFaster: "ten times as fast", ["pageup"];
    MuchSlower: "a tenth of the speed", ["pagedown"];
    StepBack: "a recording: one unit back", ["b"];
    SeekBack: "a recording: 100 units back", ["j"];
    SeekOn: "a recording: 100 units on", ["k"];
    RepeatFrom: "a recording: repeat from here", ["["];
    RepeatTo: "a recording: repeat to here", ["]"];
    RepeatNothing: "a recording: play on", ["\\"];
    PanNorth: "move ahead", ["w", "arrowup"];
    PanSouth: "move back", ["s", "arrowdown"];
    PanWest: "move left", ["a", "arrowleft"];
    PanEast: "move right", ["d", "arrowright"];
    TurnLeft: "turn left", ["q"];
    TurnRight: "turn right", ["e"];
    TiltDown: "look further down", ["r"];
    TiltUp: "look further up", ["v"];
    ZoomIn: "nearer", ["x"];
    ZoomOut: "further", ["z"];
    Overview: "the whole map", ["home", "o"];
    Follow: "follow the selected agent", ["f"];
    NextAgent: "next agent", ["tab"];
    NextTeam: "best agent of the next team", ["g"];
    EventBefore: "to an event, then the one before", ["p"];
    Clear: "select nothing, close", ["escape"];
    Search: "find an agent or a team", ["/"];
    HeatMap: "heat maps, one after the other", ["m"];
    Trails: "trails", ["t"];
    Labels: "labels", ["l"];
    Panels: "panels", ["f2"];
    Theme: "light or dark", ["f4"];
    Director: "a director moves the camera", ["f7"];
    Help: "this help", ["h", "f1"];
    Debug: "figures of the program", ["f3"];
    Console: "type a command", [":", "`"];
    FullScreen: "full screen", ["f11"];
    Stage: "stage: large, for projectors", ["f6"];
    Larger: "larger panels", ["ctrl++", "ctrl+="];
    Smaller: "smaller panels", ["ctrl+-"];
    UsualSize: "panels of the usual size", ["ctrl+0"];
    Screenshot: "picture into a file", ["f12"];
    Record: "start and stop recording", ["f9"];
    Reconnect: "join the server again", ["f5"];
    Quit: "quit", ["f10"];
}

impl Action {
    /// As settings and commands write it: `heat-map`.
    pub fn name(self) -> String {
        let name = self.to_possible_value();
        name.map_or_else(String::new, |name| name.get_name().to_owned())
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::from_str(name, false).ok()
    }

    /// Whether it lasts for as long as its key is held.
    pub fn lasts(self) -> bool {
        (Self::PanNorth..=Self::ZoomOut).contains(&self)
    }

    /// Whether a key that is held does it again and again.
    pub fn repeats(self) -> bool {
        [
            Self::StepUnit..=Self::Slower,
            Self::StepBack..=Self::SeekOn,
            Self::NextAgent..=Self::EventBefore,
        ]
        .iter()
        .any(|actions| actions.contains(&self))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bindings {
    actions: BTreeMap<String, Action>,
}

impl Default for Bindings {
    fn default() -> Self {
        Self::with(&BTreeMap::new())
    }
}

impl Bindings {
    /// The usual keys, except for actions that `changed` gives others.
    pub fn with(changed: &BTreeMap<Action, Vec<String>>) -> Self {
        let usual = Action::ALL.iter().filter(|action| !changed.contains_key(action));
        let usual = usual.flat_map(|&action| {
            action
                .usual_keys()
                .iter()
                .map(move |key| ((*key).to_owned(), action))
        });
        let chosen = changed.iter();
        let chosen =
            chosen.flat_map(|(&action, keys)| keys.iter().map(move |key| (key.to_lowercase(), action)));
        // Chosen keys win over usual ones.
        let actions = usual.chain(chosen).collect();
        Self { actions }
    }

    pub fn action_of(&self, name: &str) -> Option<Action> {
        self.actions.get(name).copied()
    }

    /// The keys of an action, as they are written: the usual ones first, in their order.
    pub fn keys_of(&self, action: Action) -> impl Iterator<Item = &str> {
        let usual = action.usual_keys();
        let kept = usual.iter().copied();
        let kept = kept.filter(move |key| self.action_of(key) == Some(action));
        let others = self.actions.iter().filter(move |(_, bound)| **bound == action);
        let others = others.map(|(key, _)| key.as_str());
        kept.chain(others.filter(|key| !usual.contains(key)))
    }
}

/// A key as settings name it; `None` for keys without a name.
pub fn key_name(key: &Key) -> Option<String> {
    match key {
        Key::Character(text) => Some(text.to_lowercase()),
        Key::Named(NamedKey::Space) => Some("space".to_owned()),
        Key::Named(named) => Some(format!("{named:?}").to_lowercase()),
        Key::Unidentified(_) | Key::Dead(_) => None,
    }
}

/// Inputs queued for a frame: a mouse sends a thousand movements a second, which become one, and a thousand keys
/// between two frames are no typing.
const INPUTS_MAX: usize = 1_024;

#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    Key {
        /// As [`key_name`] names it.
        name: String,
        is_down: bool,
        is_repeat: bool,
        is_typing: bool,
    },
    /// An action without a key of the window, as a signal or a terminal asks for.
    Act(Action),
    Moved {
        /// Where to, in pixels of the window.
        to: PhysicalPosition<f64>,
        is_over_panel: bool,
    },
    Left,
    Button {
        button: MouseButton,
        state: ElementState,
        is_over_panel: bool,
    },
    /// The wheel turned, or two fingers moved on a touchpad.
    Wheel(MouseScrollDelta),
    /// Two fingers were spread (positive) or pinched; 1 is twice the size.
    Pinch(f64),
    /// Two fingers were turned on a touchpad, in degrees.
    Rotate(f32),
    /// The window lost the keyboard: no key or button is held.
    FocusLost,
}

#[derive(Debug, Default)]
pub struct InputQueue {
    inputs: VecDeque<Input>,
    pub dropped: u64,
}

impl InputQueue {
    /// Appends an input. A movement replaces the one before it; when the queue is full, the newest is dropped and counted.
    pub fn put(&mut self, input: Input) {
        if let (Some(last @ Input::Moved { .. }), Input::Moved { .. }) = (self.inputs.back_mut(), &input) {
            *last = input;
        } else if self.inputs.len() == INPUTS_MAX {
            self.dropped += 1;
        } else {
            self.inputs.push_back(input);
        }
    }

    pub fn take(&mut self) -> Option<Input> {
        self.inputs.pop_front()
    }
}

/// Keys that were already down when the window got the keyboard, until they go up: they were pressed for another window.
///
/// On X11 and Windows such a key comes again as a synthetic press, and its repeats may come as presses. A key that is
/// pressed while the keyboard changes windows looks the same, and is lost.
#[derive(Debug, Default)]
pub struct HeldBefore {
    keys: BTreeSet<PhysicalKey>,
}

impl HeldBefore {
    /// Whether a key went down or up for this window. `is_synthetic` is winit's.
    pub fn is_for_us(&mut self, key: PhysicalKey, state: ElementState, is_synthetic: bool) -> bool {
        match state {
            ElementState::Pressed if is_synthetic => {
                self.keys.insert(key);
                false
            }
            ElementState::Pressed => !self.keys.contains(&key),
            // A window that loses the keyboard gets all keys as released.
            ElementState::Released => {
                self.keys.remove(&key);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use winit::event::ElementState::{Pressed, Released};
    use winit::keyboard::KeyCode;

    use super::*;

    #[test]
    fn every_action_has_keys_of_its_own_and_a_name() {
        let bindings = Bindings::default();
        for &action in Action::ALL {
            let usual = action.usual_keys();
            assert!(
                bindings.keys_of(action).eq(usual.iter().copied()),
                "{action:?} shares a key"
            );
            assert_eq!(Action::named(&action.name()), Some(action));
        }
        assert_eq!(Action::HeatMap.name(), "heat-map");
    }

    #[test]
    fn changed_keys_win_over_usual_ones() {
        let changed = BTreeMap::from([
            (Action::Pause, vec!["P".to_owned()]),
            (Action::Record, vec!["f1".to_owned(), "a".to_owned()]),
        ]);
        let bindings = Bindings::with(&changed);
        let keys = |action| bindings.keys_of(action).collect::<Vec<_>>();
        assert_eq!(keys(Action::Help), ["h"], "the other one is taken");
        assert_eq!(keys(Action::Record), ["a", "f1"]);
        let action = |key: Key| bindings.action_of(&key_name(&key).unwrap());
        assert_eq!(action(Key::Character("p".into())), Some(Action::Pause));
        assert_eq!(action(Key::Named(NamedKey::Space)), None);
        assert_eq!(action(Key::Named(NamedKey::F12)), Some(Action::Screenshot));
    }

    #[test]
    fn inputs_keep_their_order_movements_become_one_and_a_flood_is_counted() {
        let moved = |x| Input::Moved {
            to: PhysicalPosition::new(x, 0.0),
            is_over_panel: false,
        };
        let mut queue = InputQueue::default();
        for input in [moved(1.0), moved(2.0), Input::Pinch(0.5), moved(3.0), moved(4.0)] {
            queue.put(input);
        }
        assert_eq!(queue.inputs, [moved(2.0), Input::Pinch(0.5), moved(4.0)]);
        (0..INPUTS_MAX).for_each(|_| queue.put(Input::Pinch(0.1)));
        assert_eq!((queue.inputs.len(), queue.dropped), (INPUTS_MAX, 3));
    }

    #[test]
    fn a_key_held_when_the_keyboard_comes_does_nothing_until_it_is_pressed_anew() {
        let mut keys = HeldBefore::default();
        let mut press =
            |key, state, is_synthetic| keys.is_for_us(PhysicalKey::Code(key), state, is_synthetic);
        assert!(!press(KeyCode::KeyH, Pressed, true));
        assert!(!press(KeyCode::KeyH, Pressed, false));
        assert!(press(KeyCode::KeyP, Pressed, false), "another key");
        assert!(press(KeyCode::KeyH, Released, false));
        assert!(press(KeyCode::KeyH, Pressed, false));
    }
}
