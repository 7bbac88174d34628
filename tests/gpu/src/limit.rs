//! A time limit. A kernel that hangs never returns to its process, and the driver ends the kernel with the process.

use std::{
    io::{self, Read},
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Runs a command. After the limit, kills it and returns `None`.
pub fn output(command: &mut Command, limit: Duration) -> io::Result<Option<Output>> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let stdout = reader(child.stdout.take());
    let stderr = reader(child.stderr.take());
    let end = Instant::now() + limit;
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if Instant::now() < end => thread::sleep(Duration::from_millis(10)),
            None => {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
        }
    };
    let read = |reader: thread::JoinHandle<Vec<u8>>| reader.join().unwrap_or_default();
    Ok(Some(Output { status, stdout: read(stdout), stderr: read(stderr) }))
}

/// Reads a pipe to its end, so that the child never blocks on a full pipe.
fn reader(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // The bytes before an error are still output of the child.
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        bytes
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Option<Output> {
        output(Command::new("sh").args(["-c", script]), Duration::from_millis(500)).expect("a shell")
    }

    #[test]
    fn a_command_that_hangs_is_killed() {
        let start = Instant::now();
        assert!(shell("exec sleep 60").is_none());
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_command_that_ends_gives_all_it_said() {
        let found = shell("yes | head -c 200000; echo error >&2; exit 3").expect("no limit");
        assert_eq!(
            (found.stdout.len(), found.stderr.as_slice(), found.status.code()),
            (200_000, &b"error\n"[..], Some(3))
        );
    }
}
