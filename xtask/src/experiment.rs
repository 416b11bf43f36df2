//! Experiments: many matches of the shipped server, as a table and a picture for `docs/experiments`.
//!
//! What is played is `trantor-server sim`, a process for each match. The same build writes the same files.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use rayon::prelude::*;

use crate::process;

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
    let mut lags = SINGLE.map(str::to_owned).to_vec();
    for panel in &PANELS {
        for other in panel.others {
            let values = panel.values.iter();
            lags.extend(values.map(|value| {
                let lag = format!("{}={value}{} {other}", panel.setting, panel.unit);
                lag.trim().to_owned()
            }));
        }
    }
    let points = lags
        .into_iter()
        .map(|lag| Point::play(&server, lag, options.seeds));
    let points = points.collect::<Result<Vec<_>>>()?;
    let folder = process::root().join("docs/experiments");
    fs::write(folder.join("lag.svg"), picture(&points[SINGLE.len()..])?)?;
    let page = folder.join("lag.md");
    let text = fs::read_to_string(&page).with_context(|| format!("cannot read {}", page.display()))?;
    let (before, _) = text.split_once(TABLE_HEAD).context("the page has a table")?;
    fs::write(&page, format!("{before}{}", table(&points)))?;
    println!("{} and lag.svg are written", page.display());
    Ok(())
}

impl Point {
    /// Plays a match of each seed, as many at a time as there are cores.
    fn play(server: &Path, lag: String, seeds: u64) -> Result<Self> {
        let units = (1..=seeds).into_par_iter();
        let units = units.map(|seed| units_to_victory(server, &lag, seed));
        let mut units = units.collect::<Result<Vec<_>>>()?;
        units.sort_unstable();
        Ok(Self { lag, units })
    }

    fn least(&self) -> u64 {
        self.units[0]
    }

    fn median(&self) -> u64 {
        self.units[self.units.len() / 2]
    }

    /// Units that nine of ten matches took at most.
    fn most_of_nine_tenths(&self) -> u64 {
        self.units[(self.units.len() * 9).div_ceil(10) - 1]
    }
}

/// Plays one match.
fn units_to_victory(server: &Path, lag: &str, seed: u64) -> Result<u64> {
    let (seed, until) = (seed.to_string(), UNITS_MAX.to_string());
    let output = Command::new(server)
        .args(["sim", "--seed", &seed, "--until", &until, "--lag"])
        .args(lag.split_whitespace())
        .output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{errors}");
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let units = summary["units"].as_u64().context("the summary has units")?;
    Ok(match summary["winner"].is_null() {
        true => UNITS_MAX,
        false => units.min(UNITS_MAX),
    })
}

const TABLE_HEAD: &str = "| lag | won | least | median | 9 of 10 | most |\n|---|---:|---:|---:|---:|---:|\n";

fn table(points: &[Point]) -> String {
    let rows = points.iter().map(|point| {
        let (lag, all) = (&point.lag, point.units.len());
        let won = point.units.iter().filter(|&&units| units < UNITS_MAX).count();
        let most = match won < all {
            true => "none".to_owned(),
            false => point.units[all - 1].to_string(),
        };
        let (least, median, nine) = (point.least(), point.median(), point.most_of_nine_tenths());
        format!("| `{lag}` | {won}/{all} | {least} | {median} | {nine} | {most} |\n")
    });
    TABLE_HEAD.to_owned() + &rows.collect::<String>()
}

/// Width and height of a panel's plot, and the room left of and above each, in pixels.
const PLOT: (f64, f64) = (290.0, 250.0);
const MARGIN: (f64, f64) = (56.0, 46.0);

/// The most units that are drawn.
const DRAWN_UNITS_MAX: u64 = 8_000;

/// Colours of a panel's two curves.
const COLOURS: [&str; 2] = ["#1f6fb4", "#c8511b"];

/// The curves as SVG, in the order of their points: a median in a band from the best match to nine of ten.
fn picture(mut points: &[Point]) -> Result<String> {
    let (width, height) = (3.0 * (PLOT.0 + MARGIN.0) + 20.0, PLOT.1 + 2.0 * MARGIN.1 + 20.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n\
         <text x=\"{}\" y=\"18\">units to victory: median, and from the least to 9 of 10</text>\n",
        MARGIN.0
    );
    for (number, panel) in PANELS.iter().enumerate() {
        let left = MARGIN.0 + number as f64 * (PLOT.0 + MARGIN.0);
        let (right, bottom) = (left + PLOT.0, MARGIN.1 + PLOT.1);
        let (first, last) = (panel.values[0], panel.values[panel.values.len() - 1]);
        let x = |value: u32| left + PLOT.0 * f64::from(value - first) / f64::from(last - first);
        let y = |units: u64| bottom - PLOT.1 * (units as f64 / DRAWN_UNITS_MAX as f64).min(1.0);
        let mut text = |x: f64, y: f64, anchor: &str, text: &str| {
            writeln!(
                svg,
                r#"<text x="{x:.1}" y="{y}" text-anchor="{anchor}">{text}</text>"#
            )
        };
        for units in (0..=DRAWN_UNITS_MAX).step_by(2_000) {
            text(left - 6.0, y(units) + 4.0, "end", &units.to_string())?;
        }
        for value in panel.values {
            text(x(*value), bottom + 16.0, "middle", &value.to_string())?;
        }
        text(left + PLOT.0 / 2.0, bottom + 36.0, "middle", panel.title)?;
        for units in (0..=DRAWN_UNITS_MAX).step_by(2_000) {
            let y = y(units);
            writeln!(
                svg,
                r##"<line x1="{left}" x2="{right}" y1="{y}" y2="{y}" stroke="#ddd"/>"##
            )?;
        }
        for (curve, (other, colour)) in panel.others.iter().zip(COLOURS).enumerate() {
            let (of_curve, others) = points.split_at(panel.values.len());
            points = others;
            let line = |units: fn(&Point) -> u64| -> Vec<String> {
                let places = panel.values.iter().zip(of_curve);
                places
                    .map(|(value, point)| format!("{:.1},{:.1}", x(*value), y(units(point))))
                    .collect()
            };
            let mut upper = line(Point::most_of_nine_tenths);
            upper.reverse();
            let band = [line(Point::least), upper].concat().join(" ");
            let median = line(Point::median).join(" ");
            let legend = if other.is_empty() { "nothing else" } else { other };
            let (legend_x, legend_y) = (left + 10.0, MARGIN.1 + 18.0 + 16.0 * curve as f64);
            writeln!(
                svg,
                "<polygon points=\"{band}\" fill=\"{colour}\" opacity=\"0.2\"/>\n\
                 <polyline points=\"{median}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n\
                 <text x=\"{legend_x}\" y=\"{legend_y}\" fill=\"{colour}\">{legend}</text>"
            )?;
        }
    }
    Ok(svg + "</svg>\n")
}
