//! The shipped recorder and autosave on a faulty disk, and checks of what a crash leaves there.
//!
//! The host calls them as the server's loop does: the journal before any output, slow jobs on a worker. A crash comes
//! between two passes or within a job.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trantor_engine::Engine;
use trantor_game::journal::{CutShort, Ending};
use trantor_game::replay::{IndexedPiece, Recording, RecordingEnd, roll_forward};
use trantor_game::{Game, Replay};
use trantor_server::autosave::{Autosave, newest_good};
use trantor_server::recorder::{Recorder, RecorderConfig, pieces_of, runs_in};
use trantor_server::replay::read_from;
use trantor_server::storage::{self, Done, Job, JobKind};
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
    shipped: storage::Storage,
    pub(crate) disk: Disk,
    plan: plan::Storage,
    rng: Rng,
    save_at: Option<RealTime>,
    /// Jobs of the worker, each with the instant at which it is done.
    jobs: VecDeque<(RealTime, Job)>,
    /// Run and deadlines in its journal at the last write,
    written: (PathBuf, u64),
    /// at the start of the current sync, and at the last completed sync.
    syncing: (PathBuf, u64),
    synced: (PathBuf, u64),
    /// Runs of this server process.
    begun: BTreeSet<PathBuf>,
    /// Pieces of the current sync, with their lengths.
    to_sync: Vec<(PathBuf, usize)>,
    /// Deadlines fired when bytes were last sent.
    sent_steps: u64,
    /// The current save, and completed saves by file.
    saving: Option<Saved>,
    saved: BTreeMap<PathBuf, Saved>,
    pub(crate) coverage: Coverage,
}

/// A saved state.
#[derive(Clone, Debug)]
struct Saved {
    digest: u64,
    /// The run that was recorded at that time.
    run: PathBuf,
}

impl Storage {
    /// An empty disk; recorder and autosave start with [`Self::start`].
    pub(crate) fn new(seed: u64, plan: plan::Storage, injector: FaultInjector) -> Self {
        Self {
            shipped: storage::Storage::default(),
            disk: Disk::new(plan, injector, Rng::new(seed, 5)),
            plan,
            rng: Rng::new(seed, 6),
            save_at: None,
            jobs: VecDeque::new(),
            written: Default::default(),
            syncing: Default::default(),
            synced: Default::default(),
            begun: BTreeSet::new(),
            to_sync: Vec::new(),
            sent_steps: 0,
            saving: None,
            saved: BTreeMap::new(),
            coverage: Coverage::default(),
        }
    }

    /// Starts recorder and autosave as the server does.
    pub(crate) fn start(&mut self, engine: &mut Engine, now: RealTime) -> CheckResult {
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
        self.shipped.recorder = Some(recorder);
        engine.start_recording();
        if self.plan.save_every > RealSpan::ZERO {
            let mut autosave = Autosave::new(files(), Path::new(SAVES), SAVES_KEPT).map_err(failed)?;
            engine.expect_saves();
            let attempts = (0..ATTEMPTS_MAX).map(|_| autosave.save_now(engine.state_to_save()));
            attempts.reduce(|first, next| first.or(next));
            self.shipped.autosave = Some(autosave);
            self.save_at = Some(now + self.plan.save_every);
            self.begin_save(engine);
            self.note_saved();
        }
        self.sent_steps = 0;
        self.begun.clear();
        Ok(())
    }

    /// Instant of the next job, save or deadline of the recorder.
    pub(crate) fn wake(&self) -> Option<RealTime> {
        let job = self.jobs.front().map(|(at, _)| *at);
        [self.shipped.next_deadline(), self.save_at, job]
            .into_iter()
            .flatten()
            .min()
    }

    /// Storage part of a pass, before output.
    pub(crate) fn pass(&mut self, engine: &mut Engine, now: RealTime) -> CheckResult {
        while let Some((_, job)) = self.jobs.pop_front_if(|(at, _)| *at <= now) {
            self.finish_job(job, engine, now)?;
        }
        if self.save_at.is_some_and(|at| at <= now) {
            self.save_at = Some(now + self.plan.save_every);
            self.save_now(engine);
        }
        self.shipped.pass(engine, now);
        self.note_written(engine);
        while let Some(job) = self.shipped.next_job(now) {
            match job.kind() {
                JobKind::Sync => {
                    self.syncing = self.written.clone();
                    self.to_sync = self.disk.lengths(&self.written.0, ".trj");
                }
                JobKind::Save if self.saving.is_none() => self.begin_save(engine),
                JobKind::Save | JobKind::Pack => {}
            }
            let begins = self.jobs.back().map_or(now, |(at, _)| *at);
            // Packing takes the longest, so that pieces queue up.
            let parts = if job.kind() == JobKind::Pack { 4 } else { 1 };
            let takes = parts * self.rng.below(self.plan.job_ms_max + 1);
            let takes = RealSpan::from_millis(i64::from(takes));
            self.jobs.push_back((begins + takes, job));
        }
        if self.rng.one_in(self.plan.removed_one_in)
            && let Some(run) = self.run()
        {
            self.disk.remove_all(&run);
            (self.syncing, self.synced) = Default::default();
            self.to_sync.clear();
            self.coverage.count("runs removed", 1);
        }
        Ok(())
    }

    /// Writes the journal before bytes are sent.
    pub(crate) fn write_ahead(&mut self, engine: &mut Engine, now: RealTime) {
        self.shipped.write_ahead(engine, now);
        self.note_written(engine);
        self.sent_steps = engine.game().steps();
    }

    fn note_written(&mut self, engine: &Engine) {
        if let (false, Some(run)) = (engine.is_ahead_of_journal(), self.run()) {
            if self.written.0 != run {
                self.begun.insert(run.clone());
            }
            self.written = (run, engine.game().steps());
        }
    }

