//! The kernels' logic and orderings, on threads of the host. The results are those that the runner expects on a GPU. A
//! race detector finds no race, and finds one if an ordering is removed.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
    time::Duration,
};

use ptx_atomics_gpu::{
    kernel::{Argument, KERNELS, Kernel, Launch, Size},
    limit,
};

/// A kernel, compiled for the host.
struct Program {
    file: tempfile::TempPath,
}

impl Program {
    fn new(kernel: &Kernel, options: &[&str]) -> Self {
        let gpu = Path::new(env!("CARGO_MANIFEST_DIR"));
        let source = gpu.join("../..").join(kernel.source).join(format!("{}.c", kernel.name));
        let source = fs::canonicalize(source).expect("a kernel");
        let file = tempfile::NamedTempFile::new().expect("a file").into_temp_path();
        let mut gcc = Command::new("gcc");
        gcc.args(["-std=gnu17", "-O1", "-g", "-pthread", "-I"]).arg(gpu.join("tests/host")).args(options);
        gcc.arg(format!("-DSOURCE=\"{}\"", source.display())).arg(format!("-DKERNEL={}", kernel.name));
        let output = gcc.arg(gpu.join("tests/host/launch.c")).arg("-o").arg(&file).output().expect("gcc");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { file }
    }

    fn run(&self, launch: &Launch) -> Output {
        let mut words = vec![launch.blocks, launch.threads, launch.arguments.len() as u32];
        for argument in &launch.arguments {
            match argument {
                Argument::Word(word) => words.extend([0, *word]),
                Argument::Room(length) => words.extend([2, *length]),
                Argument::Memory { before, .. } => {
                    words.extend([1, before.len() as u32]);
                    words.extend(before);
                }
            }
        }
        let input = tempfile::NamedTempFile::new().expect("a file");
        fs::write(&input, words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>()).expect("written");
        // With highly randomized addresses, the race detector has no room for its shadow memory.
        let mut command = Command::new("sh");
        command.args(["-c", "if setarch -R true 2>/dev/null; then exec setarch -R \"$0\"; else exec \"$0\"; fi"]);
        command.arg(&self.file).stdin(Stdio::from(fs::File::open(&input).expect("a file")));
        limit::output(&mut command, Duration::from_secs(120)).expect("sh").expect("a kernel that ends")
    }
}

fn memories(launch: &Launch, output: &Output) -> Vec<Vec<u32>> {
    let mut words = output.stdout.chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().expect("4 bytes")));
    let lengths = launch.arguments.iter().filter_map(|argument| match argument {
        Argument::Word(_) | Argument::Room(_) => None,
        Argument::Memory { before, .. } => Some(before.len()),
    });
    lengths.map(|length| words.by_ref().take(length).collect()).collect()
}

#[test]
fn the_kernels_compute_the_expected_values() {
    for kernel in &KERNELS {
        let program = Program::new(kernel, &[]);
        for (blocks, threads, rounds) in [(2, 8, 1), (6, 16, 20), (24, 4, 7)] {
            let launch = kernel.launch(Size { blocks, threads, rounds });
            let output = program.run(&launch);
            assert!(output.status.success(), "{}: {}", kernel.name, String::from_utf8_lossy(&output.stderr));
            assert_eq!(launch.wrong(&memories(&launch, &output)), None, "{} with {blocks} blocks", kernel.name);
        }
    }
}

/// The race detector finds a race exactly if the kernel has the removed ordering.
fn check_races(kernel: &str, loss: &str, expected: bool) {
    let kernel = Kernel::named(kernel).expect("a kernel");
    let program = Program::new(kernel, &["-fsanitize=thread", &format!("-D{loss}")]);
    let launch = kernel.launch(Size { blocks: 8, threads: 4, rounds: 20 });
    let output = program.run(&launch);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.contains("WARNING: ThreadSanitizer: data race"), expected, "{} {loss}: {said}", kernel.name);
    assert_eq!(output.status.success(), !expected, "{} {loss}: {said}", kernel.name);
}

#[test]
fn the_orderings_suffice() {
    KERNELS.iter().for_each(|kernel| check_races(kernel.name, "LOSE_NOTHING", false));
}

#[test]
fn every_ordering_is_needed() {
    for kernel in ["ticket_lock", "ring", "scan", "message", "warp_release", "warp_acquire"] {
        check_races(kernel, "LOSE_ACQUIRE", true);
        check_races(kernel, "LOSE_RELEASE", true);
    }
}
