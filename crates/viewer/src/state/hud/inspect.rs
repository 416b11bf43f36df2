//! The inspector: everything about the selected tile or agent. And the card of the server's scenario.

use egui::{Align2, Button, Color32, FontId, Frame, Label, RichText, Sense, Sides, Ui, vec2};
use trantor_client::{Scene, SceneAction, SceneAgent, SceneClock};
use trantor_model::{AgentId, CommandKind, Counts, Direction, Resource, Shown, ShownBy, Tile};
use trantor_time::link::LinkCounts;

use super::activity::ActivityLog;
use super::icons::{PERSON, Pen};
use super::theme::{self, Colors, grouped, text, truncated};
use super::{PanelContext, words};
use crate::figures::messages_sent;
use crate::input::Action;
use crate::intent::{Intent, Selection};

/// Least height of the card, in points: a line or two, to scroll in.
const HEIGHT_LEAST: f32 = 40.0;
const CELL_HEIGHT: f32 = 36.0;
const CELL_GAP: f32 = 4.0;
/// Agents and eggs listed on a tile, each.
const LISTED_MAX: usize = 6;
/// Food with which an agent's bar is full, and below which the agent is in danger, in units: ten meals and two.
const FOOD_FULL_UNITS: f32 = 1_260.0;
const FOOD_LOW_UNITS: f32 = 252.0;
/// The largest count shown beside the required one: a wider one does not fit the cell.
const HAVE_SHOWN: u32 = 99;
/// Of the scenario's card, in points: what is around note and rows, a line of the note, a row, and its least height.
const SCENARIO_HEADING: f32 = 44.0;
const NOTE_LINE: f32 = 16.0;
const CARD_ROW: f32 = 18.0;
const SCENARIO_LEAST: f32 = 80.0;
/// Its greatest height, so that the events have room below it; the rest is scrolled to.
const SCENARIO_MAX: f32 = 220.0;
/// Characters in a line of the note, about.
const NOTE_LINE_CHARS: usize = 34;
/// Part of the inner width that the name of a card takes at most.
const NAME_SHARE: f32 = 0.5;

/// Shows the card; it ends at `bottom`, in points from the window's top.
pub(super) fn show(ui: &mut Ui, cx: &mut PanelContext<'_>, activity: &ActivityLog, bottom: f32) {
    let selection = cx.state.selection;
    let state = match selection {
        Selection::None => return cx.report.state("selection", "none"),
        Selection::Tile(tile) => format!("tile {} {}", tile.x, tile.y),
        Selection::Agent(id) => format!("agent {}", id.0),
    };
    cx.report.state("selection", state);
    let frame = cx.colors.card();
    let room = bottom - ui.cursor().top() - frame.total_margin().sum().y;
    frame.show(ui, |ui| {
        ui.set_width(ui.available_width());
        theme::scrolled(ui, room.max(HEIGHT_LEAST), |ui| {
            ui.spacing_mut().item_spacing.y = 6.0;
            match selection {
                Selection::None => {}
                Selection::Tile(tile) => tile_card(ui, cx, tile),
                Selection::Agent(id) => match cx.scene().agent(id) {
                    Some(agent) => agent_card(ui, cx, agent, activity),
                    None => {
                        ui.label(RichText::new(format!("agent #{}", id.0)).size(15.0).strong());
                        ui.weak("is not on the map");
                    }
                },
            }
        });
    });
}

