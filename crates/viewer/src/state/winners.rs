//! The view of the winners: where the camera goes at the end of a match, and the way back.

use glam::Vec2;
use trantor_client::Scene;
use trantor_model::Level;
use trantor_render::picture::CameraPose;
use trantor_render::picture::torus::TorusWindow;

/// Agents of the highest level that win a match.
const WINNERS: usize = 6;

#[derive(Debug, Default)]
pub(super) struct WinnersView {
    /// The view before the camera went to the winners, and whether the user had moved it.
    pub before: Option<(CameraPose, bool)>,
    /// How far the camera went aside for the story, so that the winners are beside it.
    pub aside: Option<Vec2>,
}

/// The view from near enough to fill the picture with the agents that decided the match, if there are any; `pose` is the
/// view before.
pub(super) fn pose_of_winners(
    scene: &Scene,
    window: TorusWindow,
    mut pose: CameraPose,
) -> Option<CameraPose> {
    /// Tiles from which a group is seen, for each that its farthest member is away from its middle, and besides.
    const AWAY: [f32; 2] = [2.5, 5.5];
    /// How far down it looks there, in radians: into their faces.
    const PITCH: f32 = 0.6;
    let winner = scene.winner?;
    let agents = scene.agents.iter();
    let winners = agents.filter(|agent| agent.team == winner && agent.level == Level::LAST);
    let winners = winners.take(WINNERS).map(|agent| Vec2::new(agent.x, agent.y));
    // A match that ends by its time limit may have none.
    let first = winners.clone().next()?;
    let (sum, count) = winners.clone().fold((Vec2::ZERO, 0.0), |(sum, count), place| {
        (sum + window.shortest(first, place), count + 1.0)
    });
    let middle = first + sum / count;
    let farthest = winners.map(|place| window.shortest(middle, place).length());
    let distance = AWAY[0] * farthest.fold(0.0, f32::max) + AWAY[1];
    // Not over the map's edge, which may be the shorter way: beyond it is no whole picture of them.
    pose.target = window.home(middle);
    pose.distance = pose.distance.min(distance);
    pose.pitch = pose.pitch.min(PITCH);
    Some(pose)
}
