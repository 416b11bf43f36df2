//! What the server's shell keeps on its disk: the journal in pieces, and saves written by jobs.
//!
//! As the real shell does it: the journal is appended to in each pass and synced now and then; a save is captured between
//! two deadlines, and written aside, synced and renamed by a job that takes its time. A crash may come between any two
//! steps. What must then be left is checked here.

mod rolled;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trantor_engine::Engine;
use trantor_game::journal::Ending;
use trantor_game::replay::{IndexedPiece, Recording, RecordingEnd};
use trantor_game::{Game, Replay, Snapshot};
use trantor_time::{RealSpan, RealTime};

use crate::actors::CheckResult;
use crate::disk::Disk;
use crate::fault::{Fault, Sabotage};
use crate::plan::Storage;
use crate::replayed::{self, Received};
use crate::rng::Rng;
use crate::{Reached, rerun};

/// Saves kept.
const SAVES_KEPT: usize = 3;

/// See the module.
pub(crate) struct Keeping {
    pub(crate) disk: Disk,
    storage: Storage,
    rng: Rng,
    run: u32,
    piece: u32,
    piece_bytes: usize,
    /// The disk refused, and the run is no longer recorded.
    has_ended: bool,
    sync_at: Option<RealTime>,
    /// Deadlines carried out when the journal of this run was last synced: it plays that far whatever happens.
    synced_steps: u64,
    save_at: Option<RealTime>,
    save_number: u32,
    job: Option<SaveJob>,
    /// What was saved whole, by the names of the files.
    saved: BTreeMap<String, Saved>,
    /// Files with a bit that was not written so.
    rotten: BTreeSet<String>,
    /// Held back by sabotage.
    held: Option<Vec<u8>>,
    /// The state of the save before, for sabotage.
    state_before: Option<Vec<u8>>,
    pub(crate) reached: Reached,
}

/// A state that was saved.
#[derive(Clone, Copy)]
struct Saved {
    digest: u64,
    /// The run of the journal in which it was.
    run: u32,
}

/// A save on its way to the disk.
struct SaveJob {
    /// When its next step is done.
    at: RealTime,
    step: Step,
    name: String,
    digest: u64,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy)]
enum Step {
    Write,
    Sync,
    Rename,
    List,
}

impl Keeping {
    pub(crate) fn new(seed: u64, storage: Storage, now: RealTime) -> Self {
        let mut keeping = Self {
            disk: Disk::new(storage, Rng::new(seed, 5)),
            rng: Rng::new(seed, 6),
            storage,
            run: 0,
            piece: 0,
            piece_bytes: 0,
            has_ended: false,
            sync_at: None,
            synced_steps: 0,
            save_at: None,
            save_number: 0,
            job: None,
            saved: BTreeMap::new(),
            rotten: BTreeSet::new(),
            held: None,
            state_before: None,
            reached: Reached::default(),
        };
        keeping.begin_run(now);
        keeping
    }

    /// When it wants to do something.
    pub(crate) fn wake(&self) -> Option<RealTime> {
        let job = self.job.as_ref().map(|job| job.at);
        [self.sync_at, self.save_at, job].into_iter().flatten().min()
    }

    /// What a pass does: the journal first, then what is due.
    pub(crate) fn turn(&mut self, engine: &mut Engine, now: RealTime, sabotage: &mut Sabotage) {
        self.keep_journal(engine, now, sabotage);
        if self.sync_at.is_some_and(|at| at <= now) {
            self.sync_at = None;
            let is_one_piece = sabotage.is(Fault::OneSyncedPiece);
            for number in if is_one_piece { self.piece } else { 0 }..=self.piece {
                let name = self.piece_name(number);
                self.disk.sync(&name);
            }
            self.disk.sync_names();
            if !self.has_ended {
                self.synced_steps = engine.game().steps();
            }
        }
        if self.save_at.is_some_and(|at| at <= now) {
            self.save_at = Some(now + self.storage.save_every);
            self.save_now(engine, now, sabotage);
        }
        while let Some(job) = self.job.take_if(|job| job.at <= now) {
            self.work(job, now, sabotage);
        }
    }

    /// Begins a save, unless one is being written.
    pub(crate) fn save_now(&mut self, engine: &Engine, now: RealTime, sabotage: &mut Sabotage) {
        if self.job.is_none() {
            self.capture(&engine.state_to_save(), now, sabotage);
        }
    }

