//! The store of deadlines against dull models.

use proptest::prelude::*;
use trantor_time::GameSpan;

use super::*;
use crate::agenda::Agenda;

#[derive(Clone, Debug)]
enum Step {
    Schedule { units: i64, due: Due },
    Cancel(prop::sample::Index),
    Take,
}

fn step() -> impl Strategy<Value = Step> {
    let due = (0..4u8, 0..9u32).prop_map(|(kind, agent)| match kind {
        0 => Due::Action(AgentId(agent)),
        1 => Due::Hunger(AgentId(agent)),
        2 => Due::Refill,
        _ => Due::Start(AgentId(agent)),
    });
    prop_oneof![
        4 => (0..4i64, due).prop_map(|(units, due)| Step::Schedule { units, due }),
        1 => any::<prop::sample::Index>().prop_map(Step::Cancel),
        2 => Just(Step::Take),
    ]
}

/// A row that is used up is forgotten for the next of its moment, not kept beside it.
#[test]
fn rows_of_one_moment_stay_in_order() {
    let mut agenda = Agenda::new(false);
    let at = GameTime::from_units(1);
    let used_up = agenda.schedule(at, Due::Action(AgentId(0)));
    agenda.cancel(used_up);
    for number in 1..3 {
        agenda.schedule(at, Due::Action(AgentId(number)));
    }
    for later in 2..RECENT_ROWS as i64 {
        agenda.schedule(GameTime::from_units(later), Due::Refill);
    }
    agenda.schedule(at, Due::Action(AgentId(3)));
    let of_agents: Vec<Due> = agenda.in_order().filter(|due| *due != Due::Refill).collect();
    assert_eq!(of_agents, [1, 2, 3].map(|number| Due::Action(AgentId(number))));
}

proptest! {
    /// Against a list that is sorted after each step.
    #[test]
    fn deadlines_come_by_moment_and_then_by_registration(
        steps in prop::collection::vec(step(), 0..300),
        lock_step: bool,
    ) {
        let mut agenda = Agenda::new(lock_step);
        let mut now = GameTime::ZERO;
        let mut model: Vec<((Moment, u32), u32, Due, Ticket)> = Vec::new();
        for (number, step) in (0..).zip(steps) {
            match step {
                Step::Schedule { units, due } => {
                    // As in a game: nothing is set for the past, and a start for the present only.
                    let is_start = matches!(due, Due::Start(_));
                    let is_late = model.first().is_some_and(|first| first.0.0.at < now);
                    let at = if is_start { now } else { now + GameSpan::from_units(units) };
                    if is_late || (is_start && model.iter().any(|other| other.2 == due)) {
                        continue;
                    }
                    let ticket = agenda.schedule(at, due);
                    prop_assert_eq!(agenda.get(ticket), Some(due));
                    prop_assert_eq!(agenda.deadline_of(ticket), Some(at));
                    let tie = if lock_step { due.owner() } else { 0 };
                    model.push(((due.moment(at), tie), number, due, ticket));
                    model.sort_by_key(|&(moment, number, ..)| (moment, number));
                }
                Step::Cancel(index) if !model.is_empty() => {
                    let (.., ticket) = model.remove(index.index(model.len()));
                    agenda.cancel(ticket);
                }
                Step::Take if !model.is_empty() => {
                    let ((moment, _), _, due, _) = model.remove(0);
                    now = moment.at;
                    prop_assert_eq!(agenda.take_first(), Some((moment.at, due)));
                }
                Step::Cancel(_) | Step::Take => prop_assert_eq!(agenda.take_first(), None),
            }
            let expected: Vec<Due> = model.iter().map(|&(_, _, due, _)| due).collect();
            prop_assert_eq!(agenda.in_order().collect::<Vec<_>>(), expected);
            prop_assert_eq!(agenda.next_deadline(), model.first().map(|first| first.0.0.at));
            prop_assert_eq!(agenda.len(), model.len());
        }
    }
}
