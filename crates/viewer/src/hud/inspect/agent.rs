//! Everything about one agent: what it does and did, what it carries, what it lacks to rise.

use egui::{Align, CornerRadius, Layout, RichText, Sense, Stroke, StrokeKind, Ui, vec2};
use trantor_client::{Scene, SceneAgent, SceneClock, SceneRitual};
use trantor_model::{CommandKind, Counts, Direction, Resource};

use super::super::HudInput;
use super::super::doings::{Answer, Doings};
use super::super::report::Report;
use super::super::speed::grouped;
use super::super::theme::{self, Colors};
use super::{Cell, Sign, card, cells, doing, inventory, section, span};
use crate::input::Action;
use crate::intent::Intent;

/// Food with which an agent's bar is full, in units: ten meals.
const FOOD_FULL_UNITS: f32 = 1_260.0;
/// Food below which an agent is in danger, in units: two meals.
const FOOD_LOW_UNITS: f32 = 252.0;
/// The most that is shown of what lies there, beside what is needed: more would be wider than its place.
const HAVE_SHOWN: u32 = 99;

pub(super) fn show(
    ui: &mut Ui,
    colors: &Colors,
    input: &HudInput<'_>,
    (agent, doings, bottom): (&SceneAgent, &Doings, f32),
    report: &mut Report,
    intents: &mut Vec<Intent>,
) {
    let clock = &input.scene.clock;
    card(ui, colors, bottom, |ui| {
        let who = |ui: &mut Ui| {
            theme::swatch(ui, colors, colors.team(agent.team), 13.0);
            ui.label(RichText::new(format!("#{}", agent.id.0)).size(16.0).strong());
            let team = input.scene.teams.get(usize::from(agent.team.0));
            let name = RichText::new(team.map_or("", |team| &*team.name)).color(colors.weak);
            ui.add(egui::Label::new(name).truncate());
        };
        let follow = |ui: &mut Ui| {
            let text = RichText::new(if input.follows { "following" } else { "follow" }).size(11.0);
            ui.add(theme::toggle(colors, input.follows, text))
        };
        let ((), response) = egui::Sides::new().shrink_left().show(ui, who, follow);
        report.widget("follow", response.rect);
        if response.clicked() {
            intents.push(Intent::Do(Action::Follow));
        }
        level(ui, colors, agent);
        action(ui, colors, input.scene, agent);
        food(ui, colors, agent, clock);
        inventory(ui, colors, &agent.inventory);
        let facing = match Direction::ALL[(agent.heading / std::f32::consts::FRAC_PI_2).round() as usize % 4]
        {
            Direction::North => "north",
            Direction::East => "east",
            Direction::South => "south",
            Direction::West => "west",
        };
        let place = format!("{}, {} · {facing}", agent.tile.x, agent.tile.y);
        theme::row(ui, colors, "tile, facing", place);
        if let Some(requirement) = agent.level.requirement() {
            needs(ui, colors, input, agent, requirement.agents, &requirement.stones);
        }
        queue(ui, colors, input, report);
        lately(ui, colors, input, agent, doings);
    });
}

/// What it has asked for and has not begun: at most nine, behind the one it is doing.
fn queue(ui: &mut Ui, colors: &Colors, input: &HudInput<'_>, report: &mut Report) {
    let Some(waiting) = input.waiting else { return };
    report.state("queue", waiting.len());
    let words: Vec<&str> = waiting.iter().map(|kind| kind.map_or("?", command)).collect();
    let words = match words.is_empty() {
        true => "nothing".to_owned(),
        false => words.join(", "),
    };
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new("waits to do").color(colors.weak));
        ui.label(words);
    });
}

/// The last commands, and what was answered.
fn lately(ui: &mut Ui, colors: &Colors, input: &HudInput<'_>, agent: &SceneAgent, doings: &Doings) {
    let mut own = doings.of(agent.id, agent.action.is_some()).peekable();
    if own.peek().is_none() {
        return;
    }
    section(ui, colors, "Lately");
    ui.spacing_mut().item_spacing.y = 2.0;
    ui.spacing_mut().interact_size.y = 14.0;
    for (doing, answer) in own {
        ui.horizontal(|ui| {
            let (words, shade) = match answer {
                Answer::UnderWay => ("…", colors.weak),
                Answer::Ok => ("ok", colors.accent),
                Answer::Ko => ("ko", colors.alarm),
            };
            ui.add_sized(
                vec2(18.0, 13.0),
                egui::Label::new(RichText::new(words).monospace().size(10.0).color(shade)),
            );
            let text = match doing.detail.as_str() {
                "" => command(doing.kind).to_owned(),
                detail => format!("{} {detail}", command(doing.kind)),
            };
            let ago = input.scene.clock.game.whole_units() - doing.units;
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                ui.label(
                    RichText::new(format!("{} u", grouped(-ago)))
                        .size(9.5)
                        .color(colors.weak),
                );
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    ui.add(egui::Label::new(RichText::new(text).size(10.5)).truncate());
                });
            });
        });
    }
}

