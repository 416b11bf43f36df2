//! Doubly linked lists through a slab: who belongs together, without memory of their own.
//!
//! An element keeps its own [`Links`]; whoever owns the list keeps its first element. Joining and leaving
//! are O(1). The order within a list means nothing.

use crate::slots::{Slots, TimerId};

/// An element's place in one list.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Links {
    before: Option<TimerId>,
    after: Option<TimerId>,
}

/// Which of an element's links a list uses.
type LinksOf<E> = fn(&mut E) -> &mut Links;

/// Puts `id` at the head of the list that began with `first`; it is the first one now.
pub(crate) fn join<E>(slots: &mut Slots<E>, first: Option<TimerId>, id: TimerId, links_of: LinksOf<E>) {
    *links(slots, id, links_of) = Links {
        before: None,
        after: first,
    };
    if let Some(second) = first {
        links(slots, second, links_of).before = Some(id);
    }
}

/// Takes `id` out of its list, which began with `first`; answers which one it begins with now.
pub(crate) fn leave<E>(
    slots: &mut Slots<E>,
    first: Option<TimerId>,
    id: TimerId,
    links_of: LinksOf<E>,
) -> Option<TimerId> {
    let Links { before, after } = std::mem::take(links(slots, id, links_of));
    if let Some(after) = after {
        links(slots, after, links_of).before = before;
    }
    match before {
        Some(before) => {
            links(slots, before, links_of).after = after;
            first
        }
        None => after,
    }
}

fn links<E>(slots: &mut Slots<E>, id: TimerId, links_of: LinksOf<E>) -> &mut Links {
    links_of(slots.get_mut(id).expect("a list links live elements only"))
}
