//! Experiments: many matches of the shipped server, as a table and a picture for `docs/experiments`.
//!
//! What is played is `trantor-server sim`, a process for each match, as many at a time as there are cores. The same
//! build writes the same files.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use crate::{process, source};

/// A match without a winner by then is lost: five times the units of a usual one.
const UNITS_MAX: u64 = 20_000;

/// What to find out.
#[derive(clap::Args)]
pub struct Options {
    /// What to find out
    #[arg(value_enum)]
    what: Experiment,
    /// Matches a point
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Experiment {
    /// Units to victory against range, delay and loss of messages
    Lag,
}

/// One part of the picture: a setting that varies, under some others that do not.
struct Panel {
    title: &'static str,
    /// The setting, its unit and its values.
    setting: &'static str,
    unit: &'static str,
    values: &'static [u32],
    others: [&'static str; 2],
}

const PANELS: [Panel; 3] = [
    Panel {
        title: "range (tiles)",
        setting: "range",
        unit: "",
        values: &[5, 6, 7, 8, 9, 10, 12, 14],
        others: ["", "loss=20% latency=20"],
    },
    Panel {
        title: "latency (units)",
        setting: "latency",
        unit: "",
        values: &[0, 5, 10, 20, 30, 40, 50],
        others: ["", "range=7"],
    },
    Panel {
        title: "loss (% of messages)",
        setting: "loss",
        unit: "%",
        values: &[0, 5, 10, 15, 20, 25, 30],
        others: ["", "range=7"],
    },
];

/// Settings that are played beside the curves.
const SINGLE: [&str; 3] = ["off", "radio", "noisy"];

/// The units of each match of one setting, in ascending order; [`UNITS_MAX`] for one without a winner.
struct Point {
    lag: String,
    units: Vec<u64>,
}

/// Plays the matches, and writes the files.
pub fn run(options: &Options) -> Result<()> {
    let Experiment::Lag = options.what;
    let [server] = process::build(process::PLAY_PROFILE, ["trantor-server"])?;
    let single = SINGLE.map(str::to_owned).into_iter();
    let varied = PANELS.iter().flat_map(|panel| {
        let others = panel.others.iter();
        others.flat_map(move |other| panel.values.iter().map(move |value| panel.lag(*value, other)))
    });
    let points = play(&server, single.chain(varied).collect(), options.seeds)?;
    let (single, varied) = points.split_at(SINGLE.len());
    let folder = source::root().join("docs/experiments");
    fs::write(folder.join("lag.svg"), picture(varied))?;
    let page = folder.join("lag.md");
    let text = fs::read_to_string(&page).with_context(|| format!("cannot read {}", page.display()))?;
    let (before, _) = text.split_once(TABLE_HEAD).context("the page has a table")?;
    fs::write(&page, format!("{before}{}", table(single, varied)))?;
    println!("{} and lag.svg are written", page.display());
    Ok(())
}

impl Panel {
    fn lag(&self, value: u32, other: &str) -> String {
        format!("{}={value}{} {other}", self.setting, self.unit)
            .trim()
            .to_owned()
    }
}

/// Plays so many matches of each setting.
fn play(server: &Path, lags: Vec<String>, seeds: u64) -> Result<Vec<Point>> {
    let matches: Vec<(&str, u64)> = lags
        .iter()
        .flat_map(|lag| (1..=seeds).map(move |seed| (lag.as_str(), seed)))
        .collect();
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, u64)>> {
        let taken = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
        let taken = taken.map_while(|number| Some((number, matches.get(number)?)));
        taken
            .map(|(number, (lag, seed))| Ok((number, units_to_victory(server, lag, *seed)?)))
            .collect()
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let played = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let joined = threads
            .into_iter()
            .map(|thread| thread.join().expect("no worker panics"));
        joined.collect::<Result<Vec<_>>>()
    })?;
    let mut played: Vec<(usize, u64)> = played.into_iter().flatten().collect();
    played.sort_unstable();
    let units: Vec<u64> = played.into_iter().map(|(_, units)| units).collect();
    let of_lag = lags.into_iter().zip(units.chunks(seeds as usize));
    Ok(of_lag
        .map(|(lag, units)| {
            let mut units = units.to_vec();
            units.sort_unstable();
            Point { lag, units }
        })
        .collect())
}

/// Plays one match.
fn units_to_victory(server: &Path, lag: &str, seed: u64) -> Result<u64> {
    let (seed, until) = (seed.to_string(), UNITS_MAX.to_string());
    let output = Command::new(server)
        .args(["sim", "--seed", &seed, "--until", &until, "--lag"])
        .args(lag.split_whitespace())
        .output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let has_winner = !summary["winner"].is_null();
    let units = summary["units"].as_u64().context("the summary has units")?;
    Ok(if has_winner {
        units.min(UNITS_MAX)
    } else {
        UNITS_MAX
    })
}

impl Point {
    fn median(&self) -> u64 {
        self.units[self.units.len() / 2]
    }

