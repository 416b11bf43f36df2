//! The shipped recorder and autosave on a faulty disk, and checks of what a crash leaves there.
//!
//! The server's loop calls them; jobs take a while. A crash comes between two passes or within a job.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Error, Result, bail, ensure};
use trantor_engine::Engine;
use trantor_game::journal::{CutShort, Ending};
use trantor_game::replay::{IndexedPiece, Recording, RecordingEnd, roll_forward};
use trantor_game::{Game, Replay};
use trantor_server::autosave::{Autosave, TIMER, newest_good};
use trantor_server::event_loop::{EndReason, Ended, EventLoop};
use trantor_server::recorder::{PACK, Recorder, RecorderConfig, SYNC, pieces_of, runs_in};
use trantor_server::replay::read_from;
use trantor_server::storage;
use trantor_server::store::Files;
use trantor_time::{RealSpan, RealTime};

use crate::Coverage;
use crate::actors::CheckResult;
use crate::disk::{Disk, RECORDINGS, SAVES};
use crate::plan::{self, Plan};
use crate::playback::{self, Received};
use crate::rng::Rng;

const SAVES_KEPT: usize = 3;

/// Most disk operations of a job before a power failure. A save takes eight.
const OPERATIONS_MAX: u32 = 10;

/// Attempts to write the first save on a disk that fails for a while.
const ATTEMPTS_MAX: u32 = 100;

/// See the module.
pub(crate) struct Storage {
    pub(crate) disk: Disk,
    plan: plan::Storage,
    rng: Rng,
    /// Jobs of the worker, each with the instant at which it is done.
    jobs: VecDeque<(RealTime, Box<dyn FnOnce() + Send>)>,
    /// Of the recorder: its run, without failures so far; and syncs completed.
    run: Option<PathBuf>,
    is_one_run: bool,
    syncs: u64,
    /// Of autosave: saves completed.
    saves: u64,
    /// Deadlines fired until the last pass, and when bytes were last sent.
    steps: u64,
    sent_steps: u64,
    /// What was in the journal after the last pass, at the start of the current sync, and of the last completed one.
    written: Journaled,
    syncing: Journaled,
    synced: Journaled,
    /// Runs of this server process.
    begun: BTreeSet<PathBuf>,
    /// The save on its way to the disk, and saves by file.
    saving: Option<Saved>,
    saved: BTreeMap<PathBuf, Saved>,
    pub(crate) coverage: Coverage,
}

/// How much is in the journal.
#[derive(Clone, Debug, Default)]
struct Journaled {
    run: PathBuf,
    /// Deadlines fired.
    steps: u64,
    /// Lengths of its plain pieces.
    lengths: Vec<(PathBuf, usize)>,
}

/// What is known of a save.
#[derive(Clone, Debug)]
struct Saved {
    /// Deadlines that had fired before it.
    steps_min: u64,
    /// The run that was recorded at that time.
    run: PathBuf,
}