    /// From now on nothing fails, and no save is begun.
    pub(crate) fn calm(&mut self) {
        self.disk.calm();
        self.save_at = None;
    }

    /// The power fails. Checks what is left, and answers the game to go on with, if there is a save.
    pub(crate) fn crash(
        &mut self,
        engine: &Engine,
        now: RealTime,
        received: &[Received],
        sabotage: &mut Sabotage,
    ) -> Result<Option<Game>, String> {
        self.check_sent(engine, received)?;
        if self.storage.loses_save {
            self.lose_newest_save();
        }
        let lasting: Vec<_> = self
            .disk
            .names(".trj")
            .into_iter()
            .chain(self.disk.names(".trs"))
            .collect();
        let lasting: Vec<_> = lasting
            .into_iter()
            .filter_map(|name| Some((self.disk.lasting_bytes(&name)?, name)))
            .collect();
        self.disk.crash();
        self.job = None;
        self.held = None;
        for name in self.disk.names(".aside") {
            self.disk.remove(&name);
        }
        for (bytes, name) in &lasting {
            let left = self.disk.read(name).map_or(0, <[u8]>::len);
            if left < *bytes {
                return Err(format!("{name}: {bytes} bytes were on the disk, {left} are left"));
            }
        }
        let rotten = self.disk.rot();
        self.reached.count("files rotten", rotten.len() as u64);
        self.rotten.extend(rotten);
        let this_run = format!("run-{:04}/", self.run);
        for name in self.disk.names(".trj") {
            // What an earlier crash tore stays torn.
            let of_this_run = |other: &&(usize, String)| other.1 == name && name.starts_with(&this_run);
            let synced = lasting.iter().find(of_this_run).map_or(0, |(bytes, _)| *bytes);
            self.check_piece(&name, synced)?;
        }
        let game = match self.newest_save(&lasting, sabotage)? {
            Some((name, game)) => Some(self.roll_forward(&name, game)?),
            None => None,
        };
        self.begin_run(now);
        Ok(game)
    }

    /// The newest save is gone, or is an older one.
    fn lose_newest_save(&mut self) {
        let mut saves = self.disk.names(".trs");
        let Some(newest) = saves.pop() else { return };
        self.saved.remove(&newest);
        if saves.is_empty() || self.rng.one_in(3) {
            return self.disk.remove(&newest);
        }
        let older = self.rng.pick(&saves);
        self.disk.put_back(older, &newest);
        if self.rotten.contains(older) {
            self.rotten.insert(newest);
        } else {
            self.rotten.remove(&newest);
            if let Some(saved) = self.saved.get(older).copied() {
                self.saved.insert(newest, saved);
            }
        }
    }

    /// The journal of this run is whole, ends with the game as it is, and can be shown, with the lines that viewers received.
    pub(crate) fn check_journal(&mut self, engine: &mut Engine, received: &[Received]) -> CheckResult {
        if self.has_ended {
            for name in self.disk.names(".trj") {
                self.check_piece(&name, 0)?;
            }
            return Ok(());
        }
        for journal in engine.stop_recording() {
            self.append(journal.piece, &journal.bytes)
                .map_err(|_| "a calm disk refuses nothing".to_owned())?;
        }
        for number in 0..=self.piece {
            let bytes = self.read_piece(number)?;
            let verified = Replay::open(bytes)
                .map_err(|error| format!("the journal cannot be opened: {error}"))?
                .verify()
                .map_err(|error| format!("the replay parts from the run: {error}"))?;
            let is_last = number == self.piece;
            if !verified.ending.is_in_order() || is_last != (verified.ending == Ending::Closed) {
                return Err(format!(
                    "the journal does not end in order: {:?}",
                    verified.ending
                ));
            }
            let (replayed, played) = (verified.game.digest(), engine.game().digest());
            if is_last && replayed != played {
                return Err(format!(
                    "the run ended as {played:016x}, its replay as {replayed:016x}"
                ));
            }
        }
        let recording = self.recording()?;
        if *recording.ends() != RecordingEnd::Closed {
            return Err(format!("the recording ends otherwise: {:?}", recording.ends()));
        }
        let lines = replayed::check(received, &recording, engine.config())?;
        self.reached.count("lines compared with the journal", lines);
        let worlds = rerun::watch(&recording, &mut self.rng)?;
        self.reached.count("worlds compared in recordings", worlds);
        Ok(())
    }

