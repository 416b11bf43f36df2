//! Whatever one side of the text protocol writes, the other reads back; and no bytes make either side panic.

use std::borrow::Cow;

use proptest::prelude::*;
use trantor_model::{
    AgentId, Command, CommandKind, Counts, Direction, EggId, Level, MapSize, Resource, Sight, Tile, Turn,
};
use trantor_protocol::text::client::{
    ServerLine, parse_gui_event, parse_server_line, write_command, write_gui_request,
};
use trantor_protocol::text::{
    AiLine, Cut, Dialect, GuiEvent, GuiIds, GuiRequest, LineCutter, parse_command, parse_gui_request,
    write_ai_line, write_gui_event,
};
use trantor_time::Frequency;

fn dialect() -> impl Strategy<Value = Dialect> {
    prop::sample::select(Dialect::ALL.to_vec())
}

fn resource() -> impl Strategy<Value = Resource> {
    prop::sample::select(Resource::ALL.to_vec())
}

fn tile() -> impl Strategy<Value = Tile> {
    (any::<u16>(), any::<u16>()).prop_map(|(x, y)| Tile { x, y })
}

fn counts() -> impl Strategy<Value = Counts> {
    any::<[u32; 7]>().prop_map(Counts)
}

fn level() -> impl Strategy<Value = Level> {
    (1u8..=8).prop_map(|level| Level::new(level).expect("1 to 8 are levels"))
}

fn agent() -> impl Strategy<Value = AgentId> {
    any::<u32>().prop_map(AgentId)
}

fn egg() -> impl Strategy<Value = EggId> {
    any::<u32>().prop_map(EggId)
}

/// Bytes that can be a line: any, but no line feed, and no end that the line's own end would swallow.
fn text() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(
        any::<u8>().prop_filter("no line feed", |&byte| byte != b'\n'),
        1..40,
    )
    .prop_filter("an end of its own", |text| {
        let ends = [text[0], text[text.len() - 1]];
        !ends.iter().any(|end| [b' ', b'\t', b'\r'].contains(end))
    })
}

fn word() -> impl Strategy<Value = Vec<u8>> {
    text().prop_filter("one word", |text| {
        !text.iter().any(|byte| [b' ', b'\t'].contains(byte))
    })
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        Just(Command::Forward),
        Just(Command::Turn(Turn::Left)),
        Just(Command::Turn(Turn::Right)),
        Just(Command::Look),
        Just(Command::Inventory),
        Just(Command::ConnectNbr),
        Just(Command::Fork),
        Just(Command::Eject),
        Just(Command::Incantation),
        resource().prop_map(Command::Take),
        resource().prop_map(Command::Set),
        text().prop_map(|text| Command::Broadcast(text.into())),
        prop::option::of(prop::sample::select(CommandKind::ALL.to_vec())).prop_map(Command::Refused),
    ]
}

fn gui_request() -> impl Strategy<Value = GuiRequest> {
    prop_oneof![
        Just(GuiRequest::MapSize),
        tile().prop_map(GuiRequest::Tile),
        Just(GuiRequest::Map),
        Just(GuiRequest::Teams),
        agent().prop_map(GuiRequest::Position),
        agent().prop_map(GuiRequest::Level),
        agent().prop_map(GuiRequest::Inventory),
        Just(GuiRequest::Frequency),
        (1u64..=10_000).prop_map(|hertz| GuiRequest::SetFrequency(Frequency::new(hertz).expect("in range"))),
    ]
}

fn sight() -> impl Strategy<Value = Sight> {
    let few = prop::array::uniform7(0u32..4);
    (0u32..4, few, 0u32..3).prop_map(|(agents, ground, eggs)| Sight {
        agents,
        ground: Counts(ground),
        eggs,
    })
}

