//! Digest of all events of a run, in order; equal for two runs of one seed.

use trantor_time::RealTime;

/// FNV-1a over instants, kinds, connections and bytes.
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

    /// Adds an event.
    pub(crate) fn note(&mut self, now: RealTime, kind: u8, conn: usize, bytes: &[u8]) {
        self.mix(&now.as_nanos().to_le_bytes());
        self.mix(&[kind]);
        self.mix(&(conn as u64).to_le_bytes());
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
