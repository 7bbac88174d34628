//! Small programs, with their translations to PTX and to the model.

use std::fmt::Write;

use ptx_memory_model::{
    place::{Place, Scope},
    program::{
        Address, AtomOp, Barrier, BarrierName, BarrierPart, Cmp, Label, Location, Operand, Register,
        RegisterDeclaration, Type, Variable,
    },
    ptx::{Fence, FenceSem, Instruction, Program, Sem, Semantics, Thread as ModelThread},
};

/// The position of a thread. CTAs are counted in their cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    pub cluster: u32,
    pub cta: u32,
    pub warp: u32,
    pub lane: u32,
}

impl Spot {
    pub fn same_cta(self, other: Self) -> bool {
        (self.cluster, self.cta) == (other.cluster, other.cta)
    }
}

/// A variable of the given size, in global memory or in the shared memory of a CTA, given by its cluster and its rank.
#[derive(Clone, Copy, Debug)]
pub struct Home {
    pub bytes: u8,
    pub shared: Option<(u32, u32)>,
    /// The offset in the memory.
    pub offset: u32,
}

/// A value to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Val {
    Number(u64),
    Reg(usize),
}

/// The ordering of an access. `mmio` does not change the ordering, and `volatile` is `relaxed.sys`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    pub sem: Sem,
    pub scope: Scope,
    pub mmio: bool,
}

/// An instruction. A wide access is of a variable and the next variable, and fills two registers.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    Load {
        d: usize,
        at: usize,
        order: Order,
        wide: bool,
    },
    Store {
        at: usize,
        value: Val,
        order: Order,
        wide: bool,
    },
    Rmw {
        op: AtomOp,
        d: Option<usize>,
        at: usize,
        b: Val,
        c: u64,
        order: Order,
    },
    Fence(FenceSem, Scope),
    Membar(Scope),
    /// `bar.sync 0` for all threads of the CTA.
    Bar,
    /// `barrier` 1 with a number of threads.
    Counted {
        waits: bool,
    },
    /// `bar.warp.sync` for the threads of the warp.
    Warp,
    ClusterArrive {
        relaxed: bool,
    },
    ClusterWait,
    /// The thread ends unless a register has this value.
    Unless(usize, u64),
}

#[derive(Clone, Debug)]
pub struct Thread {
    pub spot: Spot,
    pub code: Vec<Op>,
    pub registers: usize,
}

#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub threads: Vec<Thread>,
    pub places: Vec<Home>,
}

/// The maximum number of registers of a thread.
pub const REGISTERS: usize = 12;

fn integer(bytes: u8) -> Type {
    format!("u{}", bytes * 8).parse().expect("a type")
}

fn is_bitwise(op: AtomOp) -> bool {
    matches!(op, AtomOp::Exch | AtomOp::Cas | AtomOp::And | AtomOp::Or | AtomOp::Xor)
}

/// The low bits of a value.
fn low(value: u64, bytes: u8) -> u64 {
    if bytes == 8 { value } else { value & ((1 << (bytes * 8)) - 1) }
}

impl Case {
    /// The number of CTAs of a cluster, and of clusters.
    pub fn sizes(&self) -> (u32, u32) {
        let spots = || self.threads.iter().map(|thread| thread.spot);
        (spots().map(|spot| spot.cta).max().unwrap_or(0) + 1, spots().map(|spot| spot.cluster).max().unwrap_or(0) + 1)
    }

    /// The number of threads of a CTA.
    pub fn block(&self) -> u32 {
        let index = |thread: &Thread| thread.spot.warp * 32 + thread.spot.lane + 1;
        self.threads.iter().map(index).max().unwrap_or(1)
    }

    fn lanes(&self, spot: Spot) -> u32 {
        let same = |other: &&Thread| other.spot.same_cta(spot) && other.spot.warp == spot.warp;
        self.threads.iter().filter(same).fold(0, |all, other| all | 1 << other.spot.lane)
    }

    /// The number of the program's threads in the CTA.
    fn mates(&self, spot: Spot) -> u64 {
        self.threads.iter().filter(|other| other.spot.same_cta(spot)).count() as u64
    }

