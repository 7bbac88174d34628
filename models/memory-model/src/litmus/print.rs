//! The printer of litmus tests.

use std::fmt::{self, Display, Formatter};

use super::{
    cell::default_type,
    host,
    names::replicas,
    print_asynchronous::fence_of_async,
    shorthand::{BRANCHES, Direction, PROXIES},
    spelling::{Words, name, number},
    test::Litmus,
};
use crate::{
    asynchronous::Memory,
    condition::{Atom, Formula},
    multimem::Multimem,
    program::{AtomOp, BarrierName, BarrierPart, Computation, Location, RmwOp, Statement, Stop, Type},
    ptx::{Alias, Fence, Instruction, Program, Proxy, ProxyFence, Ptx, Sem, Semantics, Thread},
};

impl Litmus {
    /// The formula of the condition, as text.
    pub fn formula(&self) -> String {
        let mut text = String::new();
        formula(&mut text, &self.program, &self.condition.formula).expect("a string takes all text");
        text
    }
}

impl Display for Litmus {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "PTX {}", self.name)?;
        for comment in &self.comments {
            writeln!(f, "\"{comment}\"")?;
        }
        writeln!(f, "{{")?;
        for (index, variable) in self.program.locations.iter().enumerate() {
            match variable.alias {
                Some((Alias::Proxy(proxy), of)) => {
                    writeln!(f, "{} @ {proxy} aliases {};", variable.name, name(&self.program, of))?;
                }
                Some((Alias::Multimem, _)) => {
                    let replicas = replicas(&self.program, &variable.name);
                    if replicas.first() == Some(&Location(index as u16)) {
                        let of = replicas.iter().map(|at| name(&self.program, self.program.physical(*at)));
                        let of = of.collect::<Vec<_>>().join(", ");
                        writeln!(f, "{} @ multimem aliases {of};", variable.name)?;
                    }
                }
                None => {
                    if variable.memory != Memory::Global {
                        write!(f, ".{} ", variable.memory)?;
                    }
                    writeln!(f, "{}={};", variable.name, number(variable.initial))?;
                }
            }
        }
        for (index, thread) in self.program.threads.iter().enumerate() {
            for register in &thread.registers {
                let of = |location: &Location| self.program.address_of(*location) == register.initial;
                let initial = (0..self.program.locations.len()).map(|index| Location(index as u16)).find(of);
                let initial = initial.map_or(number(register.initial), |at| name(&self.program, at).into());
                writeln!(f, "P{index}:{}={initial};", register.name)?;
            }
        }
        writeln!(f, "}}")?;
        table(f, &self.program)?;
        writeln!(f, "{}", self.condition.quantifier)?;
        writeln!(f, "({})", self.formula())
    }
}

/// One column for each thread, as wide as its widest cell.
fn table(f: &mut Formatter<'_>, program: &Program) -> fmt::Result {
    let columns: Vec<Vec<String>> = program.threads.iter().enumerate().map(|column| cells(program, column)).collect();
    let width = |cells: &Vec<String>| cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = columns.iter().map(width).collect();
    let height = columns.iter().map(Vec::len).max().unwrap_or(0);
    for row in 0..height {
        for (index, (column, width)) in columns.iter().zip(&widths).enumerate() {
            let cell = column.get(row).map_or("", |cell| cell);
            write!(f, "{} {cell:width$} ", if index == 0 { "" } else { "|" })?;
        }
        writeln!(f, ";")?;
    }
    Ok(())
}

fn cells(program: &Program, (index, thread): (usize, &Thread)) -> Vec<String> {
    let place = thread.place;
    let cluster = place.cluster.map(|cluster| format!("cluster {cluster},")).unwrap_or_default();
    let header = match place.processor.is_gpu() {
        false => format!("P{index}@{}", place.processor),
        true => format!("P{index}@cta {},{cluster}gpu {}", place.cta, place.gpu),
    };
    let statements = thread.code.iter().map(|statement| instruction(program, thread, statement));
    std::iter::once(header).chain(statements).collect()
}

/// The statement as text in a column.
pub fn instruction(program: &Program, thread: &Thread, statement: &Statement<Ptx>) -> String {
    let words = Words { program, thread };
    let guard =
        statement.guard.map(|guard| format!("@{}{} ", if guard.negated { "!" } else { "" }, words.register(guard.p)));
    guard.unwrap_or_default()
        + &match thread.place.processor.is_gpu() {
            false => host::instruction(&words, &statement.instruction),
            true => words.instruction(&statement.instruction),
        }
}

