//! The recording of a run shown to a viewer, who jumps about in it.
//!
//! The same engine as in the run, moved by the journal, and the real client: after every tick of which it was told all,
//! its mirror equals the world, wherever it went before; and the end is the end of the run. A viewer in
//! text watches too, and an operator does as he likes.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use trantor_client::{Client, ClientConfig, ClientEvent, ControlRequest, Language, Scene};
use trantor_engine::{AdminRequest, ConnId, Engine, EngineConfig, FiredKind, Input, PlaybackStart};
use trantor_game::replay::Recording;
use trantor_time::{GameSpan, GameTime, RealSpan, RealTime};

use crate::access::Allowed;
use crate::actors::{Actor, CheckResult, Moment, TextViewer};
use crate::fault::Sabotage;
use crate::operator::{self, AdminOp};
use crate::picture::{Picture, Pictures};
use crate::rng::Rng;

/// Jumps in each recording.
const JUMPS: u32 = 6;

/// The longest that is watched between two jumps, in milliseconds: a few ticks.
const WATCHED_MS_MAX: u32 = 300;

/// The connection of the one viewer.
const CONN: ConnId = ConnId {
    slot: 0,
    generation: 0,
};

/// The connection of the one viewer in text.
const TEXT_CONN: ConnId = ConnId {
    slot: 1,
    generation: 0,
};

/// A server that shows a recording, and its viewers, with nothing between them.
struct Rerun {
    engine: Engine,
    client: Client,
    text_viewer: TextViewer,
    /// How often the recording was moved.
    seeks: u64,
    pictures: Pictures,
    scene: Scene,
    now: RealTime,
    mirrors_compared: u64,
}

/// Watches `recording`; answers how often the mirror was compared.
pub(crate) fn watch(recording: &Arc<Recording>, rng: &mut Rng) -> Result<u64, String> {
    let now = RealTime::from_nanos(1_000_000_000);
    let start = PlaybackStart {
        at: moment(recording, rng),
        follows_speed: rng.one_in(2),
        is_paused: rng.one_in(4),
    };
    let config = EngineConfig::new(recording.config().clone());
    let text_viewer = TextViewer::new(&config, false);
    let engine = Engine::play(config, recording, start, now).map_err(|error| error.to_string())?;
    let client = ClientConfig {
        language: Language::Frames,
        program: "sim".to_owned(),
        token: None,
    };
    let mut rerun = Rerun {
        engine,
        client: Client::new(client, now),
        text_viewer,
        seeks: 0,
        pictures: Pictures::new(),
        scene: Scene::default(),
        now,
        mirrors_compared: 0,
    };
    let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
    rerun.engine.begin_pass(now);
    rerun.engine.handle(Input::Opened { conn: CONN, peer }, now);
    rerun.engine.handle(
        Input::Opened {
            conn: TEXT_CONN,
            peer,
        },
        now,
    );
    rerun.text_viewer.opened(None, now);
    rerun.watch_for(rng)?;
    for _ in 0..JUMPS {
        let to = moment(recording, rng);
        if rng.one_in(2) {
            rerun.client.seek(to).map_err(|error| error.to_string())?;
        } else {
            rerun.ask(AdminRequest::Seek(to))?;
            let to = to.clamp(recording.begin(), recording.end());
            if rerun.engine.game_now() != to {
                return Err(format!(
                    "a recording was moved to {to:?}, and is at {:?}",
                    rerun.engine.game_now()
                ));
            }
        }
        rerun.watch_for(rng)?;
        match AdminOp::draw(recording.config(), rng) {
            // The two are to stay.
            AdminOp::Engine(AdminRequest::Disconnect(_) | AdminRequest::Seek(_)) | AdminOp::Save => {}
            AdminOp::Engine(request) => rerun.ask(request)?,
        }
        rerun.watch_for(rng)?;
        // What makes no sense at the moment is refused, as it is to a person.
        let _refusal = rerun.client.request(match rng.below(3) {
            0 => ControlRequest::Pause,
            1 => ControlRequest::Resume,
            _ => ControlRequest::SetFrequency(rng.between(1, 3_000)),
        });
        rerun.watch_for(rng)?;
    }
    rerun
        .client
        .seek(recording.end())
        .map_err(|error| error.to_string())?;
    rerun.watch_for(rng)?;
    rerun.text_viewer.check_done(rerun.now)?;
    let (last, _) = recording
        .seek(recording.end())
        .map_err(|error| error.to_string())?;
    match rerun.engine.game().digest() == last.digest() {
        true => Ok(rerun.mirrors_compared),
        false => Err("a recording that is shown ends otherwise than it was".to_owned()),
    }
}

