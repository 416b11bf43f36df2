//! Standard error, for programs that end and say why.

use std::fmt;
use std::io::{self, Write};

/// Prints `line`. A failure to write is ignored, since it cannot be reported; `eprintln!` would panic and change the exit
/// status.
pub fn say(line: impl fmt::Display) {
    let _cannot_be_reported = writeln!(io::stderr(), "{line}");
}
