//! What a pass was made of, in words for a log.

use std::fmt;

use trantor_time::RealSpan;

use super::{Budget, StageSpec, StageUse, Stages};

/// What one pass was made of.
#[derive(Debug)]
pub struct PassReport<'a> {
    pub(super) stages: &'a Stages,
    pub(super) duration: RealSpan,
}

impl PassReport<'_> {
    /// How long the pass took, sleeping not included.
    pub fn duration(&self) -> RealSpan {
        self.duration
    }

    /// Every stage with what it spent in this pass, in declared order.
    pub fn uses(&self) -> impl Iterator<Item = (StageSpec, StageUse)> + '_ {
        self.stages.uses()
    }

    /// Whether it reached the limit from which passes are to be logged.
    pub fn is_long(&self) -> bool {
        self.duration >= self.stages.long_pass
    }

    /// Logs the pass with its stages, its slowest item, and `depths` of the loop's queues, if it was long.
    pub fn log_if_long(&self, depths: &[(&str, usize)]) {
        if self.is_long() {
            log::warn!("{}: long pass: {self}{}", self.stages.loop_name, Depths(depths));
        }
    }
}

impl fmt::Display for PassReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "pass {} took {:.1} ms:",
            self.stages.passes,
            self.duration.as_millis_f64()
        )?;
        for (spec, turn) in self.stages.uses() {
            let more = if turn.left_over { "+" } else { "" };
            write!(
                f,
                " {} {:.1} ms ({}{more})",
                spec.name,
                turn.time.as_millis_f64(),
                turn.items
            )?;
        }
        if let Some(slowest) = &self.stages.slowest {
            write!(
                f,
                "; slowest {} {:.1} ms",
                slowest.name,
                slowest.took.as_millis_f64()
            )?;
        }
        Ok(())
    }
}

/// The stages of a loop in their order, with their budgets.
pub(super) struct Declared<'a>(pub(super) &'a [StageSpec]);

impl fmt::Display for Declared<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, StageSpec { name, budget }) in self.0.iter().enumerate() {
            let arrow = if index == 0 { "" } else { " > " };
            write!(f, "{arrow}{name}")?;
            if *budget != Budget::UNLIMITED {
                write!(
                    f,
                    " ({} items, {} ms)",
                    budget.items_max,
                    budget.time_max.as_millis_f64()
                )?;
            }
        }
        Ok(())
    }
}

struct Depths<'a>(&'a [(&'a str, usize)]);

impl fmt::Display for Depths<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (queue, depth)) in self.0.iter().enumerate() {
            write!(
                f,
                "{}{queue} {depth}",
                if index == 0 { "; queued: " } else { ", " }
            )?;
        }
        Ok(())
    }
}
