//! A digest of everything that happened in a run, in order: two runs of one seed have the same.

use trantor_time::RealTime;

/// FNV-1a over instants, places and bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trace {
    state: u64,
}

impl Trace {
    pub(crate) fn new() -> Self {
        Self {
            state: 0xcbf2_9ce4_8422_2325,
        }
    }

    /// Something happened at `now`: what kind of thing, to whom, and with which bytes.
    pub(crate) fn note(&mut self, now: RealTime, kind: u8, whom: usize, bytes: &[u8]) {
        self.mix(&now.as_nanos().to_le_bytes());
        self.mix(&[kind]);
        self.mix(&(whom as u64).to_le_bytes());
        self.mix(&(bytes.len() as u64).to_le_bytes());
        self.mix(bytes);
    }

    pub(crate) fn digest(self) -> u64 {
        self.state
    }

    fn mix(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.state = (self.state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