impl Words<'_> {
    fn instruction(&self, instruction: &Instruction) -> String {
        match instruction {
            Instruction::Load { d, a, ty, access } => {
                let mnemonic = mnemonic(access.proxy, Direction::Load).unwrap_or("ld");
                let suffix = self.suffix(*ty);
                format!("{mnemonic}{}{suffix} {}, {}", modifiers(*access), self.register(*d), self.address(*a))
            }
            Instruction::Store { a, b, ty, access } => {
                let mnemonic = mnemonic(access.proxy, Direction::Store).unwrap_or("st");
                let suffix = self.suffix(*ty);
                format!("{mnemonic}{}{suffix} {}, {}", modifiers(*access), self.address(*a), self.value(*b, *ty))
            }
            Instruction::Rmw { op, d, a, b, c, ty, access } => {
                let (mnemonic, d) = match d {
                    Some(d) => ("atom", format!("{}, ", self.register(*d))),
                    None if matches!(op, RmwOp::Atom(AtomOp::Exch | AtomOp::Cas)) => ("atom", "_, ".into()),
                    None => ("red", String::new()),
                };
                let c = match op {
                    RmwOp::Atom(AtomOp::Cas) => format!(", {}", self.operand(*c)),
                    _ => String::new(),
                };
                let (a, b) = (self.address(*a), self.value(*b, *ty));
                let suffix = self.suffix(*ty);
                format!("{mnemonic}{}.{op}{suffix} {d}{a}, {b}{c}", modifiers(*access))
            }
            Instruction::Vector(elements) => self.vector(elements),
            Instruction::Multimem(of) => self.multimem(of),
            Instruction::Fence(Fence::Memory { sem, scope }) => format!("fence.{sem}.{scope}"),
            Instruction::Fence(Fence::Proxy(ProxyFence::Alias)) => "fence.proxy.alias".into(),
            Instruction::Fence(Fence::Proxy(ProxyFence::Of(proxy))) => format!("fence.proxy.{proxy}"),
            Instruction::Fence(fence) => fence_of_async(fence),
            Instruction::Asynchronous(of) => self.asynchronous(of),
            Instruction::Barrier(barrier) => match barrier.of {
                BarrierName::Cta { instance, id, quorum } => {
                    let part = match barrier.part {
                        BarrierPart::Sync => "sync ".into(),
                        BarrierPart::Arrive => "arrive ".into(),
                        BarrierPart::Wait => "wait ".into(),
                        BarrierPart::Red { op, d, p } => {
                            format!("red.{op} {}, {}, ", self.register(d), self.operand(p))
                        }
                    };
                    let quorum = quorum.map(|quorum| format!(", {}", self.operand(quorum))).unwrap_or_default();
                    format!("bar.cta.{part}{instance}, {}{quorum}", self.operand(id))
                }
                BarrierName::Cluster { relaxed } => match barrier.part {
                    BarrierPart::Wait => "barrier.cluster.wait".into(),
                    _ if relaxed => "barrier.cluster.arrive.relaxed".into(),
                    _ => "barrier.cluster.arrive".into(),
                },
            },
            Instruction::Alu { computation, ty, d, sources } => {
                let mnemonic = match computation {
                    Computation::Alu(op) => format!("{op}{}", suffix(*ty)),
                    Computation::Setp(cmp) => format!("setp.{cmp}{}", suffix(*ty)),
                    Computation::Cvt(to) => format!("cvt.{to}.{ty}"),
                };
                let sources = sources[..computation.arity()].iter().enumerate();
                let sources = sources
                    .map(|(index, source)| format!(", {}", self.value(*source, computation.source_type(*ty, index))));
                format!("{mnemonic} {}{}", self.register(*d), sources.collect::<String>())
            }
            Instruction::Branch { when: None, target } => format!("bra {}", self.label(*target)),
            Instruction::Branch { when: Some((cmp, a, b)), target } => {
                let mnemonic = BRANCHES.iter().find(|(_, other)| other == cmp).map_or("?", |(name, _)| name);
                format!("{mnemonic} {}, {}, {}", self.operand(*a), self.operand(*b), self.label(*target))
            }
            Instruction::Label(label) => format!("{}:", self.label(*label)),
            Instruction::Stop(Stop::Trap) => "trap".into(),
            Instruction::Stop(Stop::Unmodelled) => "// not modelled".into(),
        }
    }

    /// The type of an access, unless it is the default type.
    fn suffix(&self, ty: Type) -> String {
        if ty == default_type(self.program) { String::new() } else { format!(".{ty}") }
    }

    /// The first access stands for all of them, except for its destination.
    fn multimem(&self, Multimem { elements, reduced }: &Multimem<Instruction>) -> String {
        match (elements.first(), reduced) {
            (Some(Instruction::Load { a, ty, access, .. }), Some((op, d))) => {
                let (suffix, d) = (self.suffix(*ty), self.register(*d));
                format!("multimem.ld_reduce{}.{op}{suffix} {d}, {}", modifiers(*access), self.address(*a))
            }
            (Some(element), _) => format!("multimem.{}", self.instruction(element)),
            (None, _) => "?".into(),
        }
    }

    fn vector(&self, elements: &[Instruction]) -> String {
        let list = |items: Vec<String>| format!("{{{}}}", items.join(", "));
        let pairs = elements.iter().filter_map(|element| match element {
            Instruction::Load { d, a, .. } => Some((self.register(*d).to_string(), self.address(*a))),
            Instruction::Store { a, b, ty, .. } => Some((self.address(*a), self.value(*b, *ty))),
            _ => None,
        });
        let (first, second): (Vec<_>, Vec<_>) = pairs.unzip();
        let (mnemonic, ty, access) = match elements.first() {
            Some(Instruction::Load { ty, access, .. }) => ("ld", *ty, *access),
            Some(Instruction::Store { ty, access, .. }) => ("st", *ty, *access),
            _ => ("?", Type::U64, Semantics::WEAK),
        };
        let modifiers = modifiers(access);
        format!("{mnemonic}{modifiers}.v{}{} {}, {}", elements.len(), self.suffix(ty), list(first), list(second))
    }
}