fn tile_card(ui: &mut Ui, cx: &mut PanelContext<'_>, tile: Tile) {
    let colors = cx.colors;
    let title = RichText::new(format!("tile {}, {}", tile.x, tile.y)).size(16.0);
    let look = Button::new(RichText::new("look").size(11.0));
    let ((), look) = Sides::new().show(ui, |ui| drop(ui.label(title.strong())), |ui| ui.add(look));
    if look.clicked() {
        cx.request(Intent::Visit(Selection::Tile(tile)));
    }
    let scene = cx.scene();
    if let Some(counts) = scene.ground.as_ref().and_then(|ground| ground.at(tile)) {
        inventory(ui, &colors, counts);
    }
    let mut agents = scene.agents.iter().filter(|agent| agent.tile == tile);
    for agent in agents.by_ref().take(LISTED_MAX) {
        let words = format!("#{} · level {}", agent.id.0, agent.level.get());
        let button = Button::new(RichText::new(words).size(11.5)).frame(false);
        let who = |ui: &mut Ui| {
            theme::swatch(ui, &colors, colors.team(agent.team), 9.0);
            ui.add(button)
        };
        let action = agent.action.as_ref().map_or("", action_text);
        let action = RichText::new(action).small().weak();
        let (button, ()) = Sides::new().show(ui, who, |ui| drop(ui.label(action)));
        if button.clicked() {
            cx.request(Intent::Select(Selection::Agent(agent.id)));
        }
    }
    let more = agents.count();
    if more > 0 {
        ui.label(RichText::new(format!("and {more} more")).weak());
    }
    for egg in scene.eggs.iter().filter(|egg| egg.tile == tile).take(LISTED_MAX) {
        ui.horizontal(|ui| {
            let team = colors.team(egg.team);
            theme::icon(ui, vec2(10.0, 12.0), 12.0, |pen| pen.egg(team, &colors));
            ui.label(format!("egg #{}", egg.egg.0));
        });
    }
    for elevation in scene.elevations.iter().filter(|elevation| elevation.tile == tile) {
        let level = elevation.level.get();
        let left = duration(elevation.remaining_units, &scene.clock);
        ui.label(format!("elevation to level {} · {left}", level + 1));
        theme::bar(ui, &colors, elevation.progress, colors.gold_fill);
    }
}

fn agent_card(ui: &mut Ui, cx: &mut PanelContext<'_>, agent: &SceneAgent, activity: &ActivityLog) {
    let colors = cx.colors;
    let (team, follows) = (cx.team_name(agent.team), cx.state.rig.follows);
    let who = |ui: &mut Ui| {
        theme::swatch(ui, &colors, colors.team(agent.team), 13.0);
        ui.label(RichText::new(format!("#{}", agent.id.0)).size(16.0).strong());
        truncated(ui, RichText::new(team).weak());
    };
    let follow = |ui: &mut Ui| {
        let words = RichText::new(if follows { "following" } else { "follow" });
        ui.add(theme::toggle(&colors, follows, words.size(11.0)))
    };
    let ((), response) = Sides::new().shrink_left().show(ui, who, follow);
    if response.clicked() {
        cx.request(Intent::Do(Action::Follow));
    }
    level(ui, &colors, agent);
    action(ui, cx, agent);
    let shown = cx.scene().shown_by_agent(agent.id);
    if let Some(shown) = shown {
        note(ui, cx, shown);
    }
    if let Some(left) = agent.food_left_units {
        let low = left < FOOD_LOW_UNITS;
        let shade = if low { colors.alarm } else { colors.text };
        let time = RichText::new(duration(left, &cx.scene().clock)).color(shade);
        let fill = if low { colors.alarm } else { colors.life };
        let name = RichText::new("lives for").weak();
        titled_bar(ui, &colors, (name, time), left / FOOD_FULL_UNITS, fill);
    }
    inventory(ui, &colors, &agent.inventory);
    let quarter = (agent.heading / std::f32::consts::FRAC_PI_2).round() as usize;
    let facing = format!("{:?}", Direction::ALL[quarter % 4]).to_lowercase();
    let place = format!("{}, {} · {facing}", agent.tile.x, agent.tile.y);
    theme::row(ui, "tile, facing", place);
    if let Some(shown) = shown.filter(|shown| !shown.cards.is_empty()) {
        section(ui, &colors, "Cards");
        cards(ui, cx, shown);
    }
    requirement(ui, cx, agent);
    queue(ui, cx, agent.id);
    links(ui, cx, agent.id);
    history(ui, cx, agent, activity);
}

/// How high the scenario's card is, in points, about; 0 without one.
pub(super) fn scenario_height(scene: &Scene) -> f32 {
    of_server(scene).map_or(0.0, |shown| {
        let lines = shown.note.chars().count().div_ceil(NOTE_LINE_CHARS) as f32;
        let around = if lines > 0.0 { 16.0 } else { 0.0 };
        let note = lines * NOTE_LINE + around;
        (SCENARIO_HEADING + note + CARD_ROW * shown.cards.len() as f32).min(SCENARIO_MAX)
    })
}

