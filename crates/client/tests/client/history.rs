//! What happened before a viewer came: it is in the feed and in the score, and it is not believed blindly.

use crate::support::{MILLI, SECOND, Server, Universe};
use trantor_client::{ClientEvent, FeedEntry, FeedKind, Scene, Who};
use trantor_model::{AgentId, MapSize, TeamId};
use trantor_protocol::limits::HISTORY_EVENTS_MAX;
use trantor_protocol::wire::{History, ScorePoint};
use trantor_time::GameTime;

fn history() -> History {
    let who = |agent| Who {
        agent: AgentId(agent),
        team: TeamId(0),
    };
    let at = GameTime::from_units;
    let events = (0..3).map(|number| FeedEntry {
        at: at(number),
        kind: FeedKind::Pushed(who(number as u32)),
    });
    let scores = (0..3).map(|number| ScorePoint {
        at: at(number),
        scores: vec![number as u64],
    });
    History {
        scores: scores.collect(),
        events: events.collect(),
    }
}

fn watch(history: History) -> Universe {
    let mut server = Server::new(MapSize::new(10, 8).unwrap(), 100);
    server.history = Some(history);
    let mut universe = Universe::new(server, MILLI, 0);
    universe.run_until(SECOND);
    universe.client.scene(universe.real(), &mut Scene::default());
    universe
}

#[test]
fn the_feed_begins_with_the_last_events_and_the_score_is_told_once() {
    let mut universe = watch(history());
    let feed: Vec<_> = std::iter::from_fn(|| universe.client.poll_feed()).collect();
    assert_eq!(feed, history().events);
    assert_eq!(universe.client.take_scores(), Some(history().scores));
    assert_eq!(universe.client.take_scores(), None);
}

#[test]
fn a_history_that_cannot_be_ends_the_connection() {
    type Spoil = fn(&mut History);
    let spoilt: [(&str, Spoil); 4] = [
        ("order", |history| history.events.swap(0, 1)),
        ("order of scores", |history| history.scores.swap(0, 1)),
        ("teams", |history| history.scores[1].scores.push(1)),
        ("too many", |history| {
            let entry = history.events[0].clone();
            history.events = vec![entry; HISTORY_EVENTS_MAX + 1];
        }),
    ];
    for (what, spoil) in spoilt {
        let mut history = history();
        spoil(&mut history);
        let universe = watch(history);
        let is_error = |event: &ClientEvent| matches!(event, ClientEvent::Ended { error: Some(_), .. });
        assert!(universe.events.iter().any(is_error), "{what}");
    }
}
