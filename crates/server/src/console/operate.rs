//! What the console's words do to an engine, and what is answered.
//!
//! Needs nothing but the engine, so that a console can be tried on a manual clock. Saving and ending are the
//! server's, in [`super`].

use trantor_engine::{AdminRequest, Client, ClientKind, Engine, LockStepState};
use trantor_game::AdminAction;
use trantor_model::{AgentId, Resource, TeamId, Tile};
use trantor_time::RealTime;

use super::words::Request;
use super::{Answer, picture, words};

/// Lines of one list of clients: more than anybody reads, and a millisecond of the loop's time to write.
const CLIENTS_SHOWN_MAX: usize = 1_000;

/// Does what a line asked for, at `now`.
///
/// # Errors
/// Why it was not done; nothing has changed then.
///
/// # Panics
/// If it is about the server rather than the engine: [`Request::Save`] and [`Request::Quit`].
pub fn carry_out(engine: &mut Engine, request: Request, now: RealTime) -> Answer {
    match request {
        Request::Help(word) => words::help(word.as_deref()),
        Request::Query => Ok(pace(engine, now)),
        Request::TogglePause => {
            let is_frozen = match engine.lock_step_state() {
                Some(state) => matches!(state, LockStepState::Held),
                None => engine.game_clock().is_paused(),
            };
            let request = match is_frozen {
                true => AdminRequest::Resume,
                false => AdminRequest::Pause,
            };
            ask(engine, request, now)
        }
        Request::Ask(request) => ask(engine, request, now),
        Request::Clients(team) => clients(engine, team.as_deref()),
        Request::Map(resource) => Ok(picture::of(engine.game().world(), resource)),
        Request::Tile(at) => tile(engine, at),
        Request::Put {
            tile: at,
            resource,
            count,
        } => {
            must_contain(engine, at)?;
            let mut ground = *engine.game().world().ground(at);
            ground[resource] = count;
            ask(
                engine,
                AdminRequest::Act(AdminAction::SetGround { tile: at, ground }),
                now,
            )?;
            tile(engine, at)
        }
        Request::LayEgg { team, tile } => {
            let team = team_named(engine, &team)?;
            ask(engine, AdminRequest::Act(AdminAction::LayEgg { team, tile }), now)
        }
        Request::Save | Request::Quit => unreachable!("the server does these itself"),
    }
}

/// Asks the engine; tells how time stands if that was what was asked for.
fn ask(engine: &mut Engine, request: AdminRequest, now: RealTime) -> Answer {
    let is_about_time = matches!(
        request,
        AdminRequest::Start
            | AdminRequest::SetFrequency(_)
            | AdminRequest::Pause
            | AdminRequest::Resume
            | AdminRequest::Step(_)
            | AdminRequest::Sprint(_)
            | AdminRequest::Seek(_)
    );
    engine
        .admin(request, now)
        .map_err(|refusal| refusal.to_string())?;
    Ok(if is_about_time {
        pace(engine, now)
    } else {
        String::new()
    })
}

fn pace(engine: &mut Engine, now: RealTime) -> String {
    let stats = engine.stats(now);
    let clock = engine.game_clock();
    let state = match (engine.is_started(), clock.is_paused(), engine.sprint_until()) {
        (false, _, _) => "not started yet".to_owned(),
        (true, true, _) => "frozen".to_owned(),
        (true, false, Some(until)) => format!("sprinting to unit {}", until.whole_units()),
        (true, false, None) => "running".to_owned(),
    };
    let speed = match engine.lock_step_state() {
        None => format!("{} units/s, {state}", clock.frequency().get()),
        Some(_) if !engine.is_started() => format!("in lock-step, {state}"),
        Some(LockStepState::Gathering { free }) => {
            format!("in lock-step, waiting for {free} more players; start begins without them")
        }
        Some(LockStepState::Held) => "in lock-step, frozen".to_owned(),
        Some(LockStepState::Playing { awaited }) => {
            format!("in lock-step, waiting for {awaited} players")
        }
    };
    let mut text = format!("{speed}, at unit {}\n", engine.game_now().whole_units());
    if stats.slips > 0 {
        let units = stats.slipped.as_units_f64();
        text += &format!("{units:.0} units were given up: the machine could not keep up\n");
    }
    text
}

