//! Counting what a match comes to ([`MatchTotals`]), as the game goes on.
//!
//! The game owns it and it has no effect on the game: it is no part of a digest. Everything in it follows from the inputs, so
//! that a match, its recording and the same match played in a leap have the same totals, whatever viewers saw of it. It is
//! saved with a snapshot, or the totals of a resumed match would be those of its last part.
//!
//! What a team lacks is judged by what the team itself does: by what its agents carry, and what lies on the tile where one of them
//! last put down a stone or began an elevation.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use trantor_model::totals::{
    Cause, Lack, NEARBY_MAX, Need, Reason, Stay, TURNING_POINTS_MAX, TurningPoint, Why,
};
use trantor_model::{
    AgentId, Counts, ElevationOutcome, Level, MatchTotals, Resource, TeamId, TeamTotals, Tile, Who,
};
use trantor_time::{GameSpan, GameTime};

use crate::check::ensure;
use crate::rules::{Agent, World};

/// Needs of an elevation: the agents, and then the six stones in the places of their resources.
const NEEDS: usize = Resource::COUNT;

/// Teams of which the first turning points are kept with those around: more than a viewer's plot has lines. They make a
/// snapshot larger.
const PLACES_TEAMS_MAX: usize = 16;

/// Columns and rows around a turning point in which agents are noted, to each side.
const NEARBY_COLUMNS: i32 = 5;
const NEARBY_ROWS: i32 = 2;

/// The longest span that is accepted from a snapshot: more agent-time than four billion agents have until the last moment
/// that a snapshot may have. Sums of two do not overflow.
const SPAN_MAX: GameSpan = GameSpan::from_nanounits(1 << 120);

/// What is counted, and what that needs to know of the present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ledger {
    pub(crate) kept: Kept,
    /// By team; follows from the world.
    present: Vec<Present>,
}

/// What a snapshot keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// Since when it was counted.
    since: GameTime,
    /// When the match ended, and for whom.
    ended: Option<(GameTime, TeamId)>,
    /// The team that leads the race.
    leader: Option<TeamId>,
    lead: Option<TurningPoint>,
    broke: Option<TurningPoint>,
    died: Option<TurningPoint>,
    teams: Vec<TeamKept>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct TeamKept {
    joined: u32,
    died: u32,
    lived: GameSpan,
    idle: GameSpan,
    /// Until when those two were counted.
    counted_to: GameTime,
    /// [`Level::score`].
    score: u64,
    first_at: [Option<GameTime>; Level::LAST.get() as usize],
    stays: [Stay; Level::LAST.get() as usize - 1],
    /// The highest level so far; 0 before the first agent.
    best: u8,
    /// Of the stay at that level, what is lacking and was.
    lacking: [Lacking; NEEDS],
    /// Where stones are put down.
    camp: Option<Tile>,
    /// When levels were first reached; only of some teams.
    places: Vec<TurningPoint>,
}

/// How long something was too few.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Lacking {
    since: Option<GameTime>,
    before: GameSpan,
    most: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Present {
    living: u32,
    idle: u32,
    by_level: [u32; Level::LAST.get() as usize],
    /// What its agents carry, together; food is not counted.
    held: [u64; NEEDS],
}

impl Lacking {
    /// `have` of `of` are there now.
    fn note(&mut self, have: u32, of: u32, now: GameTime) {
        if have < of {
            self.most = self.most.max(have);
            self.since.get_or_insert(now);
        } else if let Some(since) = self.since.take() {
            self.before += now - since;
        }
    }

    fn span(&self, now: GameTime) -> GameSpan {
        self.since
            .map_or(self.before, |since| self.before + (now - since))
    }
}

impl Ledger {
    /// Of a world that begins.
    pub(crate) fn new(teams: usize) -> Self {
        let kept = Kept {
            teams: vec![TeamKept::default(); teams],
            ..Kept::default()
        };
        Self {
            kept,
            present: vec![Present::default(); teams],
        }
    }