    /// The journal of this run, in all its pieces.
    fn recording(&self) -> Result<Arc<Recording>, String> {
        let pieces = (0..=self.piece)
            .map(|number| IndexedPiece::new(self.read_piece(number)?, 0).map_err(|error| error.to_string()));
        let recording = Recording::join(pieces.collect::<Result<_, _>>()?);
        recording.map(Arc::new).map_err(|error| error.to_string())
    }

    fn read_piece(&self, number: u32) -> Result<&[u8], String> {
        let bytes = self.disk.read(&self.piece_name(number));
        bytes.ok_or_else(|| format!("piece {number} is gone"))
    }

    /// The journal plays to the very state of which peers were sent the last, and sends the lines that viewers received.
    fn check_sent(&mut self, engine: &Engine, received: &[Received]) -> CheckResult {
        let Some(bytes) = self.disk.read(&self.piece_name(self.piece)) else {
            return Ok(());
        };
        if self.has_ended || self.held.is_some() {
            return Ok(());
        }
        let verified = Replay::open(bytes)
            .map_err(|error| format!("the journal cannot be opened: {error}"))?
            .verify()
            .map_err(|error| format!("the replay parts from the run: {error}"))?;
        let (replayed, sent) = (verified.game, engine.game());
        if replayed.digest() != sent.digest() {
            return Err(format!(
                "peers were sent {} steps of the game, and the journal plays {}",
                sent.steps(),
                replayed.steps()
            ));
        }
        if !received.is_empty() {
            let lines = replayed::check(received, &self.recording()?, engine.config())?;
            self.reached.count("lines compared with the journal", lines);
        }
        Ok(())
    }

    fn begin_run(&mut self, now: RealTime) {
        self.run += 1;
        self.piece = 0;
        self.piece_bytes = 0;
        self.has_ended = false;
        self.sync_at = None;
        self.synced_steps = 0;
        let is_saving = self.storage.save_every > RealSpan::ZERO;
        self.save_at = is_saving.then(|| now + self.storage.save_every);
    }

    fn keep_journal(&mut self, engine: &mut Engine, now: RealTime, sabotage: &mut Sabotage) {
        while let Some(journal) = engine.poll_journal() {
            if sabotage.is(Fault::ShortJournal)
                && (sabotage.has_struck() || sabotage.strikes(Fault::ShortJournal))
            {
                continue;
            }
            let mut bytes = journal.bytes;
            if let Some(held) = self.held.take() {
                bytes.extend(held);
            } else if sabotage.strikes(Fault::JournalOutOfOrder) {
                self.held = Some(bytes);
                continue;
            }
            if self.append(journal.piece, &bytes).is_err() && !sabotage.is(Fault::UnnoticedRefusal) {
                self.reached.count("writes refused", 1);
                let name = self.piece_name(self.piece);
                self.disk.truncate(&name, self.piece_bytes);
                self.has_ended = true;
                let _untaken = engine.stop_recording();
                return;
            }
            self.sync_at.get_or_insert(now + self.storage.sync_every);
        }
        if engine.is_recording() && self.piece_bytes > self.storage.piece_bytes && self.held.is_none() {
            engine.begin_journal_piece();
        }
    }

    fn append(&mut self, piece: u32, bytes: &[u8]) -> Result<(), crate::disk::Refused> {
        if piece != self.piece {
            self.piece = piece;
            self.piece_bytes = 0;
        }
        let name = self.piece_name(piece);
        self.disk.append(&name, bytes)?;
        self.piece_bytes += bytes.len();
        Ok(())
    }

    fn piece_name(&self, number: u32) -> String {
        format!("run-{:04}/piece-{number:05}.trj", self.run)
    }

    fn capture(&mut self, state: &Snapshot, now: RealTime, sabotage: &mut Sabotage) {
        let bytes = state.encode();
        let before = self.state_before.replace(bytes.clone());
        let bytes = match before {
            Some(before) if sabotage.is(Fault::StaleSave) => before,
            _ => bytes,
        };
        self.save_number += 1;
        self.job = Some(SaveJob {
            at: self.later(now),
            step: Step::Write,
            name: format!("save-{:010}.trs", self.save_number),
            digest: state.digest().whole,
            bytes,
        });
    }