    /// The program for the model.
    pub fn model(&self) -> Program {
        let names = (0..self.places.len()).map(|index| Variable::new(format!("x{index}"), 0));
        let thread = |of: &Thread| {
            let declare = |index: usize| RegisterDeclaration { name: format!("r{index}"), initial: 0, observed: true };
            let mut code: Vec<_> = of.code.iter().map(|op| self.instruction(of.spot, op).into()).collect();
            code.push(Instruction::Label(Label(0)).into());
            ModelThread {
                place: Place { cluster: Some(of.spot.cluster), cta: of.spot.cta, ..Place::default() },
                registers: (0..of.registers).map(declare).collect(),
                labels: vec!["end".into()],
                code,
            }
        };
        Program { locations: names.collect(), threads: self.threads.iter().map(thread).collect() }
    }

    fn instruction(&self, spot: Spot, op: &Op) -> Instruction {
        let address = |at: usize| Address { base: Operand::Address(Location(at as u16)), offset: 0 };
        let register = |index: usize| Register(index as u16);
        let operand = |value: Val| match value {
            Val::Number(value) => Operand::Immediate(value),
            Val::Reg(index) => Operand::Register(register(index)),
        };
        let semantics = |order: Order| Semantics { mmio: order.mmio, ..Semantics::new(order.sem, order.scope) };
        let barrier = |part, of| Instruction::Barrier(Barrier { part, of });
        let cta = |instance, id, quorum| BarrierName::Cta { instance, id: Operand::Immediate(id), quorum };
        match *op {
            // A wide access overlaps other accesses only partly, so it is morally strong with none of them. The model
            // has two weak accesses instead.
            Op::Load { d, at, wide: true, .. } => {
                let half = |by: usize| Instruction::Load {
                    d: register(d + by),
                    a: address(at + by),
                    ty: integer(self.places[at].bytes),
                    access: Semantics::WEAK,
                };
                Instruction::Vector(vec![half(0), half(1)])
            }
            Op::Store { at, value, wide: true, .. } => {
                let bytes = self.places[at].bytes;
                let Val::Number(value) = value else { panic!("a wide value is a number") };
                let half = |by: usize| Instruction::Store {
                    a: address(at + by),
                    b: Operand::Immediate(low(value >> (by as u32 * u32::from(bytes) * 8), bytes)),
                    ty: integer(bytes),
                    access: Semantics::WEAK,
                };
                Instruction::Vector(vec![half(0), half(1)])
            }
            Op::Load { d, at, order, .. } => {
                let ty = integer(self.places[at].bytes);
                Instruction::Load { d: register(d), a: address(at), ty, access: semantics(order) }
            }
            Op::Store { at, value, order, .. } => {
                let ty = integer(self.places[at].bytes);
                Instruction::Store { a: address(at), b: operand(value), ty, access: semantics(order) }
            }
            Op::Rmw { op, d, at, b, c, order } => {
                let bits = self.places[at].bytes * 8;
                let ty = format!("{}{bits}", if is_bitwise(op) { "b" } else { "u" }).parse().expect("a type");
                Instruction::Rmw {
                    op: op.into(),
                    d: d.map(register),
                    a: address(at),
                    b: operand(b),
                    c: Operand::Immediate(c),
                    ty,
                    access: semantics(order),
                }
            }
            Op::Fence(sem, scope) => Instruction::Fence(Fence::Memory { sem, scope }),
            Op::Membar(scope) => Instruction::Fence(Fence::Memory { sem: FenceSem::Sc, scope }),
            Op::Bar => barrier(BarrierPart::Sync, cta(0, 0, None)),
            Op::Counted { waits } => {
                let part = if waits { BarrierPart::Sync } else { BarrierPart::Arrive };
                barrier(part, cta(0, 1, Some(Operand::Immediate(self.mates(spot)))))
            }
            Op::Warp => barrier(BarrierPart::Sync, cta(1 + spot.warp, 0, None)),
            Op::ClusterArrive { relaxed } => barrier(BarrierPart::Arrive, BarrierName::Cluster { relaxed }),
            Op::ClusterWait => barrier(BarrierPart::Wait, BarrierName::Cluster { relaxed: false }),
            Op::Unless(index, value) => Instruction::Branch {
                when: Some((Cmp::Ne, Operand::Register(register(index)), Operand::Immediate(value))),
                target: Label(0),
            },
        }
    }

