//! Numbers that a kernel may take as arguments.

use ptx_isa::arithmetic::Computation;

use crate::code::{Op, Program, Source};

/// Usual sizes and counts.
const USUAL: [u64; 16] = [16, 1, 0, 2, 3, 4, 8, 10, 32, 64, 100, 128, 256, 512, 1024, 4096];
/// Candidates for the arguments of a kernel: the numbers with which the program compares, their neighbors, their
/// differences, and usual numbers; at most `most`.
pub fn numbers(program: &Program, most: usize) -> Vec<u64> {
    let mut constants: Vec<u64> = Vec::new();
    for step in &program.steps {
        let Op::Compute(of) = &step.op else { continue };
        if matches!(of.of, Computation::Setp(..) | Computation::Compare(_)) {
            constants.extend(of.sources[..of.count].iter().filter_map(|source| match source {
                Source::Number(number) => Some(*number),
                _ => None,
            }));
        }
    }
    let near = constants.iter().flat_map(|number| [*number, number.wrapping_add(1), number.wrapping_sub(1)]);
    let few = &constants[..constants.len().min(8)];
    let distances = few.iter().flat_map(|a| few.iter().filter_map(move |b| a.checked_sub(*b)));
    let mut found: Vec<u64> = Vec::new();
    for number in near.chain(distances).chain(USUAL) {
        if !found.contains(&number) && found.len() < most {
            found.push(number);
        }
    }
    found
}
