//! What happened lately and is still to be seen.
//!
//! Effects are kept by the moment they happened and turned into ages when a scene is made. They never change
//! what is true; the world is [`crate::display`]'s.

use std::collections::VecDeque;

use trantor_model::{AgentId, TeamId};
use trantor_time::{GameSpan, GameTime};

use crate::scene::{EffectKind, Scene, SceneEffect, Span};

/// Effects shown at once. Beyond that nobody can tell them apart, and the oldest go early.
pub const EFFECTS_MAX: usize = 4_096;

/// The effects of one display.
#[derive(Debug, Default)]
pub struct Effects {
    /// In the order they were shown.
    list: VecDeque<Effect>,
}

/// Something that happened at a moment.
#[derive(Clone, Debug)]
pub struct Effect {
    /// What. The span of a broadcast is set when it goes into a scene.
    pub kind: EffectKind,
    /// When.
    pub at: GameTime,
    /// Where, in tiles.
    pub x: f32,
    /// Where, in tiles.
    pub y: f32,
    /// Who did it or whom it befell.
    pub agent: Option<(AgentId, TeamId)>,
    /// What was said; empty for all else.
    pub text: Box<[u8]>,
}

impl Effects {
    /// Adds one; the oldest makes room if there are too many.
    pub fn push(&mut self, effect: Effect) {
        if self.list.len() == EFFECTS_MAX {
            self.list.pop_front();
        }
        self.list.push_back(effect);
    }

    /// Forgets those that are over at `now`, and writes the others into `scene`.
    pub fn fill(&mut self, now: GameTime, scene: &mut Scene) {
        self.list
            .retain(|effect| now - effect.at < GameSpan::from_units(i64::from(effect.kind.shown_units())));
        scene.effects.clear();
        scene.texts.clear();
        for effect in &self.list {
            let age_units = (now - effect.at).as_units_f64().max(0.0) as f32;
            let mut kind = effect.kind;
            if let EffectKind::Broadcast { text } = &mut kind {
                *text = Span {
                    first: scene.texts.len() as u32,
                    len: effect.text.len() as u32,
                };
                scene.texts.extend_from_slice(&effect.text);
            }
            scene.effects.push(SceneEffect {
                kind,
                x: effect.x,
                y: effect.y,
                agent: effect.agent,
                age_units,
                progress: (age_units / kind.shown_units() as f32).min(1.0),
            });
        }
    }
}
