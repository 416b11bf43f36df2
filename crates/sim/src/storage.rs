//! The shipped recorder and autosave on a disk that fails, and what a crash must leave there.
//!
//! The host calls them as the server's loop does: a pass of the journal before anything is sent, jobs on a worker that
//! takes its time. A crash comes between two passes, and amid any job.

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
use crate::fault::Sabotage;
use crate::plan;
use crate::replayed::{self, Received};
use crate::rng::Rng;
use crate::{Reached, rerun};

/// Saves kept.
const SAVES_KEPT: usize = 3;

/// Operations on the disk that a job does before the power fails, at most. A save does eight.
const OPERATIONS_MAX: u32 = 10;

/// Attempts to write the first save of a server whose disk refuses for a while.
const ATTEMPTS_MAX: u32 = 100;

/// See the module.
pub(crate) struct Storage {
    shipped: storage::Storage,
    pub(crate) disk: Disk,
    plan: plan::Storage,
    rng: Rng,
    save_at: Option<RealTime>,
    /// What the worker has to do, each with the time at which it is done.
    jobs: VecDeque<(RealTime, Job)>,
    /// The run, and the deadlines that its journal has, since it was last written.
    written: (PathBuf, u64),
    /// The same when the sync under way began, and of the last one that was done.
    syncing: (PathBuf, u64),
    synced: (PathBuf, u64),
    /// The runs of this life of the server.
    begun: BTreeSet<PathBuf>,
    /// The pieces that the sync under way is about, with their lengths.
    to_sync: Vec<(PathBuf, usize)>,
    /// Deadlines carried out when something was last sent.
    sent_steps: u64,
    /// The save under way, and those that are done, by their files.
    saving: Option<Saved>,
    saved: BTreeMap<PathBuf, Saved>,
    pub(crate) reached: Reached,
}

/// A state that was saved.
#[derive(Clone, Debug)]
struct Saved {
    digest: u64,
    /// The run of the journal in which it was.
    run: PathBuf,
}

impl Storage {
    /// A new disk, and nothing that is kept on it until [`Self::start`].
    pub(crate) fn new(seed: u64, plan: plan::Storage, sabotage: Sabotage) -> Self {
        Self {
            shipped: storage::Storage::default(),
            disk: Disk::new(plan, sabotage, Rng::new(seed, 5)),
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
            reached: Reached::default(),
        }
    }

    /// Begins a life of the server, as it does itself.
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

    /// When it wants to do something.
    pub(crate) fn wake(&self) -> Option<RealTime> {
        let job = self.jobs.front().map(|(at, _)| *at);
        [self.shipped.next_deadline(), self.save_at, job]
            .into_iter()
            .flatten()
            .min()
    }