    /// Of a restored world. Without anything kept, counting begins at `now`.
    pub(crate) fn restore(
        kept: Option<Kept>,
        world: &mut World,
        now: GameTime,
        steps: u64,
    ) -> Result<Self, &'static str> {
        let mut ledger = Self::new(world.teams.len());
        for id in world.agents.ids().to_vec() {
            let agent = &mut world.agents[id];
            agent.counts_as_idle = agent.is_idle();
            let present = &mut ledger.present[usize::from(agent.team.0)];
            present.living += 1;
            present.idle += u32::from(agent.counts_as_idle);
            present.by_level[level_index(agent.level)] += 1;
            present.add_held(&Counts::ZERO, &agent.inventory);
        }
        for (team, kept) in ledger.present.iter_mut().zip(&mut ledger.kept.teams) {
            kept.score = Level::score(&team.by_level);
            let best = team.by_level.iter().rposition(|&agents| agents > 0);
            kept.best = best.map_or(0, |place| place as u8 + 1);
            kept.counted_to = now;
        }
        if let Some(kept) = kept {
            kept.check(world, now)?;
            ledger.kept = kept;
        } else if steps > 0 || world.agents.next_number() > 0 {
            ledger.kept.since = now;
            ledger.kept.ended = world.winner.map(|winner| (now, winner));
        }
        Ok(ledger)
    }

    /// The totals of a match until `now`, or until its end.
    pub(crate) fn totals(&self, now: GameTime) -> MatchTotals {
        let (until, winner) = self.kept.ended.unzip();
        let now = until.unwrap_or(now);
        let teams = self.kept.teams.iter().zip(&self.present);
        let mut totals = MatchTotals {
            since: self.kept.since,
            until: now,
            teams: teams.map(|(team, present)| team.totals(present, now)).collect(),
            turning_points: Vec::new(),
        };
        totals.turning_points = self.turning_points(&totals, winner);
        totals
    }

    /// The turning points, the weightiest causes first, and then in order of time.
    fn turning_points(&self, totals: &MatchTotals, winner: Option<TeamId>) -> Vec<TurningPoint> {
        let reached = |team: TeamId, level: Level, cause: Cause| {
            let places = &self.kept.teams.get(usize::from(team.0))?.places;
            let turning_point = places.iter().find(
                |turning_point| matches!(turning_point.cause, Cause::Stood { level: of, .. } if of == level),
            )?;
            Some(TurningPoint {
                cause,
                ..turning_point.clone()
            })
        };
        let is_stay = |why: &Why| why.level > Level::FIRST && why.reason != Reason::Close;
        let why = totals.why(winner).filter(is_stay);
        let stood = why.and_then(|why| {
            let (team, level) = (why.team, why.level);
            reached(team, level, Cause::Stood { team, level })
        });
        let last_step = winner.and_then(|team| {
            let level = Level::new(Level::LAST.get() - 1).ok()?;
            reached(team, level, Cause::LastStep { team })
        });
        let kept = &self.kept;
        let by_weight = [
            stood,
            kept.lead.clone(),
            kept.broke.clone(),
            kept.died.clone(),
            last_step,
        ];
        let mut turning_points: Vec<TurningPoint> =
            by_weight.into_iter().flatten().take(TURNING_POINTS_MAX).collect();
        turning_points.sort_by_key(|turning_point| turning_point.at);
        turning_points
    }

    fn is_over(&self) -> bool {
        self.kept.ended.is_some()
    }

    fn team(&mut self, team: TeamId) -> (&mut TeamKept, &mut Present) {
        let place = usize::from(team.0);
        (&mut self.kept.teams[place], &mut self.present[place])
    }

    /// Notes whether an agent is idle, after anything that may have changed it.
    pub(crate) fn note_idle(&mut self, agent: &mut Agent, now: GameTime) {
        let is_idle = agent.is_idle();
        if is_idle == agent.counts_as_idle || self.is_over() {
            return;
        }
        agent.counts_as_idle = is_idle;
        let (kept, present) = self.team(agent.team);
        kept.count(present, now);
        match is_idle {
            true => present.idle += 1,
            false => present.idle -= 1,
        }
    }

    /// An agent was born, and has no command yet.
    pub(crate) fn joined(&mut self, world: &mut World, id: AgentId, now: GameTime) {
        let agent = &mut world.agents[id];
        agent.counts_as_idle = true;
        let (team, level) = (agent.team, agent.level);
        let (kept, present) = self.team(team);
        kept.count(present, now);
        kept.joined += 1;
        (present.living, present.idle) = (present.living + 1, present.idle + 1);
        present.add_held(&Counts::ZERO, &agent.inventory);
        self.change_level(world, id, team, (None, Some(level)), now);
    }

    /// An agent is gone; `agent` is as it was.
    pub(crate) fn gone(&mut self, world: &World, agent: &Agent, has_died: bool, now: GameTime) {
        if self.is_over() {
            return;
        }
        let (team, level) = (agent.team, agent.level);
        let (kept, present) = self.team(team);
        kept.count(present, now);
        kept.died += u32::from(has_died);
        present.living -= 1;
        present.idle -= u32::from(agent.counts_as_idle);
        present.add_held(&agent.inventory, &Counts::ZERO);
        self.change_level(world, agent.id, team, (Some(level), None), now);
        let is_greater = |turning_point: &TurningPoint| matches!(turning_point.cause, Cause::Died { level: before, .. } if level >= before);
        if has_died && self.kept.died.as_ref().is_none_or(is_greater) {
            let who = Who {
                agent: agent.id,
                team,
            };
            let mut turning_point = turning_point(world, agent.tile, Cause::Died { who, level }, now);
            turning_point.nearby.truncate(NEARBY_MAX - 1);
            turning_point.nearby.insert(0, (agent.tile, team));
            self.kept.died = Some(turning_point);
        }
    }

    /// An agent has another level than before.
    pub(crate) fn level_changed(&mut self, world: &World, id: AgentId, before: Level, now: GameTime) {
        let agent = &world.agents[id];
        if agent.level != before && !self.is_over() {
            self.change_level(world, id, agent.team, (Some(before), Some(agent.level)), now);
        }
    }

    fn change_level(
        &mut self,
        world: &World,
        id: AgentId,
        team: TeamId,
        (before, after): (Option<Level>, Option<Level>),
        now: GameTime,
    ) {
        let (kept, present) = self.team(team);
        if let Some(before) = before {
            present.by_level[level_index(before)] -= 1;
        }
        if let Some(after) = after {
            present.by_level[level_index(after)] += 1;
        }
        kept.score = Level::score(&present.by_level);
        if let Some(level) = after.filter(|level| level.get() > kept.best) {
            kept.reach(level, now);
            let tile = world.agents[id].tile;
            if usize::from(team.0) < PLACES_TEAMS_MAX {
                kept.places
                    .push(turning_point(world, tile, Cause::Stood { team, level }, now));
            }
        }
        self.judge(world, team, now);
        // More agents at the first level are no lead.
        if before.is_some() {
            self.note_leader(world, world.agent(id), now);
        }
    }

    /// The team that has more than the leader leads; the first leader rose. `risen` has another level, and is `None` if an agent
    /// is gone.
    fn note_leader(&mut self, world: &World, risen: Option<&Agent>, now: GameTime) {
        let score = |team: TeamId| self.kept.teams[usize::from(team.0)].score;
        let teams = (0..).map(TeamId).take(self.present.len());
        let best = teams.min_by_key(|&team| Reverse(score(team)));
        let (from, Some(team)) = (self.kept.leader, best) else {
            return;
        };
        let risen = risen.filter(|agent| agent.team == team);
        let takes_lead = from.map_or(risen.is_some(), |from| score(team) > score(from));
        if !takes_lead {
            return;
        }
        self.kept.leader = Some(team);
        let own = world.agents().filter(|agent| agent.team == team);
        let highest = || own.max_by_key(|agent| (agent.level, Reverse(agent.id)));
        if let Some(agent) = risen.or_else(highest) {
            let cause = Cause::Lead { team, from };
            self.kept.lead = Some(turning_point(world, agent.tile, cause, now));
        }
    }

    /// What a team's agents carry has changed; or where it puts stones down, if `camp` is given.
    pub(crate) fn stones_changed(
        &mut self,
        world: &World,
        team: TeamId,
        (before, after): (&Counts, &Counts),
        camp: Option<Tile>,
        now: GameTime,
    ) {
        if self.is_over() {
            return;
        }
        let (kept, present) = self.team(team);
        present.add_held(before, after);
        kept.camp = camp.or(kept.camp);
        self.judge(world, team, now);
    }

    /// An operator changed what lies somewhere.
    pub(crate) fn ground_changed(&mut self, world: &World, now: GameTime) {
        for team in (0..).map(TeamId).take(self.present.len()) {
            self.judge(world, team, now);
        }
    }

    /// Judges what the next elevation of a team lacks now.
    fn judge(&mut self, world: &World, team: TeamId, now: GameTime) {
        let (kept, present) = self.team(team);
        let needed = Level::new(kept.best).ok().and_then(Level::requirement);
        let Some(needed) = needed else { return };
        let camp = kept.camp.map(|camp| world.ground(camp));
        for (place, lacking) in kept.lacking.iter_mut().enumerate() {
            let (have, of) = match place {
                0 => (present.by_level[usize::from(kept.best) - 1].into(), needed.agents),
                _ => {
                    let lying = camp.map_or(0, |ground| ground.0[place]);
                    (present.held[place] + u64::from(lying), needed.stones.0[place])
                }
            };
            lacking.note(u32::try_from(have).unwrap_or(u32::MAX), of, now);
        }
    }

    /// An elevation ended without success; its living participants are those named.
    pub(crate) fn elevation_broke(
        &mut self,
        world: &World,
        (tile, level): (Tile, Level),
        participants: &[AgentId],
        now: GameTime,
    ) {
        let agents = participants.iter().filter_map(|&id| world.agent(id));
        let agents = agents.map(|agent| (agent.id, agent.team, agent.tile));
        let ElevationOutcome::Broke { team, pushed_away } = ElevationOutcome::new(false, tile, agents) else {
            return;
        };
        if let Some(team) = team {
            let stay = &mut self.team(team).0.stays[level_index(level)];
            stay.broken = stay.broken.saturating_add(1);
        }
        let is_greater = |turning_point: &TurningPoint| matches!(turning_point.cause, Cause::Broke { level: before, .. } if level >= before);
        if self.kept.broke.as_ref().is_none_or(is_greater) {
            let cause = Cause::Broke {
                team,
                level,
                pushed_away,
            };
            self.kept.broke = Some(turning_point(world, tile, cause, now));
        }
    }

    /// The match is over: nothing is counted any more.
    pub(crate) fn end(&mut self, winner: TeamId, now: GameTime) {
        for (kept, present) in self.kept.teams.iter_mut().zip(&self.present) {
            kept.count(present, now);
        }
        self.kept.ended.get_or_insert((now, winner));
    }

    /// What must be true of it in every game.
    pub(crate) fn check(&self, world: &World) -> Result<(), &'static str> {
        if self.is_over() {
            return Ok(());
        }
        let mut present = vec![Present::default(); world.teams.len()];
        for agent in world.agents() {
            let present = &mut present[usize::from(agent.team.0)];
            present.living += 1;
            present.idle += u32::from(agent.is_idle());
            present.by_level[level_index(agent.level)] += 1;
            present.add_held(&Counts::ZERO, &agent.inventory);
        }
        ensure(present == self.present, "the totals are of another world")
    }
}

