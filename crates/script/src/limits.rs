//! What a script may use, and why so much.

/// Steps of one resumption: calls, returns and loop iterations of the script, steps of a pattern match, and what long
/// library calls are charged. Counted, never timed, so that it ends at the same place everywhere. A search over all
/// tiles of a map fits; an endless loop holds the server up for less than a millisecond.
pub const STEPS_MAX: u32 = 20_000;

/// Instructions in a row that cost no step of their own, as calls and loops do: after as many a step is taken, so that a
/// source of straight code is counted like one that loops.
pub const STRAIGHT_INSTRUCTIONS: u32 = 128;

/// Instructions that one counts as which may read a number from a text: of a text of [`TEXT_MAX`] it takes microseconds.
pub const TEXT_INSTRUCTIONS: u32 = 8;

/// Bytes of a text that a script holds. Comparing two texts, or reading a number from one (`text + 0`), is an operation
/// of the VM and no call, so it costs no step; this bounds what it costs, to a few microseconds. Messages, notes and lines of
/// the log are shorter.
pub const TEXT_MAX: usize = 4 << 10;

/// Values that one call may unpack from a table or a text: as many as a call written out takes.
pub const UNPACK_MAX: usize = 250;

/// Bytes that one VM may use, the agents of a file together: some kilobytes for each of thousands of agents.
pub const MEMORY_BYTES_MAX: usize = 128 << 20;

/// Bytes that one resumption may allocate. It bounds the longest string and the largest table too, and so what a
/// single operation on one costs.
pub const GROWTH_BYTES_MAX: usize = 512 << 10;

/// Bytes of a source file: far more than anybody writes, and still compiled in milliseconds.
pub const SOURCE_BYTES_MAX: usize = 1 << 20;

/// Bytes of the stack on which a source is compiled: eight times what the deepest source takes that Luau accepts, in a
/// development build. Only what is used of it takes memory.
pub const COMPILE_STACK_BYTES: usize = 16 << 20;

/// Bytes of a source in which the column of a mistake is looked for: it is compiled again for some words of the line.
pub const COLUMN_BYTES_MAX: usize = 64 << 10;

/// Routines of an agent at a time: its main function, and handlers and timers that wait for something. What begins
/// beyond it is an error of the script.
pub const ROUTINES_MAX: usize = 16;

/// Timers of an agent.
pub const TIMERS_MAX: usize = 64;

/// Jobs of an agent that are not delivered yet.
pub const JOBS_MAX: usize = 4;

/// Steps that each resumption costs besides its own: what the host does for it. Commands that take no time would otherwise
/// keep time from passing.
pub const RESUMPTION_STEPS: u32 = 20;

/// Steps that each value in the data of a job costs.
pub const DATA_VALUE_STEPS: u32 = 10;

/// Steps that an agent may use in a unit of game time, on average: a token bucket that holds [`STEPS_MAX`]. One that uses
/// more is resumed later, so that six of them take a tenth of a core at 1,000 units a second. A champion uses 300.
pub const UNIT_STEPS_MAX: u32 = 1_000;

/// Steps that all agents of a file may use at one instant before the next resumption waits, for as long as those used last
/// at the rate of all of them: a team that does its work at one instant is spread over game time. With the largest
/// resumption an instant takes about half a millisecond. A champion's team uses more once or twice a match.
pub const INSTANT_STEPS: u32 = 5_000;

/// As `INSTANT_STEPS`, for each agent, where they are many: what most of them decide at one instant.
pub const INSTANT_AGENT_STEPS: u32 = 100;

/// As `INSTANT_AGENT_STEPS`, of a scenario, which is sent the events of all agents and runs once a match.
pub const SCENARIO_UNIT_STEPS_MAX: u32 = 20_000;

/// Messages kept for an agent that does not ask for them; the oldest is dropped.
pub const INBOX_MAX: usize = 32;

/// What an agent perceived and did not take in yet: its answers, and more messages than it keeps. The oldest is dropped.
pub const HEARD_MAX: usize = 64;

/// As `HEARD_MAX`, of a scenario: the births of a large match, all at once.
pub const SCENARIO_HEARD_MAX: usize = 16_384;

/// Answers kept for tickets that nobody waits for yet; the oldest is dropped.
pub const ANSWERS_MAX: usize = 32;

/// What an agent may show in one decision; a viewer shows a few a second.
pub const SHOWS_MAX: usize = 64;

/// Published values of a team.
pub const VALUES_MAX: usize = 256;

/// Bytes of a published name, of a text in data, of a broadcast, and of a line of the log.
pub const TEXT_BYTES_MAX: usize = 1_024;

/// Values in the data of a job or an event, and how deep they nest.
pub const DATA_VALUES_MAX: u32 = 2_048;

/// See [`DATA_VALUES_MAX`]: deeper data is a mistake, and would be read recursively.
pub const DATA_DEPTH_MAX: usize = 8;

/// Events kept for the host; the newest is dropped and counted.
pub const EVENTS_MAX: usize = 256;

/// Errors within [`ERROR_WINDOW_UNITS`] at which a script is suspended: one that fails at every turn costs no more.
pub const ERRORS_MAX: usize = 5;

/// Units in which errors are counted.
pub const ERROR_WINDOW_UNITS: i64 = 1_000;

/// Units after which the main function of an agent begins again after an error.
pub const RESTART_UNITS: i64 = 20;

/// Nanounits of the shortest wait and of the shortest period: a tenth of a unit. Waits of no length would keep time from passing.
pub const WAIT_NANOUNITS_MIN: i128 = 100_000_000;

/// Units of the longest wait: ten days at 1,000 units a second.
pub const WAIT_UNITS_MAX: f64 = 1e9;
