//! `trantor-bench idle`: what a server does when there is nothing to do.
//!
//! A thread that sleeps and is woken makes a voluntary context switch; the system counts them. Good is none at all,
//! and less than a millisecond of processor time in ten seconds.
//!
//! And what the silent ones cost when somebody talks: processor time per question, alone and beside thousands of
//! silent connections. Good is no more than twice as much.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use anyhow::Result;
use trantor_runtime::{Parker, RealClock, Wait};
use trantor_server::descriptors;
use trantor_time::{Clock, RealSpan};

use crate::child::{Server, ServerProgram};
use crate::table::Table;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    program: ServerProgram,
    /// Silent connections beside which somebody talks
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=50_000))]
    silent: u32,
    /// How long each situation is watched
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(i64).range(1..=3_600))]
    seconds: i64,
}

/// Measures and prints. Fails if an idle server was woken.
pub(crate) fn run(options: &Options) -> Result<()> {
    descriptors::raise_limit();
    let span = RealSpan::from_secs(options.seconds);
    let mut table = Table::new(["situation", "seconds", "wake-ups", "processor time, ms"]);
    let mut total = 0;

    // At one unit a second, what agents eat in a minute and what is due in an hour lies far ahead.
    let server = options
        .program
        .start(&["-f", "1", "-c", "1000", "-x", "100", "-y", "100"])?;
    let mut watch = |situation: &str| -> Result<()> {
        settle(&server)?;
        let (sleeps, cpu) = (server.sleeps()?, server.processor_time()?);
        sleep(span);
        let woken = server.sleeps()? - sleeps;
        let used = server.processor_time()? - cpu;
        table.row(vec![
            situation.to_owned(),
            options.seconds.to_string(),
            woken.to_string(),
            format!("{:.3}", used.as_millis_f64()),
        ]);
        total += woken;
        Ok(())
    };
    watch("nobody is connected")?;
    let viewers: Vec<_> = (0..50)
        .map(|_| greeted(&server, "GRAPHIC", "sgt "))
        .collect::<Result<_>>()?;
    watch("50 silent viewers")?;
    let agents: Vec<_> = (0..1_000)
        .map(|_| greeted(&server, "red", "100 100"))
        .collect::<Result<_>>()?;
    drain(&viewers)?;
    watch("50 viewers, 1,000 agents that wait")?;
    drop((viewers, agents));
    total += silent_agents(&options.program, &mut table)?;

    println!("{table}");
    println!("{}", beside_silent_ones(&server, options.silent)?);
    anyhow::ensure!(total == 0, "an idle server was woken {total} times");
    Ok(())
}

/// At 100 units a second agents starve 12.6 seconds after their birth: how long they have to come to rest, and how long they
/// are watched then.
const AT_REST_SPAN: RealSpan = RealSpan::from_secs(2);
const SILENT_AGENTS_SECONDS: i64 = 6;

/// Watches a server at the usual speed whose agents eat and say nothing; answers how often it was woken.
fn silent_agents(program: &ServerProgram, table: &mut Table) -> Result<u64> {
    let server = program.start(&["-f", "100", "-c", "50", "-x", "20", "-y", "20"])?;
    let agents: Vec<_> = (0..50)
        .map(|_| greeted(&server, "red", "20 20"))
        .collect::<Result<_>>()?;
    sleep(AT_REST_SPAN);
    let (sleeps, cpu) = (server.sleeps()?, server.processor_time()?);
    sleep(RealSpan::from_secs(SILENT_AGENTS_SECONDS));
    let woken = server.sleeps()? - sleeps;
    let used = server.processor_time()? - cpu;
    drop(agents);
    table.row(vec![
        "50 silent agents at 100 units a second".to_owned(),
        SILENT_AGENTS_SECONDS.to_string(),
        woken.to_string(),
        format!("{:.3}", used.as_millis_f64()),
    ]);
    Ok(woken)
}

/// Questions of the one that talks.
const QUESTIONS: u32 = 20_000;

fn beside_silent_ones(server: &Server, silent: u32) -> Result<Table> {
    let mut table = Table::new(["silent connections", "processor time per question, µs"]);
    let mut talker = greeted(server, "blue", "100 100")?;
    let mut silent_ones = Vec::new();
    for count in [0, silent] {
        while silent_ones.len() < count as usize {
            silent_ones.push(TcpStream::connect(server.address)?);
        }
        settle(server)?;
        let before = server.processor_time()?;
        let mut answer = String::new();
        for _ in 0..QUESTIONS {
            talker.get_mut().write_all(b"Connect_nbr\n")?;
            answer.clear();
            anyhow::ensure!(talker.read_line(&mut answer)? > 0, "the server hung up");
        }
        let used = server.processor_time()? - before;
        let per_question = used.as_secs_f64() * 1e6 / f64::from(QUESTIONS);
        table.row(vec![count.to_string(), format!("{per_question:.1}")]);
    }
    Ok(table)
}

/// A connection that has said `word` and read up to a line that starts with `last`.
fn greeted(server: &Server, word: &str, last: &str) -> Result<BufReader<TcpStream>> {
    let mut stream = TcpStream::connect(server.address)?;
    stream.write_all(format!("{word}\n").as_bytes())?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while !line.starts_with(last) {
        line.clear();
        anyhow::ensure!(reader.read_line(&mut line)? > 0, "the server hung up on {word}");
    }
    Ok(reader)
}

/// Reads what has come, so that nobody's buffers are full.
fn drain(viewers: &[BufReader<TcpStream>]) -> Result<()> {
    use std::io::Read;

    let mut buffer = [0; 64 * 1024];
    for viewer in viewers {
        let mut stream = viewer.get_ref();
        stream.set_nonblocking(true)?;
        while matches!(stream.read(&mut buffer), Ok(count) if count > 0) {}
    }
    Ok(())
}

/// Waits until the server has done what was asked of it before.
fn settle(server: &Server) -> Result<()> {
    loop {
        let before = server.sleeps()?;
        sleep(RealSpan::from_millis(300));
        if server.sleeps()? == before {
            return Ok(());
        }
    }
}

fn sleep(span: RealSpan) {
    Parker::new().wait(Some(RealClock::new().now() + span));
}
