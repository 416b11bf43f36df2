//! Messages on links: delays, losses, copies, queues.

use std::num::NonZeroU64;

use proptest::prelude::*;
use trantor_time::link::{Bandwidth, Chance, Delivery, Link, LinkError, LinkSettings, Loss, Order};
use trantor_time::{GameSpan, GameTime};

const PERFECT: LinkSettings = LinkSettings::PERFECT;

fn units(units: i64) -> GameSpan {
    GameSpan::from_units(units)
}

fn at(units: i64) -> GameTime {
    GameTime::from_units(units)
}

fn link(settings: LinkSettings) -> Link {
    Link::new(settings, 7, 1).expect("good settings")
}

fn per(amount: u64) -> NonZeroU64 {
    NonZeroU64::new(amount).expect("not zero")
}

fn chance(parts_per_million: u32) -> Chance {
    Chance::parts_per_million(parts_per_million).expect("at most one")
}

fn arrives(at: GameTime) -> Delivery {
    Delivery::Arrives { at, again_at: None }
}

#[test]
fn delay_is_distance_over_speed_plus_latency_plus_jitter() {
    let settings = LinkSettings {
        speed: Some(per(3)),
        latency: units(2),
        ..PERFECT
    };
    assert_eq!(link(settings).send(at(10), 12, 0), arrives(at(16)));
    // A third of a unit is rounded up to a billionth, never down.
    let third = GameSpan::from_nanounits(333_333_334);
    assert_eq!(link(settings).send(at(10), 1, 0), arrives(at(12) + third));
    let mut jittery = link(LinkSettings {
        jitter_max: units(5),
        order: Order::MayOvertake,
        ..settings
    });
    let delays: Vec<_> = (0..10_000)
        .map(|_| match jittery.send(at(0), 0, 0) {
            Delivery::Arrives { at, .. } => at.as_units_f64(),
            Delivery::Lost(loss) => panic!("{loss:?}"),
        })
        .collect();
    assert!(delays.iter().all(|delay| (2.0..=7.0).contains(delay)));
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    assert!((mean - 4.5).abs() < 0.05, "evenly spread: {mean}");
}

#[test]
fn losses_and_copies_come_as_often_as_set_and_are_counted() {
    let mut lossy = link(LinkSettings {
        loss: chance(250_000),
        duplication: chance(100_000),
        range: Some(5),
        ..PERFECT
    });
    let n = 100_000;
    for _ in 0..n {
        lossy.send(at(0), 5, 0);
    }
    assert_eq!(lossy.send(at(0), 6, 0), Delivery::Lost(Loss::OutOfRange));
    lossy.delivered();
    lossy.abandoned();
    let counts = *lossy.counts();
    assert_eq!(
        (counts.sent, counts.out_of_range, counts.delivered),
        (n + 1, 1, 1)
    );
    assert!(counts.lost.abs_diff(n / 4) < n / 200, "{counts:?}");
    assert!(
        counts.duplicated.abs_diff((n - counts.lost) / 10) < n / 200,
        "{counts:?}"
    );
    assert_eq!(counts.in_flight, n - counts.lost + counts.duplicated - 2);
}

#[test]
fn bandwidth_queues_and_bounds_the_queue() {
    let bandwidth = Some(Bandwidth {
        bytes_per: per(100),
        wait_max: units(2),
    });
    let mut link = link(LinkSettings {
        bandwidth,
        latency: units(1),
        ..PERFECT
    });
    // Sent at, bytes, and when it arrives: a unit of latency after its last byte is on the line.
    for (sent, bytes, arrival) in [
        (0, 100, Some(2)),
        (0, 100, Some(3)),
        (0, 200, Some(5)),
        // It would wait four units, and two are allowed.
        (0, 1, None),
        (2, 100, Some(6)),
        // An idle line has no memory.
        (50, 100, Some(52)),
    ] {
        let expected = arrival.map_or(Delivery::Lost(Loss::LineFull), |arrival| arrives(at(arrival)));
        assert_eq!(link.send(at(sent), 0, bytes), expected, "{bytes} bytes at {sent}");
    }
    assert_eq!(link.counts().line_full, 1);
}

