//! Panels stay in the window and do not cover each other, however large it is and however much there is to show.

use super::*;
use crate::hud::figures::{Group, Row};

#[test]
fn cards_stay_in_the_window_and_apart() {
    for size in SIZES {
        for teams in [0, 1, 4, 8, 12, 1_000] {
            for selection in [Selection::None, Selection::Agent(AgentId(7))] {
                let mut bench = Bench::with_teams(DemoScene::Overview, size, teams);
                bench.selection = selection;
                bench.run();
                let told = format!("{size:?}, {teams} teams, {selection:?}");
                // Of a window of 320 points nothing is promised but who plays.
                let is_small = size.0 < 480.0;
                for (place, card) in bench.hud.cards.iter().enumerate() {
                    let window = bench.window();
                    assert!(
                        window.contains_rect(*card) || is_small,
                        "{told}: {card:?} in {window:?}"
                    );
                    let others = &bench.hud.cards[place + 1..];
                    assert!(
                        others.iter().all(|other| !other.intersects(*card)),
                        "{told}: {:?}",
                        bench.hud.cards
                    );
                }
                let points = bench.size;
                let (least, _) = bench.hud.clear_part(points, false, teams);
                let covered = bench.hud.cards.iter().filter(|card| card.top() < 40.0);
                let down_to = covered.map(|card| card.bottom()).fold(0.0, f32::max);
                if size.0 < 900.0 && selection == Selection::None && least.y < 0.39 {
                    assert!(least.y * points.y >= down_to, "{told}: {least} above {down_to}");
                }
                if teams > 0 {
                    assert!(
                        bench.words.iter().any(|words| words.text.starts_with("Team")
                            || words.text.contains("nobody")
                            || words.text.contains("leads")),
                        "{told}: no team card"
                    );
                }
            }
        }
    }
}

#[test]
fn names_make_room_for_numbers_and_what_is_not_shown_is_counted() {
    for size in SIZES {
        let mut bench = Bench::with_teams(DemoScene::Overview, size, 12);
        bench.run();
        let names: Vec<&Words> = (bench.words.iter())
            .filter(|words| words.text.starts_with('T') && words.text.ends_with('…'))
            .collect();
        let figures: Vec<&Words> = (bench.words.iter())
            .filter(|words| ["2.5k", "17.4k", "20"].contains(&&*words.text))
            .collect();
        assert_eq!(figures.len() % 3, 0);
        for figure in &figures {
            assert!(
                names.iter().all(|name| !name.rect.intersects(figure.rect)),
                "{size:?}: {figure:?} under a name"
            );
        }
        let shown = figures.len() / 3;
        let more = format!("and {} more", 12 - shown);
        let more = bench.says(if shown > 0 { &more } else { "12 teams" });
        assert!(
            more.is_some_and(Words::is_whole),
            "{size:?}, {shown} shown: {:?}",
            bench.words
        );
    }
}

#[test]
fn all_keys_fit_the_usual_windows_and_can_be_scrolled_to_in_others() {
    for size in SIZES {
        let mut bench = Bench::new(DemoScene::Overview, size);
        bench.hud.panels.help = true;
        bench.run();
        let window = bench.window();
        assert!(window.contains_rect(bench.area("help")), "{size:?}");
        let said = |text: &str| bench.says(text).unwrap_or_else(|| panic!("{size:?}: {text}"));
        assert!(said("Keys and mouse").is_whole());
        if size.1 >= 500.0 && size.0 >= 800.0 {
            for action in Action::ALL {
                assert!(said(help::meaning(*action)).is_whole(), "{size:?}: {action:?}");
            }
        }
        bench.click(bench.area("help").center());
        assert_eq!(
            bench.intents,
            [Intent::Do(Action::Help)],
            "{size:?}: a click closes it"
        );
    }
}

#[test]
fn the_view_of_the_inside_has_columns_with_room_between_them_and_stays_in_the_window() {
    for size in SIZES {
        let mut bench = Bench::new(DemoScene::Overview, size);
        bench.hud.panels.debug = true;
        bench.figures.groups = ["One", "Two", "Three"]
            .map(|title| Group {
                title,
                rows: vec![
                    Row {
                        name: "name".to_owned(),
                        value: "in 5982.72 ms".to_owned(),
                        is_bad: false,
                    };
                    12
                ],
            })
            .to_vec();
        bench.run();
        assert!(
            bench.window().contains_rect(bench.area("debug")),
            "{size:?}: {:?}",
            bench.area("debug")
        );
        for value in bench.words.iter().filter(|words| words.text.starts_with("in 59")) {
            let next = bench.words.iter().filter(|words| {
                words.text == "name"
                    && words.rect.left() > value.rect.left()
                    && words.rect.y_range().intersects(value.rect.y_range())
            });
            for next in next {
                assert!(next.rect.left() - value.rect.right() > 12.0, "{size:?}");
            }
        }
    }
}

#[test]
fn who_won_is_told_where_no_card_lies() {
    for size in SIZES {
        let mut bench = Bench::new(DemoScene::Victory, size);
        bench.run();
        let banner = bench.area("banner");
        assert!(
            bench.hud.cards.contains(&banner) && bench.window().contains_rect(banner),
            "{size:?}"
        );
        for card in bench.hud.cards.iter().filter(|card| **card != banner) {
            assert!(!card.intersects(banner), "{size:?}: {card:?} over {banner:?}");
        }
    }
}

#[test]
fn without_panels_it_is_told_at_the_top() {
    let mut bench = Bench::new(DemoScene::Victory, (400.0, 300.0));
    bench.hud.panels.any = false;
    bench.run();
    assert!(bench.area("banner").top() < 20.0);
}

#[test]
fn the_map_in_the_corner_is_there_where_it_has_room() {
    for (height, selection, has_map) in [
        (460.0, Selection::None, false),
        (720.0, Selection::None, true),
        (900.0, Selection::Agent(AgentId(7)), false),
        (1_080.0, Selection::Agent(AgentId(7)), true),
    ] {
        let mut bench = Bench::new(DemoScene::Overview, (1280.0, height));
        bench.stats = Some(ClientStats {
            server: Some(Default::default()),
            ..ClientStats::default()
        });
        bench.selection = selection;
        bench.run();
        assert_eq!(bench.says("HEAT").is_some(), has_map, "{height}, {selection:?}");
        for (place, card) in bench.hud.cards.iter().enumerate() {
            let others = &bench.hud.cards[place + 1..];
            assert!(
                others.iter().all(|other| !other.intersects(*card)),
                "{height}, {selection:?}: {:?}",
                bench.hud.cards
            );
        }
    }
}

#[test]
fn what_is_along_the_bottom_stands_on_one_line_and_uses_the_room_there_is() {
    let mut bench = Bench::new(DemoScene::Overview, (1280.0, 720.0));
    bench.run();
    assert_eq!(bench.area("hints").bottom(), bench.area("minimap").bottom());
    // What is beside an inspector that reaches down to the edge has less room.
    let mut bench = Bench::new(DemoScene::Overview, (800.0, 500.0));
    bench.paint_mode = PaintMode::Heat(trantor_model::Resource::Food);
    bench.run();
    assert!((bench.area("legend").center().x - 400.0).abs() < 1.0);
    bench.selection = Selection::Agent(AgentId(7));
    bench.run();
    assert!(bench.area("legend").right() < bench.area("right").left());
}
