//! Where agents went: the last steps of each, as marks that fade.

use std::collections::{BTreeMap, VecDeque};

use glam::Vec2;
use trantor_client::{Scene, SceneAgent};
use trantor_model::{AgentId, Tile};

use trantor_render::picture::compose::TrailPoint;
use trantor_render::picture::palette::TeamColors;

/// Steps remembered for each agent: as many as are seen before they fade.
const STEPS_MAX: usize = 24;
/// Agents whose steps are remembered, besides the selected one; in larger crowds trails would be a carpet.
const AGENTS_MAX: usize = 200;
const FORGOTTEN_AFTER_UNITS: f64 = 400.0;

#[derive(Debug, Default)]
pub struct Trails {
    steps: BTreeMap<AgentId, Walk>,
}

#[derive(Debug)]
struct Walk {
    tile: Tile,
    points: VecDeque<(Tile, f32, f64)>,
}

impl Trails {
    /// Notes who left which tile since the last call: the first agents, and the selected one whatever its number.
    pub fn follow(&mut self, scene: &Scene, selected: Option<AgentId>) {
        let now = scene.clock.game.as_units_f64();
        let (first, others) = scene.agents.split_at(scene.agents.len().min(AGENTS_MAX));
        let place = |of: &[SceneAgent], id| of.binary_search_by_key(&id, |agent| agent.id).ok();
        let selected = selected.and_then(|id| Some(&others[place(others, id)?]));
        self.steps
            .retain(|&id, _| place(first, id).is_some() || selected.is_some_and(|agent| agent.id == id));
        for agent in first.iter().chain(selected) {
            let walk = self.steps.entry(agent.id).or_insert_with(|| Walk {
                tile: agent.tile,
                points: VecDeque::with_capacity(STEPS_MAX),
            });
            if walk.tile != agent.tile {
                if walk.points.len() == STEPS_MAX {
                    walk.points.pop_front();
                }
                walk.points.push_back((walk.tile, agent.heading, now));
                walk.tile = agent.tile;
            }
        }
    }

    pub fn clear(&mut self) {
        self.steps.clear();
    }

    /// Writes what is to be seen of the trails of all agents, or of `only` one.
    pub fn points(&self, scene: &Scene, only: Option<AgentId>, points: &mut Vec<TrailPoint>) {
        points.clear();
        let now = scene.clock.game.as_units_f64();
        let colors = TeamColors::of(&scene.teams);
        for (id, walk) in &self.steps {
            let Some(agent) = scene.agent(*id) else { continue };
            if only.is_some_and(|only| only != *id) {
                continue;
            }
            let color = colors.team(agent.team);
            points.extend(walk.points.iter().filter_map(|&(tile, heading, at)| {
                // Less than nothing where the display had been ahead of the game.
                let age = ((now - at) / FORGOTTEN_AFTER_UNITS).max(0.0) as f32;
                (age < 1.0).then_some(TrailPoint {
                    position: Vec2::new(f32::from(tile.x), f32::from(tile.y)),
                    heading,
                    color,
                    age,
                })
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::{Demo, DemoScene};

    /// The trails after watching a demo for so many units, and what is to be seen of those of `only` one.
    fn watch(which: DemoScene, units: u16, only: Option<AgentId>) -> (Trails, Vec<TrailPoint>) {
        let demo = Demo::new(which);
        let (mut scene, mut trails, mut points) = (Scene::default(), Trails::default(), Vec::new());
        for unit in 0..units {
            demo.scene(f64::from(unit), &mut scene);
            trails.follow(&scene, only);
        }
        trails.points(&scene, only, &mut points);
        (trails, points)
    }

    #[test]
    fn a_trail_is_short_and_ages() {
        let (trails, all) = watch(DemoScene::Overview, 1_000, None);
        assert!(all.len() > 100 && all.len() <= STEPS_MAX * trails.steps.len());
        let (_, own) = watch(DemoScene::Overview, 1_000, Some(AgentId(9)));
        assert!(!own.is_empty() && own.len() < all.len());
        assert!(own.iter().all(|point| (0.0..1.0).contains(&point.age)));
        assert!(own.is_sorted_by(|one, next| one.age >= next.age), "oldest first");
    }

    #[test]
    fn of_a_crowd_the_selected_agent_has_a_trail_as_well() {
        let (trails, points) = watch(DemoScene::BigWorld, 30, Some(AgentId(5_000)));
        assert!(!points.is_empty());
        assert_eq!(trails.steps.len(), AGENTS_MAX + 1);
    }
}