/// A command as players write it.
fn command(kind: CommandKind) -> &'static str {
    match kind {
        CommandKind::Forward => "Forward",
        CommandKind::Right => "Right",
        CommandKind::Left => "Left",
        CommandKind::Look => "Look",
        CommandKind::Inventory => "Inventory",
        CommandKind::Broadcast => "Broadcast",
        CommandKind::ConnectNbr => "Connect_nbr",
        CommandKind::Fork => "Fork",
        CommandKind::Eject => "Eject",
        CommandKind::Take => "Take",
        CommandKind::Set => "Set",
        CommandKind::Incantation => "Incantation",
    }
}

fn level(ui: &mut Ui, colors: &Colors, agent: &SceneAgent) {
    ui.horizontal(|ui| {
        ui.label(RichText::new(format!("level {}", agent.level.get())).strong());
        ui.spacing_mut().item_spacing.x = 3.0;
        for step in 1..=8 {
            let (rect, _) = ui.allocate_exact_size(vec2(13.0, 7.0), Sense::hover());
            let reached = step <= agent.level.get();
            let fill = match (reached, step) {
                (true, 8) => colors.gold_fill,
                (true, _) => colors.team(agent.team),
                (false, _) => colors.well,
            };
            let rim = if reached { colors.rim(fill) } else { Stroke::NONE };
            let radius = CornerRadius::same(2);
            ui.painter().rect(rect, radius, fill, rim, StrokeKind::Inside);
        }
    });
}

fn action(ui: &mut Ui, colors: &Colors, scene: &Scene, agent: &SceneAgent) {
    let (words, progress, remaining) = match (&agent.action, ritual_of(scene, agent)) {
        (Some(action), _) => (doing(action), action.progress, Some(action.remaining_units)),
        (None, Some(ritual)) => ("held by a ritual", ritual.progress, Some(ritual.remaining_units)),
        (None, None) if agent.held => ("held by a ritual", 0.0, None),
        (None, None) => ("waits for its player", 0.0, None),
    };
    let fill = match agent.action {
        Some(_) => colors.accent,
        None => colors.gold_fill,
    };
    ui.vertical(|ui| {
        ui.spacing_mut().item_spacing.y = 3.0;
        ui.horizontal(|ui| {
            ui.label(words);
            if let Some(remaining) = remaining {
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    ui.label(RichText::new(span(remaining, &scene.clock)).color(colors.weak));
                });
            }
        });
        theme::bar(ui, colors, progress, fill, 5.0);
    });
}

/// The ritual that holds an agent, if one does.
fn ritual_of<'a>(scene: &'a Scene, agent: &SceneAgent) -> Option<&'a SceneRitual> {
    let mut rituals = scene.rituals.iter();
    rituals.find(|ritual| agent.held && scene.participants(ritual).contains(&agent.id))
}

fn food(ui: &mut Ui, colors: &Colors, agent: &SceneAgent, clock: &SceneClock) {
    let Some(left) = agent.food_left_units else { return };
    let low = left < FOOD_LOW_UNITS;
    ui.vertical(|ui| {
        ui.spacing_mut().item_spacing.y = 3.0;
        ui.horizontal(|ui| {
            ui.label(RichText::new("lives for").color(colors.weak));
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let text = RichText::new(span(left, clock));
                ui.label(if low { text.color(colors.alarm) } else { text });
            });
        });
        let fill = if low { colors.alarm } else { colors.life };
        theme::bar(ui, colors, left / FOOD_FULL_UNITS, fill, 5.0);
    });
}

/// What the next elevation still lacks, on the agent's own tile.
fn needs(
    ui: &mut Ui,
    colors: &Colors,
    input: &HudInput<'_>,
    agent: &SceneAgent,
    agents: u32,
    stones: &Counts,
) {
    let ground = input
        .scene
        .ground
        .as_ref()
        .and_then(|ground| ground.at(agent.tile));
    let alike = |other: &&SceneAgent| other.tile == agent.tile && other.level == agent.level;
    let here = input.scene.agents.iter().filter(alike).count() as u32;
    section(ui, colors, &format!("For level {}", agent.level.get() + 1));
    cells(ui, colors, |resource| {
        let (sign, what, have, needed) = match resource {
            // Nobody rises by food: its place tells how many it takes.
            Resource::Food => (Sign::Person, "agents of its level", here, agents),
            stone if stones[stone] == 0 => return None,
            stone => {
                let have = ground.map_or(0, |ground| ground[stone]);
                (Sign::Resource(stone), stone.name(), have, stones[stone])
            }
        };
        Some(Cell {
            sign,
            text: format!("{}/{needed}", have.min(HAVE_SHOWN)),
            tip: format!("{have} of {needed} {what} on its tile"),
            shade: match have >= needed {
                true => colors.accent,
                false => colors.text,
            },
        })
    });
}
