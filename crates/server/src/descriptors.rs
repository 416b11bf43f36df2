//! Descriptors: as many as the system gives, and some kept for what is more than a connection.

/// Descriptors that connections leave free: for the journal, saves, metrics and the listening sockets. A full server
/// continues to record.
const RESERVED: u64 = 64;

/// Raises the soft limit of descriptors, which is seldom more than 1,024, to the hard limit. Answers the limit; `None`
/// for no limit.
#[cfg(unix)]
pub fn raise_limit() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return limit.current;
    }
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(error) => {
            log::info!("the limit of {:?} open descriptors stays: {error}", limit.current);
            limit.current
        }
    }
}

#[cfg(not(unix))]
pub fn raise_limit() -> Option<u64> {
    None
}

/// Connections that fit under a limit of so many descriptors.
pub(crate) fn connections_within(limit: Option<u64>) -> usize {
    // Under a tiny limit some are accepted all the same; failures are backed off from.
    let room = limit.map(|limit| limit.saturating_sub(RESERVED).max(limit / 4 * 3));
    room.and_then(|room| usize::try_from(room).ok())
        .unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_what_is_kept_on_the_disk() {
        assert_eq!(connections_within(None), usize::MAX);
        assert_eq!(connections_within(Some(1_024)), 960);
        assert_eq!(connections_within(Some(20)), 15);
    }

    #[test]
    #[cfg(unix)]
    fn the_limit_is_raised_to_what_is_allowed() {
        let raised = raise_limit();
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        assert_eq!(raised, limit.current);
        assert_eq!(raised, raise_limit());
    }
}
