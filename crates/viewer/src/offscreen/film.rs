//! A film whose pictures show exact moments, a whole number of units apart, drawn without a window.
//!
//! ```text
//! recorded game:  pause, go to the first moment;  then for each picture:  wait until it is shown, step on, draw
//! demo:           its time is set
//! ```
//!
//! How long a picture takes to be drawn makes no difference: the game stands still meanwhile. The server is asked for
//! nothing that a person with a mouse could not ask for.

use std::path::Path;

use anyhow::{Context as _, bail};
use trantor_client::Recording;
use trantor_model::{Control, Step};
use trantor_time::{Clock as _, GameSpan, GameTime, RealSpan, RealTime};

use super::{Headless, Studio, quality_of_a_still};
use crate::film::{Film, Format, Shape};
use crate::options::{Cli, FilmOptions};
use crate::state::{ViewerState, director};
use trantor_render::gpu::{Context, Quality};

/// Pictures of one film: a minute of the smoothest.
const PICTURES_MAX: i64 = 3_000;
/// The default size: small enough to be sent around.
const SIZE: (u32, u32) = (640, 360);
/// How long a server may take to answer, and a moment to be shown.
const PATIENCE: RealSpan = RealSpan::from_secs(10);
/// How often it is looked at meanwhile.
const LOOK: RealSpan = RealSpan::from_millis(10);

/// How long a film goes on after a victory.
const VICTORY_SECONDS: usize = 4;
/// Longest film of the best moments, in seconds, without the victory.
const HIGHLIGHTS_SECONDS_MAX: i64 = 56;

/// The moments of a film, in units.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Plan {
    /// Of each picture.
    moments: Vec<i64>,
    /// From a picture to the next, but where the film leaves something out, and to the last of a span.
    units: i64,
    per_second: u32,
}

impl Plan {
    /// The moments that `film` asks for in something that lasts from `begin` to `end`.
    fn new(film: &FilmOptions, begin: i64, end: i64) -> anyhow::Result<Self> {
        let inside = |unit: i64| unit.max(begin).min(end);
        let from = inside(film.from.unwrap_or(begin));
        let to = inside(film.to.unwrap_or(end));
        if from >= to {
            bail!("a film from unit {from} to {to} has no length; there is something from {begin} to {end}");
        }
        Self::of_spans(film, &[(from, to)])
    }

    /// The best moments of a recording.
    fn highlights(film: &FilmOptions, recording: &Recording) -> anyhow::Result<Self> {
        let pictures_max = HIGHLIGHTS_SECONDS_MAX * i64::from(film.fps);
        let units = film.units();
        let spans = director::highlights(recording.marks(), whole_units(recording), pictures_max * units);
        if spans.is_empty() {
            bail!("no elevation of this recording succeeds, so it has no highlights");
        }
        Self::of_spans(film, &spans)
    }

    fn of_spans(film: &FilmOptions, spans: &[(i64, i64)]) -> anyhow::Result<Self> {
        let units = film.units();
        let pictures: i64 = spans
            .iter()
            .map(|(from, to)| (to - from + units - 1) / units + 1)
            .sum();
        if pictures > PICTURES_MAX {
            bail!(
                "that would be {pictures} pictures, and a film has {PICTURES_MAX} at most: choose less with --from and --to, or a higher --speed"
            );
        }
        // The last picture of a span is its end, which may be the victory.
        let moments = spans.iter().flat_map(|&(from, to)| {
            let before_end = (to - from + units - 1) / units;
            (0..before_end).map(move |nth| from + nth * units).chain([to])
        });
        Ok(Self {
            moments: moments.collect(),
            units,
            per_second: film.fps,
        })
    }

    fn moment(&self, picture: usize) -> GameTime {
        GameTime::from_units(self.moments[picture])
    }

    /// Units since the picture before, if the film leaves nothing out there.
    fn steps(&self, picture: usize) -> Option<i64> {
        let before = self.moments.get(picture.checked_sub(1)?)?;
        let units = self.moments.get(picture)? - before;
        (units <= self.units).then_some(units)
    }

    /// How many pictures show a victory.
    fn victory_pictures(&self) -> usize {
        VICTORY_SECONDS * self.per_second as usize
    }

    fn units_per_second(&self) -> u32 {
        u32::try_from(self.units)
            .unwrap_or(u32::MAX)
            .saturating_mul(self.per_second)
    }

    /// When a picture is shown, in the film's own time.
    fn film_time(&self, picture: usize) -> RealTime {
        RealTime::ZERO
            + RealSpan::from_nanos(picture as i64 * trantor_time::NANOS / i64::from(self.per_second))
    }
}

