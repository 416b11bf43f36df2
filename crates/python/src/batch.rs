//! Many games at once, on threads of their own, with arrays that are filled in place.
//!
//! Row `game * seats + seat` of each array belongs to one seat. A game stays on the thread that made it: scripts cannot move. The
//! first share is the caller's, since waking another thread takes longer than some steps of a game; a pool has the others.
//! The interpreter is released while games are played.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::{ThreadPool, ThreadPoolBuilder};
use trantor_runtime::RealClock;
use trantor_server::live::LiveServer;
use trantor_time::{Clock, RealSpan};

use crate::actions::ACTIONS;
use crate::arena::{Arena, Pause, SIGHT_TILES, STATE_FIGURES, Setup, TILE_FIGURES, Views};
use crate::scene::{Scene, digest};
use crate::seats::MESSAGES_MAX;
use crate::setup;

/// Games of one batch: as many as fit into the memory of a small machine.
const GAMES_MAX: usize = 65_536;
/// Threads of one batch: as many cores as large machines have.
const THREADS_MAX: usize = 256;
/// Agents of one batch: a gigabyte of arrays.
const ROWS_MAX: usize = 1 << 20;
/// A thread that has done its share stays awake so long: what it takes to wake it. The others are often done earlier, and so is
/// the caller with what it does between two steps.
const AWAKE_MAX: RealSpan = RealSpan::from_micros(50);

/// What is said of a game that does not exist yet.
const NOT_BEGUN: &str = "no game has begun: reset first";

/// How long viewers are waited for between two looks for Ctrl-C.
const WAIT: Duration = Duration::from_millis(100);

thread_local! {
    /// The games of this thread by batch, in their order.
    static GAMES: RefCell<BTreeMap<u64, Vec<Slot>>> = const { RefCell::new(BTreeMap::new()) };
}

/// The number of the next batch.
static NEXT_BATCH: AtomicU64 = AtomicU64::new(0);

/// Which threads play: the first share is the maker's.
struct Players {
    maker: ThreadId,
    /// For the other shares.
    helpers: Option<ThreadPool>,
    /// Times that they were all given a share.
    rounds: Arc<AtomicU64>,
}

/// A place for one game after the other.
#[derive(Default)]
struct Slot {
    arena: Option<Arena>,
    seed: u64,
    episode: u64,
}

/// The arrays of a batch.
struct Arrays {
    sight: Py<PyArray3<u8>>,
    state: Py<PyArray2<i32>>,
    messages: Py<PyArray3<u8>>,
    mask: Py<PyArray2<i8>>,
    rewards: Py<PyArray1<f32>>,
    terminations: Py<PyArray1<bool>>,
    truncations: Py<PyArray1<bool>>,
}

/// The part of one thread in a step.
struct Share<'a> {
    actions: Option<&'a [u8]>,
    views: Views<'a>,
}

/// Games that are played together.
#[pyclass(module = "trantor._core")]
pub(crate) struct Batch {
    number: u64,
    /// `None`: it is closed.
    players: Option<Players>,
    /// The process that made the threads; they are not in its children.
    process: u32,
    setup: Setup,
    games: usize,
    /// Games of each thread but the last, which may have fewer.
    games_a_thread: usize,
    seats: usize,
    records: bool,
    /// Shows the one game to viewers.
    live: Option<Mutex<LiveServer>>,
    arrays: Arrays,
}

#[pymethods]
impl Batch {
    #[new]
    #[pyo3(signature = (setup, games, threads, records, port=None))]
    fn new(
        py: Python<'_>,
        setup: &Bound<'_, PyAny>,
        games: usize,
        threads: usize,
        records: bool,
        port: Option<u16>,
    ) -> PyResult<Self> {
        let setup = setup::read(setup)?;
        in_range("games", games, GAMES_MAX)?;
        in_range("threads", threads, THREADS_MAX)?;
        let seats = setup.seats();
        if seats == 0 {
            let why = "agents: at least one, as in agents={'red': 6}; trantor.play plays minds alone";
            return Err(PyValueError::new_err(why));
        }
        if seats > ROWS_MAX / games {
            let why = format!(
                "agents: {games} games of {seats} agents are {} agents, and at most {ROWS_MAX} have room",
                games * seats
            );
            return Err(PyValueError::new_err(why));
        }
        let games_a_thread = games.div_ceil(threads);
        let mut helpers = None;
        if games > games_a_thread {
            let pool = ThreadPoolBuilder::new().num_threads(games.div_ceil(games_a_thread) - 1);
            let pool = pool
                .thread_name(|index| format!("trantor-games-{}", index + 1))
                .build();
            helpers = Some(pool.map_err(|error| PyRuntimeError::new_err(error.to_string()))?);
        }
        let live = port.map(|port| {
            LiveServer::start(port, &setup.empty_journal()).map_err(|error| {
                let advice = "choose another with port=, 0 for any that is free";
                PyOSError::new_err(format!("cannot listen on port {port}: {error}; {advice}"))
            })
        });
        let live = live.transpose()?.map(Mutex::new);
        let rows = games * seats;
        Ok(Self {
            number: NEXT_BATCH.fetch_add(1, Ordering::Relaxed),
            players: Some(Players {
                maker: std::thread::current().id(),
                helpers,
                rounds: Arc::default(),
            }),
            process: std::process::id(),
            setup,
            games,
            games_a_thread,
            seats,
            records: records || live.is_some(),
            live,
            arrays: Arrays {
                sight: PyArray3::zeros(py, [rows, SIGHT_TILES, TILE_FIGURES], false).unbind(),
                state: PyArray2::zeros(py, [rows, STATE_FIGURES], false).unbind(),
                messages: PyArray3::zeros(py, [rows, MESSAGES_MAX, 2], false).unbind(),
                mask: PyArray2::zeros(py, [rows, ACTIONS], false).unbind(),
                rewards: PyArray1::zeros(py, rows, false).unbind(),
                terminations: PyArray1::zeros(py, rows, false).unbind(),
                truncations: PyArray1::zeros(py, rows, false).unbind(),
            },
        })
    }

