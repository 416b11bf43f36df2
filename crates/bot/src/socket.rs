//! Non-blocking connection; requests write readiness only while bytes are unsent.

use std::io::{self, Read, Write};
use std::net::SocketAddr;

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};

/// One connection, known to a poll by its token.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    token: Token,
    wants_write: bool,
}

impl Socket {
    /// Begins to connect.
    pub(crate) fn connect(server: SocketAddr, registry: &Registry, token: Token) -> io::Result<Self> {
        let mut stream = TcpStream::connect(server)?;
        registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
        Ok(Self {
            stream,
            token,
            wants_write: true,
        })
    }

    /// Reads once; `None` if it would block, 0 bytes at the end of the stream.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        retried(|| self.stream.read(buffer))
    }

    /// Writes `unsent` as far as possible, and requests write readiness for the rest.
    pub(crate) fn flush(&mut self, unsent: &mut Vec<u8>, registry: &Registry) -> io::Result<()> {
        while !unsent.is_empty() {
            let Some(count) = retried(|| self.stream.write(unsent))? else {
                break;
            };
            unsent.drain(..count);
        }
        let wants_write = !unsent.is_empty();
        if std::mem::replace(&mut self.wants_write, wants_write) != wants_write {
            let write = wants_write.then_some(Interest::WRITABLE);
            let interest = write.map_or(Interest::READABLE, |write| write | Interest::READABLE);
            registry.reregister(&mut self.stream, self.token, interest)?;
        }
        Ok(())
    }

    /// Closes the connection, if the peer has not.
    pub(crate) fn close(&mut self, registry: &Registry) -> io::Result<()> {
        registry.deregister(&mut self.stream)?;
        let _closed_by_peer = self.stream.shutdown(std::net::Shutdown::Both);
        Ok(())
    }
}

/// `None` if the call would block; retries if interrupted.
fn retried(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<Option<usize>> {
    loop {
        match call() {
            Ok(count) => return Ok(Some(count)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}
