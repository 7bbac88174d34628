//! What a child reads. No signal comes where it is gone: `SIGPIPE` would end a program in C.

use std::{
    io::{self, Write},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::net::UnixStream,
    },
    process::Stdio,
};

/// The end of the parent. The child sees the end of its input where this is dropped.
#[derive(Debug)]
pub struct ToChild(UnixStream);

impl ToChild {
    /// Both ends.
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
