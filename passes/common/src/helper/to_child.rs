//! The pipe to a child process. A write to a child that has ended raises no `SIGPIPE`, which would end a C program.

use std::{
    io::{self, Write},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::net::UnixStream,
    },
    process::Stdio,
};

/// The parent's end of the pipe. When it is dropped, the child reads the end of its input.
#[derive(Debug)]
pub struct ToChild(UnixStream);

impl ToChild {
    /// Creates both ends.
    pub fn new() -> io::Result<(Self, Stdio)> {
        let (own, of_child) = UnixStream::pair()?;
        Ok((Self(own), OwnedFd::from(of_child).into()))
    }
}

impl Write for ToChild {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: the descriptor is open, and the bytes are live.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