#[test]
fn settings_may_change_while_messages_are_under_way() {
    let late = |latency| LinkSettings {
        latency: units(latency),
        ..PERFECT
    };
    let overtaking = LinkSettings {
        order: Order::MayOvertake,
        ..PERFECT
    };
    let mut link = link(PERFECT);
    // First in, first out, also across the change; a refusal changes nothing.
    for (settings, is_good, sent, arrival) in [
        (late(10), true, 0, 10),
        (PERFECT, true, 1, 10),
        (overtaking, true, 2, 2),
        (late(-1), false, 3, 3),
    ] {
        assert_eq!(link.set(settings).is_ok(), is_good);
        assert_eq!(link.send(at(sent), 0, 0), arrives(at(arrival)));
    }
    let asked = 1_000_001;
    assert_eq!(
        Chance::parts_per_million(asked),
        Err(LinkError::ChanceAboveOne { asked })
    );
}

fn any_settings() -> impl Strategy<Value = LinkSettings> {
    let span = || (0..100_000_000_000_i128).prop_map(GameSpan::from_nanounits);
    (
        prop::option::of(1..1000_u64),
        (span(), span(), 0..=1_000_000_u32, 0..=1_000_000_u32),
        prop::option::of(0..50_u64),
        prop::option::of((1..10_000_u64, span())),
        any::<bool>(),
    )
        .prop_map(
            |(speed, (latency, jitter_max, loss, duplication), range, bandwidth, is_fifo)| LinkSettings {
                speed: speed.map(per),
                latency,
                jitter_max,
                loss: chance(loss),
                duplication: chance(duplication),
                range,
                bandwidth: bandwidth.map(|(bytes, wait_max)| Bandwidth {
                    bytes_per: per(bytes),
                    wait_max,
                }),
                order: if is_fifo { Order::Fifo } else { Order::MayOvertake },
            },
        )
}

proptest! {
    /// The same seed gives the same deliveries; and what is sent earlier arrives no later, unless overtaking is allowed.
    #[test]
    fn the_same_seed_gives_the_same_deliveries(
        settings in any_settings(),
        seed in any::<u64>(),
        messages in prop::collection::vec((0..20_000_000_000_i128, 0..60_u64, 0..5000_u64), 1..100),
    ) {
        let new = || Link::new(settings, seed, 3).expect("good settings");
        let (mut link, mut again) = (new(), new());
        let (mut now, mut last) = (GameTime::ZERO, GameTime::ZERO);
        let half = messages.len() / 2;
        for (index, (gap, distance, bytes)) in messages.into_iter().enumerate() {
            if index == half {
                let saved = postcard::to_stdvec(&again).expect("a link can be saved");
                again = postcard::from_bytes(&saved).expect("and loaded");
            }
            now += GameSpan::from_nanounits(gap);
            let delivery = link.send(now, distance, bytes);
            prop_assert_eq!(delivery, again.send(now, distance, bytes));
            if let Delivery::Arrives { at, again_at } = delivery {
                let copy = again_at.unwrap_or(at);
                prop_assert!(at >= now && copy >= now);
                if settings.order == Order::Fifo {
                    prop_assert!(at >= last && copy >= at);
                    last = copy;
                }
            }
        }
        prop_assert_eq!(link.counts(), again.counts());
    }

    /// Which messages chance takes depends on the seed alone, not on what else is set in between.
    #[test]
    fn other_settings_do_not_change_which_messages_are_lost(one in any_settings(), loss in 0..=1_000_000_u32) {
        let lossy = |settings| LinkSettings { loss: chance(loss), range: None, bandwidth: None, ..settings };
        let mut one = link(lossy(one));
        let mut other = link(lossy(PERFECT));
        for step in 0..200 {
            let is_lost = |delivery| delivery == Delivery::Lost(Loss::Chance);
            prop_assert_eq!(is_lost(one.send(at(step), 1, 1)), is_lost(other.send(at(step), 2, 2)));
        }
    }
}