fn clients(engine: &Engine, team: Option<&str>) -> Answer {
    let team = team.map(|name| team_named(engine, name)).transpose()?;
    let is_wanted = |client: &Client| match (team, client.kind) {
        (None, _) => true,
        (Some(team), ClientKind::Agent(agent)) => {
            engine.game().world().agent(agent).map(|agent| agent.team()) == Some(team)
        }
        (Some(_), _) => false,
    };
    let mut text = String::new();
    let mut count = 0;
    for client in engine.clients().filter(is_wanted) {
        count += 1;
        if count > CLIENTS_SHOWN_MAX {
            continue;
        }
        let what = match client.kind {
            ClientKind::Agent(agent) => agent_line(engine, agent),
            ClientKind::Waiting => "waits for the start".to_owned(),
            ClientKind::Greeted => "has not said what it is".to_owned(),
            ClientKind::TextViewer => "watches in text".to_owned(),
            ClientKind::Viewer => "watches".to_owned(),
            ClientKind::Operator => "operates".to_owned(),
            ClientKind::Leaving => "is leaving".to_owned(),
        };
        let (conn, peer) = (client.conn.to_string(), client.peer.to_string());
        text += &format!("{conn:8} {peer:15} {what}");
        if client.may_control && matches!(client.kind, ClientKind::TextViewer | ClientKind::Viewer) {
            text.push_str(", may control");
        }
        if client.unread_bytes > 0 {
            text += &format!(", has {} bytes unread", client.unread_bytes);
        }
        text.push('\n');
    }
    if count > CLIENTS_SHOWN_MAX {
        let more = count - CLIENTS_SHOWN_MAX;
        text += &format!("and {more} more; clients TEAM lists one team\n");
    }
    Ok(text + &format!("connections: {count}\n"))
}

fn agent_line(engine: &Engine, id: AgentId) -> String {
    let game = engine.game();
    let Some(agent) = game.world().agent(id) else {
        return format!("agent {}", id.0);
    };
    let (team, at) = (&game.config().teams[usize::from(agent.team().0)], agent.tile());
    format!(
        "agent {} of {team}, level {} at {} {}",
        id.0,
        agent.level().get(),
        at.x,
        at.y
    )
}

fn tile(engine: &Engine, at: Tile) -> Answer {
    must_contain(engine, at)?;
    let world = engine.game().world();
    let ground = world.ground(at);
    let lying: Vec<String> = Resource::ALL
        .into_iter()
        .map(|resource| format!("{} {}", resource.name(), ground[resource]))
        .collect();
    let mut text = format!("{}\n", lying.join(", "));
    for &id in world.agents_on(at) {
        text += &format!("{}\n", agent_line(engine, id));
    }
    for egg in world.eggs_on(at).iter().filter_map(|&id| world.egg(id)) {
        let team = &engine.game().config().teams[usize::from(egg.team.0)];
        text += &format!("egg {} of {team}\n", egg.id.0);
    }
    Ok(text)
}

fn must_contain(engine: &Engine, at: Tile) -> Result<(), String> {
    let size = engine.game().world().size();
    if size.contains(at) {
        return Ok(());
    }
    Err(format!(
        "the map has columns 0 to {} and rows 0 to {}",
        size.width() - 1,
        size.height() - 1
    ))
}

fn team_named(engine: &Engine, name: &str) -> Result<TeamId, String> {
    let config = engine.game().config();
    config
        .team_named(name.as_bytes())
        .ok_or_else(|| format!("there is no team {name:?}; there are {}", config.teams.join(", ")))
}
