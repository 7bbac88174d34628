//! The memory model's execution of a sequence against the interpreter of the lowering crate: every operation, width and
//! sign, on the ends of the ranges and on negative constants. Both use the same arithmetic, which has a test of its
//! own; the transfer of operands and results differs.

use std::collections::BTreeSet;

use itertools::{Itertools, iproduct};
use ptx_lowering::{
    A, B, C, D, Sequence,
    interpret::Machine,
    ptx::{Address, AluOp, Atom, AtomOp, Cmp, Guard, Instruction, Name, Operand, Space, Statement, Type},
};
use ptx_mapping::translate::inline;
use ptx_memory_model::{
    outcome::{Layout, Limits},
    place::{Place, Scope},
    program::{self as model, Computation, Location, Program, Register, RegisterDeclaration, RmwOp, Thread, Variable},
    ptx::{Conventions, search},
    source::{Cpp, Order, Semantics},
};
use strum::IntoEnumIterator;

const TYPES: [Type; 12] = [
    Type::B8,
    Type::U8,
    Type::S8,
    Type::B16,
    Type::U16,
    Type::S16,
    Type::B32,
    Type::U32,
    Type::S32,
    Type::B64,
    Type::U64,
    Type::S64,
];

/// Critical values of a type of `bits` bits: the ends of its ranges, small numbers of both signs, and bits beyond it.
fn values(bits: u32) -> Vec<u64> {
    let top = 1u64 << (bits - 1);
    let values = [0, 1, 2, 3, 7, top - 1, top, top + 1, top | 5, !0 >> (64 - bits), !0, !1, !4, !0 << (bits - 1)];
    values.into_iter().collect::<BTreeSet<_>>().into_iter().collect()
}

/// A program whose only operation is replaced by a sequence: it has an address, two operands and a result.
fn source(initial: u64, b: u64, c: u64) -> Program<Cpp> {
    let rmw = model::Instruction::Rmw {
        op: RmwOp::Atom(AtomOp::Cas),
        d: Some(Register(0)),
        a: model::Address { base: model::Operand::Address(Location(0)), offset: 0 },
        b: model::Operand::Immediate(b),
        c: model::Operand::Immediate(c),
        ty: model::Type::U64,
        access: Semantics::new(Order::Relaxed, Scope::Gpu),
    };
    Program {
        locations: vec![Variable::new("x", initial)],
        threads: vec![Thread {
            place: Place::default(),
            registers: vec![RegisterDeclaration { name: "d".into(), initial: 0, observed: true }],
            labels: Vec::new(),
            code: vec![rmw.into()],
        }],
    }
}

/// The result and the memory after the sequence: in the model, and by the interpreter.
fn both(sequence: &Sequence, memory_bits: u32, old: u64, b: u64, c: u64) -> Result<[(u64, u64); 2], String> {
    let lowered = inline(&source(old, b, c), &[sequence]).map_err(|error| error.to_string())?;
    let found = search::outcomes(&lowered, Conventions::MANUAL, Limits::default());
    let states: Vec<_> = found.states.iter().collect();
    let ([state], None) = (&states[..], found.unknown) else { return Err(format!("{states:?} {:?}", found.unknown)) };
    let layout = Layout::new(&lowered);
    let d = layout.register(state, 0, Register(0)).ok_or("no register")?;
    let memory = layout.location(state, Location(0)).ok_or("no memory")?;

    let mut machine = Machine::new(64, 0, old.into(), [b.into(), c.into()], 0);
    let result = machine.run(sequence, |_| {}).map_err(|error| error.to_string())?.ok_or("no result")?;
    let low = |value: u64| if memory_bits < 64 { value & ((1 << memory_bits) - 1) } else { value };
    Ok([(low(d), memory), (low(result as u64), machine.get(64) as u64)])
}

/// The sequence of one instruction.
fn make_sequence(instruction: Instruction) -> Sequence {
    Sequence::from_iter([instruction.into()])
}

fn register(name: &Name) -> Operand {
    Operand::Register(name.clone())
}

