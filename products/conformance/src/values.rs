//! The values that a function of any compiler computes, compared with the values of its operation.

use itertools::Itertools;
use ptx_lowering::{
    Operation, RmwOp, Sequence, SyncScope, Type,
    interpret::{ExecutedAccess, MEMORY, Machine, Stuck},
    ptx::{Code, Function, Space, arithmetic::mask, syntax::Text},
};

use crate::{
    cell::{Cell, Form, OFFSET},
    execute::{TRAP, Unmodelled, sequence},
    reference::{admits, special},
};

/// The result of the comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// In every run, memory and result had the values of the operation.
    Right,
    /// In some run, memory or result had another value; a text for users.
    Wrong(String),
    /// In some run, the function accessed memory more often than the operation, or other memory; a text for users.
    Effect(String),
    /// The interpreter does not know an instruction; its name.
    Unknown(String),
}

/// The number of runs of a function, each with different values.
const RUNS: usize = 32;

/// Runs a function on special and random values. With `other_threads`, other threads write the memory between its
/// instructions, so that loops iterate. A generic address is an address of global, of shared and of local memory in
/// turn; no other thread writes local memory.
pub fn check(cell: &Cell, function: &Function, other_threads: bool) -> Values {
    let offset = if cell.form == Form::Offset { OFFSET } else { 0 };
    let sequence = match sequence(function, offset, cell.variable().as_deref()) {
        Ok(sequence) => sequence,
        Err(Unmodelled(what)) => return Values::Unknown(what),
    };
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    let special = special(cell.ty.ty.scalar());
    let spaces = match cell.space() {
        None => vec![Space::Global],
        Some(Space::Generic) if cell.form == Form::Variable => vec![Space::Global],
        Some(Space::Generic) => vec![Space::Global, Space::Shared, Space::Local],
        Some(space) => vec![space],
    };
    for space in spaces.into_iter().cycle().take(RUNS) {
        let other_threads = other_threads && space != Space::Local;
        match run(cell, space, &sequence, &mut random, &special, other_threads) {
            Ok(None) => {}
            Ok(Some(wrong)) => return wrong,
            Err(stuck @ Stuck::Space { .. }) => return Values::Effect(stuck.to_string()),
            Err(Stuck::Register(name)) if *name == *TRAP.0 => return Values::Wrong("it executes a trap".to_owned()),
            Err(Stuck::Register(name)) if is_declared(function, &name) => {
                return Values::Wrong(format!("it reads {name}, which no instruction has written"));
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
    registers.flat_map(|text| Text::new(text).names()).any(|declared| stem(declared.text) == stem(name))
}

/// Random numbers that are the same in every run.
struct Random(u64);

impl Random {
    /// A number below `end`, which is not 0.
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

/// Runs a function once; the result is `None` if the run has no error.
fn run(
    cell: &Cell,
    space: Space,
    sequence: &Sequence,
    random: &mut Random,
    special: &[u128],
    other_threads: bool,
) -> Result<Option<Values>, Stuck> {
    let (ty, operation) = (cell.ty.ty, cell.op.operation);
    let bits = ty.bits();
    let b = random.value(ty, special);
    let b = cell.constants().map_or(b, |[b, _]| b);
    let old = if random.below(2) == 0 { b } else { random.value(ty, special) };
    let c = random.value(ty, special);
    let c = cell.constants().map_or(c, |[_, c]| c);
    let filler = random.next() as u8;
    let at = random.below(16) * (bits as usize / 8) % 16;
    let others =
        (0..4).map(|_| (other_threads && random.below(3) == 0).then(|| random.value(ty, special))).collect_vec();
    let mut others = others.into_iter();

    let is_generic = cell.space() == Some(Space::Generic);
    // If the operands are constants, the parameters have other values.
    let parameters = if cell.form == Form::Constant { [b, c].map(|value| !value & mask(bits)) } else { [b, c] };
    let mut machine = Machine::new(bits, at, old, parameters, filler).in_space(space, is_generic);
    let start = machine.clone();
    let d = machine.run(sequence, |machine| {
        if let Some(Some(other)) = others.next() {
            machine.set(bits, other);
        }
    })?;
    if let Some(effect) = effect(cell, machine.accesses()) {
        return Ok(Some(Values::Effect(effect)));
    }

    // The operation takes effect at its write, or else at its last read.
    let step = machine.accesses().iter().find(|access| access.writes()).or(machine.accesses().last());
    let (before, after) = match step.filter(|_| other_threads) {
        Some(step) => (step.before, step.after),
        None => (*start.memory(), *machine.memory()),
    };
    let (seen, found) = (machine.get_of(&before, bits), machine.get_of(&after, bits));
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
        return Ok(Some(Values::Wrong(format!("{seen:#x} in memory became {found:#x}{operands}"))));
    }
    let result = cell.returns().map(|bits| d.unwrap_or_default() & mask(bits));
    let returned = if cell.form == Form::Success { u128::from(seen == b) } else { seen };
    if let Some(result) = result.filter(|result| *result != returned) {
        return Ok(Some(Values::Wrong(format!("the result is {result:#x}, and the memory had {seen:#x}"))));
    }
    let value = at..at + bits as usize / 8;
    let beside = (0..MEMORY).any(|byte| !value.contains(&byte) && before[byte] != after[byte]);
    Ok(beside.then(|| Values::Wrong("it writes outside the value".to_owned())))
}

/// The accesses of memory beyond the accesses of the operation. An `atom` that does not change the value counts as no
/// write: a failing exchange, a load by an `atom`, an iteration of a loop.
fn effect(cell: &Cell, accesses: &[ExecutedAccess]) -> Option<String> {
    let operation = cell.op.operation;
    let most = |counts: &dyn Fn(&ExecutedAccess) -> bool| {
        let bytes = accesses.iter().filter(|access| counts(access)).flat_map(|access| access.bytes.clone());
        bytes.counts().into_values().max().unwrap_or(0)
    };
    let writes = most(&ExecutedAccess::writes);
    let is_plain = matches!(operation, Operation::Load(_) | Operation::Store(_));
    if writes > usize::from(operation.writes()) {
        let times = if operation.writes() { "once" } else { "never" };
        Some(format!("it writes a byte {writes} times, and the operation {times}"))
    } else if cell.is_volatile() && is_plain && most(&|_| true) > 1 {
        Some("a volatile access is executed more than once".to_owned())
    } else {
        None
    }
}

/// Whether other threads may write the memory during the operation.
pub fn is_shared(cell: &Cell) -> bool {
    cell.op.scope != SyncScope::SingleThread && cell.op.operation.access().is_some_and(|access| !access.is_private())
}

#[cfg(test)]
mod tests {
    use ptx_lowering::{Target, ptx::Module};

    use super::*;
    use crate::language::Language;

    /// Checks the result for the code of a function of the suite: `expected` is empty if the code is right.
    fn check(name: &str, body: &str, expected: &str) {
        let target = Target::new("sm_90".parse().expect("a GPU"), "ptx86".parse().ok()).expect("a target");
        let cell = Language::Llvm.cells(&target, 22).into_iter().find(|cell| cell.name == name).expect(name);
        check_cell(&cell, body, expected);
    }

    /// The same for the first function of a kind and form, in global memory.
    fn check_form(kind: &str, form: Form, body: &str, expected: &str) {
        let target = Target::new("sm_90".parse().expect("a GPU"), "ptx86".parse().ok()).expect("a target");
        let is_it =
            |cell: &Cell| cell.name.starts_with(kind) && cell.form == form && cell.space() == Some(Space::Global);
        let cell = Language::Llvm.cells(&target, 22).into_iter().find(is_it).expect(kind);
        let body = body.replace("[v", &format!("[{}", cell.variable().unwrap_or_default()));
        check_cell(&cell, &body, expected);
    }

    fn check_cell(cell: &Cell, body: &str, expected: &str) {
        let name = &cell.name;
        let head = "(.param .b32 r) f(.param .b64 p, .param .b32 b, .param .b32 c)";
        let front = "ld.param.b64 %rd1, [p]; ld.param.b32 %r1, [b]; ld.param.b32 %r2, [c];";
        let text = format!(".version 8.6\n.target sm_90\n.visible .func {head} {{ {front} {body} ret; }}");
        let module: Module = text.parse().expect(&text);
        let function = module.functions().next().expect("a function");
        let found = match super::check(cell, function, is_shared(cell)) {
            Values::Right => String::new(),
            Values::Wrong(_) => "value".to_owned(),
            Values::Effect(effect) => effect,
            Values::Unknown(unknown) => unknown,
        };
        assert_eq!(found, expected, "{name}: {body}");
    }

    const RESULT: &str = "st.param.b32 [r], %r3;";

    /// Effects that occur more often than in the operation.
    #[test]
    fn effects() {
        let twice = |times: u32, by: &str| format!("it writes a byte {times} times, and the operation {by}");
        let with = |atom: &str, result: &str| format!("{atom}{result}");
        let add = "atom.relaxed.sys.global.add.u32 %r3, [%rd1], %r1;";
        check("rmw-add-i32-relaxed-sys-global", &with(add, RESULT), "");
        check("rmw-add-i32-relaxed-sys-global", &with(&add.repeat(2), RESULT), &twice(2, "once"));
        let exchange = "atom.relaxed.sys.global.exch.b32 %r3, [%rd1], %r1;";
        check("rmw-xchg-i32-relaxed-sys-global", &with(exchange, RESULT), "");
        // The second exchange returns the value that the first exchange wrote; a success looks like a failure.
        check("rmw-xchg-i32-relaxed-sys-global", &with(&exchange.repeat(2), RESULT), "value");
        let swap = "atom.relaxed.sys.global.cas.b32 %r3, [%rd1], %r1, %r2;";
        check("cmpxchg-i32-relaxed-relaxed-sys-global", &with(swap, RESULT), "");
        check("cmpxchg-i32-relaxed-relaxed-sys-global", &with(&swap.repeat(2), RESULT), "value");
        let again = format!("ld.relaxed.sys.global.b32 %r4, [%rd1]; {swap}");
        check("cmpxchg-i32-relaxed-relaxed-sys-global", &with(&again, RESULT), "");
        // The function skips the exchange if the first load returns another value.
        let early =
            format!("ld.relaxed.sys.global.b32 %r3, [%rd1]; setp.ne.s32 %p1, %r3, %r1; @%p1 bra $end; {swap} $end:");
        check("cmpxchg-i32-relaxed-relaxed-sys-global", &with(&early, RESULT), "");
        let store = "st.relaxed.sys.global.b32 [%rd1], %r1;";
        check("store-i32-relaxed-sys-global", store, "");
        check("store-i32-relaxed-sys-global", &store.repeat(2), &twice(2, "once"));
        check("store-i32-relaxed-sys-global", &format!("st.global.b32 [%rd1], %r1; {store}"), &twice(2, "once"));
        check("store-i32-relaxed-sys-global", "atom.relaxed.sys.global.exch.b32 %r3, [%rd1], %r1;", "");
        check("fence-seq_cst-sys", "fence.sc.sys;", "");
        check("fence-seq_cst-sys", "fence.sc.sys; st.global.b32 [%rd1], 1;", &twice(1, "never"));
        let load = "ld.relaxed.sys.global.b32 %r3, [%rd1];";
        check("load-i32-relaxed-sys-global", &with(&load.repeat(2), RESULT), "");
        check("load-i32-relaxed-sys-global", &with("atom.relaxed.sys.global.or.b32 %r3, [%rd1], 0;", RESULT), "");
        check(
            "load-i32-relaxed-sys-global",
            &with("ld.global.b32 %r3, [%rd1]; st.global.b32 [%rd1], %r3;", RESULT),
            &twice(1, "never"),
        );
        let volatile = "ld.volatile.global.b32 %r3, [%rd1];";
        check("load-i32-relaxed-sys-global-volatile", &with(volatile, RESULT), "");
        let said = "a volatile access is executed more than once";
        check("load-i32-relaxed-sys-global-volatile", &with(&volatile.repeat(2), RESULT), said);
        // A loop writes once, in whichever iteration, and keeps the neighbouring bytes of a word.
        let nand =
            "ld.relaxed.sys.global.b32 %r3, [%rd1]; $again: mov.b32 %r4, %r3; and.b32 %r5, %r4, %r1; not.b32 %r5, %r5;
            atom.relaxed.sys.global.cas.b32 %r3, [%rd1], %r4, %r5; setp.ne.b32 %p1, %r3, %r4; @%p1 bra $again;";
        check("rmw-nand-i32-relaxed-sys-global", &with(nand, RESULT), "");
        let doubled = nand.replace("setp", "atom.relaxed.sys.global.cas.b32 %r3, [%rd1], %r4, %r5; setp");
        check("rmw-nand-i32-relaxed-sys-global", &with(&doubled, RESULT), "value");
    }

    /// The verdict on a wrong compiler by each form of a function.
    #[test]
    fn forms() {
        let swap = "atom.relaxed.sys.global.cas.b32 %r3, [%rd1], %r1, %r2;";
        let success =
            |compared: &str| format!("{swap} setp.{compared}; selp.b32 %r4, 1, 0, %p1; st.param.b32 [r], %r4;");
        check_form("cmpxchg-i32", Form::Success, &success("eq.s32 %p1, %r3, %r1"), "");
        check_form("cmpxchg-i32", Form::Success, &success("ne.s32 %p1, %r3, %r1"), "value");
        check_form("cmpxchg-i32", Form::Success, &success("eq.s32 %p1, %r3, %r2"), "value");
        check_form("cmpxchg-i32", Form::Success, &format!("{swap} {RESULT}"), "value");
        let add = "red.relaxed.sys.global.add.u32 [%rd1], %r1;";
        check_form("rmw-add-i32", Form::Unread, add, "");
        check_form("rmw-add-i32", Form::Unread, "", "value");
        check_form("rmw-add-i32", Form::Unread, &add.repeat(2), "it writes a byte 2 times, and the operation once");
        let add = |operand: &str| format!("atom.relaxed.sys.global.add.u32 %r3, [%rd1], {operand}; {RESULT}");
        check_form("rmw-add-i32", Form::Constant, &add("-2"), "");
        check_form("rmw-add-i32", Form::Constant, &add("254"), "value");
        check_form("rmw-add-i32", Form::Constant, &add("%r1"), "value");
        let store = |address: &str| format!("st.relaxed.sys.global.b32 [{address}], %r1;");
        check_form("store-i32", Form::Offset, &store("%rd1+16"), "");
        check_form("store-i32", Form::Offset, &store("%rd1+12"), "value");
        check_form("store-i32", Form::Offset, &store("%rd1+20"), "value");
        check_form("store-i32", Form::Variable, &store("v"), "");
        check_form("store-i32", Form::Variable, &store("v+4"), "value");
        check_form("store-i32", Form::Variable, "", "value");
    }

    /// A generic address may be of any state space.
    #[test]
    fn spaces() {
        let name = "load-i32-relaxed-sys-generic";
        let shared = "an access to global memory, where the address is of shared memory";
        check(name, &format!("ld.relaxed.sys.b32 %r3, [%rd1]; {RESULT}"), "");
        check(name, &format!("ld.relaxed.sys.global.b32 %r3, [%rd1]; {RESULT}"), shared);
        check(name, &format!("cvta.to.global.u64 %rd2, %rd1; ld.relaxed.sys.global.b32 %r3, [%rd2]; {RESULT}"), shared);
        let chosen = |space: &str| {
            format!(
                "isspacep.{space} %p1, %rd1; @%p1 bra $own; ld.relaxed.sys.b32 %r3, [%rd1]; bra $end;
                 $own: cvta.to.{space}.u64 %rd2, %rd1; ld.{space}.b32 %r3, [%rd2]; $end: {RESULT}"
            )
        };
        for space in ["global", "shared", "local"] {
            check(name, &chosen(space), "");
        }
        check(name, &chosen("local").replace("cvta.to.local", "cvta.to.shared"), "value");
        // An address of shared memory must be converted to a generic address.
        let generic = |first: &str| format!("{first} ld.relaxed.sys.b32 %r3, [%rd1]; {RESULT}");
        check("load-i32-relaxed-sys-shared", &format!("ld.relaxed.sys.shared.b32 %r3, [%rd1]; {RESULT}"), "");
        check(
            "load-i32-relaxed-sys-shared",
            &format!("cvt.u32.u64 %r9, %rd1; ld.relaxed.sys.shared.b32 %r3, [%r9]; {RESULT}"),
            "",
        );
        check("load-i32-relaxed-sys-shared", &generic("cvta.shared.u64 %rd1, %rd1;"), "");
        check("load-i32-relaxed-sys-shared", &generic(""), "value");
        check("load-i32-relaxed-sys-global", &generic(""), "");
    }
}
