//! Where the agents of a large map are, as colours: seen from so far that each of them is less than a pixel.
//!
//! The map is divided into cells, and each has the mean colour of the teams in and around it; the more agents there
//! are for a cell of this map, the more of it shows. So who holds which part is seen at a glance, and a few lonely
//! ones are still found.
//!
//! A picture is made over some of the frames for which the one before it holds, a step in each: made in one, it would be a
//! frame in fifteen that takes a millisecond longer than the others.

use trantor_client::SceneAgent;
use trantor_model::MapSize;

use super::palette::TeamColors;

/// Cells a side at most: enough for a place to be pointed at, and few enough to be smoothed in less than a millisecond.
const CELLS_MAX: u32 = 128;
/// Frames for which a picture of the crowd holds: from afar single steps are not seen.
const HOLDS_FRAMES: u32 = 15;
/// The step in which cells are coloured. In the first the agents are counted; in those between the sums are smoothed along
/// rows and along columns, twice, which is nearly round.
const COLORING: u32 = 5;
/// How much of a cell's colour shows at most.
const STRENGTH_MOST: f32 = 0.7;
/// Agents of a cell, as a multiple of the mean, at which nearly two thirds of that show.
const CROWDED: f32 = 3.5;

#[derive(Debug, Default)]
pub struct Crowd {
    size: Option<MapSize>,
    columns: u32,
    rows: u32,
    /// Sums of colours, and how many agents they are of; and the same while it is being smoothed.
    sums: Vec<[f32; 4]>,
    smoothed: Vec<[f32; 4]>,
    /// Agents of a cell in the mean, when they were counted.
    mean: f32,
    texels: Vec<[u8; 4]>,
    /// Frames since the agents were counted.
    frame: u32,
    is_new: bool,
}

impl Crowd {
    /// Follows `agents` on a map of `size`, every few frames.
    pub fn update(&mut self, size: MapSize, agents: &[SceneAgent], colors: TeamColors) {
        if self.size == Some(size) {
            self.step(size, agents, colors);
        } else {
            self.renew(size, agents, colors);
        }
    }

    /// Follows `agents` on a map of `size` at once.
    pub fn renew(&mut self, size: MapSize, agents: &[SceneAgent], colors: TeamColors) {
        self.size = Some(size);
        self.columns = u32::from(size.width()).min(CELLS_MAX);
        self.rows = u32::from(size.height()).min(CELLS_MAX);
        let cells = (self.columns * self.rows) as usize;
        self.sums.resize(cells, [0.0; 4]);
        self.smoothed.resize(cells, [0.0; 4]);
        self.texels.resize(cells, [0; 4]);
        self.frame = 0;
        (0..HOLDS_FRAMES).for_each(|_| self.step(size, agents, colors));
    }

    fn step(&mut self, size: MapSize, agents: &[SceneAgent], colors: TeamColors) {
        let sides = (self.columns as usize, self.rows as usize);
        match self.frame {
            0 => self.count(size, agents, colors),
            COLORING => {
                for (texel, sum) in self.texels.iter_mut().zip(&self.sums) {
                    *texel = texel_of(sum, self.mean);
                }
                self.is_new = true;
            }
            columns if columns < COLORING && columns % 2 == 0 => {
                smooth(&self.smoothed, &mut self.sums, sides, true);
            }
            rows if rows < COLORING => smooth(&self.sums, &mut self.smoothed, sides, false),
            _ => {}
        }
        self.frame = (self.frame + 1) % HOLDS_FRAMES;
    }

    fn count(&mut self, size: MapSize, agents: &[SceneAgent], colors: TeamColors) {
        let (width, height) = (u32::from(size.width()), u32::from(size.height()));
        self.sums.fill([0.0; 4]);
        self.mean = agents.len() as f32 / self.sums.len() as f32;
        for agent in agents {
            let column = u32::from(agent.tile.x) * self.columns / width;
            let row = u32::from(agent.tile.y) * self.rows / height;
            let [red, green, blue] = colors.team(agent.team).0.map(f32::from);
            let Some(sum) = self.sums.get_mut((row * self.columns + column) as usize) else {
                continue;
            };
            for (sum, value) in sum.iter_mut().zip([red, green, blue, 1.0]) {
                *sum += value;
            }
        }
    }

