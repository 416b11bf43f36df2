//! What a text viewer knows, by the words it was sent last. It is as strict as the strictest viewer known: whatever a line
//! is about has to be there already.

use std::collections::BTreeMap;

use super::{Arrival, Bench};
use trantor_time::RealSpan;

/// The last line about each thing, by word and number: `ppo #3` is `4 5 1`.
#[derive(Debug, Default)]
pub struct TextWorld(BTreeMap<String, String>);

impl TextWorld {
    pub fn receive(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let rest = |from: usize| words[from..].join(" ");
        let key = |word: &str, until: usize| format!("{word} {}", words[1..until].join(" "));
        match words[0] {
            "WELCOME" | "BIENVENUE" | "sgt" | "smg" | "suc" => {}
            "msz" => self.set("msz".to_owned(), rest(1)),
            "bct" => self.set(key("bct", 3), rest(3)),
            "tna" => {
                let tiles = self.0.keys().filter(|key| key.starts_with("bct")).count();
                let [x, y] = [0, 1].map(|nth| self.0["msz"].split(' ').nth(nth).expect("a size"));
                let area = x.parse::<usize>().expect(x) * y.parse::<usize>().expect(y);
                assert_eq!(tiles, area, "tiles before teams");
                self.set(key("tna", 2), String::new());
            }
            "pnw" => {
                assert!(
                    self.0.contains_key(&format!("tna {}", words[6])),
                    "{line}: of no team"
                );
                self.add(key("ppo", 2), words[2..5].join(" "));
                self.add(key("plv", 2), words[5].to_owned());
            }
            "ppo" | "plv" | "pin" => {
                self.must_know("ppo", words[1], line);
                // An inventory names the tile too, which is older than the last step.
                let from = if words[0] == "pin" { 4 } else { 2 };
                self.set(key(words[0], 2), rest(from));
            }
            "pgt" | "pdr" | "pfk" | "pex" | "pbc" => self.must_know("ppo", words[1], line),
            "pdi" => {
                self.remove(&key("ppo", 2), line);
                self.remove(&key("plv", 2), line);
                self.0.remove(&key("pin", 2));
            }
            "enw" => {
                if words[2].trim_start_matches('#') != "-1" {
                    self.must_know("ppo", words[2], line);
                }
                self.add(key("enw", 2), rest(3));
            }
            "eht" => {
                self.must_know("enw", words[1], line);
                self.set(key("eht", 2), String::new());
            }
            "ebo" | "edi" => {
                self.0.remove(&key("eht", 2));
                self.remove(&key("enw", 2), line);
            }
            "pic" => {
                let participants = words[4..].iter();
                participants.for_each(|agent| self.must_know("ppo", agent, line));
                // Others may begin another on the same tile.
                let before = self.0.remove(&key("pic", 3)).unwrap_or_default();
                self.set(key("pic", 3), before + "+");
            }
            "pie" => {
                // It began before this viewer came, and all participants had gone.
                let under_way = self.0.remove(&key("pic", 3)).unwrap_or_default();
                if under_way.len() > 1 {
                    self.set(key("pic", 3), under_way[1..].to_owned());
                }
            }
            "seg" => self.add("seg".to_owned(), rest(1)),
            other => panic!("{other} is not expected here: {line}"),
        }
    }

    /// Compares with a viewer that has just come, which knows no less but, in the 42 dialects, what is carried.
    pub fn assert_knows(&self, late: &Self) {
        for (key, value) in &late.0 {
            assert_eq!(self.0.get(key), Some(value), "{key}");
        }
        let more: Vec<_> = self.0.keys().filter(|key| !late.0.contains_key(*key)).collect();
        assert!(more.iter().all(|key| key.starts_with("pin")), "{more:?}");
    }

    /// How many things of this kind it knows.
    pub fn count(&self, word: &str) -> usize {
        self.0.keys().filter(|key| key.starts_with(word)).count()
    }

    fn must_know(&self, word: &str, number: &str, line: &str) {
        assert!(
            self.0.contains_key(&format!("{word} {number}")),
            "{line}: unknown"
        );
    }

    fn set(&mut self, key: String, value: String) {
        self.0.insert(key, value);
    }

    fn add(&mut self, key: String, value: String) {
        assert_eq!(self.0.insert(key, value), None, "nothing begins twice");
    }

    fn remove(&mut self, key: &str, line: &str) {
        assert!(self.0.remove(key).is_some(), "{line}: unknown");
    }
}

impl Bench {
    /// Checks that a text viewer with these lines knows as much as one that joins now; returns that world.
    pub fn assert_knows_all(&mut self, viewer: usize, received: &[String]) -> TextWorld {
        let late = self.join("late", "GRAPHIC");
        self.run_for(RealSpan::from_millis(400));
        let [mut early, mut fresh] = [TextWorld::default(), TextWorld::default()];
        received.iter().for_each(|line| early.receive(line));
        self.lines(viewer).iter().for_each(|line| early.receive(line));
        self.lines(late).iter().for_each(|line| fresh.receive(line));
        assert!(fresh.count("tna") > 0, "it has the whole world");
        early.assert_knows(&fresh);
        self.close(late);
        fresh
    }

    /// What each peer was sent since it was last taken, as text viewers know it.
    pub fn text_worlds(&self) -> Vec<TextWorld> {
        let mut worlds: Vec<TextWorld> = self.peers.iter().map(|_| TextWorld::default()).collect();
        for received in &self.received {
            if let Arrival::Bytes(line) = &received.what {
                worlds[received.peer].receive(String::from_utf8_lossy(line).trim_end());
            }
        }
        worlds
    }
}