/// Makes the film that `film` asks for into `file`, in this format. Answers a message for the user.
///
/// # Errors
/// If what is watched is no recording and no demo, if there is nothing to draw with, or the file cannot be written.
pub fn make(
    mut watch: Headless,
    cli: &Cli,
    film: &FilmOptions,
    (file, format): (&Path, &Format),
) -> anyhow::Result<String> {
    let size = cli.size.unwrap_or(SIZE);
    watch.resize(size);
    watch.is_still = true;
    watch.state.hud().panels.film = true;
    let is_demo = watch.state.source().as_demo().is_some();
    let (plan, may_be_won) = match is_demo {
        // A demo begins at 0 and goes on for ever; ten seconds show what it is about.
        true => (Plan::new(film, 0, film.to.unwrap_or(1_000))?, false),
        false => {
            watch.stop_recording()?;
            let recording = watch.state.source().recording().context("it was there")?;
            let (begin, end) = whole_units(recording);
            let plan = match film.highlights {
                true => Plan::highlights(film, recording)?,
                false => Plan::new(film, begin, end)?,
            };
            let may_be_won = plan.moments.last() == Some(&end);
            (plan, may_be_won)
        }
    };
    if film.highlights {
        watch.state.direct(true);
    }
    let quality = quality_of_a_still(cli);
    let shape = Shape {
        size,
        per_second: plan.per_second,
        turns: plan.moments.len() as u64
            + if may_be_won {
                plan.victory_pictures() as u64
            } else {
                0
            },
        bytes_max: film.bytes_max(),
    };
    let shown = write(&mut watch, &plan, is_demo, quality, shape, (file, format));
    watch.state.source().leave();
    shown
}

fn write(
    watch: &mut Headless,
    plan: &Plan,
    is_demo: bool,
    quality: Quality,
    shape: Shape,
    (file, format): (&Path, &Format),
) -> anyhow::Result<String> {
    let cannot = || format!("cannot write {}", file.display());
    let context = Context::without_window()?;
    let mut studio = Studio::new(&context, quality, shape.size);
    let mut written = Film::new(file.to_owned(), format, shape).with_context(cannot)?;
    for picture in 0..plan.moments.len() {
        match (is_demo, plan.steps(picture)) {
            (true, _) => watch.show_demo(plan, picture),
            (false, None) => watch.seek(plan.moment(picture))?,
            (false, Some(_)) => watch.until("the next moment", |state| {
                state.scene().clock.game >= plan.moment(picture)
            })?,
        }
        if !is_demo && let Some(units) = plan.steps(picture + 1) {
            // What is on its way while this picture is drawn need not be waited for afterwards.
            watch.step_on(units)?;
        }
        watch.state.show_as_running(plan.units_per_second());
        if !is_demo && watch.state.rig.director.has_camera() {
            // The camera stands still while a moment is waited for, and glides in the film's own time.
            watch.state.advance_camera(1.0 / plan.per_second as f32);
        }
        let pixels = studio.picture(&mut watch.state, plan.film_time(picture))?;
        written.add(picture as u64, &pixels).with_context(cannot)?;
    }
    // A film ends with the victory: game time stands, and the camera goes to the winners.
    let is_won = watch.state.scene().winner.is_some();
    let pictures = plan.moments.len() + if is_won { plan.victory_pictures() } else { 0 };
    for picture in plan.moments.len()..pictures {
        watch.state.advance_camera(1.0 / plan.per_second as f32);
        let pixels = studio.picture(&mut watch.state, plan.film_time(picture))?;
        written.add(picture as u64, &pixels).with_context(cannot)?;
    }
    let said = written.finish(pictures as u64).with_context(cannot)?;
    Ok(format!(
        "{pictures} pictures, {} units apart, in {}, {said}",
        plan.units,
        file.display()
    ))
}

impl Headless {
    /// Waits until `is_so`.
    fn until(&mut self, what: &str, is_so: impl Fn(&mut ViewerState) -> bool) -> anyhow::Result<()> {
        let end = self.clock.now() + PATIENCE;
        let mut is_met = false;
        self.run(LOOK, |state, now| {
            is_met = is_so(state);
            is_met || now >= end
        });
        if !is_met {
            let state = &mut self.state;
            let notice = state.hud().shown_notice().map(|notice| format!(" ({notice})"));
            let notice = notice.unwrap_or_default();
            bail!(
                "{what} is waited for in vain at {}{notice}",
                state.source().name()
            );
        }
        Ok(())
    }