    /// Does one step of a job, and says when the next is done.
    fn work(&mut self, mut job: SaveJob, now: RealTime, sabotage: &mut Sabotage) {
        let aside = format!("{}.aside", job.name);
        job.step = match job.step {
            Step::Write => {
                if self.disk.append(&aside, &job.bytes).is_err() {
                    self.reached.count("writes refused", 1);
                    return self.disk.remove(&aside);
                }
                Step::Sync
            }
            Step::Sync => {
                if !sabotage.is(Fault::HastySave) {
                    self.disk.sync(&aside);
                }
                Step::Rename
            }
            Step::Rename => {
                self.disk.rename(&aside, &job.name);
                Step::List
            }
            Step::List => {
                self.disk.sync_names();
                self.reached.count("saves", 1);
                let (digest, run) = (job.digest, self.run);
                self.saved.insert(job.name, Saved { digest, run });
                let saves = self.disk.names(".trs");
                for old in &saves[..saves.len().saturating_sub(SAVES_KEPT)] {
                    self.disk.remove(old);
                    self.saved.remove(old);
                }
                return;
            }
        };
        job.at = self.later(now);
        self.job = Some(job);
    }

    fn later(&mut self, now: RealTime) -> RealTime {
        now + RealSpan::from_millis(i64::from(self.rng.below(self.storage.job_ms_max + 1)))
    }

    /// A piece plays to its last whole record, and that lies not before what was synced.
    fn check_piece(&self, name: &str, synced: usize) -> CheckResult {
        let bytes = self.disk.read(name).unwrap_or_default();
        let opened = Replay::open(bytes);
        if self.rotten.contains(name) {
            // It may part from the run at any record, but is never taken for whole.
            let ending = opened.ok().and_then(|replay| replay.verify().ok());
            return match ending.map(|verified| verified.ending) {
                Some(Ending::Closed) => Err(format!("{name}: another bit was not noticed")),
                _ => Ok(()),
            };
        }
        let Ok(replay) = opened else {
            // Not even its head was synced.
            return match synced {
                0 => Ok(()),
                _ => Err(format!(
                    "{name}: {synced} bytes were synced, and it cannot be opened"
                )),
            };
        };
        let verified = replay
            .verify()
            .map_err(|error| format!("{name} is played otherwise: {error}"))?;
        match verified.ending {
            Ending::Closed | Ending::Continued => Ok(()),
            Ending::CutOff { whole_bytes, .. } if whole_bytes >= synced => Ok(()),
            Ending::CutOff { whole_bytes, why } => Err(format!(
                "{name}: {synced} bytes were synced, {whole_bytes} are whole: {why}"
            )),
        }
    }

    /// The newest save that is good. Every one whose job was done must be.
    fn newest_save(
        &self,
        lasting: &[(usize, String)],
        sabotage: &mut Sabotage,
    ) -> Result<Option<(String, Game)>, String> {
        let mut newest: Option<(String, Game)> = None;
        for name in self.disk.names(".trs") {
            let bytes = self.disk.read(&name).unwrap_or_default();
            let restored = Snapshot::decode(bytes).and_then(Game::restore);
            let is_rotten = self.rotten.contains(&name);
            let must_be_good = !is_rotten && lasting.iter().any(|(_, other)| *other == name);
            if is_rotten && restored.is_ok() {
                return Err(format!("{name}: another bit was not noticed"));
            }
            match (restored, self.saved.get(&name)) {
                (Ok(game), Some(saved)) if game.digest() != saved.digest => {
                    return Err(format!("{name} holds another state than was saved"));
                }
                (Ok(_), _) if newest.is_some() && sabotage.is(Fault::OlderSave) => {}
                (Ok(game), _) => newest = Some((name, game)),
                (Err(error), _) if must_be_good => return Err(format!("{name} was saved, and {error}")),
                (Err(_), _) => {}
            }
        }
        let newest_good = self.saved.iter().rev().find(|(name, _)| {
            !self.rotten.contains(*name) && lasting.iter().any(|(_, other)| other == *name)
        });
        let newest_name = newest.as_ref().map(|(name, _)| name);
        match newest_good.filter(|(name, _)| newest_name < Some(name)) {
            Some((name, _)) => Err(format!("the game goes on from an older save than {name}")),
            None => Ok(newest),
        }
    }
}