/// Any moment of the recording, and now and then one outside.
fn moment(recording: &Recording, rng: &mut Rng) -> GameTime {
    let length_nu = (recording.end() - recording.begin()).as_nanounits();
    let part = i128::from(rng.between(0, 1_100));
    recording.begin() + GameSpan::from_nanounits(length_nu * part / 1_000)
}

impl Rerun {
    fn ask(&mut self, request: AdminRequest) -> CheckResult {
        let _refusal = operator::ask(&mut self.engine, request, self.now)?;
        self.exchange()
    }

    fn watch_for(&mut self, rng: &mut Rng) -> CheckResult {
        let until = self.now + RealSpan::from_millis(i64::from(rng.between(1, WATCHED_MS_MAX)));
        self.pass()?;
        while let Some(wake) = self.engine.poll_timeout().filter(|wake| *wake <= until) {
            self.now = self.now.max(wake);
            self.pass()?;
        }
        self.now = until;
        self.pass()?;
        self.client.scene(self.now, &mut self.scene);
        Ok(())
    }

    fn pass(&mut self) -> CheckResult {
        self.engine.begin_pass(self.now);
        self.exchange()?;
        while let Some(fired) = self.engine.fire_next(self.now) {
            self.exchange()?;
            if fired.kind == FiredKind::Tick && self.engine.is_up_to_date(CONN) {
                self.compare()?;
            }
        }
        self.exchange()?;
        if self.text_viewer.knows_world() && self.engine.is_up_to_date(TEXT_CONN) {
            let truth = Picture::of_world(self.engine.game().world());
            self.text_viewer
                .check_world(&truth, None)
                .map_err(|reason| format!("in a recording {reason}"))?;
        }
        Ok(())
    }

    /// Hands everything over, both ways, until nobody has anything to say.
    fn exchange(&mut self) -> CheckResult {
        self.exchange_in_text()?;
        if self.client.next_timeout().is_some_and(|at| at <= self.now) {
            self.client.handle_timeout(self.now);
        }
        loop {
            let told = self.engine.unsent(CONN).to_vec();
            self.engine.sent(CONN, told.len());
            self.client.handle(&told, self.now);
            while let Some(event) = self.client.poll_event() {
                if let ClientEvent::Ended { reason, .. } = event {
                    return Err(format!("the viewer of a recording ended: {reason}"));
                }
            }
            let said = self.client.unsent().to_vec();
            self.client.sent(said.len());
            if told.is_empty() && said.is_empty() {
                return Ok(());
            }
            let bytes = &said[..];
            self.engine.handle(Input::Bytes { conn: CONN, bytes }, self.now);
        }
    }

    fn exchange_in_text(&mut self) -> CheckResult {
        let moment = Moment {
            now: self.now,
            game_least: self.engine.game().now(),
            game_most: self.engine.game_now(),
            pictures: &self.pictures,
            conn: TEXT_CONN,
            delay: RealSpan::ZERO,
            allowed: Allowed::ANYTHING,
        };
        let seeks = self.engine.stats(self.now).counters.seeks;
        if std::mem::replace(&mut self.seeks, seeks) < seeks {
            self.text_viewer.jumped();
        }
        loop {
            let told = self.engine.unsent(TEXT_CONN).to_vec();
            self.engine.sent(TEXT_CONN, told.len());
            self.text_viewer.hear(&told, &moment, &mut Sabotage::new(None))?;
            let mut said = Vec::new();
            self.text_viewer.act(&moment, &mut Rng::new(0, 0), &mut said);
            if told.is_empty() && said.is_empty() {
                return Ok(());
            }
            let bytes = &said[..];
            let conn = TEXT_CONN;
            self.engine.handle(Input::Bytes { conn, bytes }, self.now);
        }
    }

    fn compare(&mut self) -> CheckResult {
        let newest = self
            .client
            .newest_world()
            .ok_or("a viewer that is up to date has no world")?
            .map_err(|error| format!("a viewer ended: {error}"))?;
        let picture = Picture::of_world(self.engine.game().world());
        match picture.difference(&Picture::of_viewer(&newest)) {
            Some(difference) => Err(format!(
                "in a recording the viewer's world is not the world: {difference}"
            )),
            None => {
                self.mirrors_compared += 1;
                Ok(())
            }
        }
    }
}
