//! A frame viewer that keeps a copy of the world and notes what it was sent.
//!
//! The copy is that of the client, which checks every value that it applies. The rest of the wire (ticks, stream time, anchors) is
//! checked by the client itself, against this engine, in the simulation.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use trantor_game::World;
use trantor_model::{AgentId, EggId, Shown, ShownBy, TeamId, Tile, World as Copy};
use trantor_protocol::wire::{
    ClientHello, ClockAnchor, FrameCutter, History, RecordingInfo, ServerHello, ServerStats, SnapshotPart,
    ToClient, ToServer, WIRE_VERSION, read_frame, write_frame,
};
use trantor_time::{GameTime, RealSpan};

use super::{Bench, Peer};

/// What it knows.
#[derive(Default)]
pub struct Viewer {
    cutter: Option<FrameCutter>,
    has_greeting: bool,
    hello: Option<ServerHello>,
    /// The copy, complete between end marks.
    pub copy: Option<Copy>,
    loading: Option<Copy>,
    is_in_tick: bool,
    sent: u64,
    acked: u64,
    /// Pieces processed and not credited.
    pub uncredited: u32,
    /// Whether it returns no credit by itself.
    pub withholds_credit: bool,
    pub clock: Option<ClockAnchor>,
    pub stats: Option<ServerStats>,
    /// Reasons of refusals.
    pub refused: Vec<String>,
    /// Notes, marks and cards.
    pub shown: BTreeMap<ShownBy, Shown>,
    pub goodbye: Option<String>,
    /// What happened before, as received last.
    pub history: Option<History>,
    /// The time-line of a recording, and how often that was moved.
    pub recording: Option<RecordingInfo>,
    pub jumps: u32,
    pub snapshots: u32,
    pub parts: u32,
    pub changes: u64,
    /// What it wants to say.
    pub to_send: Vec<u8>,
}

impl Viewer {
    /// One that begins with `first_line`.
    pub fn new(first_line: &str) -> Self {
        let mut viewer = Self {
            cutter: Some(FrameCutter::new::<ToClient>()),
            to_send: format!("{first_line}\n").into_bytes(),
            ..Self::default()
        };
        viewer.say(&ToServer::Hello(ClientHello {
            version: WIRE_VERSION,
            program: "test".to_owned(),
        }));
        viewer
    }

    /// Puts a message behind what it wants to say.
    pub fn say(&mut self, message: &ToServer) {
        write_frame(&mut self.to_send, message).expect("a short message");
        self.sent += 1;
    }

    /// Whether everything it said was processed.
    pub fn is_acked(&self) -> bool {
        self.acked == self.sent
    }

    /// Takes in bytes; answers the messages that they complete.
    pub fn receive(&mut self, mut bytes: &[u8]) -> Vec<ToClient> {
        if !std::mem::replace(&mut self.has_greeting, true) {
            bytes = bytes.strip_prefix(b"WELCOME\n").expect("a greeting in one write");
        }
        let mut cutter = self.cutter.take().expect("it is put back");
        let mut messages = Vec::new();
        while let Some(frame) = cutter.next(&mut bytes).expect("frames of accepted length") {
            let message: ToClient = read_frame(frame).expect("a message of this version");
            messages.push(message.clone());
            self.take(message);
        }
        self.cutter = Some(cutter);
        messages
    }