impl Kept {
    /// Whether a snapshot may hold it.
    fn check(&self, world: &World, now: GameTime) -> Result<(), &'static str> {
        let is_past = |at: &GameTime| (GameTime::ZERO..=now).contains(at);
        let is_span = |span: &GameSpan| (GameSpan::ZERO..=SPAN_MAX).contains(span);
        let is_turning_point = |turning_point: &TurningPoint| {
            let are_on_map = turning_point
                .nearby
                .iter()
                .all(|(tile, _)| world.size.contains(*tile));
            is_past(&turning_point.at)
                && world.size.contains(turning_point.tile)
                && are_on_map
                && turning_point.nearby.len() <= NEARBY_MAX
        };
        let is_known = |team: TeamId| team == TeamId::DRAW || world.team(team).is_some();
        let is_team = |team: &TeamKept| {
            let moments = team.first_at.iter().flatten();
            let lacks = team.stays.iter().flat_map(|stay| stay.lack);
            moments.chain([&team.counted_to]).all(is_past)
                && [team.lived, team.idle].iter().all(is_span)
                && lacks.map(|lack| lack.span).all(|span| is_span(&span))
                && team
                    .lacking
                    .iter()
                    .all(|it| is_span(&it.before) && it.since.iter().all(is_past))
                && team.best <= Level::LAST.get()
                && team.camp.is_none_or(|camp| world.size.contains(camp))
                && team.places.len() <= usize::from(Level::LAST.get())
                && team.places.iter().all(is_turning_point)
        };
        let turning_points = [&self.lead, &self.broke, &self.died].into_iter().flatten();
        let ended = self.ended.map(|(_, winner)| winner);
        let is_fine = self.teams.len() == world.teams.len()
            && is_past(&self.since)
            && self.ended.is_none_or(|(at, _)| is_past(&at))
            && ended == world.winner
            && self.leader.into_iter().all(is_known)
            && self.leader != Some(TeamId::DRAW)
            && turning_points.into_iter().all(is_turning_point)
            && self.teams.iter().all(is_team);
        ensure(is_fine, "the totals are not of this game")
    }
}