    /// The program as a kernel. A thread first waits for as long as its parameter says, and writes its registers at its
    /// end.
    pub fn ptx(&self) -> String {
        let mut text = String::from(".version 8.6\n.target sm_90\n.address_size 64\n");
        text += ".visible .entry kernel(.param .u64 x, .param .u64 results";
        (0..self.threads.len()).for_each(|index| write!(text, ", .param .u32 d{index}").expect("text"));
        text += ")\n{\n.shared .align 16 .b8 s[128];\n.reg .b64 %q<32>, %x<8>;\n.reg .b32 %t<8>;\n.reg .b16 %h<4>;\n\
                 .reg .pred %p;\nmov.u32 %t0, %ctaid.x;\nmov.u32 %t1, %tid.x;\nshl.b32 %t0, %t0, 6;\nadd.u32 %t0, %t0, %t1;\n";
        let (ctas, _) = self.sizes();
        for (index, Thread { spot, .. }) in self.threads.iter().enumerate() {
            let number = (spot.cluster * ctas + spot.cta) * 64 + spot.warp * 32 + spot.lane;
            writeln!(text, "setp.eq.u32 %p, %t0, {number};\n@%p bra T{index};").expect("text");
        }
        text += "ret;\n";
        for (index, thread) in self.threads.iter().enumerate() {
            writeln!(text, "T{index}:\nld.param.u64 %x0, [x];\nld.param.u32 %t2, [d{index}];").expect("text");
            (0..thread.registers).for_each(|r| writeln!(text, "mov.u64 %q{r}, 0;").expect("text"));
            // Threads that only fill the CTA end first. A barrier before all instructions orders none of them.
            if self.block() > 32 {
                text += "barrier.sync 15;\n";
            }
            writeln!(
                text,
                "W{index}:\nsetp.eq.u32 %p, %t2, 0;\n@%p bra B{index};\nsub.u32 %t2, %t2, 1;\nbra W{index};"
            )
            .expect("text");
            writeln!(text, "B{index}:").expect("text");
            thread.code.iter().for_each(|op| self.line(&mut text, index, thread.spot, op));
            writeln!(text, "E{index}:\nld.param.u64 %x1, [results];").expect("text");
            for r in 0..thread.registers {
                let at = (index * REGISTERS + r) * 8;
                writeln!(text, "st.global.u64 [%x1+{at}], %q{r};").expect("text");
            }
            text += "ret;\n";
        }
        text + "}\n"
    }