impl Storage {
    /// An empty disk; recorder and autosave start with [`Self::start`].
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            disk: Disk::new(plan),
            plan: plan.storage,
            rng: Rng::new(plan.seed, 6),
            jobs: VecDeque::new(),
            run: None,
            is_one_run: false,
            syncs: 0,
            saves: 0,
            steps: 0,
            sent_steps: 0,
            written: Journaled::default(),
            syncing: Journaled::default(),
            synced: Journaled::default(),
            begun: BTreeSet::new(),
            saving: None,
            saved: BTreeMap::new(),
            coverage: Coverage::default(),
        }
    }

    /// Starts recorder and autosave as the server does.
    pub(crate) fn start(&mut self, event_loop: &mut EventLoop) -> CheckResult {
        let files = || Arc::new(self.disk.clone()) as Arc<dyn Files>;
        let config = RecorderConfig {
            piece_bytes: self.plan.piece_bytes as u64,
            piece_snapshots: 2,
            sync_span: self.plan.sync_every,
            retry_spans: (RealSpan::from_millis(20), RealSpan::from_millis(200)),
            ..RecorderConfig::default()
        };
        let recorder = Recorder::create(files(), Path::new(RECORDINGS), config)?;
        self.run = recorder.run().map(Path::to_owned);
        event_loop.record(recorder)?;
        (self.steps, self.sent_steps, self.syncs) = (event_loop.engine().game().steps(), 0, 0);
        self.begun.clear();
        if self.plan.save_every > RealSpan::ZERO {
            let mut autosave = Autosave::new(files(), Path::new(SAVES), SAVES_KEPT)?;
            self.begin_save();
            let attempts = (0..ATTEMPTS_MAX).map(|_| autosave.save_now(event_loop.engine().state_to_save()));
            attempts.reduce(|first, next| first.or(next));
            self.saves = autosave.stats().saved;
            event_loop.save(autosave, self.plan.save_every)?;
            self.note_saved();
        }
        Ok(())
    }

    /// When the current job of the worker ends.
    pub(crate) fn next_job_end(&self) -> Option<RealTime> {
        self.jobs.front().map(|(at, _)| *at)
    }

    /// Runs the jobs that end now; their ends come to the next pass.
    pub(crate) fn run_jobs(&mut self, now: RealTime) {
        while let Some((_, job)) = self.jobs.pop_front_if(|(at, _)| *at <= now) {
            self.disk.job(None, job);
        }
    }

    /// Takes the jobs that a pass began, and notes what is on the disk. `has_sent`: peers were sent something.
    pub(crate) fn after_pass(
        &mut self,
        event_loop: &mut EventLoop,
        has_sent: bool,
        now: RealTime,
    ) -> CheckResult {
        let storage = &event_loop.shell().storage;
        let Some(recorder) = &storage.recorder else {
            return Ok(());
        };
        let (run, stats) = (recorder.run().map(Path::to_owned), recorder.stats());
        self.is_one_run = stats.failures == 0;
        let saves = storage.autosave.as_ref();
        let saves = saves.map_or(0, |autosave| autosave.stats().saved);
        if saves > self.saves {
            self.saves = saves;
            self.note_saved();
        }
        if stats.synced > self.syncs {
            self.syncs = stats.synced;
            self.synced = std::mem::take(&mut self.syncing);
            let left = self.disk.unsynced(&self.synced.lengths);
            ensure!(left.is_none(), "a sync left {left:?} unsynced");
        }
        while let Some((name, job)) = event_loop.take_disk_job() {
            match name {
                SYNC => {
                    self.syncing = self.written.clone();
                    self.written.lengths.clear();
                }
                TIMER => self.begin_save(),
                _ => self.coverage.count("pieces packed", 1),
            }
            let begins = self.jobs.back().map_or(now, |(at, _)| *at);
            // Packing takes the longest, so that pieces queue up.
            let parts = if name == PACK { 4 } else { 1 };
            let ends = begins + self.rng.millis(0, self.plan.job_ms_max) * parts;
            self.jobs.push_back((ends, job));
        }
        let engine = event_loop.engine();
        self.steps = engine.game().steps();
        if has_sent {
            self.sent_steps = self.steps;
        }
        // A save that began in this pass is of the run before.
        self.run.clone_from(&run);
        let Some(run) = run else {
            return Ok(());
        };
        if !engine.is_ahead_of_journal() {
            self.begun.insert(run.clone());
            self.written = Journaled {
                lengths: self.disk.lengths(&run, ".trj"),
                run: run.clone(),
                steps: self.steps,
            };
        }
        if self.rng.one_in(self.plan.removed_one_in) {
            self.disk.remove_all(&run);
            self.written.lengths.clear();
            (self.syncing, self.synced) = Default::default();
            self.coverage.count("runs removed", 1);
        }
        Ok(())
    }

    fn begin_save(&mut self) {
        self.saving = Some(Saved {
            steps_min: self.steps,
            run: self.run.clone().unwrap_or_default(),
        });
    }

    /// Notes a save that the server believes to be on the disk.
    fn note_saved(&mut self) {
        let entries = self.disk.list(Path::new(SAVES)).unwrap_or_default();
        let files: BTreeSet<PathBuf> = entries.into_iter().map(|entry| entry.path).collect();
        self.saved.retain(|file, _| files.contains(file));
        if let Some(file) = files.last().filter(|file| !self.saved.contains_key(*file))
            && let Some(saved) = self.saving.take()
        {
            self.saved.insert(file.clone(), saved);
            self.coverage.count("saves", 1);
        }
    }

    /// Stops all faults.
    pub(crate) fn stop_faults(&mut self) {
        self.disk.stop_faults();
        (self.plan.removed_one_in, self.plan.job_ms_max) = (0, 0);
    }

    /// Power failure: checks what is left on the disk, and returns the game to resume, if there is a save.
    pub(crate) fn crash(&mut self, mut event_loop: EventLoop, received: &[Received]) -> Result<Option<Game>> {
        self.check_sent(event_loop.engine(), received)?;
        self.count_resumed(&mut event_loop);
        if let Some((_, job)) = self.jobs.pop_front() {
            let power = self.rng.below(OPERATIONS_MAX);
            self.disk.job(Some(power), job);
        }
        let jobs = std::mem::take(&mut self.jobs);
        self.disk.job(Some(0), || drop((event_loop, jobs)));
        self.saving = None;
        if self.plan.loses_save {
            self.lose_newest_save();
        }
        self.disk.crash();
        self.coverage.count("files corrupted", self.disk.flip_bits());
        self.check_pieces()?;
        self.check_synced_run()?;
        self.resume()
    }

    /// Runs the shipped resume; checks that the game is as new as it must be, and a state that the game was in.
    fn resume(&mut self) -> Result<Option<Game>> {
        let (saves, recordings) = (Path::new(SAVES), Path::new(RECORDINGS));
        let mut good = self.saved.keys().rev();
        let good = good.find(|file| !self.disk.is_corrupt_below(file));
        let newest = match newest_good(&self.disk, saves) {
            Ok(newest) => newest,
            Err(_) if good.is_none() => {
                // All saves are corrupt or lost: an operator removes them, and a new game starts.
                self.disk.remove_all(saves);
                self.saved.clear();
                return Ok(None);
            }
            Err(error) => bail!("an intact save exists, and {error}"),
        };
        let file = newest.as_ref().map(|(_, file)| file);
        ensure!(
            good.is_none() || file >= good,
            "the game resumes from an older save than {good:?}"
        );
        let Some((game, file)) = newest else {
            return Ok(None);
        };
        let saved = self.saved.get(&file);
        ensure!(
            saved.is_none_or(|saved| saved.steps_min <= game.steps()),
            "{file:?} does not hold {saved:?} but step {}",
            game.steps()
        );
        let rolled = storage::resume(&self.disk, saves, Some(recordings))?;
        let rolled = rolled.context("a save vanished while resuming")?;
        let is_ahead = rolled.steps() > game.steps();
        self.coverage.count("saves rolled forward", u64::from(is_ahead));
        ensure!(
            !is_ahead || self.has_passed(&rolled)?,
            "a save was rolled forward to step {}, a state that the game was never in",
            rolled.steps()
        );
        let Journaled { run, steps, .. } = &self.synced;
        let must_reach = saved.is_some_and(|saved| saved.run == *run) && !self.disk.is_corrupt_below(run);
        ensure!(
            !must_reach || rolled.winner().is_some() || rolled.steps() >= *steps,
            "the game resumes at step {} from {file:?}, and the journal was synced until {steps}",
            rolled.steps()
        );
        Ok(Some(rolled))
    }

    /// Whether a run passed through this state, according to all bytes that the recorder appended.
    fn has_passed(&self, game: &Game) -> Result<bool> {
        for run in runs_in(&self.disk, Path::new(RECORDINGS))? {
            let pieces = self.pieces(&run)?;
            let open = |place: usize| Replay::open(self.disk.appended(&pieces[place])?).ok();
            if roll_forward(game, pieces.len(), open)
                .map_err(Error::msg)?
                .is_some()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Removes the newest save, or replaces it with an older one.
    fn lose_newest_save(&mut self) {
        let entries = self.disk.list(Path::new(SAVES)).unwrap_or_default();
        let mut saves: Vec<_> = entries.into_iter().map(|entry| entry.path).collect();
        saves.sort();
        let Some(newest) = saves.pop() else { return };
        self.saved.remove(&newest);
        if saves.is_empty() || self.rng.one_in(3) {
            return self.disk.remove_all(&newest);
        }
        let older = self.rng.pick(&saves);
        self.disk.put_back(older, &newest);
        if let Some(saved) = self.saved.get(older).cloned() {
            self.saved.insert(newest, saved);
        }
    }

    fn pieces(&self, run: &Path) -> Result<Vec<PathBuf>> {
        Ok(pieces_of(&self.disk, run)?)
    }

    fn open(&self, piece: &Path) -> Result<Replay> {
        Ok(Replay::open(read_from(self.disk.read(piece)?)?)?)
    }

    /// Every piece replays to its last whole record, and a flipped bit is detected.
    fn check_pieces(&self) -> CheckResult {
        for run in runs_in(&self.disk, Path::new(RECORDINGS))? {
            for piece in self.pieces(&run)? {
                let is_corrupt = self.disk.is_corrupt_below(&piece);
                match self.open(&piece).map(Replay::verify) {
                    Ok(Ok(verified)) if is_corrupt => ensure!(
                        verified.ending != Ending::Closed,
                        "{piece:?}: a flipped bit was not detected"
                    ),
                    Ok(Err(error)) if !is_corrupt => bail!("{piece:?} replays differently: {error}"),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// The last synced run replays as far as it was synced.
    fn check_synced_run(&self) -> CheckResult {
        let Journaled { run, steps, .. } = &self.synced;
        if *steps == 0 || self.disk.is_corrupt_below(run) {
            return Ok(());
        }
        let pieces = self.pieces(run).unwrap_or_default();
        let open = |place: usize| self.open(pieces.get(place)?).ok();
        let begin = open(0).with_context(|| format!("{run:?} was synced and is lost"))?;
        let rolled = roll_forward(&begin.game, pieces.len(), open).map_err(Error::msg)?;
        let played = rolled.map_or(0, |rolled| rolled.game.steps());
        ensure!(
            played >= *steps || begin.game.winner().is_some(),
            "{run:?} replays to step {played}, and the journal was synced until {steps}"
        );
        Ok(())
    }

    /// The journal replays to the last state that peers were sent, and sends the lines that viewers received. Runs ended by a
    /// disk fault end with a whole record.
    fn check_sent(&mut self, engine: &Engine, received: &[Received]) -> CheckResult {
        let Some(run) = self.run.clone() else {
            return Ok(());
        };
        for ended in runs_in(&self.disk, Path::new(RECORDINGS))? {
            if ended != run && self.begun.contains(&ended) {
                self.check_ended(&ended)?;
            }
        }
        let Some(last) = self.pieces(&run).ok().and_then(|mut pieces| pieces.pop()) else {
            return Ok(());
        };
        let bytes = read_from(self.disk.read(&last)?)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let replay = Replay::open(bytes).context("the journal cannot be opened")?;
        let replayed = replay.verify().context("the replay diverges")?.game;
        let is_other = !engine.is_ahead_of_journal() && replayed.digest() != engine.game().digest();
        ensure!(
            replayed.steps() >= self.sent_steps && !is_other,
            "peers were sent {} steps of the game, and the journal replays {}",
            self.sent_steps,
            replayed.steps()
        );
        if !received.is_empty() && self.is_one_run {
            let lines = playback::check_lines(received, &self.recording(&run)?, engine.config())?;
            self.coverage.count("lines compared with the journal", lines);
        }
        Ok(())
    }

    /// A run ended by a disk fault ends with a whole record.
    fn check_ended(&self, run: &Path) -> CheckResult {
        let pieces = self.pieces(run)?;
        let Some(last) = pieces.last() else {
            return Ok(());
        };
        let verified = self.open(last).ok().and_then(|replay| replay.verify().ok());
        let ending = verified.map(|verified| verified.ending);
        let is_whole = match ending {
            Some(Ending::CutOff { why, .. }) => why == CutShort::Nothing,
            other => other == Some(Ending::Continued),
        };
        ensure!(is_whole, "{last:?} ended with {ending:?}");
        Ok(())
    }

    /// All pieces of a run, joined.
    fn recording(&self, run: &Path) -> Result<Arc<Recording>> {
        let indexed = |piece: &PathBuf| -> Result<IndexedPiece> {
            Ok(IndexedPiece::new(read_from(self.disk.read(piece)?)?, 0)?)
        };
        let pieces = self.pieces(run)?.iter().map(indexed).collect::<Result<_>>()?;
        Ok(Arc::new(Recording::join(pieces)?))
    }

    fn count_resumed(&mut self, event_loop: &mut EventLoop) {
        if let Some(recorder) = &event_loop.shell().storage.recorder {
            self.coverage.count("runs resumed", recorder.stats().resumed);
        }
    }

    /// Clean shutdown: the journal is closed, ends with the current game and can be played with the lines that viewers
    /// received; the game is saved.
    pub(crate) fn finish(
        &mut self,
        mut event_loop: EventLoop,
        why: EndReason,
        received: &[Received],
    ) -> Result<Ended> {
        self.count_resumed(&mut event_loop);
        let engine = event_loop.engine();
        let (config, saved) = (engine.config().clone(), engine.state_to_save().digest().whole);
        let last = engine.game().winner().is_none().then(|| engine.game().digest());
        let ended = event_loop.finish(why);
        self.coverage.count("writes refused", self.disk.refused());
        self.check_pieces()?;
        self.check_synced_run()?;
        if self.plan.save_every > RealSpan::ZERO {
            let newest = newest_good(&self.disk, Path::new(SAVES))?;
            ensure!(
                newest.is_some_and(|(game, _)| game.digest() == saved),
                "the last save does not hold the final state"
            );
        }
        let has_pieces = |run: &PathBuf| self.pieces(run).is_ok_and(|pieces| !pieces.is_empty());
        let Some(run) = self.run.as_ref().filter(|run| has_pieces(run)) else {
            return Ok(ended);
        };
        let recording = self.recording(run)?;
        ensure!(
            *recording.ends() == RecordingEnd::Closed,
            "the journal is not closed: {:?}",
            recording.ends()
        );
        let (game, _) = recording.seek(recording.end())?;
        ensure!(
            last.is_none_or(|last| game.digest() == last),
            "the replay ends in another state than the run"
        );
        if self.is_one_run {
            let lines = playback::check_lines(received, &recording, &config)?;
            self.coverage.count("lines compared with the journal", lines);
        }
        let worlds = playback::check_worlds(&recording, &mut self.rng)?;
        self.coverage.count("worlds compared in recordings", worlds);
        Ok(ended)
    }
}
