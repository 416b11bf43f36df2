//! Inbound messages of a service loop, given to handlers by kind.

use std::collections::BTreeMap;

use crate::fault::CallbackResult;
use crate::inbox::Inbox;
use crate::metrics::{Counter, Gauge, Meter, MeterBuilder};

use super::{Service, Stage, StageTurn};

/// What comes in, told apart by kind.
pub trait Message {
    /// The kind, by which handlers are found and which logs show.
    fn kind(&self) -> &'static str;
}

/// The handlers of one loop, by kind of message.
pub struct Handlers<S: 'static, M> {
    by_kind: BTreeMap<&'static str, Vec<Named<S, M>>>,
    /// Kinds that came without a handler, and how often.
    unhandled: BTreeMap<&'static str, u64>,
}

type Named<S, M> = (&'static str, Handler<S, M>);
type Handler<S, M> = Box<dyn FnMut(&mut Service<S>, &M) -> CallbackResult>;

impl<S: 'static, M: Message> Handlers<S, M> {
    /// No handlers yet.
    pub fn new() -> Self {
        Self {
            by_kind: BTreeMap::new(),
            unhandled: BTreeMap::new(),
        }
    }

    /// Adds a handler called `name` for messages of `kind`; several of one kind run in the order added.
    pub fn on(
        mut self,
        kind: &'static str,
        name: &'static str,
        handler: impl FnMut(&mut Service<S>, &M) -> CallbackResult + 'static,
    ) -> Self {
        self.by_kind
            .entry(kind)
            .or_default()
            .push((name, Box::new(handler)));
        self
    }

    /// Messages that came without a handler for their kind, by kind.
    pub fn unhandled(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.unhandled.iter().map(|(&kind, &count)| (kind, count))
    }

    /// Gives `message` to each handler of its kind. One that fails does not keep the others from running.
    pub(super) fn dispatch(&mut self, service: &mut Service<S>, message: &M, turn: &mut StageTurn<'_>) {
        let kind = message.kind();
        let Some(handlers) = self.by_kind.get_mut(kind) else {
            let count = self.unhandled.entry(kind).or_insert(0);
            *count += 1;
            // Once per kind: whoever sends it will send it again.
            if *count == 1 {
                log::warn!("messages of kind {kind:?} have no handler");
            }
            return;
        };
        for (name, handler) in handlers {
            turn.name_item(name);
            service.guard(name, |service| handler(service, message));
        }
    }
}

impl<S: 'static, M: Message> Default for Handlers<S, M> {
    fn default() -> Self {
        Self::new()
    }
}

/// The stage that takes messages from an inbox and dispatches them in the order they arrived.
pub(super) struct Inbound<S: 'static, M> {
    inbox: Inbox<M>,
    handlers: Handlers<S, M>,
    metrics: Option<InboundMetrics>,
}

struct InboundMetrics {
    depth: Gauge,
    messages: Counter,
    aborted: Counter,
    refused: Counter,
    unhandled: Counter,
}

impl<S: 'static, M: Message> Inbound<S, M> {
    pub(super) fn new(inbox: Inbox<M>, handlers: Handlers<S, M>) -> Self {
        Self {
            inbox,
            handlers,
            metrics: None,
        }
    }
}

impl<S, M: Message> Stage<S> for Inbound<S, M> {
    fn run(&mut self, service: &mut Service<S>, turn: &mut StageTurn<'_>) {
        while !self.inbox.is_empty() && turn.admits() {
            let Some(message) = self.inbox.take() else { return };
            self.handlers.dispatch(service, &message, turn);
            if service.has_failed() {
                return;
            }
        }
    }

    fn close(&mut self, _service: &mut Service<S>) {
        self.inbox.close();
    }

    fn declare(&mut self, metrics: &mut MeterBuilder) {
        self.metrics = Some(InboundMetrics {
            depth: metrics.gauge("inbound.depth_count"),
            messages: metrics.counter("inbound.messages_count"),
            aborted: metrics.counter("inbound.aborted_count"),
            refused: metrics.counter("inbound.refused_count"),
            unhandled: metrics.counter("inbound.unhandled_count"),
        });
    }

    fn measure(&self, _service: &Service<S>, meter: &mut Meter) {
        let Some(metrics) = &self.metrics else { return };
        let stats = self.inbox.stats();
        meter.set(metrics.depth, stats.depth as f64);
        meter.set_total(metrics.messages, stats.taken);
        meter.set_total(metrics.aborted, stats.aborted);
        meter.set_total(metrics.refused, stats.refused);
        meter.set_total(metrics.unhandled, self.handlers.unhandled.values().sum());
    }

    fn waiting(&self) -> usize {
        self.inbox.len()
    }
}