fn of_server(scene: &Scene) -> Option<&Shown> {
    let shown = scene.shown.get(&ShownBy::Server)?;
    (!shown.note.is_empty() || !shown.cards.is_empty()).then_some(shown)
}

/// The note and the cards of the server's scenario, if it shows any.
pub(super) fn scenario(ui: &mut Ui, cx: &PanelContext<'_>) {
    let Some(shown) = of_server(cx.scene()) else {
        return;
    };
    let room = ui.ctx().content_rect().bottom() - ui.cursor().top() - SCENARIO_HEADING;
    if room < SCENARIO_LEAST {
        return;
    }
    cx.colors.card().show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.spacing_mut().item_spacing.y = 3.0;
        theme::heading(ui, &cx.colors, "Scenario");
        theme::scrolled(ui, room.min(SCENARIO_MAX) - SCENARIO_HEADING, |ui| {
            note(ui, cx, shown);
            cards(ui, cx, shown);
        });
    });
}

fn note(ui: &mut Ui, cx: &PanelContext<'_>, shown: &Shown) {
    if shown.note.is_empty() {
        return;
    }
    let well = Frame::new()
        .fill(cx.colors.well)
        .corner_radius(5.0)
        .inner_margin(6.0);
    well.show(ui, |ui| {
        ui.set_width(ui.available_width());
        let job = words::body(ui, &shown.note);
        ui.add(Label::new(job).wrap());
    });
}

fn cards(ui: &mut Ui, cx: &PanelContext<'_>, shown: &Shown) {
    ui.spacing_mut().item_spacing.y = 2.0;
    ui.spacing_mut().interact_size.y = 14.0;
    for (name, value) in &shown.cards {
        let width = ui.available_width() * NAME_SHARE;
        let name = |ui: &mut Ui| {
            ui.set_max_width(width);
            truncated(ui, text(&**name, 12.0, cx.colors.weak));
        };
        let value = |ui: &mut Ui| drop(truncated(ui, RichText::new(&**value).size(12.0)));
        Sides::new().shrink_right().show(ui, name, value);
    }
}

fn queue(ui: &mut Ui, cx: &PanelContext<'_>, agent: AgentId) {
    let Some(waiting) = cx.state.source.waiting(agent) else {
        return;
    };
    let name = |kind: &Option<CommandKind>| kind.map_or_else(|| "?".to_owned(), command_name);
    let words: Vec<String> = waiting.iter().map(name).collect();
    ui.horizontal_wrapped(|ui| {
        ui.weak("queued");
        ui.label(if words.is_empty() {
            "nothing".to_owned()
        } else {
            words.join(", ")
        });
    });
}

/// What became of messages to and from the others, those with most messages first.
fn links(ui: &mut Ui, cx: &mut PanelContext<'_>, agent: AgentId) {
    let Some(links) = cx.state.source.links(agent).filter(|links| !links.is_empty()) else {
        return;
    };
    let colors = &cx.colors;
    section(ui, colors, "Links");
    ui.spacing_mut().item_spacing.y = 2.0;
    ui.spacing_mut().interact_size.y = 14.0;
    let small = |words: String, shade: Color32| text(words, 10.0, shade);
    let head = |ui: &mut Ui| drop(ui.label(small("with".to_owned(), colors.weak)));
    let heads = format!("{:>8} {:>8} {:>7}", "out", "in", "delay");
    let heads = |ui: &mut Ui| drop(ui.label(small(heads, colors.weak).monospace()));
    Sides::new().show(ui, head, heads);
    for link in links {
        let team = cx.scene().agent(link.other).map(|other| other.team);
        let who = |ui: &mut Ui| {
            let shade = team.map_or(colors.weak, |team| colors.team(team));
            theme::swatch(ui, colors, shade, 8.0);
            ui.label(small(format!("#{}", link.other.0), colors.text));
        };
        // Copies and what is in flight aside.
        let carried = |LinkCounts {
                           sent,
                           lost,
                           out_of_range,
                           line_full,
                           ..
                       }: LinkCounts| {
            format!("{}/{sent}", sent.saturating_sub(lost + out_of_range + line_full))
        };
        let [out, back] = [link.to, link.from].map(|link| carried(link.counts));
        let delay = match link.to.counts.delivered {
            0 => "–".to_owned(),
            _ => format!("{:.1} u", link.to.delay_p50.as_units_f64()),
        };
        let words = format!("{out:>8} {back:>8} {delay:>7}");
        let is_lossy = link.to.counts.lost + link.from.counts.lost > 0;
        let shade = if is_lossy { colors.gold } else { colors.text };
        let tip = [("to", &link.to), ("from", &link.from)].map(|(way, totals)| {
            let figures = messages_sent(totals).map(|row| format!("{} {}", row.name, row.value));
            format!("{way} #{}: {}", link.other.0, figures.join(", "))
        });
        let tip = tip.join("\n");
        let figures = |ui: &mut Ui| {
            ui.label(small(words, shade).monospace()).on_hover_text(tip);
        };
        Sides::new().show(ui, who, figures);
    }
}

