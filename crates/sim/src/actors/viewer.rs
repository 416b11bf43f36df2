//! The shipped client, over frames or text. Frames and lines go in one by one: some can be dropped, as a fault, and at the
//! end mark of a tick the client's newest world is compared with the server's world at that tick, whatever the latency.

use anyhow::{Context as _, anyhow, bail, ensure};
use trantor_client::{Client, ClientConfig, ClientEvent, Language, LinkState, ProtocolError, Scene};
use trantor_model::{Control, EggId, Step};
use trantor_protocol::text::{Dialect, LineCutter};
use trantor_protocol::wire::{FrameCutter, ToClient, read_frame};
use trantor_time::{GameTime, RealTime};

use super::{Actor, Birth, CheckResult, Context, lines};
use crate::fault::Fault;
use crate::picture::{Picture, Ticked};
use crate::playback::Received;
use crate::rng::Rng;

/// See the module.
pub(super) struct Viewer {
    language: Language,
    client: Client,
    scene: Scene,
    lines: LineCutter,
    frames: FrameCutter,
    /// The line before the first frame has come.
    is_greeted: bool,
    /// A snapshot is incomplete.
    is_loading: bool,
    sends_requests: bool,
    is_over: bool,
    is_refused: bool,
    wake: Option<RealTime>,
    worlds_compared: u64,
    /// Lines of this connection that the client could not use.
    ignored: u64,
    /// The dialect sends inventories of existing agents.
    has_inventories: bool,
    /// Older eggs are not sent to text viewers.
    first_egg: EggId,
    /// There are so many text viewers that the engine serves them in rotation.
    is_rotated: bool,
    /// Lines to be compared with a replay of the journal.
    received: Option<Received>,
    /// The playback that it watches was moved by a seek.
    has_seeked: bool,
}

impl Viewer {
    pub(super) fn new(language: Language, birth: Birth<'_>, rng: &mut Rng) -> Self {
        let config = ClientConfig {
            language,
            program: "sim".to_owned(),
            token: birth.token,
        };
        Self {
            language,
            client: Client::new(config, birth.now),
            scene: Scene::default(),
            lines: LineCutter::new(),
            frames: FrameCutter::new::<ToClient>(),
            is_greeted: false,
            is_loading: false,
            sends_requests: language == Language::Frames && rng.one_in(3),
            is_over: false,
            is_refused: false,
            wake: Some(birth.now),
            worlds_compared: 0,
            ignored: 0,
            has_inventories: !matches!(birth.config.dialect, Dialect::French42 | Dialect::English42),
            first_egg: birth.config.first_egg_told(),
            is_rotated: birth.is_rotated,
            received: None,
            has_seeked: false,
        }
    }

