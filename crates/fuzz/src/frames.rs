//! Frames of the wire protocol: cutting a stream and decoding, in both directions.

use std::fmt::Debug;

use trantor_model::{AdminAction, AgentId, Control, Shown, ShownBy, Step, Tile, TileMark};
use trantor_protocol::wire::{
    ClientHello, FrameCutter, FrameMessage, ToClient, ToServer, WIRE_VERSION, read_frame, write_frame,
};

/// Frames are the same wherever the stream was cut, and messages round-trip.
pub(crate) fn decode(data: &[u8]) {
    decode_as::<ToServer>(data);
    decode_as::<ToClient>(data);
}

fn decode_as<M: FrameMessage + Debug>(data: &[u8]) {
    let whole = frames::<M>(data, data.len().max(1));
    for size in [1, 7, 4_096] {
        assert_eq!(frames::<M>(data, size), whole, "in pieces of {size}");
    }
    for frame in whole.iter().flatten() {
        // A frame may not be in canonical form: compare from the first encoding on.
        if let Ok(message) = read_frame::<M>(frame) {
            let written = rewritten(&message);
            let again = read_frame::<M>(&written).expect("an encoded message can be decoded");
            assert_eq!(rewritten(&again), written, "{message:?}");
        }
    }
}

/// All frames; `None` at the end for a framing error.
fn frames<M: FrameMessage>(data: &[u8], size: usize) -> Vec<Option<Vec<u8>>> {
    let mut cutter = FrameCutter::new::<M>();
    let mut frames = Vec::new();
    for mut piece in data.chunks(size) {
        loop {
            match cutter.next(&mut piece) {
                Ok(Some(frame)) => frames.push(Some(frame.to_vec())),
                Ok(None) => break,
                Err(_) => {
                    frames.push(None);
                    return frames;
                }
            }
        }
        assert!(
            cutter.pending_bytes() <= M::FRAME_BYTES_MAX + 4,
            "the buffer is bounded"
        );
    }
    frames
}

fn rewritten<M: FrameMessage>(message: &M) -> Vec<u8> {
    let mut bytes = Vec::new();
    match write_frame(&mut bytes, message) {
        Ok(()) => bytes.split_off(4),
        Err(_) => panic!("a message that came in a frame fits one"),
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let hello = ToServer::Hello(ClientHello {
        version: WIRE_VERSION,
        program: "fuzz".to_owned(),
    });
    let requests = [
        hello,
        ToServer::Probe { token: 7 },
        ToServer::Credit { items: 3 },
        ToServer::Control(Control::SetFrequency(200)),
        ToServer::Control(Control::Pause),
        ToServer::Control(Control::Resume),
        ToServer::Control(Control::Step(Step::Event)),
        ToServer::Control(Control::Step(Step::Action)),
        ToServer::Control(Control::Say(b"hello".to_vec())),
        ToServer::Control(Control::Act(AdminAction::SetHunger { enabled: false })),
        ToServer::Goodbye,
    ];
    let mut to_server = Vec::new();
    for message in &requests {
        write_frame(&mut to_server, message).expect("a short message");
    }
    let mark = TileMark {
        tiles: vec![Tile { x: 1, y: 2 }],
        colour: [255, 128, 0],
        text: "here".into(),
    };
    let shown = Shown {
        note: "hungry".into(),
        marks: vec![("path".into(), mark)],
        cards: vec![("food".into(), "3".into())],
    };
    let shown = ToClient::Shown {
        anew: true,
        owners: vec![
            (ShownBy::Server, shown.clone()),
            (ShownBy::Agent(AgentId(3)), shown),
        ],
    };
    let text = "the match begins".to_owned();
    let mut to_client = Vec::new();
    for message in [shown, ToClient::Announced { text }] {
        write_frame(&mut to_client, &message).expect("a short message");
    }
    // The last are frames of a real server.
    vec![to_server, to_client, crate::sessions::viewer_stream()]
}