    /// What a pass does before anything is sent.
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
            // Packing takes the longest, and pieces wait for it.
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
            self.reached.count("runs removed", 1);
        }
        Ok(())
    }

    /// Something is about to be sent.
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

    /// Saves as soon as it can: a team has won.
    pub(crate) fn save_soon(&mut self) {
        self.shipped.save_soon();
    }

    /// Begins a save, unless one is being written, or none are kept.
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

    /// The save under way has been given its name.
    fn note_saved(&mut self) {
        let entries = self.disk.list(Path::new(SAVES)).unwrap_or_default();
        let files: BTreeSet<PathBuf> = entries.into_iter().map(|entry| entry.path).collect();
        self.saved.retain(|file, _| files.contains(file));
        if let (Some(file), Some(saved)) = (files.last(), self.saving.take()) {
            self.saved.insert(file.clone(), saved);
            self.reached.count("saves", 1);
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
                    return Err(format!("a sync was done, and left {} unsynced", piece.display()));
                }
            }
            Ok(Done::Packed) => self.reached.count("pieces packed", 1),
            _ => {}
        }
        if kind == JobKind::Save {
            self.saving = None;
        }
        self.shipped.end_job(kind, done, engine, now);
        Ok(())
    }

    /// The run being recorded, if one is.
    fn run(&self) -> Option<PathBuf> {
        self.shipped.recorder.as_ref()?.run().map(Path::to_owned)
    }

    /// Whether every run of this life goes on to its end: nothing was refused.
    fn is_one_run(&self) -> bool {
        let recorder = self.shipped.recorder.as_ref();
        recorder.is_some_and(|recorder| recorder.stats().failures == 0)
    }

    /// From now on nothing fails, and no save is begun.
    pub(crate) fn calm(&mut self) {
        self.disk.calm();
        self.plan.removed_one_in = 0;
        self.save_at = None;
    }

    /// The power fails. Checks what is left, and answers the game to go on with, if there is a save.
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
        self.reached.count("files rotten", self.disk.rot());
        self.check_pieces()?;
        self.check_synced_run()?;
        self.resume()
    }

    /// The shipped start after a crash: the game that it goes on with is as new as it must be, and has been.
    fn resume(&mut self) -> Result<Option<Game>, String> {
        let (saves, recordings) = (Path::new(SAVES), Path::new(RECORDINGS));
        let good = self.saved.iter().rev().find(|(file, _)| !self.disk.has_rot(file));
        let newest = match newest_good(&self.disk, saves) {
            Ok(newest) => newest,
            Err(_) if good.is_none() => {
                // All are rotten or lost: they are moved away, and a new game begins.
                self.disk.remove_all(saves);
                self.saved.clear();
                return Ok(None);
            }
            Err(error) => return Err(format!("a good save was saved, and {error}")),
        };
        let file = newest.as_ref().map(|(_, file)| file);
        if let Some((good, _)) = good.filter(|(good, _)| file < Some(good)) {
            return Err(format!(
                "the game goes on from an older save than {}",
                good.display()
            ));
        }
        let Some((game, file)) = newest else {
            return Ok(None);
        };
        let saved = self.saved.get(&file).cloned();
        if let Some(saved) = saved.as_ref().filter(|saved| saved.digest != game.digest()) {
            return Err(format!("{} holds another state than {saved:?}", file.display()));
        }
        let rolled =
            storage::resume(&self.disk, saves, Some(recordings)).map_err(|error| error.to_string())?;
        let rolled = rolled.ok_or("a save was lost between two looks")?;
        let is_ahead = rolled.steps() > game.steps();
        self.reached.count("saves rolled forward", u64::from(is_ahead));
        if is_ahead && !self.has_passed(&rolled)? {
            let steps = rolled.steps();
            return Err(format!(
                "a save was rolled forward to step {steps}, and no game was there"
            ));
        }
        let (run, steps) = &self.synced;
        let must_reach = saved.is_some_and(|saved| saved.run == *run) && !self.disk.has_rot(run);
        match must_reach && rolled.winner().is_none() && rolled.steps() < *steps {
            true => Err(format!(
                "the game goes on from step {} of {}, and the journal was synced until {steps}",
                rolled.steps(),
                file.display()
            )),
            false => Ok(Some(rolled)),
        }
    }

    /// Whether a run has passed through a game, as the bytes tell that the recorder appended, whatever became of them.
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

    /// The newest save is gone, or is an older one.
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

    /// Every piece plays to its last whole record; one with another bit is never taken for whole.
    fn check_pieces(&self) -> CheckResult {
        for run in self.runs()? {
            for piece in self.pieces(&run)? {
                let is_rotten = self.disk.has_rot(&piece);
                let opened = self
                    .read(&piece)
                    .and_then(|bytes| Replay::open(bytes).map_err(|error| error.to_string()));
                let verified = opened.ok().map(Replay::verify);
                match verified {
                    Some(Ok(verified)) if is_rotten && verified.ending == Ending::Closed => {
                        return Err(format!("{}: another bit was not noticed", piece.display()));
                    }
                    Some(Err(error)) if !is_rotten => {
                        return Err(format!("{} is played otherwise: {error}", piece.display()));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// The run that was synced last plays as far as it was synced.
    fn check_synced_run(&self) -> CheckResult {
        let (run, steps) = &self.synced;
        if *steps == 0 || self.disk.has_rot(run) {
            return Ok(());
        }
        let pieces = self.pieces(run).unwrap_or_default();
        let open = |place: usize| Replay::open(self.read(&pieces[place]).ok()?).ok();
        let begin = if pieces.is_empty() { None } else { open(0) };
        let begin = begin.ok_or_else(|| format!("{} was synced, and is lost", run.display()))?;
        let rolled = roll_forward(begin.game(), pieces.len(), open)?;
        let played = rolled.map_or(0, |rolled| rolled.game.steps());
        match played < *steps && begin.game().winner().is_none() {
            true => Err(format!(
                "{} plays to step {played}, and the journal was synced until {steps}",
                run.display()
            )),
            false => Ok(()),
        }
    }

    /// The journal plays to the state of which peers were sent the last, and sends the lines that viewers received. Runs
    /// that the disk ended are whole as far as they go.
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
            .map_err(|error| format!("the replay parts from the run: {error}"))?;
        let (replayed, sent) = (verified.game, engine.game());
        let is_other = !engine.is_ahead_of_journal() && replayed.digest() != sent.digest();
        if replayed.steps() < self.sent_steps || is_other {
            return Err(format!(
                "peers were sent {} steps of the game, and the journal plays {}",
                self.sent_steps,
                replayed.steps()
            ));
        }
        if !received.is_empty() && self.is_one_run() {
            let lines = replayed::check(received, &self.recording(&run)?, engine.config())?;
            self.reached.count("lines compared with the journal", lines);
        }
        Ok(())
    }

    /// A run that the disk ended ends with a whole record.
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

    /// The journal of a run, in all its pieces.
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
            self.reached.count("runs resumed", recorder.stats().resumed);
        }
    }

    /// The server ends in order: its journal is whole, ends with the game as it is, and can be shown, with the lines that
    /// viewers received; and the game is saved.
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
        self.reached.count("writes refused", self.disk.refused());
        self.check_pieces()?;
        if self.plan.save_every > RealSpan::ZERO {
            let newest = newest_good(&self.disk, Path::new(SAVES)).map_err(|error| error.to_string())?;
            if newest.is_none_or(|(game, _)| game.digest() != engine.state_to_save().digest().whole) {
                return Err("the last save holds another state than the game ended with".to_owned());
            }
        }
        let Some(run) = run.filter(|run| self.pieces(run).is_ok_and(|pieces| !pieces.is_empty())) else {
            return Ok(());
        };
        let recording = self.recording(&run)?;
        if *recording.ends() != RecordingEnd::Closed {
            return Err(format!(
                "the journal does not end in order: {:?}",
                recording.ends()
            ));
        }
        let (last, _) = recording
            .seek(recording.end())
            .map_err(|error| error.to_string())?;
        if last.digest() != engine.game().digest() && engine.game().winner().is_none() {
            return Err("the replay ends otherwise than the run".to_owned());
        }
        if is_one_run {
            let lines = replayed::check(received, &recording, engine.config())?;
            self.reached.count("lines compared with the journal", lines);
        }
        let worlds = rerun::watch(&recording, &mut self.rng)?;
        self.reached.count("worlds compared in recordings", worlds);
        Ok(())
    }
}
