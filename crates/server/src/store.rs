//! Names of the files that a run leaves.

/// How the name of a piece of a journal ends while it is written.
pub const JOURNAL: &str = ".trj";

/// How it ends once the piece is finished and packed with zstd.
pub const COMPRESSED: &str = ".trj.zst";