    /// Units that nine of ten matches took at most.
    fn most_of_nine_tenths(&self) -> u64 {
        self.units[(self.units.len() * 9).div_ceil(10) - 1]
    }

    fn won(&self) -> usize {
        self.units.iter().filter(|&&units| units < UNITS_MAX).count()
    }
}

const TABLE_HEAD: &str = "| lag | won | least | median | 9 of 10 | most |\n|---|---:|---:|---:|---:|---:|\n";

fn table(single: &[Point], varied: &[Point]) -> String {
    let mut table = TABLE_HEAD.to_owned();
    for point in single.iter().chain(varied) {
        let units = &point.units;
        let (won, all, least, most) = (point.won(), units.len(), units[0], units[units.len() - 1]);
        let (median, nine) = (point.median(), point.most_of_nine_tenths());
        let most = if won < all {
            "none".to_owned()
        } else {
            most.to_string()
        };
        let lag = &point.lag;
        push(
            &mut table,
            format_args!("| `{lag}` | {won}/{all} | {least} | {median} | {nine} | {most} |\n"),
        );
    }
    table
}

/// Width of a panel's plot, height of all, and the room around them, in pixels.
const PLOT: (f64, f64) = (290.0, 250.0);
const MARGIN: (f64, f64) = (56.0, 46.0);

/// The most units that are drawn.
const DRAWN_UNITS_MAX: f64 = 8_000.0;

/// A dark and a light tone for each of a panel's two curves: median, and all from the best match to nine of ten.
const COLOURS: [&str; 2] = ["#1f6fb4", "#c8511b"];

/// The curves as SVG, written by hand: rectangles, lines and text.
fn picture(points: &[Point]) -> String {
    let (width, height) = (3.0 * (PLOT.0 + MARGIN.0) + 20.0, PLOT.1 + 2.0 * MARGIN.1 + 20.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n\
         <text x=\"{}\" y=\"18\">units to victory: median, and from the least to 9 of 10</text>\n",
        MARGIN.0
    );
    let mut points = points.iter();
    for (number, panel) in PANELS.iter().enumerate() {
        let left = MARGIN.0 + number as f64 * (PLOT.0 + MARGIN.0);
        let (first, last) = (panel.values[0], panel.values[panel.values.len() - 1]);
        let x = |value: u32| left + PLOT.0 * f64::from(value - first) / f64::from(last - first);
        let y = |units: u64| MARGIN.1 + PLOT.1 * (1.0 - (units as f64 / DRAWN_UNITS_MAX).min(1.0));
        axes(&mut svg, panel, left, &x, &y);
        for (curve, other) in panel.others.iter().enumerate() {
            let colour = COLOURS[curve];
            let curve_points: Vec<(u32, &Point)> =
                panel.values.iter().copied().zip(points.by_ref()).collect();
            let line = |units: &dyn Fn(&Point) -> u64| -> Vec<String> {
                let places = curve_points.iter();
                places
                    .map(|(value, point)| format!("{:.1},{:.1}", x(*value), y(units(point))))
                    .collect()
            };
            let mut band = line(&|point| point.units[0]);
            band.extend(line(&Point::most_of_nine_tenths).into_iter().rev());
            let (band, median) = (band.join(" "), line(&Point::median).join(" "));
            let legend = if other.is_empty() { "nothing else" } else { other };
            let (legend_x, legend_y) = (left + 10.0, MARGIN.1 + 18.0 + 16.0 * curve as f64);
            push(
                &mut svg,
                format_args!(
                    "<polygon points=\"{band}\" fill=\"{colour}\" opacity=\"0.2\"/>\n\
                 <polyline points=\"{median}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n\
                 <text x=\"{legend_x}\" y=\"{legend_y}\" fill=\"{colour}\">{legend}</text>\n"
                ),
            );
        }
    }
    svg + "</svg>\n"
}

/// The frame of a panel, its grid and its numbers.
fn axes(svg: &mut String, panel: &Panel, left: f64, x: &dyn Fn(u32) -> f64, y: &dyn Fn(u64) -> f64) {
    let (right, bottom) = (left + PLOT.0, MARGIN.1 + PLOT.1);
    for units in (0..=DRAWN_UNITS_MAX as u64).step_by(2_000) {
        let (at, text) = (y(units), left - 6.0);
        push(
            svg,
            format_args!(
                "<line x1=\"{left}\" x2=\"{right}\" y1=\"{at}\" y2=\"{at}\" stroke=\"#ddd\"/>\n\
             <text x=\"{text}\" y=\"{}\" text-anchor=\"end\">{units}</text>\n",
                at + 4.0
            ),
        );
    }
    for value in panel.values {
        push(
            svg,
            format_args!(
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{value}</text>\n",
                x(*value),
                bottom + 16.0
            ),
        );
    }
    push(
        svg,
        format_args!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
            left + PLOT.0 / 2.0,
            bottom + 36.0,
            panel.title
        ),
    );
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("a string takes anything");
}
