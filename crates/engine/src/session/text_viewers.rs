//! What all text viewers are told: the same, encoded once.
//!
//! A few hear each event in the pass in which it happens. Of many each has its turn now and then
//! (docs/decisions/0093): until then what happened is kept once for all of them, and each knows how far it has heard.
//! Who is still being told how the world is hears of what it has been told only.

use std::rc::Rc;

use trantor_game::{Game, RitualId};
use trantor_time::RealSpan;

use super::{Answer, Sessions, Subject};
use crate::input::ConnId;
use crate::limits;
use crate::output::CloseReason;
use crate::replicate::Lines;

/// Viewers in text, in the order they came.
#[derive(Debug, Default)]
pub(crate) struct TextViewers {
    /// Those who are still being told how the world is.
    coming: Vec<ConnId>,
    /// Those who know, and are told what happens.
    told: Vec<ConnId>,
    news: News,
    /// So many of `told` may have news that they were not announced for, from `next_late` on and round the end.
    late: usize,
    next_late: usize,
    /// Those of `told` that see the past, and the longest of their delays, as long as they are the same.
    delayed: Option<(RealSpan, Rc<[ConnId]>)>,
    /// Who of `told` was not told of which elevation under way, and so is not to hear of its end.
    passed_over: Vec<(ConnId, RitualId)>,
}

impl TextViewers {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.coming.len() + self.told.len()
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Those who are still being told how the world is.
    pub(crate) fn coming(&self) -> &[ConnId] {
        &self.coming
    }

    /// Those who are told what happens.
    pub(crate) fn told(&self) -> &[ConnId] {
        &self.told
    }

    /// How many of them may have news that they were not announced for.
    pub(crate) fn late(&self) -> usize {
        self.late
    }

    /// Each is to be gone to once, in turn.
    pub(super) fn begin_round(&mut self) {
        self.late = self.told.len();
    }

    pub(super) fn add(&mut self, conn: ConnId) {
        self.coming.push(conn);
    }

    pub(super) fn remove(&mut self, conn: ConnId) {
        self.coming.retain(|viewer| *viewer != conn);
        let Some(index) = self.told.iter().position(|viewer| *viewer == conn) else {
            return;
        };
        self.told.remove(index);
        self.passed_over.retain(|(viewer, _)| *viewer != conn);
        self.delayed = None;
        self.next_late -= usize::from(index < self.next_late);
        self.late = self.late.min(self.told.len());
        if self.told.is_empty() {
            self.forget_told();
        }
    }

    fn pass_over(&mut self, conn: ConnId, rituals: &[RitualId]) {
        self.passed_over
            .extend(rituals.iter().map(|ritual| (conn, *ritual)));
    }

    /// There is nobody left who knows the world.
    fn forget_told(&mut self) {
        (self.late, self.next_late, self.delayed) = (0, 0, None);
        self.passed_over.clear();
        self.news.forget_before(self.news.end());
    }
}

/// What happened, in text, and has not been told to everybody.
#[derive(Debug, Default)]
struct News {
    bytes: Vec<u8>,
    /// Bytes that stood before these.
    forgotten: u64,
}

impl News {
    fn end(&self) -> u64 {
        self.forgotten + self.bytes.len() as u64
    }

    fn since(&self, position: u64) -> &[u8] {
        let told = usize::try_from(position - self.forgotten).unwrap_or(usize::MAX);
        &self.bytes[told..]
    }

    fn forget_before(&mut self, position: u64) {
        let told = usize::try_from(position - self.forgotten).unwrap_or(usize::MAX);
        self.bytes.drain(..told);
        self.forgotten = position;
    }
}

impl Sessions {
    /// A text viewer knows how the world is, but for these elevations: from now on it is told what happens.
    pub(crate) fn has_world(&mut self, conn: ConnId, passed_over: &[RitualId]) {
        let end = self.text_viewers.news.end();
        let Some(session) = self.get_mut(conn) else { return };
        session.news_heard = (session.delay == RealSpan::ZERO).then_some(end);
        self.text_viewers.coming.retain(|viewer| *viewer != conn);
        let viewers = &mut self.text_viewers;
        viewers.told.push(conn);
        viewers.pass_over(conn, passed_over);
        // It stands between those whose turn is to come and those round the end of the list.
        viewers.late += usize::from(viewers.late > 0);
        viewers.delayed = None;
    }

