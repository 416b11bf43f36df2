//! A film whose pictures show exact moments, a whole number of units apart, drawn without a window.
//!
//! ```text
//! recorded game:  pause, go to the first moment;  then for each picture:  wait until it is shown, step on, draw
//! demo:           its time is set
//! ```
//!
//! How long a picture takes to be drawn makes no difference: the game stands still meanwhile. The server is asked for
//! nothing that a person with a mouse could not ask for.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context as _, bail};
use trantor_client::ControlRequest;
use trantor_protocol::wire::StepKind;
use trantor_time::{Clock as _, GameSpan, GameTime, RealSpan, RealTime};

use super::Headless;
use super::screenshot::{self, Studio};
use crate::film::gif::GifFilm;
use crate::options::{Cli, FilmOptions};
use crate::state::ViewerState;
use trantor_render::gpu::{Context, Quality};

/// Pictures of one film: a minute of the smoothest.
const PICTURES_MAX: i64 = 3_000;
/// The default size: small enough to be sent around.
const SIZE: (u32, u32) = (640, 360);
/// How long a server may take to answer, and a moment to be shown.
const PATIENCE: RealSpan = RealSpan::from_secs(10);
/// How often it is looked at meanwhile.
const LOOK: RealSpan = RealSpan::from_millis(10);

/// The moments of a film, in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plan {
    from: i64,
    pictures: i64,
    /// From a picture to the next.
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
        let units = i64::from((film.speed / film.fps).max(1));
        let pictures = (to - from) / units + 1;
        if pictures > PICTURES_MAX {
            bail!(
                "that would be {pictures} pictures, and a film has {PICTURES_MAX} at most: choose less with --from and --to, or a higher --speed"
            );
        }
        Ok(Self {
            from,
            pictures,
            units,
            per_second: film.fps,
        })
    }

    fn moment(&self, picture: i64) -> GameTime {
        GameTime::from_units(self.from + picture * self.units)
    }

    fn units_per_second(&self) -> u32 {
        u32::try_from(self.units)
            .unwrap_or(u32::MAX)
            .saturating_mul(self.per_second)
    }

    /// When a picture is shown, in the film's own time.
    fn film_time(&self, picture: i64) -> RealTime {
        RealTime::ZERO + RealSpan::from_nanos(picture * trantor_time::NANOS / i64::from(self.per_second))
    }
}

/// Makes the film that `film` asks for into `file`. Answers a message for the user.
///
/// # Errors
/// If what is watched is no recording and no demo, if there is nothing to draw with, or the file cannot be written.
pub fn make(mut watch: Headless, cli: &Cli, film: &FilmOptions, file: &Path) -> anyhow::Result<String> {
    let size = cli.size.unwrap_or(SIZE);
    watch.resize(size);
    watch.is_still = true;
    let is_demo = watch.state.source().as_demo().is_some();
    let plan = match is_demo {
        // A demo begins at 0 and goes on for ever; ten seconds show what it is about.
        true => Plan::new(film, 0, film.to.unwrap_or(1_000))?,
        false => {
            let (begin, end) = watch.stop_recording()?;
            Plan::new(film, begin, end)?
        }
    };
    let quality = screenshot::quality_of_a_still(cli);
    let shown = write(&mut watch, plan, is_demo, quality, size, file);
    watch.state.source().leave();
    shown
}