    /// Begins games anew, game `i` from the seed `seeds[i]`. One without a seed stays as it is, and so do its rows.
    fn reset(&self, py: Python<'_>, seeds: Vec<Option<u64>>) -> PyResult<()> {
        if seeds.len() != self.games {
            let why = format!("{} seeds for {} games", seeds.len(), self.games);
            return Err(PyValueError::new_err(why));
        }
        // Viewers see how the game before ends.
        self.wait_for_viewers(py, true)?;
        self.on_all(py, None, |game, slot, _| {
            if let Some(seed) = seeds[game] {
                *slot = Slot {
                    arena: Some(Arena::new(&self.setup, seed, self.records)?),
                    seed,
                    episode: 0,
                };
            }
            Ok(seeds[game].is_some())
        })
    }

    /// Plays one step: one action for each row. A game that was over begins anew instead, from a seed that follows from its own.
    fn step(&self, py: Python<'_>, actions: PyReadonlyArray1<'_, u8>) -> PyResult<()> {
        let actions = actions
            .as_slice()
            .map_err(|_| PyValueError::new_err("actions must be contiguous"))?;
        let rows = self.games * self.seats;
        if actions.len() != rows {
            let why = format!("{} actions for {rows} agents", actions.len());
            return Err(PyValueError::new_err(why));
        }
        if let Some(row) = actions.iter().position(|action| usize::from(*action) >= ACTIONS) {
            let why = format!(
                "action {} of row {row}: actions are 0 to {}",
                actions[row],
                ACTIONS - 1
            );
            return Err(PyValueError::new_err(why));
        }
        self.on_all(py, Some(actions), |_, slot, actions| {
            let Some(arena) = &mut slot.arena else {
                return Err(NOT_BEGUN.to_owned());
            };
            if arena.is_over() {
                slot.episode += 1;
                let seed = next_seed(slot.seed, slot.episode);
                slot.arena = Some(Arena::new(&self.setup, seed, self.records)?);
            } else {
                arena.step(actions);
            }
            Ok(true)
        })
    }

    /// For one game: hands in an action of a row, if one is given, and plays until an agent can act. Answers its row; `None`:
    /// the game is over.
    #[pyo3(signature = (row=None, action=0))]
    fn act(&self, py: Python<'_>, row: Option<usize>, action: u8) -> PyResult<Option<usize>> {
        if self.games != 1 {
            return Err(PyValueError::new_err(
                "agents act one by one in a batch of one game only",
            ));
        }
        if let Some(row) = row.filter(|row| *row >= self.seats) {
            return Err(PyValueError::new_err(format!("row {row} of {}", self.seats)));
        }
        if usize::from(action) >= ACTIONS {
            let why = format!("action {action}: actions are 0 to {}", ACTIONS - 1);
            return Err(PyValueError::new_err(why));
        }
        let next = Mutex::new(None);
        self.on_all(py, None, |_, slot, _| {
            if let Some(arena) = &mut slot.arena {
                if let Some(row) = row {
                    arena.act(row, action);
                }
                if let Pause::Acts(row) = arena.advance(self.setup.until) {
                    *next.lock().map_err(|error| error.to_string())? = Some(row);
                }
            }
            Ok(true)
        })?;
        next.into_inner()
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// For one game: the lines that the agent of a row was sent since it last did something.
    fn text(&self, py: Python<'_>, row: usize) -> PyResult<Cow<'static, [u8]>> {
        self.of_game(py, 0, |arena| Cow::Owned(arena.text(row)))
    }

    /// For one game: hands in a line of a row, without its end.
    fn say(&self, py: Python<'_>, row: usize, line: &[u8]) -> PyResult<bool> {
        self.of_game(py, 0, |arena| arena.say(row, line))
    }

    /// The state of a game: time, ground, agents, eggs, winner.
    fn scene<'py>(&self, py: Python<'py>, game: usize) -> PyResult<Bound<'py, PyDict>> {
        self.of_game(py, game, |arena| Scene::of(arena.game()))?
            .into_dict(py)
    }