    /// Tells all text viewers something; those who do not know yet how the world is, as far as it is about what they
    /// were told of.
    pub(crate) fn push_to_text_viewers(&mut self, lines: &Lines) {
        if !self.text_viewers.coming.is_empty() {
            self.push_to_coming(lines);
        }
        let apart = match self.text_viewers.passed_over.is_empty() {
            true => Vec::new(),
            false => self.push_apart(lines),
        };
        self.push_to_told(lines.bytes(), &apart);
    }

    /// Tells all text viewers that know how the world is how another one is, as far as `answer` has come.
    pub(crate) fn push_jump_to_told(&mut self, bytes: &[u8], answer: &Answer) {
        self.push_to_told(bytes, &[]);
        let viewers = &mut self.text_viewers;
        viewers.passed_over.clear();
        for index in 0..viewers.told.len() {
            viewers.pass_over(viewers.told[index], &answer.passed_over);
        }
    }

    /// Tells those by themselves who were not told of an elevation that ends with these lines; answers who they are.
    fn push_apart(&mut self, lines: &Lines) -> Vec<ConnId> {
        let passed_over = &mut self.text_viewers.passed_over;
        let is_over = |(_, ritual): &mut (ConnId, RitualId)| lines.mention(Subject::Ritual(*ritual));
        let over: Vec<_> = passed_over.extract_if(.., is_over).collect();
        let mut apart: Vec<ConnId> = over.iter().map(|(conn, _)| *conn).collect();
        apart.sort_unstable();
        apart.dedup();
        let end = self.text_viewers.news.end() + lines.bytes().len() as u64;
        for &conn in &apart {
            self.catch_up(conn);
            let told = lines.only(|subject| match subject {
                Subject::Ritual(ritual) => !over.contains(&(conn, ritual)),
                _ => true,
            });
            self.push(conn, |outbox| outbox.extend_from_slice(&told));
            if let Some(heard) = self.get_mut(conn).and_then(|session| session.news_heard.as_mut()) {
                *heard = end;
            }
        }
        apart
    }

    /// Tells all text viewers that know how the world is something, but for those who were told `apart`.
    pub(super) fn push_to_told(&mut self, bytes: &[u8], apart: &[ConnId]) {
        self.hold_for_text_viewers(bytes, apart);
        let viewers = &mut self.text_viewers;
        viewers.news.bytes.extend_from_slice(bytes);
        if viewers.told.len() > limits::TEXT_VIEWERS_AT_ONCE_MAX
            && viewers.news.bytes.len() <= limits::TEXT_NEWS_BYTES_MAX
        {
            viewers.begin_round();
            return;
        }
        for index in 0..self.text_viewers.told.len() {
            let conn = self.text_viewers.told[index];
            self.catch_up(conn);
            self.announce(conn);
        }
        let news = &mut self.text_viewers.news;
        news.forget_before(news.end());
    }

    fn push_to_coming(&mut self, lines: &Lines) {
        for index in 0..self.text_viewers.coming.len() {
            let conn = self.text_viewers.coming[index];
            let Some(answer) = self.get(conn).and_then(|session| session.flow.answer.as_ref()) else {
                continue;
            };
            let told = lines.only(|subject| answer.has_told(subject));
            if !told.is_empty() {
                self.push(conn, |outbox| outbox.extend_from_slice(&told));
            }
        }
    }

    /// The world is another than `before`: who is still being told how it is, is told all of it once more.
    pub(crate) fn restart_coming(&mut self, before: &Game) {
        for index in 0..self.text_viewers.coming.len() {
            let session = self.get_mut(self.text_viewers.coming[index]);
            if let Some(answer) = session.and_then(|session| session.flow.answer.as_mut()) {
                answer.restart(before);
            }
        }
    }

