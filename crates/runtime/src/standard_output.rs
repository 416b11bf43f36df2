//! Standard output, for programs that print what they were asked for and end.
//!
//! What a program was asked for and could not print must not be lost with status 0.

use std::io::{self, Write};

/// Prints `text` and a line feed. A reader that has had enough (`| head -1`) is no failure.
///
/// # Errors
/// One line for people, if it could not be written.
pub fn print(text: &str) -> Result<(), String> {
    print_to(&mut io::stdout().lock(), text)
}

fn print_to(out: &mut impl Write, text: &str) -> Result<(), String> {
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write to standard output: {error}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes nothing, for this reason.
    struct Refusing(io::ErrorKind);

    impl Write for Refusing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_no_failure_and_a_full_disk_is() {
        let to = |kind| print_to(&mut Refusing(kind), "text");
        assert_eq!(to(io::ErrorKind::BrokenPipe), Ok(()));
        let error = to(io::ErrorKind::StorageFull).unwrap_err();
        assert!(error.starts_with("cannot write to standard output: "), "{error}");
        let mut out = Vec::new();
        assert_eq!(print_to(&mut out, "text"), Ok(()));
        assert_eq!(out, b"text\n");
    }
}