    pub fn sides(&self) -> (u32, u32) {
        (self.columns, self.rows)
    }

    /// The cells' colours as on a screen and how strongly they show, row by row.
    pub fn texels(&self) -> &[[u8; 4]] {
        &self.texels
    }

    /// The texels, if they changed since the last call.
    pub fn take_new(&mut self) -> Option<&[[u8; 4]]> {
        std::mem::take(&mut self.is_new).then_some(&self.texels)
    }

    /// Counts as new, for a graphics card that lost it.
    pub fn forget_uploads(&mut self) {
        self.is_new = self.size.is_some();
    }
}

fn texel_of(&[red, green, blue, agents]: &[f32; 4], mean: f32) -> [u8; 4] {
    if agents <= 0.0 {
        return [0; 4];
    }
    let strength = STRENGTH_MOST * (1.0 - (-agents / (mean * CROWDED)).exp());
    [red / agents, green / agents, blue / agents, strength * 255.0].map(|value| value as u8)
}

/// Gives each cell half of itself and a quarter of its two neighbours, beside it or above and below it.
fn smooth(from: &[[f32; 4]], to: &mut [[f32; 4]], (columns, rows): (usize, usize), upright: bool) {
    let around = |at: usize, ring: usize| [(at + ring - 1) % ring, (at + 1) % ring];
    for (y, row) in to.chunks_exact_mut(columns).enumerate() {
        let ys = if upright { around(y, rows) } else { [y; 2] };
        for (x, to) in row.iter_mut().enumerate() {
            let xs = if upright { [x; 2] } else { around(x, columns) };
            let [before, after] = [0, 1].map(|side| from[ys[side] * columns + xs[side]]);
            let own = from[y * columns + x];
            *to = std::array::from_fn(|of| own[of] * 0.5 + (before[of] + after[of]) * 0.25);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::compose::tests::agent as agent_at;
    use trantor_model::TeamId;

    fn agent(team: u16, x: u16, y: u16) -> SceneAgent {
        SceneAgent {
            team: TeamId(team),
            ..agent_at(0, f32::from(x), f32::from(y))
        }
    }

    #[test]
    fn a_lonely_agent_is_found_and_reaches_over_the_seam() {
        let size = MapSize::new(1_000, 500).unwrap();
        let mut crowd = Crowd::default();
        crowd.update(size, &[agent(1, 0, 250)], TeamColors::default());
        assert_eq!(crowd.sides(), (128, 128));
        let at = |column: usize, row: usize| crowd.texels()[row * 128 + column];
        assert_eq!(at(0, 64)[..3], TeamColors::default().team(TeamId(1)).0);
        assert!(at(0, 64)[3] > 170, "one of one is all there is");
        assert!(at(127, 64)[3] > 100 && at(1, 63)[3] > 100);
        assert_eq!(at(5, 64), [0; 4]);
    }

    #[test]
    fn crowds_show_more_than_what_is_usual_and_a_picture_holds_for_some_frames() {
        let size = MapSize::new(10, 10).unwrap();
        let mut agents: Vec<SceneAgent> = (0..100).map(|place| agent(0, place % 10, place / 10)).collect();
        agents.extend((0..50).map(|_| agent(1, 5, 5)));
        let mut crowd = Crowd::default();
        crowd.update(size, &agents, TeamColors::default());
        let strength = |crowd: &Crowd, x: usize, y: usize| crowd.texels()[y * 10 + x][3];
        assert!(strength(&crowd, 5, 5) > 2 * strength(&crowd, 0, 0));
        assert!(crowd.take_new().is_some());
        let before = crowd.texels().to_vec();
        agents.truncate(100);
        for _ in 0..COLORING {
            crowd.update(size, &agents, TeamColors::default());
            assert!(crowd.take_new().is_none());
            assert_eq!(crowd.texels(), before, "what is half made is not shown");
        }
        crowd.update(size, &agents, TeamColors::default());
        assert!(crowd.take_new().is_some());
        let mut at_once = Crowd::default();
        at_once.renew(size, &agents, TeamColors::default());
        assert_eq!(crowd.texels(), at_once.texels());
        assert_ne!(crowd.texels(), before);
    }
}
