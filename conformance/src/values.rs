//! The values that a function of any compiler computes, against what its operation gives.

use itertools::Itertools;
use ptx_atomics_lowering::{
    Operation, RmwOp, Sequence, SyncScope, Type,
    interpret::{Machine, Stuck},
    ptx::{Code, Function, Space, arithmetic::mask, syntax::Text},
};

use crate::{
    cell::Cell,
    execute::{TRAP, Unmodelled, sequence},
    reference::{admits, special},
};

/// What is known of the values of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// In every run, memory and result were those of the operation.
    Right,
    /// In some run they were not: which, for users.
    Wrong(String),
    /// The interpreter does not know an instruction, which is named.
    Unknown(String),
}

/// How often a function is run, with different values each time.
const RUNS: usize = 32;

/// Runs a function on special and random values. With `other_threads`, these write the memory between its instructions, so that
/// loops go round.
pub fn check(cell: &Cell, function: &Function, other_threads: bool) -> Values {
    let sequence = match sequence(function) {
        Ok(sequence) => sequence,
        Err(Unmodelled(what)) => return Values::Unknown(what),
    };
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    let special = special(cell.ty.ty.scalar());
    for _ in 0..RUNS {
        match run(cell, &sequence, &mut random, &special, other_threads) {
            Ok(None) => {}
            Ok(Some(wrong)) => return Values::Wrong(wrong),
            Err(Stuck::Register(name)) if *name == *TRAP.0 => return Values::Wrong("it executes a trap".to_owned()),
            Err(Stuck::Register(name)) if is_declared(function, &name) => {
                return Values::Wrong(format!("it reads {name}, which nothing has written"));
            }
            // A variable.
            Err(Stuck::Register(name)) => return Values::Unknown(stem(&name).to_owned()),
            Err(Stuck::Unmodelled(what)) => return Values::Unknown(what),
            Err(stuck) => return Values::Wrong(stuck.to_string()),
        }
    }
    Values::Right
}

fn stem(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// Whether a function declares a register.
fn is_declared(function: &Function, name: &str) -> bool {
    let directives = function.body.iter().flatten().filter_map(|line| match &line.code {
        Code::Directive(text) => Some(text),
        _ => None,
    });
    let registers = directives.filter(|text| text.starts_with(".reg"));
    registers.flat_map(|text| Text::of(text).names()).any(|declared| stem(declared.text) == stem(name))
}

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    /// Below a number that is not 0.
    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A value whose elements are often special.
    fn value(&mut self, ty: Type, special: &[u128]) -> u128 {
        let bits = ty.scalar().bits();
        let elements = (0..ty.lanes()).map(|lane| {
            let any = u128::from(self.next()) << 64 | u128::from(self.next());
            let element = if self.below(2) == 0 { any & mask(bits) } else { special[self.below(special.len())] };
            element << (bits * lane as u32)
        });
        elements.sum()
    }
}

/// One run; what is wrong with it, if anything is.
fn run(
    cell: &Cell,
    sequence: &Sequence,
    random: &mut Random,
    special: &[u128],
    other_threads: bool,
) -> Result<Option<String>, Stuck> {
    let (ty, operation) = (cell.ty.ty, cell.op.operation);
    let bits = ty.bits();
    let b = random.value(ty, special);
    let old = if random.below(2) == 0 { b } else { random.value(ty, special) };
    let c = random.value(ty, special);
    let filler = random.next() as u8;
    let at = random.below(16) * (bits as usize / 8) % 16;
    let others =
        (0..4).map(|_| (other_threads && random.below(3) == 0).then(|| random.value(ty, special))).collect_vec();
    let mut others = others.into_iter();

    let is_local = cell.space() == Some(Space::Local);
    let mut machine = Machine::new(bits, at, old, [b, c], filler).with_local_address(is_local);
    let mut last = machine.clone();
    let d = machine.run(sequence, |machine| {
        if let Some(Some(other)) = others.next() {
            machine.set(bits, other);
        }
        if other_threads {
            last = machine.clone();
        }
    })?;

    let (seen, found) = (last.get(bits), machine.get(bits));
    let expected = match operation {
        Operation::Fence | Operation::Load(_) => found == seen,
        Operation::Store(_) => found == b,
        Operation::Rmw(op, _) => admits(op, ty, [seen, b], found, matches!(op, RmwOp::FAdd | RmwOp::FSub)),
        Operation::CmpXchg { .. } => found == if seen == b { c } else { seen },
    };
    if !expected {
        let operands = match operation {
            Operation::Fence | Operation::Load(_) => String::new(),
            Operation::Store(_) | Operation::Rmw(..) => format!(" by {b:#x}"),
            Operation::CmpXchg { .. } => format!(" by {b:#x}, {c:#x}"),
        };
        return Ok(Some(format!("{seen:#x} in memory became {found:#x}{operands}")));
    }
    let result = d.unwrap_or_default() & mask(bits);
    if operation.reads() && result != seen {
        return Ok(Some(format!("the result is {result:#x}, and the memory had {seen:#x}")));
    }
    last.set(bits, found);
    Ok((last.memory() != machine.memory()).then(|| "it writes beside the value".to_owned()))
}

/// Whether other threads may write the memory during the operation.
pub fn is_shared(cell: &Cell) -> bool {
    cell.op.scope != SyncScope::SingleThread && cell.op.operation.access().is_some_and(|access| !access.is_private())
}
