//! What a text viewer saw of a match, added up.

use std::collections::BTreeMap;
use std::fmt;

/// Teams, levels and events, from the lines of the text protocol for viewers.
#[derive(Default)]
pub struct Summary {
    teams: Vec<String>,
    agents: BTreeMap<String, Agent>,
    events: BTreeMap<&'static str, u64>,
    winner: Option<String>,
}

struct Agent {
    team: String,
    level: u8,
    alive: bool,
}

/// Lines that count as events, with the word shown for each.
const EVENTS: &[(&str, &str)] = &[
    ("ppo", "moves"),
    ("pgt", "taken"),
    ("pdr", "put down"),
    ("pbc", "broadcasts"),
    ("pex", "pushes"),
    ("pic", "rituals begun"),
    ("pie", "rituals ended"),
    ("enw", "eggs"),
    ("ebo", "births"),
    ("pdi", "deaths"),
];

impl Summary {
    /// Takes one line in; lines that tell nothing new are passed over.
    pub fn note(&mut self, line: &[u8]) {
        if self.winner.is_some() {
            // The game is over; that everybody is then let go is no part of it.
            return;
        }
        let line = String::from_utf8_lossy(line);
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some((_, event)) = EVENTS.iter().find(|(word, _)| words.first() == Some(word)) {
            *self.events.entry(event).or_default() += 1;
        }
        match words[..] {
            ["tna", team] => self.teams.push(team.to_string()),
            ["pnw", number, _, _, _, level, team] => {
                let agent = Agent {
                    team: team.to_string(),
                    level: level.parse().unwrap_or(1),
                    alive: true,
                };
                self.agents.insert(number.to_string(), agent);
            }
            ["plv", number, level] => {
                if let (Some(agent), Ok(level)) = (self.agents.get_mut(number), level.parse()) {
                    agent.level = level;
                }
            }
            ["pdi", number] => {
                if let Some(agent) = self.agents.get_mut(number) {
                    agent.alive = false;
                }
            }
            ["seg", team] => self.winner = Some(team.to_string()),
            _ => {}
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for team in &self.teams {
            let members = || self.agents.values().filter(|agent| agent.team == *team);
            let mut levels: Vec<u8> = members()
                .filter(|agent| agent.alive)
                .map(|agent| agent.level)
                .collect();
            levels.sort_unstable_by(|a, b| b.cmp(a));
            let levels: Vec<String> = levels.iter().map(u8::to_string).collect();
            let dead = members().filter(|agent| !agent.alive).count();
            let shown = if levels.is_empty() {
                "none".to_string()
            } else {
                levels.join(" ")
            };
            writeln!(
                f,
                "team {team}: {} alive, {dead} dead, levels {shown}",
                levels.len()
            )?;
        }
        let events: Vec<String> = self
            .events
            .iter()
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        writeln!(
            f,
            "events: {}",
            if events.is_empty() {
                "none".to_string()
            } else {
                events.join(", ")
            }
        )?;
        match &self.winner {
            Some(team) => writeln!(f, "winner: {team}"),
            None => writeln!(f, "winner: none yet"),
        }
    }
}
