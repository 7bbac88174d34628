//! The launches of a program as a file for `run --launch`.

use std::{collections::BTreeMap, fmt::Write};

use itertools::Itertools;
use ptx_atomics_device::{Given, Launched};

use super::report::Launches;

/// The text of the file: each distinct launch once, with the buffers of its arguments.
pub fn text(kernels: &[Launches]) -> String {
    let distinct = kernels
        .iter()
        .flat_map(|launches| launches.all.iter().unique_by(|launched| (sizes(launched), launched.arguments.clone())));
    let distinct: Vec<&Launched> = distinct.sorted_by_key(|launched| launched.number).collect();
    let buffers: BTreeMap<u64, u64> = distinct
        .iter()
        .flat_map(|launched| &launched.arguments)
        .filter_map(|given| match given {
            Given::Buffer { number, bytes, .. } => Some((*number, *bytes)),
            Given::Bytes(_) => None,
        })
        .collect();
    let mut text =
        String::from("# The launches of a program. Buffers have the sizes of the program's, and are zero.\n");
    for (number, bytes) in buffers {
        let _ = write!(text, "\n[buffers.buffer{number}]\ntype = \"u8\"\ncount = {bytes}\n");
    }
    for launched in distinct {
        let _ = write!(text, "\n[[launch]]\nkernel = {:?}\n{}", launched.kernel, sizes(launched));
        let _ = writeln!(text, "args = [{}]", launched.arguments.iter().map(argument).join(", "));
    }
    text
}

/// The sizes of a launch, each on a line.
fn sizes(launched: &Launched) -> String {
    let size = launched.size;
    let list = |sizes: [u32; 3]| format!("[{}]", sizes.iter().join(", "));
    let mut text = format!("grid = {}\nblock = {}\n", list(size.grid), list(size.block));
    if size.cluster != [1; 3] {
        let _ = writeln!(text, "cluster = {}", list(size.cluster));
    }
    if size.shared > 0 {
        let _ = writeln!(text, "shared = {}", size.shared);
    }
    text
}

/// An argument: a buffer, or a number with its type. Of a structure, the file has the first 8 bytes.
fn argument(given: &Given) -> String {
    match given {
        Given::Buffer { number, offset: 0, .. } => format!("\"buffer{number}\""),
        Given::Buffer { number, offset, .. } => format!("\"buffer{number}+{offset}\""),
        Given::Bytes(bytes) => {
            let value = bytes.iter().take(8).rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
            let bits = 8 * bytes.len().next_power_of_two().clamp(1, 8);
            format!("\"u{bits}:{value}\"")
        }
    }
}
