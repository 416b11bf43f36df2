//! A game loop on a thread of its own: for screens that bring no event loop with them.

use trantor_runtime::wait::{Wait, Woken};
use trantor_time::Clock;

use super::{GameLoop, Screen, Viewer, Wake};

/// Runs `game_loop` until one of its systems asks for the end, sleeping in `wait` when nothing is due.
///
/// `take` answers the oldest event that waits, and `handle` does something about it; the thread that puts events wakes `wait`.
pub fn run<S: Screen + 'static, C: Clock, W: Wait, E>(
    game_loop: &mut GameLoop<S, C>,
    wait: &mut W,
    mut take: impl FnMut() -> Option<E>,
    mut handle: impl FnMut(&mut Viewer<S>, E),
) {
    while !game_loop.is_over() {
        while let Some(event) = take() {
            game_loop.event(|viewer, _| handle(viewer, event));
        }
        if let Wake::At(wake) = game_loop.turn() {
            // Why it woke makes no difference: the clock decides what is due.
            let _: Woken = wait.wait(Some(wake));
        }
    }
}
