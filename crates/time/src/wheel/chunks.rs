//! Many lists that grow and are emptied, in one piece of memory.
//!
//! A list is a chain of chunks, and chunks go back to a pool that all lists share: memory follows what is held
//! at a time, not the sum of what each list ever held. Lists are appended to and read from the front, so both
//! walk memory forwards.

/// Values in a chunk: a few cache lines in a row, and little waste for hundreds of short lists.
const CHUNK: usize = 32;

const NO_CHUNK: u32 = u32::MAX;

/// The memory of all lists of one owner.
#[derive(Clone, Debug)]
pub(crate) struct Chunks<V> {
    /// Chunk `c` is `values[c * CHUNK..][..CHUNK]`.
    values: Vec<V>,
    /// The chunk after each one, in its list or among the free ones.
    next: Vec<u32>,
    first_free: u32,
}

/// One list; it means something only to the [`Chunks`] it was filled from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    first: u32,
    last: u32,
    len: u32,
}

impl List {
    pub(crate) const EMPTY: Self = Self {
        first: NO_CHUNK,
        last: NO_CHUNK,
        len: 0,
    };

    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }
}

impl<V: Copy> Chunks<V> {
    pub(crate) const fn new() -> Self {
        Self {
            values: Vec::new(),
            next: Vec::new(),
            first_free: NO_CHUNK,
        }
    }

    pub(crate) fn push(&mut self, list: &mut List, value: V) {
        let offset = list.len() % CHUNK;
        if offset == 0 {
            let chunk = self.take_chunk(value);
            match list.len {
                0 => list.first = chunk,
                _ => self.next[list.last as usize] = chunk,
            }
            list.last = chunk;
        }
        self.values[list.last as usize * CHUNK + offset] = value;
        list.len += 1;
    }

    /// Moves all values of `list` to the end of `out`, in the order they were pushed.
    pub(crate) fn drain(&mut self, list: &mut List, out: &mut Vec<V>) {
        let List {
            first: mut chunk,
            len,
            ..
        } = std::mem::replace(list, List::EMPTY);
        let mut left = len as usize;
        while left > 0 {
            let count = left.min(CHUNK);
            let start = chunk as usize * CHUNK;
            out.extend_from_slice(&self.values[start..start + count]);
            left -= count;
            let next = std::mem::replace(&mut self.next[chunk as usize], self.first_free);
            self.first_free = chunk;
            chunk = next;
        }
    }

    fn take_chunk(&mut self, filler: V) -> u32 {
        if self.first_free != NO_CHUNK {
            let chunk = self.first_free;
            self.first_free = self.next[chunk as usize];
            return chunk;
        }
        let chunk = self.next.len() as u32;
        self.next.push(NO_CHUNK);
        self.values.resize(self.values.len() + CHUNK, filler);
        chunk
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_their_order_and_share_memory() {
        let mut chunks = Chunks::new();
        let mut lists = [List::EMPTY; 3];
        for round in 0..10_usize {
            // Each round another list is the long one.
            let lengths = [0, 1, 2].map(|list| {
                if list == round % 3 {
                    1000
                } else {
                    list * CHUNK + round
                }
            });
            for value in 0..1000 {
                for (index, list) in lists.iter_mut().enumerate() {
                    if value < lengths[index] {
                        chunks.push(list, value * 10 + index);
                    }
                }
            }
            for (index, list) in lists.iter_mut().enumerate() {
                assert_eq!(list.len(), lengths[index]);
                let mut out = vec![usize::MAX];
                chunks.drain(list, &mut out);
                let expected: Vec<_> = (0..lengths[index]).map(|value| value * 10 + index).collect();
                assert_eq!(out[1..], expected);
                assert_eq!(list.len(), 0);
            }
        }
        assert!(
            chunks.values.len() <= 1000 + 6 * CHUNK,
            "{} values held at most 1100",
            chunks.values.len()
        );
    }
}