    /// The recording of a game so far.
    fn recording(&self, py: Python<'_>, game: usize) -> PyResult<Vec<u8>> {
        if !self.records {
            return Err(PyValueError::new_err(
                "nothing is recorded: make it with record=True",
            ));
        }
        self.of_game(py, game, |arena| arena.recording())
    }

    /// The digest of a game's state.
    fn digest(&self, py: Python<'_>, game: usize) -> PyResult<String> {
        self.of_game(py, game, |arena| digest(arena.game()))
    }

    /// The game time of a game, in units.
    fn units(&self, py: Python<'_>, game: usize) -> PyResult<f64> {
        self.of_game(py, game, |arena| arena.game().now().as_units_f64())
    }

    /// The port on which viewers are served.
    fn port(&self) -> Option<u16> {
        self.live.as_ref()?.lock().ok().map(|live| live.port())
    }

    /// The arrays by name.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("sight", self.arrays.sight.bind(py))?;
        dict.set_item("state", self.arrays.state.bind(py))?;
        dict.set_item("messages", self.arrays.messages.bind(py))?;
        dict.set_item("mask", self.arrays.mask.bind(py))?;
        dict.set_item("rewards", self.arrays.rewards.bind(py))?;
        dict.set_item("terminations", self.arrays.terminations.bind(py))?;
        dict.set_item("truncations", self.arrays.truncations.bind(py))?;
        Ok(dict)
    }

    /// Ends all games and threads. Nothing can be done with it afterwards.
    fn close(&mut self) {
        self.players = None;
        let live = self.live.take();
        if self.process != std::process::id() {
            // Its thread is not in this process, and would be waited for without end.
            std::mem::forget(live);
        }
        // On another thread than the one that made it, they stay until that one ends.
        let _: Result<_, std::thread::AccessError> =
            GAMES.try_with(|games| games.borrow_mut().remove(&self.number));
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.close();
    }
}

fn in_range(name: &str, value: usize, max: usize) -> PyResult<()> {
    match (1..=max).contains(&value) {
        true => Ok(()),
        false => Err(PyValueError::new_err(format!(
            "{name} must be 1 to {max}, not {value}"
        ))),
    }
}

/// Keeps a thread awake until something has happened, but no longer than [`AWAKE_MAX`].
fn stay_awake(has_happened: impl Fn() -> bool) {
    let clock = RealClock::new();
    let until = clock.now() + AWAKE_MAX;
    while !has_happened() && clock.now() < until {
        std::hint::spin_loop();
    }
}

