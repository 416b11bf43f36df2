//! The shipped recorder and autosave on a faulty disk, and checks of what a crash leaves there.
//!
//! The server's loop calls them; jobs take a while. A crash comes between two passes or within a job.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trantor_engine::{Engine, EngineConfig};
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

use crate::actors::CheckResult;
use crate::disk::{Disk, RECORDINGS, SAVES};
use crate::fault::FaultInjector;
use crate::plan;
use crate::replayed::{self, Received};
use crate::rng::Rng;
use crate::{Coverage, playback};

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
    /// After the last pass: deadlines fired; run and deadlines in its journal; and its pieces with their lengths.
    steps: u64,
    written: (PathBuf, u64),
    lengths: Vec<(PathBuf, usize)>,
    /// The last two at the start of the current sync, and run and deadlines of the last completed one.
    syncing: ((PathBuf, u64), Vec<(PathBuf, usize)>),
    synced: (PathBuf, u64),
    /// Runs of this server process.
    begun: BTreeSet<PathBuf>,
    /// Deadlines fired when bytes were last sent.
    sent_steps: u64,
    /// The save on its way to the disk, and saves by file.
    saving: Option<Saved>,
    saved: BTreeMap<PathBuf, Saved>,
    pub(crate) coverage: Coverage,
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
    pub(crate) fn new(seed: u64, plan: plan::Storage, injector: FaultInjector) -> Self {
        Self {
            disk: Disk::new(plan, injector, Rng::new(seed, 5)),
            plan,
            rng: Rng::new(seed, 6),
            jobs: VecDeque::new(),
            run: None,
            is_one_run: false,
            syncs: 0,
            saves: 0,
            steps: 0,
            written: Default::default(),
            lengths: Vec::new(),
            syncing: Default::default(),
            synced: Default::default(),
            begun: BTreeSet::new(),
            sent_steps: 0,
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
        let failed = |error: std::io::Error| format!("the server cannot start: {error}");
        let recorder = Recorder::create(files(), Path::new(RECORDINGS), config).map_err(failed)?;
        self.run = recorder.run().map(Path::to_owned);
        event_loop.record(recorder).map_err(failed)?;
        (self.steps, self.sent_steps, self.syncs) = (event_loop.engine().game().steps(), 0, 0);
        self.begun.clear();
        if self.plan.save_every > RealSpan::ZERO {
            let mut autosave = Autosave::new(files(), Path::new(SAVES), SAVES_KEPT).map_err(failed)?;
            self.begin_save();
            let attempts = (0..ATTEMPTS_MAX).map(|_| autosave.save_now(event_loop.engine().state_to_save()));
            attempts.reduce(|first, next| first.or(next));
            self.saves = autosave.stats().saved;
            event_loop.save(autosave, self.plan.save_every).map_err(failed)?;
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
        let saves = storage
            .autosave
            .as_ref()
            .map_or(0, |autosave| autosave.stats().saved);
        if saves > self.saves {
            self.saves = saves;
            self.note_saved();
        }
        if stats.synced > self.syncs {
            self.syncs = stats.synced;
            let (written, lengths) = std::mem::take(&mut self.syncing);
            self.synced = written;
            if let Some(piece) = self.disk.unsynced(&lengths) {
                return Err(format!("a sync left {} unsynced", piece.display()));
            }
        }
        while let Some((name, job)) = event_loop.take_disk_job() {
            match name {
                SYNC => {
                    self.syncing = (self.written.clone(), std::mem::take(&mut self.lengths));
                }
                TIMER => self.begin_save(),
                _ => self.coverage.count("pieces packed", 1),
            }
            let begins = self.jobs.back().map_or(now, |(at, _)| *at);
            // Packing takes the longest, so that pieces queue up.
            let parts = if name == PACK { 4 } else { 1 };
            let takes = parts * self.rng.below(self.plan.job_ms_max + 1);
            self.jobs
                .push_back((begins + RealSpan::from_millis(i64::from(takes)), job));
        }
        let engine = event_loop.engine();
        self.steps = engine.game().steps();
        if has_sent {
            self.sent_steps = self.steps;
        }
        self.run = run;
        if let (false, Some(run)) = (engine.is_ahead_of_journal(), &self.run) {
            self.begun.insert(run.clone());
            self.lengths = self.disk.lengths(run, ".trj");
            self.written = (run.clone(), self.steps);
        }
        if let Some(run) = self
            .run
            .as_ref()
            .filter(|_| self.rng.one_in(self.plan.removed_one_in))
        {
            self.disk.remove_all(run);
            self.lengths.clear();
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
    pub(crate) fn crash(
        &mut self,
        mut event_loop: EventLoop,
        received: &[Received],
    ) -> Result<Option<Game>, String> {
        self.check_sent(event_loop.engine(), received)?;
        self.note_stats(&mut event_loop);
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
    fn resume(&mut self) -> Result<Option<Game>, String> {
        let (saves, recordings) = (Path::new(SAVES), Path::new(RECORDINGS));
        let good = self
            .saved
            .iter()
            .rev()
            .find(|(file, _)| !self.disk.is_corrupt_below(file));
        let newest = match newest_good(&self.disk, saves) {
            Ok(newest) => newest,
            Err(_) if good.is_none() => {
                // All saves are corrupt or lost: an operator removes them, and a new game starts.
                self.disk.remove_all(saves);
                self.saved.clear();
                return Ok(None);
            }
            Err(error) => return Err(format!("an intact save exists, and {error}")),
        };
        let file = newest.as_ref().map(|(_, file)| file);
        if let Some((good, _)) = good.filter(|(good, _)| file < Some(good)) {
            return Err(format!(
                "the game resumes from an older save than {}",
                good.display()
            ));
        }
        let Some((game, file)) = newest else {
            return Ok(None);
        };
        let saved = self.saved.get(&file).cloned();
        if let Some(saved) = saved.as_ref().filter(|saved| saved.steps_min > game.steps()) {
            return Err(format!(
                "{} does not hold {saved:?} but step {}",
                file.display(),
                game.steps()
            ));
        }
        let rolled =
            storage::resume(&self.disk, saves, Some(recordings)).map_err(|error| error.to_string())?;
        let rolled = rolled.ok_or("a save vanished while resuming")?;
        let is_ahead = rolled.steps() > game.steps();
        self.coverage.count("saves rolled forward", u64::from(is_ahead));
        if is_ahead && !self.has_passed(&rolled)? {
            let steps = rolled.steps();
            return Err(format!(
                "a save was rolled forward to step {steps}, a state that the game was never in"
            ));
        }
        let (run, steps) = &self.synced;
        let must_reach = saved.is_some_and(|saved| saved.run == *run) && !self.disk.is_corrupt_below(run);
        match must_reach && rolled.winner().is_none() && rolled.steps() < *steps {
            true => Err(format!(
                "the game resumes at step {} from {}, and the journal was synced until {steps}",
                rolled.steps(),
                file.display()
            )),
            false => Ok(Some(rolled)),
        }
    }

    /// Whether a run passed through this state, according to all bytes that the recorder appended.
    fn has_passed(&self, game: &Game) -> Result<bool, String> {
        for run in self.runs()? {
            let pieces = self.pieces(&run)?;
            let open = |place: usize| Replay::open(self.disk.appended(&pieces[place])?).ok();
            if roll_forward(game, pieces.len(), open)?.is_some() {
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

    fn runs(&self) -> Result<Vec<PathBuf>, String> {
        runs_in(&self.disk, Path::new(RECORDINGS)).map_err(|error| error.to_string())
    }

    fn pieces(&self, run: &Path) -> Result<Vec<PathBuf>, String> {
        let pieces = pieces_of(&self.disk, run).map_err(|error| error.to_string())?;
        let mut pieces: Vec<_> = pieces.into_iter().map(|piece| piece.path).collect();
        let is_packed = |piece: &PathBuf| {
            self.disk.list(run).is_ok_and(|entries| {
                entries
                    .iter()
                    .any(|entry| entry.path == piece.with_extension("trj.zst"))
            })
        };
        pieces.retain(|piece| !piece.to_string_lossy().ends_with(".trj") || !is_packed(piece));
        Ok(pieces)
    }

    fn read(&self, piece: &Path) -> Result<Vec<u8>, String> {
        self.disk
            .read(piece)
            .and_then(read_from)
            .map_err(|error| error.to_string())
    }

    /// Every piece replays to its last whole record, and a flipped bit is detected.
    fn check_pieces(&self) -> CheckResult {
        for run in self.runs()? {
            for piece in self.pieces(&run)? {
                let is_corrupt = self.disk.is_corrupt_below(&piece);
                let opened = self
                    .read(&piece)
                    .and_then(|bytes| Replay::open(bytes).map_err(|error| error.to_string()));
                let verified = opened.ok().map(Replay::verify);
                match verified {
                    Some(Ok(verified)) if is_corrupt && verified.ending == Ending::Closed => {
                        return Err(format!("{}: a flipped bit was not detected", piece.display()));
                    }
                    Some(Err(error)) if !is_corrupt => {
                        return Err(format!("{} replays differently: {error}", piece.display()));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// The last synced run replays as far as it was synced.
    fn check_synced_run(&self) -> CheckResult {
        let (run, steps) = &self.synced;
        if *steps == 0 || self.disk.is_corrupt_below(run) {
            return Ok(());
        }
        let pieces = self.pieces(run).unwrap_or_default();
        let open = |place: usize| Replay::open(self.read(&pieces[place]).ok()?).ok();
        let begin = if pieces.is_empty() { None } else { open(0) };
        let begin = begin.ok_or_else(|| format!("{} was synced and is lost", run.display()))?;
        let rolled = roll_forward(&begin.game, pieces.len(), open)?;
        let played = rolled.map_or(0, |rolled| rolled.game.steps());
        match played < *steps && begin.game.winner().is_none() {
            true => Err(format!(
                "{} replays to step {played}, and the journal was synced until {steps}",
                run.display()
            )),
            false => Ok(()),
        }
    }

    /// The journal replays to the last state that peers were sent, and sends the lines that viewers received. Runs ended by a
    /// disk fault end with a whole record.
    fn check_sent(&mut self, engine: &Engine, received: &[Received]) -> CheckResult {
        let Some(run) = self.run.clone() else {
            return Ok(());
        };
        for ended in self.runs()?.into_iter().filter(|other| *other != run) {
            if self.begun.contains(&ended) {
                self.check_ended(&ended)?;
            }
        }
        let Some(last) = self.pieces(&run).ok().and_then(|pieces| pieces.last().cloned()) else {
            return Ok(());
        };
        let bytes = self.read(&last)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let verified = Replay::open(bytes)
            .map_err(|error| format!("the journal cannot be opened: {error}"))?
            .verify()
            .map_err(|error| format!("the replay diverges: {error}"))?;
        let (replayed, sent) = (verified.game, engine.game());
        let is_other = !engine.is_ahead_of_journal() && replayed.digest() != sent.digest();
        if replayed.steps() < self.sent_steps || is_other {
            return Err(format!(
                "peers were sent {} steps of the game, and the journal replays {}",
                self.sent_steps,
                replayed.steps()
            ));
        }
        if !received.is_empty() && self.is_one_run {
            let lines = replayed::check(received, &self.recording(&run)?, engine.config())?;
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
        let ending = Replay::open(self.read(last)?)
            .ok()
            .and_then(|replay| replay.verify().ok());
        match ending.map(|verified| verified.ending) {
            Some(
                Ending::CutOff {
                    why: CutShort::Nothing,
                    ..
                }
                | Ending::Continued,
            ) => Ok(()),
            other => Err(format!("{} ended with {other:?}", last.display())),
        }
    }

    /// All pieces of a run, joined.
    fn recording(&self, run: &Path) -> Result<Arc<Recording>, String> {
        let pieces = self
            .pieces(run)?
            .into_iter()
            .map(|piece| IndexedPiece::new(self.read(&piece)?, 0).map_err(|error| error.to_string()));
        let recording = Recording::join(pieces.collect::<Result<_, String>>()?);
        recording.map(Arc::new).map_err(|error| error.to_string())
    }

    fn note_stats(&mut self, event_loop: &mut EventLoop) {
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
    ) -> Result<Ended, String> {
        self.note_stats(&mut event_loop);
        let engine = event_loop.engine();
        let (config, saved) = (engine.config().clone(), engine.state_to_save().digest().whole);
        let last = engine.game().winner().is_none().then(|| engine.game().digest());
        let ended = event_loop.finish(why);
        self.check_finished(&config, saved, last, received)?;
        Ok(ended)
    }

    fn check_finished(
        &mut self,
        config: &EngineConfig,
        saved: u64,
        last: Option<u64>,
        received: &[Received],
    ) -> CheckResult {
        self.coverage.count("writes refused", self.disk.refused());
        self.check_pieces()?;
        self.check_synced_run()?;
        if self.plan.save_every > RealSpan::ZERO {
            let newest = newest_good(&self.disk, Path::new(SAVES)).map_err(|error| error.to_string())?;
            if newest.is_none_or(|(game, _)| game.digest() != saved) {
                return Err("the last save does not hold the final state".to_owned());
            }
        }
        let Some(run) = self
            .run
            .clone()
            .filter(|run| self.pieces(run).is_ok_and(|pieces| !pieces.is_empty()))
        else {
            return Ok(());
        };
        let recording = self.recording(&run)?;
        if *recording.ends() != RecordingEnd::Closed {
            return Err(format!("the journal is not closed: {:?}", recording.ends()));
        }
        let (game, _) = recording
            .seek(recording.end())
            .map_err(|error| error.to_string())?;
        if last.is_some_and(|last| game.digest() != last) {
            return Err("the replay ends in another state than the run".to_owned());
        }
        if self.is_one_run {
            let lines = replayed::check(received, &recording, config)?;
            self.coverage.count("lines compared with the journal", lines);
        }
        let worlds = playback::check_playback(&recording, &mut self.rng)?;
        self.coverage.count("worlds compared in recordings", worlds);
        Ok(())
    }
}
