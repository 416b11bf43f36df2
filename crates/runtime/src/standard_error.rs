//! Standard error, for programs that end and say why.

use std::fmt;
use std::io::{self, Write};

/// Says `line`. Where it cannot be written there is nobody to tell that, and the status a program ends with says the
/// rest; `eprintln!` would panic, and end it with another.
pub fn say(line: impl fmt::Display) {
    let _nobody_hears = writeln!(io::stderr(), "{line}");
}
