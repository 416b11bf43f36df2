//! What is shown once somebody has won: the moment of the victory, for as long as people look at it.
//!
//! A server ends a match by letting its agents go, so that the world it goes on to tell is an empty one. The winners
//! should be seen, and their score.

use trantor_client::{EffectKind, Scene, SceneAgent, SceneTeam};

/// The last moment of a game, once it has ended.
#[derive(Debug, Default)]
pub(super) struct Ending {
    /// The scene before this one, or the last of the game.
    agents: Vec<SceneAgent>,
    teams: Vec<SceneTeam>,
    is_over: bool,
}

impl Ending {
    /// Remembers the moment before a winner is known, and puts it back into every later scene of that game.
    ///
    /// Agents are let go in the pass in which they win, so that a scene that tells of a winner may be empty already.
    pub(super) fn keep(&mut self, scene: &mut Scene) {
        if scene.winner.is_none() {
            self.is_over = false;
            self.agents.clone_from(&scene.agents);
            self.teams.clone_from(&scene.teams);
            return;
        }
        if !self.is_over {
            self.is_over = true;
            // One who comes to a match that is over sees what is there.
            if self.agents.len() < scene.agents.len() {
                self.agents.clone_from(&scene.agents);
            }
            if self.teams.len() != scene.teams.len() {
                self.teams.clone_from(&scene.teams);
            }
            self.lift_the_last(scene);
        }
        scene.agents.clone_from(&self.agents);
        scene.teams.clone_from(&self.teams);
        // They are let go, and do not leave.
        scene
            .effects
            .retain(|effect| !matches!(effect.kind, EffectKind::Departure { .. }));
    }

    /// The elevation that decided the match lifted some in the same pass: they stand there as what they became.
    fn lift_the_last(&mut self, scene: &Scene) {
        for effect in &scene.effects {
            if let (EffectKind::Rose { level }, Some((id, _))) = (effect.kind, effect.agent)
                && let Ok(place) = self.agents.binary_search_by_key(&id, |agent| agent.id)
            {
                self.agents[place].level = self.agents[place].level.max(level);
            }
        }
        for team in &mut self.teams {
            team.agents = 0;
            team.by_level = [0; 8];
        }
        for agent in &mut self.agents {
            agent.held = false;
            agent.action = None;
            if let Some(team) = self.teams.get_mut(usize::from(agent.team.0)) {
                team.agents += 1;
                team.by_level[usize::from(agent.level.get()) - 1] += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::{Demo, DemoScene};
    use trantor_client::SceneEffect;
    use trantor_model::{Level, TeamId};

    #[test]
    fn the_moment_of_the_victory_stays_and_a_new_game_goes_on() {
        let demo = Demo::new(DemoScene::Overview);
        let (mut scene, mut ending) = (Scene::default(), Ending::default());
        demo.scene(100.0, &mut scene);
        ending.keep(&mut scene);
        let before = scene.clone();
        // All of it at once: one rises, the team wins, everybody is gone.
        scene.winner = Some(TeamId(1));
        let risen = before.agents[1];
        scene.effects.push(SceneEffect {
            kind: EffectKind::Rose { level: Level::LAST },
            agent: Some((risen.id, risen.team)),
            x: risen.x,
            y: risen.y,
            age_units: 0.0,
            progress: 0.0,
        });
        for _ in 0..2 {
            scene.agents.clear();
            scene.teams.iter_mut().for_each(|team| team.agents = 0);
            ending.keep(&mut scene);
            assert_eq!(scene.agents.len(), before.agents.len());
            assert_eq!(scene.agents[1].level, Level::LAST);
            assert_eq!(scene.teams[1].agents, before.teams[1].agents);
            assert_eq!(scene.teams[1].by_level[7], before.teams[1].by_level[7] + 1);
        }
        // The same server begins anew.
        scene.winner = None;
        scene.agents.clear();
        ending.keep(&mut scene);
        assert!(scene.agents.is_empty());
    }
}