fn write(
    watch: &mut Headless,
    plan: Plan,
    is_demo: bool,
    quality: Quality,
    size: (u32, u32),
    file: &Path,
) -> anyhow::Result<String> {
    let cannot = || format!("cannot write {}", file.display());
    let context = Context::without_window()?;
    let mut studio = Studio::new(&context, quality, size);
    let out = BufWriter::new(File::create(file).with_context(cannot)?);
    let mut gif = GifFilm::new(out, plan.per_second, size).with_context(cannot)?;
    for picture in 0..plan.pictures {
        match (is_demo, picture) {
            (true, _) => watch.show_demo(&plan, picture),
            (false, 0) => watch.seek(plan.moment(0))?,
            (false, _) => watch.until("the next moment", |state| {
                state.scene().clock.game >= plan.moment(picture)
            })?,
        }
        if !is_demo && picture + 1 < plan.pictures {
            // What is on its way while this picture is drawn need not be waited for afterwards.
            watch.step_on(&plan)?;
        }
        watch.state.show_as_running(plan.units_per_second());
        let pixels = studio.picture(&mut watch.state, plan.film_time(picture))?;
        gif.add(picture.unsigned_abs(), &pixels).with_context(cannot)?;
    }
    gif.finish(plan.pictures.unsigned_abs()).with_context(cannot)?;
    Ok(format!(
        "{} pictures, {} units apart, in {}",
        plan.pictures,
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

    /// Waits for a recording and lets it stand still. Answers the first and the last whole unit of it.
    fn stop_recording(&mut self) -> anyhow::Result<(i64, i64)> {
        self.until("a recording (trantor-server replay play, or --replay)", |state| {
            state.scene().ground.is_some()
        })?;
        let ends = self.state.source().recording().map(|recording| {
            (
                first_whole_unit(recording.begin()),
                recording.end().whole_units() as i64,
            )
        });
        // A server that plays one says so before it sends the world.
        let (begin, end) = ends.with_context(|| {
            let name = self.state.source().name();
            format!("the game at {name} is no recording; --replay PATH films one")
        })?;
        self.pause()?;
        Ok((begin, end))
    }

    fn pause(&mut self) -> anyhow::Result<()> {
        if !self.state.scene().clock.paused {
            self.ask(ControlRequest::Pause)?;
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
        self.state.source().seek(to).map_err(anyhow::Error::msg)?;
        self.until("a jump", |state| {
            let recording = state.source().recording();
            recording.is_some_and(|recording| recording.target().is_none())
        })
    }

    fn step_on(&mut self, plan: &Plan) -> anyhow::Result<()> {
        (0..plan.units).try_for_each(|_| self.ask(ControlRequest::Step(StepKind::Unit)))
    }

    fn ask(&mut self, request: ControlRequest) -> anyhow::Result<()> {
        let now = self.clock.now();
        self.state
            .source()
            .request(request, now)
            .map_err(anyhow::Error::msg)
    }

    fn show_demo(&mut self, plan: &Plan, picture: i64) {
        let at = |picture: i64| {
            let units = plan.moment(picture) - GameTime::ZERO;
            RealTime::ZERO + demo_span(units)
        };
        if picture == 0 {
            self.state.update(None, RealTime::ZERO);
        }
        let step = at(picture) - at((picture - 1).max(0));
        self.state.update(Some(step), at(picture));
    }
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

    fn film(from: Option<i64>, to: Option<i64>, fps: u32, speed: u32) -> FilmOptions {
        FilmOptions {
            film: None,
            from,
            to,
            fps,
            speed,
        }
    }

    #[test]
    fn pictures_are_whole_units_apart_and_end_where_they_should() {
        let plan = Plan::new(&film(Some(100), Some(200), 20, 100), 0, 1_000).unwrap();
        assert_eq!((plan.from, plan.units, plan.pictures), (100, 5, 21));
        assert_eq!(plan.moment(20), GameTime::from_units(200));
        let slow = Plan::new(&film(None, None, 50, 10), 0, 40).unwrap();
        assert_eq!((slow.units, slow.pictures), (1, 41), "a unit is the least");
        let outside = Plan::new(&film(Some(-5), Some(9_000), 20, 1_000), 10, 60).unwrap();
        assert_eq!((outside.from, outside.pictures), (10, 2));
        assert!(
            Plan::new(&film(None, None, 20, 100), 11, 10).is_err(),
            "no whole unit at all"
        );
        let refused = |film| Plan::new(&film, 0, 100_000).unwrap_err().to_string();
        assert!(refused(film(None, None, 20, 100)).contains("20001 pictures"));
        assert!(refused(film(Some(7), Some(7), 20, 100)).contains("from 0 to 100000"));
    }
}
