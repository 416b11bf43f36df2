//! The program's own terminal, and what stands for one: gone, full, or not read.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::io::ioctl_fionread;
use rustix::pipe::fcntl_setpipe_size;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::support::{PROGRAM, Peer, Program, command, wait_until};

/// The console waits until its answers are read; the shutdown does not wait for the console.
#[test]
fn unread_answers_of_the_console_do_not_delay_the_shutdown() {
    const PAGE_BYTES: usize = 4_096;
    let mut program = Program::by(
        command(Path::new("."), "--console on -x 100 -y 50"),
        Stdio::piped(),
    );
    fcntl_setpipe_size(program.pipe(), PAGE_BYTES).unwrap();
    let mut stdin = program.child.stdin.take().unwrap();
    // A character for each tile: when the pipe is full, the rest is being written.
    stdin.write_all(b"map\n").unwrap();
    while ioctl_fionread(program.pipe()).unwrap() < PAGE_BYTES as u64 {
        std::thread::yield_now();
    }
    program.kill("-TERM");
    let mut status = None;
    wait_until("it does not end", || {
        status = program.child.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.unwrap().code(), Some(0));
}

/// Ctrl-D is an end of input that ends nothing, not even the console.
#[test]
fn the_console_goes_on_after_an_end_of_input_at_a_terminal() {
    let mut terminal = File::from(openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap());
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let input = File::options().read(true).write(true).open(name).unwrap();
    // The program is in a session of its own, whose terminal this is.
    let mut setsid = Command::new("setsid");
    setsid.args(["--ctty", PROGRAM]);
    let mut program = Program::by(setsid, input.into());
    let mut viewer = Peer::connect(program.address);
    viewer.send("GRAPHIC\n");
    viewer.lines_until("enw #11");
    for rate in ["200", "300"] {
        terminal
            .write_all(format!("tick rate {rate}\n\x04").as_bytes())
            .unwrap();
        viewer.lines_until(&format!("sgt {rate}"));
    }
    terminal.write_all(b"quit\n").unwrap();
    assert_eq!(program.child.wait().unwrap().code(), Some(0));
}