    fn feed(&mut self, bytes: &[u8], context: &Context<'_>) -> CheckResult {
        self.client.handle(bytes, context.now);
        while let Some(event) = self.client.poll_event() {
            let ClientEvent::Ended { error, .. } = event else {
                continue;
            };
            self.is_over = true;
            match error {
                Some(ProtocolError::TokenRefused) if !context.has_right_token => self.is_refused = true,
                None | Some(ProtocolError::Silent { .. } | ProtocolError::NotReading) => {}
                Some(error) => bail!("a viewer failed: {error}"),
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8], context: &Context<'_>) -> CheckResult {
        if let Some(received) = &mut self.received {
            received.push(line);
        }
        if line.starts_with(b"tna ")
            && let LinkState::Loading { tiles, of } = self.client.link(context.now)
        {
            ensure!(tiles >= of, "a text viewer received teams before all tiles");
        }
        self.feed(&[line, b"\n"].concat(), context)?;
        let stats = self.client.stats(context.now);
        let ignored = stats.ignored + stats.ignored_lines;
        let is_new = std::mem::replace(&mut self.ignored, ignored) < ignored;
        // An elevation may have begun before it connected.
        let shown = String::from_utf8_lossy(line);
        ensure!(
            !is_new || line.starts_with(b"pie "),
            "a text viewer cannot use {shown:?}"
        );
        Ok(())
    }

    fn receive_lines(&mut self, bytes: &[u8], context: &Context<'_>) -> CheckResult {
        for line in lines(&mut self.lines, bytes)? {
            let fault = match line.get(..4) {
                Some(b"bct ") if self.is_rotated => Some(Fault::DroppedRotatedLine),
                Some(b"bct ") => Some(Fault::DroppedLine),
                Some(b"pbc ") => Some(Fault::DroppedBroadcast),
                _ => None,
            };
            if !fault.is_some_and(|fault| context.injector.injects(fault)) {
                self.line(&line, context)?;
            }
        }
        Ok(())
    }

    fn receive_frames(&mut self, mut rest: &[u8], context: &Context<'_>) -> CheckResult {
        if !self.is_greeted {
            let end = rest.iter().position(|byte| *byte == b'\n');
            let (greeting, frames) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
            self.is_greeted = end.is_some();
            self.feed(greeting, context)?;
            rest = frames;
        }
        while !rest.is_empty() && !self.is_over {
            let frame = self.frames.next(&mut rest).context("a viewer failed")?;
            let Some(frame) = frame else { continue };
            let message: ToClient = read_frame(frame).context("a viewer failed")?;
            let bytes = [&(frame.len() as u32).to_le_bytes(), frame].concat();
            let is_dropped = match &message {
                ToClient::Ack { .. } => context.injector.injects_from_then_on(Fault::DroppedAck),
                ToClient::Changes { .. } => context.injector.injects(Fault::DroppedDelta),
                ToClient::Snapshot(_) => context.injector.injects(Fault::DroppedSnapshotPart),
                _ => false,
            };
            if !is_dropped {
                self.feed(&bytes, context)?;
                self.check_message(&message, context)?;
            }
        }
        Ok(())
    }

    fn check_message(&mut self, message: &ToClient, context: &Context<'_>) -> CheckResult {
        match message {
            ToClient::Refused { reason, .. } => ensure!(
                !context.has_right_token || reason != "this is not the server's token",
                "a viewer was refused with the right token"
            ),
            ToClient::Snapshot(_) => self.is_loading = true,
            ToClient::SnapshotEnd { .. } => self.is_loading = false,
            ToClient::TickEnd { number } if self.knows_world() => {
                let ticked = context.pictures.get(number);
                // A viewer that was too slow gets a new snapshot instead of changes.
                let sent_all =
                    |ticked: &&Ticked| context.conn.is_some_and(|conn| ticked.up_to_date.contains(&conn));
                if let Some(ticked) = ticked.filter(sent_all) {
                    self.check_world(&ticked.picture, None)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn send_random_request(&mut self, rng: &mut Rng) {
        let request = match rng.below(7) {
            // Refused unless a recording is played.
            6 => Control::Seek(GameTime::from_units(i64::from(rng.below(1_000)))),
            0 => Control::SetFrequency(rng.between(0, 2_000)),
            1 => Control::Pause,
            2 => Control::Resume,
            3 => Control::Step(Step::Units(1)),
            4 => Control::Step(Step::Action),
            _ => Control::Step(Step::Event),
        };
        // A refusal is a valid answer.
        let _refusal = self.client.request(request);
    }
}

impl Actor for Viewer {
    fn receive(&mut self, bytes: &[u8], context: &Context<'_>) -> CheckResult {
        // The text protocol cannot take back a victory.
        self.has_seeked |= context.has_seeked;
        match self.language {
            Language::Text => self.receive_lines(bytes, context),
            Language::Frames => self.receive_frames(bytes, context),
        }
    }

    fn act(&mut self, context: &Context<'_>, rng: &mut Rng, out: &mut Vec<u8>) -> bool {
        if self.client.next_timeout().is_some_and(|at| at <= context.now) {
            self.client.handle_timeout(context.now);
        }
        if self.wake.is_some_and(|at| at <= context.now) {
            // About the frame rate of a display, and the rate of a person's actions.
            self.wake = Some(context.now + rng.millis(20, 90));
            self.client.scene(context.now, &mut self.scene);
            while self.client.poll_feed().is_some() {}
            if self.sends_requests && !context.is_settling && rng.one_in(4) {
                self.send_random_request(rng);
            }
        }
        let unsent = self.client.unsent();
        let count = unsent.len();
        out.extend_from_slice(unsent);
        if count > 0 {
            self.client.sent(count);
        }
        !self.is_refused
    }

    fn wake(&self) -> Option<RealTime> {
        let timeout = self.client.next_timeout();
        let next = self.wake.into_iter().chain(timeout).min();
        next.filter(|_| !self.is_over)
    }

    fn disconnected(&mut self, now: RealTime) -> Option<Received> {
        self.client.closed("the connection broke", now);
        self.received.take()
    }

    fn check_quiet(&self, now: RealTime) -> CheckResult {
        let count = self.client.stats(now).unacknowledged;
        ensure!(
            count == 0 || self.is_over,
            "{count} requests were never acknowledged"
        );
        Ok(())
    }

    fn check_done(&self) -> CheckResult {
        ensure!(
            self.is_over || self.knows_world(),
            "a viewer never received the world"
        );
        Ok(())
    }

    fn knows_world(&self) -> bool {
        !self.is_over && !self.is_loading && self.client.newest_world().is_some()
    }

    fn check_world(&mut self, truth: &Picture, steps: Option<u64>) -> CheckResult {
        self.worlds_compared += 1;
        let newest = self.client.newest_world().context("the world is missing")?;
        let newest = newest.map_err(|error| anyhow!("a viewer failed: {error}"))?;
        let worlds = [truth.clone(), Picture::of_viewer(&newest)];
        let [truth, mut newest] = match self.language {
            Language::Frames => worlds,
            Language::Text => worlds.map(|world| world.in_text(self.first_egg, self.has_inventories)),
        };
        if self.has_seeked && self.language == Language::Text {
            newest.winner = truth.winner;
        }
        truth
            .check(&newest)
            .context("the viewer's world differs from the server's")?;
        if let Some(steps) = steps {
            let received = self.received.get_or_insert_with(|| Received::from(steps));
            received.note_all_until(steps);
        }
        Ok(())
    }

    fn worlds_compared(&self) -> u64 {
        self.worlds_compared
    }
}