    /// The world is another, of which the text viewers that knew it before are yet to be told all from `answer` on.
    pub(crate) fn tell_world_again(&mut self, answer: &Answer) {
        for conn in std::mem::take(&mut self.text_viewers.told) {
            self.catch_up(conn);
            self.announce(conn);
            if let Some(session) = self.get_mut(conn) {
                session.news_heard = None;
                session.flow.answer = Some(answer.clone());
                self.text_viewers.coming.push(conn);
            }
        }
        self.text_viewers.forget_told();
    }

    /// Keeps something for all text viewers that are told later, but for those who were told `apart`.
    fn hold_for_text_viewers(&mut self, bytes: &[u8], apart: &[ConnId]) {
        let (delay, to) = self.text_viewers.delayed.take().unwrap_or_else(|| {
            let delay_of = |conn: &ConnId| self.get(*conn).map_or(RealSpan::ZERO, |session| session.delay);
            let told = self.text_viewers.told.iter().copied();
            let delayed: Rc<[ConnId]> = told.filter(|conn| delay_of(conn) > RealSpan::ZERO).collect();
            (
                delayed.iter().map(delay_of).max().unwrap_or(RealSpan::ZERO),
                delayed,
            )
        });
        let others = match apart.is_empty() {
            true => Rc::clone(&to),
            false => to.iter().copied().filter(|conn| !apart.contains(conn)).collect(),
        };
        if delay > RealSpan::ZERO
            && self
                .delay
                .hold_for_several(self.now, delay, &others, bytes)
                .is_err()
        {
            log::warn!("too much happens for the delay of spectators in text: they are let go");
            self.delay.forget_several();
            for conn in to.iter() {
                self.doom(*conn, CloseReason::OutboxFull);
            }
        }
        self.text_viewers.delayed = Some((delay, to));
    }

    /// Puts what a text viewer is yet to hear into its outbox.
    pub(super) fn catch_up(&mut self, conn: ConnId) {
        let end = self.text_viewers.news.end();
        let heard = self.get_mut(conn).and_then(|session| session.news_heard.as_mut());
        if let Some(heard) = heard.filter(|heard| **heard < end) {
            let from = std::mem::replace(heard, end);
            let news = std::mem::take(&mut self.text_viewers.news);
            self.push_quietly(conn, |outbox| outbox.extend_from_slice(news.since(from)));
            self.text_viewers.news = news;
        }
    }

    /// Tells the next `count` of the text viewers whose turn has not come yet.
    pub(crate) fn tell_late(&mut self, count: usize) {
        let count = count.min(self.text_viewers.late);
        self.text_viewers.late -= count;
        for _ in 0..count {
            if self.text_viewers.next_late >= self.text_viewers.told.len() {
                self.text_viewers.next_late = 0;
                self.forget_heard();
            }
            if let Some(&conn) = self.text_viewers.told.get(self.text_viewers.next_late) {
                self.catch_up(conn);
                self.announce(conn);
            }
            self.text_viewers.next_late += 1;
        }
        if self.text_viewers.late == 0 {
            self.forget_heard();
        }
    }

    /// Forgets what everybody has heard.
    fn forget_heard(&mut self) {
        let told = self.text_viewers.told.iter();
        let heard = told.filter_map(|conn| self.get(*conn)?.news_heard).min();
        let news = &mut self.text_viewers.news;
        news.forget_before(heard.unwrap_or(news.end()));
    }

    /// What is kept for all text viewers is bounded, and nobody has missed any of it.
    pub(crate) fn check_text_news(&self) {
        let TextViewers {
            told,
            news,
            next_late,
            ..
        } = &self.text_viewers;
        assert!(*next_late <= told.len(), "the next one is one of them");
        assert!(
            news.bytes.len() <= limits::TEXT_NEWS_BYTES_MAX,
            "what is kept for all is bounded"
        );
        for heard in told.iter().filter_map(|conn| self.get(*conn)?.news_heard) {
            assert!(
                (news.forgotten..=news.end()).contains(&heard),
                "nobody misses what happened"
            );
        }
    }
}