    fn take(&mut self, message: ToClient) {
        match message {
            ToClient::Hello(hello) => self.hello = Some(hello),
            ToClient::Refused { reason, .. } => self.refused.push(reason),
            ToClient::Goodbye { reason } => self.goodbye = Some(reason),
            ToClient::Waiting { .. }
            | ToClient::Lag(_)
            | ToClient::Links { .. }
            | ToClient::ProbeReply { .. }
            | ToClient::StreamTime { .. } => {}
            ToClient::Snapshot(part) => {
                self.parts += 1;
                self.uncredited += 1;
                let empty = self.empty_copy();
                let loading = self.loading.get_or_insert(empty);
                part.load_into(loading).expect("a piece that fits");
                if !self.withholds_credit {
                    self.credit(1);
                }
            }
            ToClient::SnapshotEnd { .. } => {
                self.snapshots += 1;
                self.copy = self.loading.take();
                let copy = self.copy.as_ref().expect("a snapshot has pieces");
                copy.finish().expect("all tiles came");
            }
            ToClient::TickBegin { .. } => self.is_in_tick = true,
            ToClient::TickEnd { .. } => self.is_in_tick = false,
            ToClient::Changes { at, changes } => {
                assert!(
                    self.is_in_tick && self.loading.is_none(),
                    "changes come within a tick, and none into a snapshot"
                );
                let copy = self.copy.as_mut().expect("changes come after a snapshot");
                for change in &changes {
                    self.changes += 1;
                    copy.apply(at, change).expect("a change that fits the world");
                }
            }
            ToClient::Ack { number } => self.acked = number,
            ToClient::Clock(anchor) => self.clock = Some(anchor),
            ToClient::Recording(info) => self.recording = Some(info),
            ToClient::History(history) => self.history = Some(history),
            ToClient::Sought(anchor) => {
                self.clock = Some(anchor);
                self.loading = Some(self.empty_copy());
                self.jumps += 1;
            }
            ToClient::Stats(stats) => self.stats = Some(stats),
            ToClient::Shown { anew, owners } => {
                if anew {
                    self.shown.clear();
                }
                self.shown.extend(owners);
                self.shown.retain(|_, shown| !shown.is_empty());
            }
            ToClient::Announced { .. } => {}
        }
    }

    fn empty_copy(&self) -> Copy {
        let hello = self.hello.as_ref().expect("a hello came");
        Copy::new(hello.size, hello.teams.len())
    }

    /// Gives credit back for pieces.
    pub fn credit(&mut self, items: u32) {
        self.uncredited -= items;
        self.say(&ToServer::Credit { items });
    }

    /// Whether it has a whole copy and no other is on its way.
    pub fn is_complete(&self) -> bool {
        self.copy.is_some() && self.loading.is_none() && !self.is_in_tick
    }
}

/// Compares a copy with the world itself.
pub fn assert_same(copy: &Copy, world: &World, now: GameTime) {
    let size = world.size();
    let tiles = (0..size.area()).map(|index| *world.ground(size.tile_at(index)));
    assert!(copy.ground().iter().copied().eq(tiles), "the same on each tile");
    // Who comes after the end of a match is shown who was there then, and all are gone.
    if world.winner().is_none() || world.agents().len() > 0 {
        assert_same_agents(copy, world, now);
    }
    let of = |egg: EggId, team: TeamId, tile: Tile| (egg, team, tile);
    let eggs = world.eggs().map(|egg| of(egg.id, egg.team, egg.tile));
    assert!(copy.eggs().map(|egg| of(egg.egg, egg.team, egg.tile)).eq(eggs));
    let elevations = world.elevations();
    let mut elevations: Vec<_> = elevations
        .map(|it| (it.end, it.tile, it.level, it.participants.to_vec()))
        .collect();
    let copied = copy.elevations().iter();
    let mut copied: Vec<_> = copied
        .map(|it| (it.end, it.tile, it.level, it.participants.to_vec()))
        .collect();
    elevations.sort();
    copied.sort();
    assert_eq!(copied, elevations);
    assert_eq!(copy.winner(), world.winner());
}

fn assert_same_agents(copy: &Copy, world: &World, now: GameTime) {
    let ids = |ids: &mut dyn Iterator<Item = AgentId>| ids.collect::<Vec<_>>();
    assert_eq!(
        ids(&mut copy.agents().map(|agent| agent.view.id)),
        ids(&mut world.agents().map(|agent| agent.id))
    );
    for (copied, agent) in copy.agents().zip(world.agents()) {
        let id = agent.id.0;
        assert_eq!(copied.view, agent.view());
        // Once a team has won no agent eats.
        assert!(
            copied.food_ends == agent.food_ends() || world.winner().is_some(),
            "food of agent {id}: {:?} instead of {:?}",
            copied.food_ends,
            agent.food_ends()
        );
        let shown = copied
            .action
            .map(|action| (action.kind, action.start, action.end, action.refused));
        match agent.action() {
            Some(is) => assert_eq!(shown, Some((is.kind, is.start, is.end, is.refused)), "agent {id}"),
            None => assert!(
                shown.is_none_or(|(_, _, end, _)| end <= now),
                "agent {id} does nothing at {now:?}: {shown:?}"
            ),
        }
    }
}