impl TeamKept {
    /// Counts until `now`, as many agents having lived and been idle as at present.
    fn count(&mut self, present: &Present, now: GameTime) {
        if now == self.counted_to {
            return;
        }
        let passed = (now - self.counted_to).as_nanounits();
        let span = |agents: u32| GameSpan::from_nanounits(passed.saturating_mul(i128::from(agents)));
        self.lived += span(present.living);
        self.idle += span(present.idle);
        self.counted_to = now;
    }

    /// A level is the best so far: another stay begins.
    fn reach(&mut self, level: Level, now: GameTime) {
        self.close_stay(now);
        let passed = usize::from(self.best)..usize::from(level.get());
        for at in &mut self.first_at[passed] {
            at.get_or_insert(now);
        }
        self.best = level.get();
        self.lacking = Default::default();
    }

    fn close_stay(&mut self, now: GameTime) {
        if let Some(place) = self.best.checked_sub(1).map(usize::from)
            && let Some(stay) = self.stays.get_mut(place)
        {
            stay.lack = lack(&self.lacking, place, now);
        }
    }

    fn totals(&self, present: &Present, now: GameTime) -> TeamTotals {
        let mut counted = self.clone();
        counted.count(present, now);
        counted.close_stay(now);
        TeamTotals {
            joined: counted.joined,
            died: counted.died,
            score: counted.score,
            lived: counted.lived,
            idle: counted.idle,
            first_at: counted.first_at,
            stays: counted.stays,
        }
    }
}