fn history(ui: &mut Ui, cx: &PanelContext<'_>, agent: &SceneAgent, activity: &ActivityLog) {
    let colors = &cx.colors;
    let mut own = activity.of(agent.id, agent.action.is_some()).peekable();
    if own.peek().is_none() {
        return;
    }
    section(ui, colors, "Lately");
    ui.spacing_mut().item_spacing.y = 2.0;
    ui.spacing_mut().interact_size.y = 14.0;
    for (command, response) in own {
        let shade = match response {
            None => colors.weak,
            Some("ok") => colors.accent,
            Some(_) => colors.alarm,
        };
        let ago = cx.scene().clock.game.whole_units() - command.units;
        let what = |ui: &mut Ui| {
            let mark = Label::new(text(response.unwrap_or("…"), 10.0, shade).monospace());
            ui.add_sized(vec2(18.0, 13.0), mark);
            let words = format!("{} {}", command_name(command.kind), command.detail);
            truncated(ui, RichText::new(words.trim_end()).size(10.5));
        };
        let when = text(format!("{} u", grouped(-ago)), 9.5, colors.weak);
        let when = |ui: &mut Ui| drop(ui.label(when));
        Sides::new().shrink_left().show(ui, what, when);
    }
}

fn level(ui: &mut Ui, colors: &Colors, agent: &SceneAgent) {
    ui.horizontal(|ui| {
        ui.label(RichText::new(format!("level {}", agent.level.get())).strong());
        ui.spacing_mut().item_spacing.x = 3.0;
        for step in 1..=8 {
            let fill = match step {
                8 => colors.gold_fill,
                _ => colors.team(agent.team),
            };
            let is_reached = step <= agent.level.get();
            theme::pip(ui, colors, vec2(13.0, 7.0), is_reached.then_some(fill));
        }
    });
}

fn action(ui: &mut Ui, cx: &PanelContext<'_>, agent: &SceneAgent) {
    let (scene, colors) = (cx.scene(), &cx.colors);
    let mut elevations = scene.elevations.iter();
    let elevation =
        elevations.find(|elevation| agent.held && scene.participants(elevation).contains(&agent.id));
    let (words, progress, left) = match (&agent.action, elevation) {
        (Some(action), _) => (action_text(action), action.progress, Some(action.remaining_units)),
        (None, Some(elevation)) => (
            "in an elevation",
            elevation.progress,
            Some(elevation.remaining_units),
        ),
        (None, None) if agent.held => ("in an elevation", 0.0, None),
        (None, None) => ("idle", 0.0, None),
    };
    let left = left.map_or_else(String::new, |units| duration(units, &scene.clock));
    let left = RichText::new(left).weak();
    let fill = match agent.action {
        Some(_) => colors.accent,
        None => colors.gold_fill,
    };
    titled_bar(ui, colors, (words.into(), left), progress, fill);
}

fn titled_bar(ui: &mut Ui, colors: &Colors, words: (RichText, RichText), share: f32, fill: Color32) {
    ui.vertical(|ui| {
        ui.spacing_mut().item_spacing.y = 3.0;
        Sides::new().show(ui, |ui| ui.label(words.0), |ui| ui.label(words.1));
        theme::bar(ui, colors, share, fill);
    });
}