/// A kind of event with made-up contents. Texts borrow from `name` and `said`.
fn gui_event<'a>(
    kind: usize,
    (agent, egg, tile, ground): (AgentId, EggId, Tile, Counts),
    (level, facing, resource, flag): (Level, Direction, Resource, bool),
    (name, said, others): (&'a [u8], &'a [u8], &'a [AgentId]),
) -> GuiEvent<'a> {
    let number = u64::from(ground.0[0]) % 1_000_000 + 1;
    let side = u32::from(tile.x) % 1_000 + 1;
    match kind {
        0 => GuiEvent::MapSize(MapSize::new(side, 7).expect("sides in range")),
        1 => GuiEvent::Tile { tile, ground },
        2 => GuiEvent::Team(name),
        3 => GuiEvent::Joined {
            agent,
            tile,
            facing,
            level,
            team: name,
        },
        4 => GuiEvent::Position { agent, tile, facing },
        5 => GuiEvent::Level { agent, level },
        6 => GuiEvent::Inventory {
            agent,
            tile: Some(tile),
            inventory: ground,
        },
        7 => GuiEvent::Ejected { agent },
        8 => GuiEvent::Said { agent, text: said },
        9 => GuiEvent::RitualStarted {
            tile,
            level,
            participants: Cow::Borrowed(others),
        },
        10 => GuiEvent::RitualEnded { tile, success: flag },
        11 => GuiEvent::ForkStarted { agent },
        12 => GuiEvent::Put { agent, resource },
        13 => GuiEvent::Took { agent, resource },
        14 => GuiEvent::Died { agent },
        15 => GuiEvent::EggLaid {
            egg,
            layer: flag.then_some(agent),
            tile,
        },
        16 => GuiEvent::EggMatured { egg },
        17 => GuiEvent::EggHatched { egg },
        18 => GuiEvent::EggDestroyed { egg },
        19 => GuiEvent::Frequency(Frequency::new(number).expect("in range")),
        20 => GuiEvent::Won { team: name },
        21 => GuiEvent::Message(said),
        22 => GuiEvent::UnknownRequest,
        _ => GuiEvent::BadParameter,
    }
}

const GUI_EVENT_KINDS: usize = 24;

/// The one line in `bytes`, cut as a peer would cut it.
fn one_line(bytes: &[u8]) -> Vec<u8> {
    let mut cutter = LineCutter::new();
    let mut piece = bytes;
    let Some(Cut::Line(line)) = cutter.next(&mut piece) else {
        panic!("not a line: {}", bytes.escape_ascii());
    };
    assert!(piece.is_empty(), "more than a line: {}", bytes.escape_ascii());
    line.to_vec()
}

/// What an agent should make of a line.
fn as_read<'a>(dialect: Dialect, line: &AiLine<'a>) -> ServerLine<'a> {
    let is_of_42 = matches!(dialect, Dialect::French42 | Dialect::English42);
    match *line {
        AiLine::Welcome => ServerLine::Welcome,
        AiLine::Accepted { .. } => unreachable!("two lines, tested apart"),
        AiLine::Ok => ServerLine::Ok,
        AiLine::Ko => ServerLine::Ko,
        AiLine::Look(sights) => {
            let mut sights = sights.to_vec();
            sights[0].agents = sights[0].agents.saturating_sub(u32::from(is_of_42));
            ServerLine::Look(sights)
        }
        AiLine::Inventory {
            inventory,
            life_units,
        } => {
            let mut carried = *inventory;
            if is_of_42 {
                carried[Resource::Food] = life_units;
            }
            ServerLine::Inventory(carried)
        }
        AiLine::ConnectNbr(places) => ServerLine::Number(places),
        AiLine::Message { direction, text } => ServerLine::Message { direction, text },
        AiLine::Ejected { direction } => ServerLine::Ejected { direction },
        AiLine::ElevationUnderway => ServerLine::ElevationUnderway,
        AiLine::CurrentLevel(level) => ServerLine::CurrentLevel(level),
        AiLine::Dead => ServerLine::Dead,
    }
}

