//! What is installed beside the program: units that systemd understands, completions that a shell does.

use std::process::Command;

use crate::support::{Folder, PROGRAM, skipped};

const SERVICE: &str = include_str!("../../../../packaging/systemd/trantor-server.service");
const SOCKET: &str = include_str!("../../../../packaging/systemd/trantor-server.socket");

/// Points of exposure, times ten, that the service may have: of ten points, those of a service that is well confined.
const EXPOSURE_MAX: &str = "12";

#[test]
fn systemd_finds_nothing_wrong_with_the_units_and_calls_the_service_confined() {
    let folder = Folder::new();
    // As if it were installed here.
    let service = SERVICE.replace("/usr/bin/trantor-server", PROGRAM);
    let service = folder.write("trantor-server.service", service.as_bytes());
    let socket = folder.write("trantor-server.socket", SOCKET.as_bytes());
    let (service, socket) = (service.to_str().unwrap(), socket.to_str().unwrap());
    let systemd_analyze = |arguments: &[&str]| Command::new("systemd-analyze").args(arguments).output();
    let verified = match systemd_analyze(&["verify", "--man=no", service, socket]) {
        Ok(verified) => verified,
        Err(why) => return skipped(&format!("systemd-analyze: {why}")),
    };
    let said = String::from_utf8_lossy(&verified.stderr);
    assert!(verified.status.success() && said.is_empty(), "{said}");
    let threshold = format!("--threshold={EXPOSURE_MAX}");
    let judged = systemd_analyze(&["security", "--offline=true", &threshold, service]).unwrap();
    assert!(
        judged.status.success(),
        "{}",
        String::from_utf8_lossy(&judged.stdout)
    );
}

#[test]
fn units_try_no_wrong_options_again_and_open_no_port_to_others() {
    let values = |unit: &'static str, key| {
        let lines = unit.lines().filter_map(move |line| line.strip_prefix(key));
        lines.collect::<Vec<_>>()
    };
    assert_eq!(values(SERVICE, "RestartPreventExitStatus="), ["84"]);
    // The status that prevents another try is the server's; of what runs before it systemd does not ask.
    assert_eq!(values(SERVICE, "ExecStartPre="), [""; 0]);
    assert_eq!(values(SOCKET, "ListenStream="), ["127.0.0.1:4242"]);
}