    /// Requests a save after a victory.
    pub(crate) fn save_soon(&mut self) {
        self.shipped.save_soon();
    }

    /// Starts a save unless one is running or saves are off.
    pub(crate) fn save_now(&mut self, engine: &Engine) {
        if self.shipped.save(engine).is_ok() {
            self.begin_save(engine);
        }
    }

    fn begin_save(&mut self, engine: &Engine) {
        self.saving = Some(Saved {
            digest: engine.state_to_save().digest().whole,
            run: self.run().unwrap_or_default(),
        });
    }

    /// The current save has its final name.
    fn note_saved(&mut self) {
        let entries = self.disk.list(Path::new(SAVES)).unwrap_or_default();
        let files: BTreeSet<PathBuf> = entries.into_iter().map(|entry| entry.path).collect();
        self.saved.retain(|file, _| files.contains(file));
        if let (Some(file), Some(saved)) = (files.last(), self.saving.take()) {
            self.saved.insert(file.clone(), saved);
            self.coverage.count("saves", 1);
        }
    }

    fn finish_job(&mut self, job: Job, engine: &mut Engine, now: RealTime) -> CheckResult {
        let kind = job.kind();
        let done = self.disk.job(None, || job.run());
        match done {
            Ok(Done::Saved(Some(_))) => self.note_saved(),
            Ok(Done::Synced(true)) => {
                self.synced = std::mem::take(&mut self.syncing);
                if let Some(piece) = self.disk.unsynced(&std::mem::take(&mut self.to_sync)) {
                    return Err(format!("a sync left {} unsynced", piece.display()));
                }
            }
            Ok(Done::Packed) => self.coverage.count("pieces packed", 1),
            _ => {}
        }
        if kind == JobKind::Save {
            self.saving = None;
        }
        self.shipped.end_job(kind, done, engine, now);
        Ok(())
    }

    /// The current run.
    fn run(&self) -> Option<PathBuf> {
        self.shipped.recorder.as_ref()?.run().map(Path::to_owned)
    }

    /// Whether this process records one run without failures.
    fn is_one_run(&self) -> bool {
        let recorder = self.shipped.recorder.as_ref();
        recorder.is_some_and(|recorder| recorder.stats().failures == 0)
    }

    /// Stops all faults and autosaves.
    pub(crate) fn stop_faults(&mut self) {
        self.disk.stop_faults();
        self.plan.removed_one_in = 0;
        self.save_at = None;
    }

    /// Power failure: checks what is left on the disk, and returns the game to resume, if there is a save.
    pub(crate) fn crash(&mut self, engine: &Engine, received: &[Received]) -> Result<Option<Game>, String> {
        self.check_sent(engine, received)?;
        self.note_stats();
        if let Some((_, job)) = self.jobs.pop_front() {
            let power = self.rng.below(OPERATIONS_MAX);
            let _dies_with_the_process = self.disk.job(Some(power), || job.run());
        }
        let (shipped, jobs) = (std::mem::take(&mut self.shipped), std::mem::take(&mut self.jobs));
        self.disk.job(Some(0), || drop((shipped, jobs)));
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
        if let Some(saved) = saved.as_ref().filter(|saved| saved.digest != game.digest()) {
            return Err(format!("{} does not hold {saved:?}", file.display()));
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
        let rolled = roll_forward(begin.game(), pieces.len(), open)?;
        let played = rolled.map_or(0, |rolled| rolled.game.steps());
        match played < *steps && begin.game().winner().is_none() {
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
        let Some(run) = self.run() else { return Ok(()) };
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
        if !received.is_empty() && self.is_one_run() {
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

    fn note_stats(&mut self) {
        if let Some(recorder) = &self.shipped.recorder {
            self.coverage.count("runs resumed", recorder.stats().resumed);
        }
    }

    /// Clean shutdown: the journal is closed, ends with the current game and can be played with the lines that viewers
    /// received; the game is saved.
    pub(crate) fn finish(
        &mut self,
        engine: &mut Engine,
        received: &[Received],
        now: RealTime,
    ) -> CheckResult {
        while let Some((_, job)) = self.jobs.pop_front() {
            self.finish_job(job, engine, now)?;
        }
        self.note_stats();
        let (run, is_one_run) = (self.run(), self.is_one_run());
        std::mem::take(&mut self.shipped).finish(engine, now);
        self.coverage.count("writes refused", self.disk.refused());
        self.check_pieces()?;
        if self.plan.save_every > RealSpan::ZERO {
            let newest = newest_good(&self.disk, Path::new(SAVES)).map_err(|error| error.to_string())?;
            if newest.is_none_or(|(game, _)| game.digest() != engine.state_to_save().digest().whole) {
                return Err("the last save does not hold the final state".to_owned());
            }
        }
        let Some(run) = run.filter(|run| self.pieces(run).is_ok_and(|pieces| !pieces.is_empty())) else {
            return Ok(());
        };
        let recording = self.recording(&run)?;
        if *recording.ends() != RecordingEnd::Closed {
            return Err(format!("the journal is not closed: {:?}", recording.ends()));
        }
        let (last, _) = recording
            .seek(recording.end())
            .map_err(|error| error.to_string())?;
        if last.digest() != engine.game().digest() && engine.game().winner().is_none() {
            return Err("the replay ends in another state than the run".to_owned());
        }
        if is_one_run {
            let lines = replayed::check(received, &recording, engine.config())?;
            self.coverage.count("lines compared with the journal", lines);
        }
        let worlds = playback::check_playback(&recording, &mut self.rng)?;
        self.coverage.count("worlds compared in recordings", worlds);
        Ok(())
    }
}
