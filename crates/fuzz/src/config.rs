//! The server's configuration file.

use trantor_server::options::settings::{self, Resolved};

/// A file is accepted, or refused with messages of one printable line each.
pub(crate) fn read(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mistakes = settings::apply_text(&mut Resolved::default(), "server.toml", text).err();
    for mistake in mistakes.unwrap_or_default() {
        let line = mistake.to_string();
        assert!(!line.is_empty() && !line.contains(char::is_control), "{line:?}");
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    vec![
        include_bytes!("../../../assets/config/server.toml").to_vec(),
        b"port = 4242\nteams = [\"red\"]\nauto-start = false\nlog = \"warn,x=trace\"\n".to_vec(),
        b"frequency = -1\nbind = \"::1\"\nmetrics = \"[::1]:9\"\nsave-every = \"5m\"\n".to_vec(),
    ]
}