/// The requirements of the next level, and how many of each are on the agent's tile.
fn requirement(ui: &mut Ui, cx: &PanelContext<'_>, agent: &SceneAgent) {
    let Some(requirement) = agent.level.requirement() else {
        return;
    };
    let (scene, colors) = (cx.scene(), &cx.colors);
    let ground = scene.ground.as_ref().and_then(|ground| ground.at(agent.tile));
    let alike = |other: &&SceneAgent| other.tile == agent.tile && other.level == agent.level;
    let here = scene.agents.iter().filter(alike).count() as u32;
    section(ui, colors, &format!("For level {}", agent.level.get() + 1));
    cells(ui, colors, |resource| {
        // No elevation needs food: its cell shows the agents.
        let (stone, what, have, needed) = match resource {
            Resource::Food => (None, "agents of its level", here, requirement.agents),
            stone => {
                let have = ground.map_or(0, |ground| ground[stone]);
                (Some(stone), stone.name(), have, requirement.stones[stone])
            }
        };
        let text = format!("{}/{needed}", have.min(HAVE_SHOWN));
        let tip = format!("{have} of {needed} {what} on its tile");
        let shade = if have >= needed {
            colors.accent
        } else {
            colors.text
        };
        (needed > 0).then_some((stone, text, tip, shade))
    });
}

/// A length of game time, in units and, while the clock runs, in real time.
fn duration(units: f32, clock: &SceneClock) -> String {
    match clock.seconds(units) {
        Some(seconds) if seconds >= 100.0 => format!("{units:.0} u · {:.0} min", seconds / 60.0),
        Some(seconds) => format!("{units:.0} u · {seconds:.1} s"),
        None => format!("{units:.0} u"),
    }
}

fn section(ui: &mut Ui, colors: &Colors, title: &str) {
    ui.add_space(6.0);
    theme::heading(ui, colors, title);
}

/// A row with a cell for each resource; some may be empty. A cell has an icon, that of a person without a stone, above
/// a number in a colour, and a tip.
fn cells(
    ui: &mut Ui,
    colors: &Colors,
    content: impl Fn(Resource) -> Option<(Option<Resource>, String, String, Color32)>,
) {
    let count = Resource::COUNT as f32;
    let width = (ui.available_width() - CELL_GAP * (count - 1.0)) / count;
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = CELL_GAP;
        for resource in Resource::ALL {
            let (rect, response) = ui.allocate_exact_size(vec2(width, CELL_HEIGHT), Sense::hover());
            let Some((stone, text, tip, shade)) = content(resource) else {
                continue;
            };
            let painter = ui.painter();
            painter.rect_filled(rect, 5.0, colors.well);
            let pen = Pen::new(painter, rect.center_top() + vec2(0.0, 13.0), 15.0);
            match stone {
                None => pen.icon(PERSON, colors.weak),
                Some(resource) => pen.resource(resource),
            }
            let at = rect.center_bottom() - vec2(0.0, 3.0);
            painter.text(at, Align2::CENTER_BOTTOM, text, FontId::proportional(11.0), shade);
            response.on_hover_text(tip);
        }
    });
}

fn inventory(ui: &mut Ui, colors: &Colors, counts: &Counts) {
    cells(ui, colors, |resource| {
        let count = counts[resource];
        let shade = if count > 0 { colors.text } else { colors.weak };
        let name = resource.name().to_owned();
        Some((Some(resource), count.to_string(), name, shade))
    });
}

fn action_text(action: &SceneAction) -> &'static str {
    if action.refused {
        return "is refused";
    }
    match action.kind {
        CommandKind::Forward => "walks",
        CommandKind::Right => "turns right",
        CommandKind::Left => "turns left",
        CommandKind::Look => "looks around",
        CommandKind::Inventory => "counts what it has",
        CommandKind::Broadcast => "speaks",
        CommandKind::ConnectNbr => "asks for places",
        CommandKind::Fork => "lays an egg",
        CommandKind::Eject => "pushes",
        CommandKind::Take => "picks up",
        CommandKind::Set => "puts down",
        CommandKind::Incantation => "leads an elevation",
    }
}

fn command_name(kind: CommandKind) -> String {
    match kind {
        CommandKind::ConnectNbr => "Connect_nbr".to_owned(),
        kind => format!("{kind:?}"),
    }
}