impl Bench {
    /// Connects a frame viewer.
    pub fn watch(&mut self, name: &str) -> usize {
        self.watch_as(name, Viewer::new("TRANTOR"), false)
    }

    /// Connects a frame viewer that gives no credit by itself.
    pub fn watch_without_credit(&mut self, name: &str) -> usize {
        let mut viewer = Viewer::new("TRANTOR");
        viewer.withholds_credit = true;
        self.watch_as(name, viewer, false)
    }

    pub(super) fn watch_as(&mut self, name: &str, viewer: Viewer, is_shown: bool) -> usize {
        // Its hello follows in the pass in which it is greeted, or waits for that.
        let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
        self.open_as(name, local, Some(Box::new(viewer)), is_shown)
    }

    /// A frame viewer.
    pub fn viewer(&mut self, peer: usize) -> &mut Viewer {
        self.peers[peer].viewer.as_mut().expect("a frame viewer")
    }

    /// Sends what a frame viewer wants to say.
    pub fn speak(&mut self, peer: usize) {
        let bytes = std::mem::take(&mut self.viewer(peer).to_send);
        self.send(peer, &bytes);
    }

    /// Lets a frame viewer say one thing.
    pub fn say(&mut self, peer: usize, message: &ToServer) {
        self.viewer(peer).say(message);
        self.speak(peer);
    }

    /// Right after a tick, viewers that read have the world as it is, unless they see the past.
    pub(super) fn compare_copies(&mut self) {
        if self.engine.config().spectator_delay > RealSpan::ZERO {
            return;
        }
        for peer in 0..self.peers.len() {
            // One that has said goodbye may still be there, and receives nothing.
            if !self.peers[peer].is_watching() || !self.engine.is_up_to_date(self.peers[peer].conn) {
                continue;
            }
            self.take_writes(peer);
            let viewer = self.peers[peer].viewer.as_ref().expect("checked above");
            if let Some(copy) = viewer.copy.as_ref().filter(|_| viewer.is_complete()) {
                let game = self.engine.game();
                assert_same(copy, game.world(), game.now());
                self.copies_compared += 1;
            }
        }
    }

    /// Viewers return credit in a pass of its own, as over a wire.
    pub(super) fn let_viewers_speak(&mut self) {
        for peer in 0..self.peers.len() {
            let wants = |peer: &Peer| {
                peer.viewer
                    .as_ref()
                    .is_some_and(|viewer| !viewer.to_send.is_empty())
            };
            if self.peers[peer].is_open && wants(&self.peers[peer]) {
                self.speak(peer);
            }
        }
    }
}

impl Peer {
    pub(super) fn hides(&self, line: &[u8]) -> bool {
        self.hidden.iter().any(|word| line.starts_with(word.as_bytes()))
    }

    /// Whether it is a frame viewer that is there and reads.
    fn is_watching(&self) -> bool {
        self.is_open && self.is_reading && self.viewer.is_some()
    }
}

/// A message as transcripts show it: pieces of a snapshot by their sizes alone.
pub(super) fn show(message: &ToClient) -> String {
    match message {
        ToClient::Snapshot(SnapshotPart::Ground { first, tiles }) => {
            format!("Snapshot: {} tiles from {first}", tiles.len())
        }
        ToClient::Snapshot(SnapshotPart::Eggs(eggs)) => format!("Snapshot: {} eggs", eggs.len()),
        message => format!("{message:?}"),
    }
}
