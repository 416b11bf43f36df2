//! What a demo tells of itself, as a server would: for lists of events.

use std::collections::VecDeque;

use trantor_client::{EffectKind, FeedEntry, FeedKind, Scene, Who};
use trantor_time::{GameSpan, GameTime};

/// Entries that wait for a reader; one who reads once a frame never misses one.
pub const NEWS_MAX: usize = 256;

/// Adds what began in `scene` since the scene before it; the oldest go where there is no room.
pub fn add_news(scene: &Scene, news: &mut VecDeque<FeedEntry>) {
    for effect in &scene.effects {
        if effect.age_units >= scene.clock.elapsed_units {
            continue;
        }
        let who = effect.agent.map(|(agent, team)| Who { agent, team });
        let kind = match (effect.kind, who) {
            (EffectKind::Birth, Some(who)) => FeedKind::Joined(who),
            (EffectKind::Death { level, .. }, Some(who)) => FeedKind::Died(who, level),
            (EffectKind::Push { .. }, Some(who)) => FeedKind::Pushed(who),
            (EffectKind::Rose { level }, Some(who)) => FeedKind::Rose(who, level),
            (EffectKind::Broadcast { text }, Some(who)) => FeedKind::Said(who, scene.text(text).into()),
            _ => continue,
        };
        if news.len() == NEWS_MAX {
            news.pop_front();
        }
        news.push_back(FeedEntry {
            at: before(scene.clock.game, effect.age_units),
            kind,
        });
    }
}

fn before(now: GameTime, units: f32) -> GameTime {
    now - GameSpan::from_nanounits((f64::from(units) * 1e9) as i128)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::{Demo, DemoScene};

    #[test]
    fn everything_is_told_once() {
        let demo = Demo::new(DemoScene::Overview);
        let mut scene = Scene::default();
        let mut news = VecDeque::new();
        let mut told = 0;
        for frame in 0..520u16 {
            demo.scene(f64::from(frame), &mut scene);
            add_news(&scene, &mut news);
            told += news
                .drain(..)
                .filter(|entry| matches!(entry.kind, FeedKind::Died(..)))
                .count();
        }
        assert_eq!(
            told, 1,
            "somebody dies at unit 265, and every 310 units after and before that"
        );
    }
}