/// The seed of a later game of a row of games, by the finalizer of SplitMix64.
fn next_seed(seed: u64, episode: u64) -> u64 {
    let mut mixed = seed.wrapping_add(episode.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl Batch {
    /// Those who play, if this is the process and the thread for it.
    fn players(&self) -> PyResult<&Players> {
        if self.process != std::process::id() {
            let why = "games do not survive a fork of the process: make them in the child, or start it with 'spawn'";
            return Err(PyRuntimeError::new_err(why));
        }
        let closed = || PyRuntimeError::new_err("it is closed: make another");
        let players = self.players.as_ref().ok_or_else(closed)?;
        if players.maker != std::thread::current().id() {
            let why = "games are played on the thread that made them: use them there, or make them here";
            return Err(PyRuntimeError::new_err(why));
        }
        Ok(players)
    }

    /// Has each thread do something with its games; `work` is also given the number of the thread.
    fn on_each<T: Send>(
        &self,
        py: Python<'_>,
        work: impl Fn(usize, &mut Vec<Slot>) -> T + Sync,
    ) -> PyResult<Vec<T>> {
        let players = self.players()?;
        let here = |thread: usize| {
            GAMES.with_borrow_mut(|games| work(thread, games.entry(self.number).or_default()))
        };
        Ok(py.detach(|| match &players.helpers {
            None => vec![here(0)],
            Some(helpers) => {
                let (results, done) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
                let round = players.rounds.fetch_add(1, Ordering::Relaxed) + 1;
                let first = helpers.in_place_scope(|scope| {
                    scope.spawn_broadcast(|_, context| {
                        let result = here(1 + context.index());
                        results.lock().expect("no other holds it in a panic").push(result);
                        let rounds = Arc::clone(&players.rounds);
                        rayon::spawn(move || stay_awake(|| rounds.load(Ordering::Relaxed) != round));
                        done.fetch_add(1, Ordering::Relaxed);
                    });
                    let first = here(0);
                    stay_awake(|| done.load(Ordering::Relaxed) == helpers.current_num_threads());
                    first
                });
                let mut results = results.into_inner().expect("no other holds it in a panic");
                results.push(first);
                results
            }
        }))
    }

    /// Has each thread do something with each of its games, given by number, and write what its seats see afterwards, while the
    /// game is near in memory. `work` answers whether that has changed.
    fn on_all(
        &self,
        py: Python<'_>,
        actions: Option<&[u8]>,
        work: impl Fn(usize, &mut Slot, &[u8]) -> Result<bool, String> + Sync,
    ) -> PyResult<()> {
        let taken = |_| PyRuntimeError::new_err("an array of these games is in use elsewhere");
        let arrays = &self.arrays;
        let mut sight = arrays.sight.bind(py).try_readwrite().map_err(taken)?;
        let mut state = arrays.state.bind(py).try_readwrite().map_err(taken)?;
        let mut messages = arrays.messages.bind(py).try_readwrite().map_err(taken)?;
        let mut mask = arrays.mask.bind(py).try_readwrite().map_err(taken)?;
        let mut rewards = arrays.rewards.bind(py).try_readwrite().map_err(taken)?;
        let mut terminations = arrays.terminations.bind(py).try_readwrite().map_err(taken)?;
        let mut truncations = arrays.truncations.bind(py).try_readwrite().map_err(taken)?;
        let rows = self.games_a_thread * self.seats;
        let all = Views {
            sight: sight.as_slice_mut()?,
            state: state.as_slice_mut()?,
            messages: messages.as_slice_mut()?,
            mask: mask.as_slice_mut()?,
            rewards: rewards.as_slice_mut()?,
            terminations: terminations.as_slice_mut()?,
            truncations: truncations.as_slice_mut()?,
        };
        let mut views = all.split(rows);
        let mut actions = actions.map(|actions| actions.chunks(rows));
        let shares: Vec<Mutex<Option<Share<'_>>>> = std::iter::from_fn(|| {
            let actions = actions.as_mut().and_then(Iterator::next);
            let views = views.next()?;
            Some(Mutex::new(Some(Share { actions, views })))
        })
        .collect();
        let results = self.on_each(py, |thread, slots| {
            let share = shares[thread].lock().ok().and_then(|mut share| share.take());
            let share = share.expect("each thread takes its share once");
            let first = thread * self.games_a_thread;
            let games = self.games_a_thread.min(self.games - first);
            slots.resize_with(games, Slot::default);
            let mut actions = share.actions.unwrap_or_default().chunks(self.seats);
            let mut views = share.views.split(self.seats);
            for (place, slot) in slots.iter_mut().enumerate() {
                let has_changed = work(first + place, slot, actions.next().unwrap_or_default())?;
                let views = views.next().filter(|_| has_changed);
                if let (Some(arena), Some(views)) = (&mut slot.arena, views) {
                    arena.write(views);
                    if let Some(mut live) = self.live.as_ref().and_then(|live| live.lock().ok()) {
                        arena.show(&mut live).map_err(|error| error.to_string())?;
                    }
                }
            }
            Ok::<_, String>(())
        })?;
        let first = results.into_iter().find_map(Result::err);
        first.map_or(Ok(()), |why| Err(PyValueError::new_err(why)))?;
        self.wait_for_viewers(py, false)
    }

    /// Waits until viewers have seen nearly as much as was played, or all of it; other threads of Python run meanwhile.
    fn wait_for_viewers(&self, py: Python<'_>, to_end: bool) -> PyResult<()> {
        self.players()?;
        let Some(live) = &self.live else { return Ok(()) };
        while !py.detach(|| live.lock().map_or(true, |live| live.wait(to_end, WAIT))) {
            py.check_signals()?;
        }
        Ok(())
    }

    /// Asks one game, on its thread.
    fn of_game<T: Send>(
        &self,
        py: Python<'_>,
        game: usize,
        ask: impl Fn(&mut Arena) -> T + Sync,
    ) -> PyResult<T> {
        if game >= self.games {
            let why = format!("game {game} of {}", self.games);
            return Err(PyValueError::new_err(why));
        }
        let (thread, place) = (game / self.games_a_thread, game % self.games_a_thread);
        let answers = self.on_each(py, |this, slots| {
            let slot = slots.get_mut(place).filter(|_| this == thread);
            slot.and_then(|slot| slot.arena.as_mut()).map(&ask)
        })?;
        let answer = answers.into_iter().flatten().next();
        answer.ok_or_else(|| PyRuntimeError::new_err(NOT_BEGUN))
    }
}
