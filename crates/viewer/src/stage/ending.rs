//! What is shown once somebody has won: the moment of the victory, for as long as people look at it.
//!
//! A server ends a match by letting its agents go, so that the world it goes on to tell is an empty one. The winners
//! should be seen, and their score.

use trantor_client::{EffectKind, Scene, SceneAgent, SceneTeam};

/// The last moment of a game, once it has ended.
#[derive(Debug, Default)]
pub(super) struct Ending {
    kept: Option<(Vec<SceneAgent>, Vec<SceneTeam>)>,
}

impl Ending {
    /// Keeps the moment in which a winner is first known, and puts it back into every later scene of that game.
    pub(super) fn keep(&mut self, scene: &mut Scene) {
        if scene.winner.is_none() {
            self.kept = None;
            return;
        }
        let (agents, teams) = self
            .kept
            .get_or_insert_with(|| (scene.agents.clone(), scene.teams.clone()));
        scene.agents.clone_from(agents);
        scene.teams.clone_from(teams);
        // They are let go, and do not leave.
        scene
            .effects
            .retain(|effect| !matches!(effect.kind, EffectKind::Departure { .. }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::{Demo, DemoScene};
    use trantor_model::TeamId;

    #[test]
    fn the_moment_of_the_victory_stays_and_a_new_game_goes_on() {
        let demo = Demo::new(DemoScene::Overview);
        let (mut scene, mut ending) = (Scene::default(), Ending::default());
        demo.scene(100.0, &mut scene);
        ending.keep(&mut scene);
        scene.winner = Some(TeamId(1));
        ending.keep(&mut scene);
        let won = scene.clone();
        scene.agents.clear();
        scene.teams.iter_mut().for_each(|team| team.agents = 0);
        ending.keep(&mut scene);
        assert_eq!((&scene.agents, &scene.teams), (&won.agents, &won.teams));
        // The same server begins anew.
        scene.winner = None;
        scene.agents.clear();
        ending.keep(&mut scene);
        assert!(scene.agents.is_empty());
    }
}