/// Compares all values of each sequence that the interpreter supports; returns the number of sequences.
fn compare(name: &str, sequences: impl IntoIterator<Item = (String, u32, Sequence)>) -> usize {
    let (mut count, mut known) = (0, BTreeSet::new());
    for (what, bits, sequence) in sequences {
        for (old, b, c) in iproduct!([0, 5, !0, 1 << (bits - 1)], values(bits), [0u64, 1, 0x7531, !0]) {
            let mut machine = Machine::new(64, 0, old.into(), [b.into(), c.into()], 0);
            if machine.run(&sequence, |_| {}).is_err() {
                continue;
            }
            let [model, interpreter] = both(&sequence, bits, old, b, c)
                .unwrap_or_else(|error| panic!("{what} of {old:#x}, {b:#x}, {c:#x}: {error}"));
            assert_eq!(model, interpreter, "{what} of {old:#x}, {b:#x}, {c:#x}");
            count += 1;
            known.insert(what.clone());
        }
    }
    println!("{name}: {count} cases of {}", known.iter().join(", "));
    known.len()
}

#[test]
fn atomics() {
    let sequences = iproduct!(AtomOp::iter(), TYPES).map(|(op, ty)| {
        let c = (op == AtomOp::Cas).then(|| register(&C));
        let a = Address { base: A.clone(), offset: 0 };
        let atom = Atom {
            sem: None,
            scope: None,
            space: Space::Global,
            cache: None,
            op,
            noftz: false,
            vec: None,
            ty,
            d: register(&D),
            a,
            b: register(&B),
            c,
        };
        (format!("{op:?}.{ty:?}"), ty.bits(), make_sequence(Instruction::Atom(atom)))
    });
    assert_eq!(compare("atom", sequences), AtomOp::iter().count() * TYPES.len());
}

#[test]
fn instructions() {
    let is_known = |(op, ty): &(AluOp, Type)| Computation::Alu(*op).is_known(*ty);
    let known: Vec<_> = iproduct!(AluOp::iter(), TYPES).filter(is_known).collect();
    let others = AluOp::iter().filter(|op| !known.iter().any(|(known, _)| known == op)).join(" ");
    // A division may have no result, the model takes three operands, carries are not operands, and the rest are
    // floating-point operations.
    let expected = "div rem bfi lop3 min.NaN max.NaN add.rn sub.rn add.cc sub.cc addc subc mul mul.rn fma.rn div.rn rcp.rn sqrt.rn copysign";
    assert_eq!(others, expected);
    let sequences = known.iter().map(|(op, ty)| {
        let sources = [register(&B), register(&C), Operand::Immediate(0x93F5)];
        let instruction =
            Instruction::Alu { op: *op, ty: *ty, d: register(&D), sources: sources[..op.arity()].to_vec() };
        (format!("{op:?}.{ty:?}"), op.result_type(*ty).bits(), make_sequence(instruction))
    });
    assert_eq!(compare("arithmetic", sequences), known.len());
}

#[test]
fn comparisons() {
    let sequences = iproduct!(Cmp::iter().filter(|cmp| *cmp != Cmp::Nan), TYPES).map(|(cmp, ty)| {
        let p = Name("%q".into());
        let set = Instruction::Setp { cmp, ty, p: p.clone(), a: register(&B), b: register(&C) };
        let mov = |value| Instruction::Alu {
            op: AluOp::Mov,
            ty: Type::B32,
            d: register(&D),
            sources: vec![Operand::Immediate(value)],
        };
        let guarded = |negated, value| Statement::Instruction {
            guard: Some(Guard { p: p.clone(), negated }),
            instruction: mov(value),
        };
        let statements = [set.into(), guarded(false, 1), guarded(true, 0)];
        (format!("{cmp:?}.{ty:?}"), ty.bits(), Sequence::from_iter(statements))
    });
    assert_eq!(compare("setp", sequences), (Cmp::iter().count() - 1) * TYPES.len());
}

#[test]
fn conversions() {
    let sequences = iproduct!(TYPES, TYPES).map(|(to, from)| {
        let instruction = Instruction::Cvt { rn: false, to, from, d: D.clone(), a: register(&B) };
        (format!("{to:?}.{from:?}"), to.bits(), make_sequence(instruction))
    });
    assert_eq!(compare("cvt", sequences), TYPES.len() * TYPES.len());
}
