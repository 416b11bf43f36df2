//! Bytes that wait to be sent to the server.

use trantor_protocol::wire::{ToServer, write_frame};

/// Bytes that may wait. A viewer says little; a server that does not take even that is not sound.
pub const OUTBOX_BYTES_MAX: usize = 64 * 1024;

/// Bytes in the order they are to be sent.
#[derive(Debug, Default)]
pub struct Outbox {
    bytes: Vec<u8>,
    /// How many of them were taken.
    taken: usize,
}

impl Outbox {
    /// Appends what `write` writes.
    pub fn write<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        if self.taken == self.bytes.len() {
            self.bytes.clear();
            self.taken = 0;
        }
        write(&mut self.bytes)
    }

    /// Appends a message of our own wire, as a frame.
    pub(crate) fn write_message(&mut self, message: &ToServer) {
        self.write(|out| write_frame(out, message))
            .expect("what a viewer says is far shorter than a frame");
    }

    /// What to send next.
    pub fn unsent(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    /// The first `count` bytes of [`Self::unsent`] were sent.
    ///
    /// # Panics
    /// If there were not so many.
    pub fn sent(&mut self, count: usize) {
        assert!(count <= self.unsent().len(), "no more was sent than there was");
        self.taken += count;
    }

    /// Whether more waits than should.
    pub fn is_full(&self) -> bool {
        self.unsent().len() > OUTBOX_BYTES_MAX
    }
}
