//! A span of a recording that is shown again and again.

use trantor_time::GameTime;

/// The span; either end may be missing yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repeat {
    from: Option<GameTime>,
    to: Option<GameTime>,
}

impl Repeat {
    /// It begins here. An end that lies before goes.
    pub fn begin(&mut self, at: GameTime) {
        self.from = Some(at);
        self.to = self.to.filter(|to| *to > at);
    }

    /// It ends here. A beginning that lies behind goes.
    pub fn end(&mut self, at: GameTime) {
        self.to = Some(at);
        self.from = self.from.filter(|from| *from < at);
    }

    /// Where it begins and ends, as far as that is chosen.
    pub fn ends(&self) -> (Option<GameTime>, Option<GameTime>) {
        (self.from, self.to)
    }

    /// Where to jump when `shown` is shown: back to the beginning from the end on.
    pub fn jump(&self, shown: GameTime) -> Option<GameTime> {
        let (from, to) = (self.from?, self.to?);
        (shown >= to).then_some(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(units: i64) -> GameTime {
        GameTime::from_units(units)
    }

    #[test]
    fn a_span_is_repeated_once_it_has_both_ends() {
        let mut repeat = Repeat::default();
        repeat.begin(units(100));
        assert_eq!(repeat.jump(units(500)), None);
        repeat.end(units(200));
        assert_eq!(
            (repeat.jump(units(199)), repeat.jump(units(200))),
            (None, Some(units(100)))
        );
        repeat.end(units(50));
        assert_eq!(
            repeat.ends(),
            (None, Some(units(50))),
            "ends change places with nothing"
        );
        repeat.begin(units(60));
        assert_eq!(repeat.ends(), (Some(units(60)), None));
    }
}
