//! The append-only log of encoded updates of one language, in which each viewer has a position.

use std::collections::VecDeque;
use std::ops::Range;

/// Bytes that some viewer has yet to read.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// The last one grows up to [`CHUNK_BYTES`].
    chunks: VecDeque<Vec<u8>>,
    /// Position of the first byte kept.
    pub(crate) begin: u64,
    /// Position behind the last byte.
    pub(crate) end: u64,
}

/// Bytes of a chunk of the log from which on another one begins.
const CHUNK_BYTES: usize = 64 * 1024;

impl Log {
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        match self.chunks.back_mut().filter(|chunk| chunk.len() < CHUNK_BYTES) {
            Some(chunk) => chunk.extend_from_slice(bytes),
            None => {
                let mut chunk = Vec::with_capacity(CHUNK_BYTES.max(bytes.len()));
                chunk.extend_from_slice(bytes);
                self.chunks.push_back(chunk);
            }
        }
        self.end += bytes.len() as u64;
    }

    /// Appends the bytes from one position up to another to `out`.
    pub(crate) fn copy(&self, range: Range<u64>, out: &mut Vec<u8>) {
        let mut at = self.begin;
        for chunk in &self.chunks {
            let end = at + chunk.len() as u64;
            if end <= range.start {
                at = end;
                continue;
            }
            let [from, until] =
                [range.start, range.end].map(|position| (position.clamp(at, end) - at) as usize);
            out.extend_from_slice(&chunk[from..until]);
            at = end;
        }
    }

    /// Forgets what lies before a position, which all have read.
    pub(crate) fn forget_before(&mut self, position: u64) {
        while let Some(first) = self.chunks.front_mut()
            && self.begin + first.len() as u64 <= position
        {
            self.begin += first.len() as u64;
            if self.chunks.len() == 1 {
                // Its room is used again.
                self.chunks[0].clear();
                return;
            }
            self.chunks.pop_front();
        }
    }
}