fn modifiers(access: Semantics) -> String {
    let mmio = if access.mmio { ".mmio" } else { "" };
    match access.sem {
        Sem::Weak | Sem::Volatile => format!(".{}", access.sem),
        sem => format!("{mmio}.{sem}.{}", access.scope),
    }
}

/// The name of an access through a proxy other than the generic one.
fn mnemonic(proxy: Proxy, direction: Direction) -> Option<&'static str> {
    PROXIES.iter().find(|(_, of, to)| (*of, *to) == (proxy, direction)).map(|(name, ..)| *name)
}

/// The type, unless it is the default type of instructions.
fn suffix(ty: Type) -> String {
    if ty == Type::U64 { String::new() } else { format!(".{ty}") }
}

fn formula(f: &mut dyn fmt::Write, program: &Program, of: &Formula) -> fmt::Result {
    let atom = |atom: &Atom| match *atom {
        Atom::Register { thread, register } => {
            let name = program.threads.get(thread).and_then(|thread| thread.registers.get(usize::from(register.0)));
            format!("P{thread}:{}", name.map_or("?", |register| &register.name))
        }
        Atom::Location(location) => name(program, location).into(),
        Atom::Value(value) => number(value),
    };
    match of {
        Formula::Equal(a, b) => write!(f, "{} == {}", atom(a), atom(b)),
        Formula::Unequal(a, b) => write!(f, "{} != {}", atom(a), atom(b)),
        Formula::True => write!(f, "true"),
        Formula::Not(inner) => {
            write!(f, "~(")?;
            formula(f, program, inner)?;
            write!(f, ")")
        }
        // Both operators are left-associative.
        Formula::And(a, b) => {
            nested(f, program, a, matches!(**a, Formula::Or(..)))?;
            write!(f, " /\\ ")?;
            nested(f, program, b, matches!(**b, Formula::Or(..) | Formula::And(..)))
        }
        Formula::Or(a, b) => {
            formula(f, program, a)?;
            write!(f, " \\/ ")?;
            nested(f, program, b, matches!(**b, Formula::Or(..)))
        }
    }
}

fn nested(f: &mut dyn fmt::Write, program: &Program, of: &Formula, parenthesized: bool) -> fmt::Result {
    if !parenthesized {
        return formula(f, program, of);
    }
    write!(f, "(")?;
    formula(f, program, of)?;
    write!(f, ")")
}