    fn line(&self, text: &mut String, thread: usize, spot: Spot, op: &Op) {
        // The state space and the operand of a variable.
        let address = |text: &mut String, at: usize| {
            let place = self.places[at];
            match place.shared {
                None => (".global", format!("[%x0+{}]", place.offset)),
                Some(owner) if owner == (spot.cluster, spot.cta) => (".shared", format!("[s+{}]", place.offset)),
                Some((_, rank)) => {
                    writeln!(text, "mov.u32 %t3, s;\nmapa.shared::cluster.u32 %t3, %t3, {rank};").expect("text");
                    (".shared::cluster", format!("[%t3+{}]", place.offset))
                }
            }
        };
        let words = |Order { sem, scope, mmio }: Order| match sem {
            Sem::Weak => String::new(),
            Sem::Volatile => ".volatile".into(),
            sem => format!("{}.{sem}.{scope}", if mmio { ".mmio" } else { "" }),
        };
        let line = match *op {
            Op::Load { d, at, order, wide } => {
                let (space, operand) = address(text, at);
                let bits = self.places[at].bytes * 8;
                let all = bits * if wide { 2 } else { 1 };
                let load = format!("ld{}{space}.u{all} %q{d}, {operand};", words(order));
                match wide {
                    true => {
                        let mask = low(u64::MAX, bits / 8);
                        let next = d + 1;
                        format!("{load}\nshr.u64 %q{next}, %q{d}, {bits};\nand.b64 %q{d}, %q{d}, {mask};")
                    }
                    false => load,
                }
            }
            Op::Store { at, value, order, wide } => {
                let (space, operand) = address(text, at);
                let bits = self.places[at].bytes * if wide { 16 } else { 8 };
                match value {
                    Val::Number(value) => writeln!(text, "mov.u64 %x2, {value};"),
                    Val::Reg(index) => writeln!(text, "mov.u64 %x2, %q{index};"),
                }
                .expect("text");
                format!("st{}{space}.u{bits} {operand}, %x2;", words(order))
            }
            Op::Rmw { op, d, at, b, c, order } => {
                let (space, operand) = address(text, at);
                let bytes = self.places[at].bytes;
                let ty = format!("{}{}", if is_bitwise(op) { "b" } else { "u" }, bytes * 8);
                let [old, one, two] = match bytes {
                    2 => ["%h0", "%h1", "%h2"],
                    4 => ["%t4", "%t5", "%t6"],
                    _ => ["%x3", "%x4", "%x5"],
                };
                let move_ = |text: &mut String, to: &str, from: String| match bytes {
                    8 => writeln!(text, "mov.u64 {to}, {from};"),
                    _ => writeln!(text, "mov.u64 %x2, {from};\ncvt.u{}.u64 {to}, %x2;", bytes * 8),
                };
                let first = match b {
                    Val::Number(value) => value.to_string(),
                    Val::Reg(index) => format!("%q{index}"),
                };
                move_(text, one, first).expect("text");
                move_(text, two, c.to_string()).expect("text");
                let operands = if op == AtomOp::Cas { format!("{one}, {two}") } else { one.to_owned() };
                let words = words(order);
                match d {
                    None => format!("red{words}{space}.{op}.{ty} {operand}, {operands};"),
                    Some(d) => {
                        let back = match bytes {
                            8 => format!("mov.u64 %q{d}, {old};"),
                            _ => format!("cvt.u64.u{} %q{d}, {old};", bytes * 8),
                        };
                        format!("atom{words}{space}.{op}.{ty} {old}, {operand}, {operands};\n{back}")
                    }
                }
            }
            Op::Fence(sem, scope) => format!("fence.{sem}.{scope};"),
            Op::Membar(Scope::Cta) => "membar.cta;".into(),
            Op::Membar(Scope::Sys) => "membar.sys;".into(),
            Op::Membar(_) => "membar.gl;".into(),
            Op::Bar => "barrier.sync 0;".into(),
            Op::Counted { waits } => {
                let what = if waits { "sync" } else { "arrive" };
                format!("barrier.{what} 1, {};", self.mates(spot) * 32)
            }
            Op::Warp => format!("bar.warp.sync {};", self.lanes(spot)),
            Op::ClusterArrive { relaxed } => {
                format!("barrier.cluster.arrive{};", if relaxed { ".relaxed" } else { "" })
            }
            Op::ClusterWait => "barrier.cluster.wait;".into(),
            Op::Unless(index, value) => {
                format!("setp.ne.u64 %p, %q{index}, {value};\n@%p bra E{thread};")
            }
        };
        writeln!(text, "{line}").expect("text");
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for Thread { spot, code, .. } in &self.threads {
            writeln!(f, "cluster {} cta {} warp {} lane {}", spot.cluster, spot.cta, spot.warp, spot.lane)?;
            for op in code {
                let mut text = String::new();
                self.line(&mut text, 0, *spot, op);
                // Moves from and to registers are omitted.
                let says = |line: &&str| !line.starts_with("mov") && !line.starts_with("cvt");
                text.lines().filter(says).try_for_each(|line| writeln!(f, "    {line}"))?;
                match op {
                    Op::Store { value, .. } => writeln!(f, "        {value:?}")?,
                    Op::Rmw { d, b, c, .. } => writeln!(f, "        {d:?} {b:?} {c}")?,
                    _ => {}
                }
            }
        }
        Ok(())
    }
}