    /// Waits for a recording and lets it stand still.
    fn stop_recording(&mut self) -> anyhow::Result<()> {
        self.until("a recording (trantor-server replay play, or --replay)", |state| {
            state.scene().ground.is_some()
        })?;
        // A server that plays one says so before it sends the world.
        if self.state.source().recording().is_none() {
            let name = self.state.source().name();
            bail!("the game at {name} is no recording; --replay PATH films one");
        }
        self.pause()
    }

    fn pause(&mut self) -> anyhow::Result<()> {
        if !self.state.scene().clock.paused {
            self.ask(Control::Pause)?;
        }
        self.until("a pause", |state| {
            let clock = &state.scene().clock;
            clock.paused && !clock.unconfirmed
        })
    }

    fn seek(&mut self, to: GameTime) -> anyhow::Result<()> {
        self.jump(to)?;
        if !self.state.scene().clock.paused {
            // It stood still only because it was over, and goes on by itself after a jump.
            self.pause()?;
            self.jump(to)?;
        }
        self.until("the first moment", |state| state.scene().clock.game == to)
    }

    fn jump(&mut self, to: GameTime) -> anyhow::Result<()> {
        self.ask(Control::Seek(to))?;
        self.until("a jump", |state| {
            let recording = state.source().recording();
            recording.is_some_and(|recording| recording.target().is_none())
        })
    }

    fn step_on(&mut self, units: i64) -> anyhow::Result<()> {
        (0..units).try_for_each(|_| self.ask(Control::Step(Step::Units(1))))
    }

    fn ask(&mut self, request: Control) -> anyhow::Result<()> {
        let now = self.clock.now();
        Ok(self.state.source().request(request, now)?)
    }

    fn show_demo(&mut self, plan: &Plan, picture: usize) {
        let at = |picture: usize| {
            let units = plan.moment(picture) - GameTime::ZERO;
            RealTime::ZERO + demo_span(units)
        };
        if picture == 0 {
            self.state.update(None, RealTime::ZERO);
        }
        let step = at(picture) - at(picture.saturating_sub(1));
        self.state.update(Some(step), at(picture));
    }
}

impl FilmOptions {
    /// From a picture to the next.
    fn units(&self) -> i64 {
        i64::from((self.speed / self.fps).max(1))
    }
}

/// The first and the last whole unit of a recording.
fn whole_units(recording: &Recording) -> (i64, i64) {
    (
        first_whole_unit(recording.begin()),
        recording.end().whole_units() as i64,
    )
}

/// Recordings that go on from a save begin in the middle of a unit.
fn first_whole_unit(begin: GameTime) -> i64 {
    begin.whole_units() as i64 + i64::from(begin.unit_fraction_nu() > 0)
}

/// How long a demo takes for that, at its own speed.
fn demo_span(units: GameSpan) -> RealSpan {
    let nanos = units.as_nanounits() / i128::from(crate::demo::FREQUENCY);
    RealSpan::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::film::MEGABYTES;

    fn film(from: Option<i64>, to: Option<i64>, fps: u32, speed: u32) -> FilmOptions {
        FilmOptions {
            film: None,
            from,
            to,
            fps,
            speed,
            highlights: false,
            limit: MEGABYTES,
        }
    }

    #[test]
    fn pictures_are_whole_units_apart_and_end_where_they_should() {
        let plan = Plan::new(&film(Some(100), Some(200), 20, 100), 0, 1_000).unwrap();
        assert_eq!((plan.moments[0], plan.units, plan.moments.len()), (100, 5, 21));
        assert_eq!(plan.moment(20), GameTime::from_units(200));
        let slow = Plan::new(&film(None, None, 50, 10), 0, 40).unwrap();
        assert_eq!((slow.units, slow.moments.len()), (1, 41), "a unit is the least");
        let outside = Plan::new(&film(Some(-5), Some(9_000), 20, 1_000), 10, 60).unwrap();
        assert_eq!(outside.moments, [10, 60]);
        let uneven = Plan::new(&film(None, None, 20, 100), 0, 12).unwrap();
        assert_eq!(uneven.moments, [0, 5, 10, 12], "the last is the end");
        assert!(
            Plan::new(&film(None, None, 20, 100), 11, 10).is_err(),
            "no whole unit at all"
        );
        let refused = |film| Plan::new(&film, 0, 100_000).unwrap_err().to_string();
        assert!(refused(film(None, None, 20, 100)).contains("20001 pictures"));
        assert!(refused(film(Some(7), Some(7), 20, 100)).contains("from 0 to 100000"));
    }
}