proptest! {
    #[test]
    fn commands_come_back(dialect in dialect(), command in command()) {
        let mut bytes = Vec::new();
        write_command(&mut bytes, dialect, &command);
        prop_assert_eq!(parse_command(dialect, &one_line(&bytes)), command);
    }

    #[test]
    fn requests_of_viewers_come_back(request in gui_request()) {
        let mut bytes = Vec::new();
        write_gui_request(&mut bytes, request);
        prop_assert_eq!(parse_gui_request(&one_line(&bytes)), Ok(request));
    }

    #[test]
    fn lines_to_agents_come_back(
        dialect in dialect(),
        sights in prop::collection::vec(sight(), 1..82),
        inventory in counts(),
        (life_units, places) in (any::<u32>(), any::<u32>()),
        (direction, pushed_from) in (0u8..=8, prop::sample::select(vec![1u8, 3, 5, 7])),
        (text, level) in (text(), level()),
    ) {
        let lines = [
            AiLine::Welcome,
            AiLine::Ok,
            AiLine::Ko,
            AiLine::Look(&sights),
            AiLine::Inventory { inventory: &inventory, life_units },
            AiLine::ConnectNbr(places),
            AiLine::Message { direction, text: &text },
            AiLine::Ejected { direction: pushed_from },
            AiLine::ElevationUnderway,
            AiLine::CurrentLevel(level),
            AiLine::Dead,
        ];
        for line in &lines {
            let mut bytes = Vec::new();
            write_ai_line(&mut bytes, dialect, line);
            let cut = one_line(&bytes);
            prop_assert_eq!(parse_server_line(dialect, &cut), as_read(dialect, line));
        }
    }

    #[test]
    fn lines_to_viewers_come_back_however_numbers_are_written(
        ids in prop::sample::select(vec![GuiIds::Hash, GuiIds::Plain, GuiIds::Pnw]),
        numbers in (agent(), egg(), tile(), counts()),
        nouns in (level(), prop::sample::select(Direction::ALL.to_vec()), resource(), any::<bool>()),
        (name, said) in (word(), text()),
        others in prop::collection::vec(agent(), 0..8),
    ) {
        for kind in 0..GUI_EVENT_KINDS {
            let event = gui_event(kind, numbers, nouns, (&name, &said, &others));
            let mut bytes = Vec::new();
            write_gui_event(&mut bytes, ids, &event);
            let cut = one_line(&bytes);
            prop_assert_eq!(parse_gui_event(&cut), Some(event));
        }
    }

    /// Bytes that look like a line of the protocol, and those that do not, are all understood or refused.
    #[test]
    fn no_bytes_make_a_parser_panic(
        head in prop::sample::select(vec![
            "", "[", "{", "message ", "eject: ", "Current level: ", "pnw ", "pic 1 1 ", "enw ", "Take ", "sst ", "bct ",
        ]),
        tail in prop::collection::vec(
            prop_oneof![Just(b' '), Just(b','), Just(b'#'), Just(b'-'), b'0'..=b'9', any::<u8>()], 0..40),
    ) {
        let line = [head.as_bytes(), &tail].concat();
        for dialect in Dialect::ALL {
            let _ = parse_server_line(dialect, &line);
            let _ = parse_command(dialect, &line);
        }
        let _ = parse_gui_event(&line);
        let _ = parse_gui_request(&line);
    }
}

#[test]
fn the_two_lines_of_the_handshake_come_back() {
    let mut bytes = Vec::new();
    let size = MapSize::new(10, 12).unwrap();
    write_ai_line(
        &mut bytes,
        Dialect::Epitech,
        &AiLine::Accepted { places: 2, size },
    );
    let mut cutter = LineCutter::new();
    let mut piece = &bytes[..];
    let mut read = Vec::new();
    while let Some(cut) = cutter.next(&mut piece) {
        let Cut::Line(line) = cut else { panic!("too long") };
        read.push(format!("{:?}", parse_server_line(Dialect::Epitech, line)));
    }
    assert_eq!(read, ["Number(2)", "Size(10, 12)"]);
}