/// What was lacking longest; of equals the rarer.
fn lack(lacking: &[Lacking; NEEDS], place: usize, now: GameTime) -> Option<Lack> {
    let needed = Level::new(place as u8 + 1).ok()?.requirement()?;
    let needs = Resource::ALL.into_iter().zip(lacking);
    let (resource, longest) = needs.max_by_key(|(_, lacking)| lacking.span(now))?;
    let span = longest.span(now);
    let (need, of) = match resource.index() {
        0 => (Need::Agents, needed.agents),
        stone => (Need::Stone(resource), needed.stones.0[stone]),
    };
    let most = longest.most;
    (span > GameSpan::ZERO).then_some(Lack { need, most, of, span })
}

impl Present {
    fn add_held(&mut self, before: &Counts, after: &Counts) {
        for (held, (before, after)) in self.held.iter_mut().zip(before.0.iter().zip(after.0)).skip(1) {
            *held = *held - u64::from(*before) + u64::from(after);
        }
    }
}

fn level_index(level: Level) -> usize {
    usize::from(level.get()) - 1
}

/// A turning point with the agents around it as they stand now.
fn turning_point(world: &World, tile: Tile, cause: Cause, at: GameTime) -> TurningPoint {
    let reach = |reach: i32, side: u16| {
        let side = i32::from(side);
        // A narrow map is gone round once.
        -reach.min((side - 1) / 2)..=reach.min(side / 2)
    };
    let (width, height) = (world.size.width(), world.size.height());
    let wrapped = |at: u16, off: i32, side: u16| (i32::from(at) + off).rem_euclid(i32::from(side)) as u16;
    let tiles = reach(NEARBY_ROWS, height)
        .flat_map(|y| reach(NEARBY_COLUMNS, width).map(move |x| (x, y)))
        .map(|(x, y)| Tile {
            x: wrapped(tile.x, x, width),
            y: wrapped(tile.y, y, height),
        });
    let agents = tiles.flat_map(|tile| world.agents_on(tile).iter().map(move |&id| (tile, id)));
    let nearby = agents.filter_map(|(tile, id)| Some((tile, world.agent(id)?.team)));
    TurningPoint {
        at,
        tile,
        cause,
        nearby: nearby.take(NEARBY_MAX).collect(),
    }
}
