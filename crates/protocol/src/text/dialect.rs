//! The dialects in which agents may be spoken to.
//!
//! The game is the same in all of them; only the words differ, and the shape of two answers. Viewers are
//! spoken to in one language whatever the dialect.

use trantor_model::{CommandKind, Resource};

/// Which words the agents of a game use. It is chosen once, for the whole server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Epitech's since 2017: `WELCOME`, `Forward`, `[ player,,, ]`.
    #[default]
    Epitech,
    /// Epitech's until 2016: School 42's words in French, `{ joueur nourriture,,,}`.
    Epitech2016,
    /// School 42's: `BIENVENUE`, `avance`, `{nourriture, , , }`.
    French42,
    /// School 42's subject in English: `WELCOME`, `advance`, `{food, , , }`.
    English42,
}

/// The words of a dialect. Lines are given without their end.
#[derive(Debug)]
pub struct Words {
    /// The server's first line.
    pub greeting: &'static str,
    /// Command words; the first one of a kind is the one to write, others are only understood.
    pub commands: &'static [(&'static str, CommandKind)],
    /// Food, as an object; stones have the same names everywhere.
    pub food: &'static str,
    /// An agent in sight.
    pub player: &'static str,
    /// An egg in sight.
    pub egg: &'static str,
    /// An elevation began.
    pub elevation_underway: &'static str,
    /// Stands before the new level, with the space between.
    pub current_level: &'static str,
    /// The agent died.
    pub dead: &'static str,
    /// Stands before the direction an agent was pushed from, with the space between.
    pub ejected: &'static str,
    /// Stands between the direction of a sound and its text.
    pub message_separator: &'static str,
    /// How the answers to look and inventory are laid out.
    pub layout: Layout,
}

/// How the answers to look and inventory are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `[ player food,, linemate ]` with the looker in it, and `[ food 9, … ]` in whole food.
    Brackets,
    /// `{ player food,, linemate}` with the looker in it, and `{food 9,linemate 0,…}` in whole food.
    TightBraces,
    /// `{food, , linemate}` without the looker, and `{food 1260, …}` in units of life left.
    Braces,
}

static EPITECH: Words = Words {
    greeting: "WELCOME",
    commands: &[
        ("Forward", CommandKind::Forward),
        ("Right", CommandKind::Right),
        ("Left", CommandKind::Left),
        ("Look", CommandKind::Look),
        ("Inventory", CommandKind::Inventory),
        ("Broadcast", CommandKind::Broadcast),
        ("Connect_nbr", CommandKind::ConnectNbr),
        ("Fork", CommandKind::Fork),
        ("Eject", CommandKind::Eject),
        ("Take", CommandKind::Take),
        ("Set", CommandKind::Set),
        ("Incantation", CommandKind::Incantation),
    ],
    food: "food",
    player: "player",
    egg: "egg",
    elevation_underway: "Elevation underway",
    current_level: "Current level: ",
    dead: "dead",
    ejected: "eject: ",
    message_separator: ", ",
    layout: Layout::Brackets,
};

static EPITECH_2016: Words = Words {
    layout: Layout::TightBraces,
    ..FRENCH
};

static FRENCH_42: Words = FRENCH;

const FRENCH: Words = Words {
    greeting: "BIENVENUE",
    commands: &[
        ("avance", CommandKind::Forward),
        ("droite", CommandKind::Right),
        ("gauche", CommandKind::Left),
        ("voir", CommandKind::Look),
        ("inventaire", CommandKind::Inventory),
        ("broadcast", CommandKind::Broadcast),
        ("connect_nbr", CommandKind::ConnectNbr),
        ("fork", CommandKind::Fork),
        ("expulse", CommandKind::Eject),
        ("prend", CommandKind::Take),
        // Not in the subject; one public client sends it.
        ("prendre", CommandKind::Take),
        ("pose", CommandKind::Set),
        ("incantation", CommandKind::Incantation),
    ],
    food: "nourriture",
    player: "joueur",
    egg: "oeuf",
    elevation_underway: "elevation en cours",
    current_level: "niveau actuel : ",
    dead: "mort",
    ejected: "deplacement ",
    message_separator: ",",
    layout: Layout::Braces,
};

static ENGLISH_42: Words = Words {
    greeting: "WELCOME",
    commands: &[
        ("advance", CommandKind::Forward),
        ("right", CommandKind::Right),
        ("left", CommandKind::Left),
        ("see", CommandKind::Look),
        ("inventory", CommandKind::Inventory),
        ("broadcast", CommandKind::Broadcast),
        ("connect_nbr", CommandKind::ConnectNbr),
        ("fork", CommandKind::Fork),
        ("kick", CommandKind::Eject),
        ("take", CommandKind::Take),
        ("put", CommandKind::Set),
        ("incantation", CommandKind::Incantation),
    ],
    food: "food",
    player: "player",
    egg: "egg",
    elevation_underway: "elevation in progress",
    current_level: "current level : ",
    dead: "death",
    ejected: "moving ",
    message_separator: ",",
    layout: Layout::Braces,
};

impl Dialect {
    /// All of them, in the order in which options name them.
    pub const ALL: [Dialect; 4] = [Self::Epitech, Self::Epitech2016, Self::French42, Self::English42];

    /// The dialect's words.
    pub fn words(self) -> &'static Words {
        match self {
            Self::Epitech => &EPITECH,
            Self::Epitech2016 => &EPITECH_2016,
            Self::French42 => &FRENCH_42,
            Self::English42 => &ENGLISH_42,
        }
    }
}

impl Words {
    /// The command that `word` stands for, in exactly this case.
    pub fn command(&self, word: &[u8]) -> Option<CommandKind> {
        let found = self.commands.iter().find(|(name, _)| name.as_bytes() == word);
        found.map(|&(_, kind)| kind)
    }

    /// The word to write for a command.
    pub fn command_word(&self, wanted: CommandKind) -> &'static str {
        let found = self.commands.iter().find(|&&(_, kind)| kind == wanted);
        found.expect("every dialect has a word for every command").0
    }

    /// The word for a resource.
    pub fn resource_word(&self, resource: Resource) -> &'static str {
        match resource {
            Resource::Food => self.food,
            stone => stone.name(),
        }
    }

    /// The resource that `word` stands for, in exactly this case.
    pub fn resource(&self, word: &[u8]) -> Option<Resource> {
        let named = |resource: &Resource| self.resource_word(*resource).as_bytes() == word;
        Resource::ALL.into_iter().find(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_has_every_command_and_no_word_twice() {
        for dialect in Dialect::ALL {
            let words = dialect.words();
            for kind in CommandKind::ALL {
                assert_eq!(words.command(words.command_word(kind).as_bytes()), Some(kind));
            }
            for resource in Resource::ALL {
                assert_eq!(
                    words.resource(words.resource_word(resource).as_bytes()),
                    Some(resource)
                );
            }
            for (at, (name, _)) in words.commands.iter().enumerate() {
                assert!(
                    words.commands[..at].iter().all(|(other, _)| other != name),
                    "{name} twice in {dialect:?}"
                );
            }
        }
    }
}
