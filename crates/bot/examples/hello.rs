//! A bot in thirty lines: it broadcasts hello, takes food and prints received broadcasts.
//!
//! `cargo run --example hello -p trantor-bot -- red` plays in team red of a server on this machine.

use trantor_bot::{Command, Event, Percept, Resource, Session, SessionError, Turn};

fn main() -> Result<(), SessionError> {
    let team = std::env::args().nth(1).unwrap_or_else(|| "red".to_owned());
    let mut session = Session::join("localhost:4242", &team)?;
    let (width, height) = session.map_size();
    println!(
        "a map of {width} by {height}, {} places left",
        session.places_left()
    );
    session.ask(Command::Broadcast(b"hello".to_vec().into()))?;
    for step in 1.. {
        if let Percept::Look(sights) = session.ask(Command::Look)? {
            for _ in 0..sights[0].ground[Resource::Food] {
                session.ask(Command::Take(Resource::Food))?;
            }
        }
        session.ask(Command::Forward)?;
        if step % 10 == 0 {
            session.ask(Command::Turn(Turn::Right))?;
            println!("{:?}", session.ask(Command::Inventory)?);
        }
        while let Some(event) = session.take_event() {
            if let Event::Percept(Percept::Message { direction, text }) = event {
                println!("heard from {direction}: {}", text.escape_ascii());
            }
        }
    }
    Ok(())
}
