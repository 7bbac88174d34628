//! Small random programs from a seed.

use ptx_memory_model::{
    condition::{Atom, Condition, Formula, Quantifier},
    litmus::Litmus,
    place::{Place, Scope},
    program::{
        Address, AluOp, AtomOp, Cmp, Computation, Label, Location, Operand, Register, RegisterDeclaration, RmwOp, Type,
        Value, Variable,
    },
    ptx::{Alias, Fence, FenceSem, Instruction, Program, Proxy, ProxyFence, Sem, Semantics, Thread},
    source,
};

/// A program of the source model, with at most three threads and five memory operations.
pub fn source(seed: u64) -> source::Program {
    let mut random = Random(seed);
    let names = ["x", "y"];
    let locations: Vec<_> = names.iter().map(|name| Variable::new(*name, 0)).collect();
    let mut budget = 5;
    let thread = |_| {
        let place = Place { cta: random.pick(&[0, 1]), ..Place::default() };
        let (mut code, mut registers): (Vec<_>, Vec<RegisterDeclaration>) = (Vec::new(), Vec::new());
        for _ in 0..1 + random.below(3) {
            let a = Address { base: Operand::Address(Location(random.below(2) as u16)), offset: 0 };
            let scope = random.pick(&[Scope::Cta, Scope::Gpu, Scope::Gpu, Scope::Sys]);
            let ty = Type::U64;
            let value = Operand::Immediate(1 + random.below(2) as u64);
            let value =
                if registers.is_empty() || random.below(4) > 0 { value } else { Operand::Register(Register(0)) };
            let mut d = || {
                registers.push(RegisterDeclaration {
                    name: format!("r{}", registers.len()),
                    initial: 0,
                    observed: true,
                });
                Register(registers.len() as u16 - 1)
            };
            use source::Order::*;
            let instruction = match random.below(8) {
                kind @ 0..7 if budget > 0 => {
                    budget -= 1;
                    match kind {
                        0..3 => {
                            let order = random.pick(&[NonAtomic, Relaxed, Acquire, SeqCst]);
                            source::Instruction::Load { d: d(), a, ty, access: source::Semantics::new(order, scope) }
                        }
                        3..6 => {
                            let order = random.pick(&[NonAtomic, Relaxed, Release, SeqCst]);
                            source::Instruction::Store { a, b: value, ty, access: source::Semantics::new(order, scope) }
                        }
                        _ => {
                            let order = random.pick(&[Relaxed, Acquire, Release, AcqRel, SeqCst]);
                            let failure = random.pick(&[Relaxed, Acquire, SeqCst]);
                            let op = random.pick(&[AtomOp::Add, AtomOp::Exch, AtomOp::Cas]).into();
                            let access = source::Semantics { order, failure, scope };
                            let c = Operand::Immediate(3);
                            source::Instruction::Rmw { op, d: Some(d()), a, b: value, c, ty, access }
                        }
                    }
                }
                _ => source::Instruction::Fence(source::Fence {
                    order: random.pick(&[Acquire, Release, AcqRel, SeqCst]),
                    scope,
                }),
            };
            code.push(instruction.into());
        }
        source::Thread { place, registers, labels: Vec::new(), code }
    };
    let threads = (0..2 + seed % 2).map(thread).collect();
    source::Program { locations, threads }
}

/// Steele's SplitMix64.
pub struct Random(pub u64);

impl Random {
    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ z >> 31) % end as u64) as usize
    }

    /// True with a probability of 1 in `one_in`.
    pub fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    /// A random element.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// A program with at most three threads and six memory operations over two or three variables.
pub fn program(seed: u64) -> Program {
    let mut random = Random(seed);
    let proxies = random.below(8) == 0;
    let names = if proxies { vec!["x", "y", "a", "s"] } else { vec!["x", "y"] };
    let variable = |name: &&str| Variable {
        alias: match *name {
            "a" => Some((Alias::Proxy(Proxy::Generic), Location(0))),
            "s" => Some((Alias::Proxy(Proxy::Surface), Location(0))),
            _ => None,
        },
        ..Variable::new(*name, 0)
    };
    let locations: Vec<_> = names.iter().map(variable).collect();
    let count = 2 + random.below(2);
    let mut budget = 6;
    // Each physical variable has a random size.
    let bits = [0, 1].map(|_| random.pick(&[8, 16, 32, 32, 64, 64, 64]));
    let bits = [bits[0], bits[1], bits[0], bits[0]];
    let threads = (0..count).map(|_| thread(&mut random, &locations, bits, &mut budget)).collect();
    Program { locations, threads }
}

/// A constant of `bits` bits, more often a small one.
fn constant(random: &mut Random, bits: u8) -> Value {
    let top = 1 << (bits - 1);
    random.pick(&[1, 2, 1, 2, 1, 2, Value::MAX, top, 0, Value::MAX << (bits - 1)])
}

/// An operation of `atom` on `bits` bits, and a type that it accepts.
fn update(random: &mut Random, bits: u8) -> (RmwOp, Type) {
    use AtomOp::*;
    let op = random.pick(match bits {
        16 => &[Cas],
        32 => &[Add, Add, Exch, Exch, Cas, Cas, Inc, Dec, Min, Max, And, Or, Xor],
        _ => &[Add, Add, Exch, Exch, Cas, Cas, Min, Max, And, Or, Xor],
    });
    let signed = matches!((op, bits), (Min | Max, _) | (Add, 32)) && random.below(2) == 0;
    let ty = match op {
        Cas | Exch | And | Or | Xor => ["b", "b", "b"],
        _ => ["u", "s", "u"],
    };
    (op.into(), word(ty[usize::from(signed)], bits))
}

/// The type with this letter and width.
fn word(letter: &str, bits: u8) -> Type {
    format!("{letter}{bits}").parse().expect("a type")
}

fn integer(bits: u8, signed: bool) -> Type {
    word(if signed { "s" } else { "u" }, bits)
}

const COMPUTATIONS: [Computation; 30] = [
    Computation::Alu(AluOp::Mov),
    Computation::Alu(AluOp::Neg),
    Computation::Alu(AluOp::Not),
    Computation::Alu(AluOp::Add),
    Computation::Alu(AluOp::Sub),
    Computation::Alu(AluOp::And),
    Computation::Alu(AluOp::Or),
    Computation::Alu(AluOp::Xor),
    Computation::Alu(AluOp::Min),
    Computation::Alu(AluOp::Max),
    Computation::Alu(AluOp::MulLo),
    Computation::Alu(AluOp::Shl),
    Computation::Alu(AluOp::Shr),
    Computation::Alu(AluOp::Selp),
    Computation::Alu(AluOp::MadLo),
    Computation::Alu(AluOp::Prmt),
    Computation::Alu(AluOp::MulWide),
    Computation::Alu(AluOp::MadWide),
    Computation::Alu(AluOp::MulHi),
    Computation::Alu(AluOp::Bfe),
    Computation::Alu(AluOp::ShfLeftWrap),
    Computation::Alu(AluOp::Popc),
    Computation::Setp(Cmp::Eq),
    Computation::Setp(Cmp::Ne),
    Computation::Setp(Cmp::Lt),
    Computation::Setp(Cmp::Le),
    Computation::Setp(Cmp::Gt),
    Computation::Setp(Cmp::Ge),
    Computation::Cvt(Type::S64),
    Computation::Cvt(Type::U16),
];

/// A computation on one of its types.
fn computation(random: &mut Random) -> (Computation, Type) {
    let (computation, signed) = (random.pick(&COMPUTATIONS), random.below(2) == 0);
    let types = [8, 16, 32, 64].map(|bits| integer(bits, signed));
    let types: Vec<Type> = types.into_iter().filter(|ty| computation.is_known(*ty)).collect();
    (computation, random.pick(&types))
}

fn sources(computation: Computation, value: impl FnMut() -> Operand) -> [Operand; 3] {
    let mut sources = [Operand::Immediate(0); 3];
    sources[..computation.arity()].fill_with(value);
    // A predicate is one bit.
    if let (Computation::Alu(AluOp::Selp), Operand::Immediate(value)) = (computation, &mut sources[2]) {
        *value &= 1;
    }
    sources
}

fn thread(
    random: &mut Random,
    locations: &[Variable<ptx_memory_model::ptx::Ptx>],
    bits: [u8; 4],
    budget: &mut usize,
) -> Thread {
    let (gpu, cluster, cta) = (random.pick(&[0, 0, 0, 1]), random.pick(&[None, Some(0)]), random.pick(&[0, 1]));
    let place = Place { gpu, cluster, cta, ..Place::default() };
    let mut code = Vec::new();
    let mut registers = Vec::new();
    let mut labels = Vec::new();
    for _ in 0..1 + random.below(4) {
        let location = random.below(locations.len());
        let a = Address { base: Operand::Address(Location(location as u16)), offset: 0 };
        let scope = random.pick(&[Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Gpu, Scope::Sys]);
        let surface = locations[location].name == "s";
        let access = |random: &mut Random, sems: &[Sem]| match (surface, random.pick(sems)) {
            (true, _) => Semantics { proxy: Proxy::Surface, ..Semantics::WEAK },
            (false, sem @ (Sem::Weak | Sem::Volatile)) => Semantics::new(sem, Scope::Sys),
            (false, sem) => Semantics::new(sem, scope),
        };
        let all = bits;
        let bits = all[location];
        let value = |random: &mut Random, registers: &[RegisterDeclaration], bits: u8| match random.below(4) {
            0 if !registers.is_empty() => Operand::Register(Register(random.below(registers.len()) as u16)),
            _ => Operand::Immediate(constant(random, bits)),
        };
        let fresh = |registers: &mut Vec<RegisterDeclaration>| {
            registers.push(RegisterDeclaration { name: format!("r{}", registers.len()), initial: 0, observed: true });
            Register(registers.len() as u16 - 1)
        };
        let instruction = match random.below(if surface { 6 } else { 15 }) {
            12 if *budget > 1 && all[0] == all[1] => {
                *budget -= 2;
                let access = access(random, &[Sem::Weak, Sem::Relaxed]);
                let load = |location| {
                    let a = Address { base: Operand::Address(Location(location)), offset: 0 };
                    let bits = all[0];
                    Instruction::Load { d: fresh(&mut registers), a, ty: integer(bits, false), access }
                };
                Instruction::Vector([0, 1].map(load).into())
            }
            13.. if !registers.is_empty() => {
                let (computation, ty) = computation(random);
                let sources = sources(computation, || value(random, &registers, ty.bits() as u8));
                Instruction::Alu { computation, ty, d: fresh(&mut registers), sources }
            }
            kind @ 0..=8 | kind @ 11 if *budget > 0 => {
                *budget -= 1;
                let ty = integer(bits, bits < 64 && random.below(2) == 0);
                match kind {
                    0..=2 => {
                        let access = access(random, &[Sem::Weak, Sem::Relaxed, Sem::Acquire, Sem::Volatile]);
                        Instruction::Load { d: fresh(&mut registers), a, ty, access }
                    }
                    3..=6 => {
                        let access = access(random, &[Sem::Weak, Sem::Relaxed, Sem::Release, Sem::Volatile]);
                        Instruction::Store { a, b: value(random, &registers, bits), ty, access }
                    }
                    _ => {
                        // `atom` has no operation on bytes.
                        if bits == 8 {
                            continue;
                        }
                        let (op, ty) = update(random, bits);
                        let red = kind == 8 && !matches!(op, RmwOp::Atom(AtomOp::Exch | AtomOp::Cas));
                        let sems = [Sem::Relaxed, Sem::Release, Sem::AcqRel, Sem::Acquire];
                        let access = access(random, &sems[..if red { 2 } else { 4 }]);
                        let b = value(random, &registers, bits);
                        let d = if red { None } else { Some(fresh(&mut registers)) };
                        let c = Operand::Immediate(if op == AtomOp::Cas.into() { 3 } else { 0 });
                        Instruction::Rmw { op, d, a, b, c, ty, access }
                    }
                }
            }
            9 if locations.len() > 2 => {
                Instruction::Fence(Fence::Proxy(random.pick(&[ProxyFence::Alias, ProxyFence::Of(Proxy::Surface)])))
            }
            10 if !registers.is_empty() && labels.is_empty() => {
                labels.push("end".to_string());
                let register = Operand::Register(Register(registers.len() as u16 - 1));
                let when = Some((Cmp::Eq, register, Operand::Immediate(random.below(2) as u64)));
                Instruction::Branch { when, target: Label(0) }
            }
            _ => {
                let sem =
                    random.pick(&[FenceSem::Sc, FenceSem::Sc, FenceSem::AcqRel, FenceSem::Acquire, FenceSem::Release]);
                Instruction::Fence(Fence::Memory { sem, scope })
            }
        };
        code.push(instruction.into());
    }
    if !labels.is_empty() {
        code.push(Instruction::Label(Label(0)).into());
    }
    Thread { place, registers, labels, code }
}

/// A test of four threads with six memory operations or fences each, over two to four variables. Its places, scopes,
/// orderings and values are of every kind, and its condition uses some registers and variables.
pub fn wide(seed: u64) -> Litmus {
    let mut random = Random(seed);
    let count = 2 + random.below(3);
    let variable = |index: usize| Variable::new(["x", "y", "z", "w"][index], 0);
    let ty = Type::U32;
    let mut atoms: Vec<Atom> = Vec::new();
    let places = random.below(4);
    let thread = |number: usize| {
        let (gpu, cta) = match places {
            0 => (0, number as u32),
            1 => (0, number as u32 / 2),
            2 => (number as u32 / 2, number as u32),
            _ => (random.pick(&[0, 0, 1]), random.below(2) as u32),
        };
        let place = Place { gpu, cta, ..Place::default() };
        let mut registers: Vec<RegisterDeclaration> = Vec::new();
        let code = (0..6).map(|_| {
            let a = Address { base: Operand::Address(Location(random.below(count) as u16)), offset: 0 };
            let scope = random.pick(&[Scope::Cta, Scope::Gpu, Scope::Gpu, Scope::Sys]);
            let b = match random.below(6) {
                0 if !registers.is_empty() => Operand::Register(Register(random.below(registers.len()) as u16)),
                _ => Operand::Immediate(1 + random.below(3) as Value),
            };
            let mut d = || {
                let register = Register(registers.len() as u16);
                atoms.push(Atom::Register { thread: number, register });
                registers.push(RegisterDeclaration { name: format!("r{}", register.0), initial: 0, observed: true });
                register
            };
            let instruction = match random.below(12) {
                0..=3 => {
                    let access =
                        Semantics::new(random.pick(&[Sem::Weak, Sem::Relaxed, Sem::Relaxed, Sem::Acquire]), scope);
                    Instruction::Load { d: d(), a, ty, access }
                }
                4..=7 => {
                    let access =
                        Semantics::new(random.pick(&[Sem::Weak, Sem::Relaxed, Sem::Relaxed, Sem::Release]), scope);
                    Instruction::Store { a, b, ty, access }
                }
                8..=9 => {
                    let access =
                        Semantics::new(random.pick(&[Sem::Relaxed, Sem::Acquire, Sem::Release, Sem::AcqRel]), scope);
                    let op = random.pick(&[AtomOp::Add, AtomOp::Exch, AtomOp::Cas]).into();
                    Instruction::Rmw { op, d: Some(d()), a, b, c: Operand::Immediate(3), ty, access }
                }
                10 => {
                    let access = Semantics::new(random.pick(&[Sem::Relaxed, Sem::Release]), scope);
                    let c = Operand::Immediate(0);
                    Instruction::Rmw { op: AtomOp::Add.into(), d: None, a, b, c, ty, access }
                }
                _ => Instruction::Fence(Fence::Memory { sem: random.pick(&[FenceSem::Sc, FenceSem::AcqRel]), scope }),
            };
            instruction.into()
        });
        let code = code.collect();
        Thread { place, registers, labels: Vec::new(), code }
    };
    let threads = (0..4).map(thread).collect();
    let program = Program { locations: (0..count).map(variable).collect(), threads };
    atoms.extend((0..count).map(|index| Atom::Location(Location(index as u16))));
    let mut equal = |_| {
        let atom = atoms.swap_remove(random.below(atoms.len()));
        Formula::Equal(atom, Atom::Value(random.pick(&[0, 1, 1, 2, 2, 3])))
    };
    let formula = (0..2 + seed % 5).map(&mut equal).reduce(|a, b| Formula::And(Box::new(a), Box::new(b)));
    let condition = Condition { quantifier: Quantifier::Exists, formula: formula.unwrap_or(Formula::True) };
    Litmus { name: format!("wide{seed}"), comments: Vec::new(), program, condition }
}

/// The program as a printable litmus test.
pub fn litmus(program: Program) -> Litmus {
    let condition = Condition { quantifier: Quantifier::Exists, formula: Formula::True };
    Litmus { name: "random".into(), comments: Vec::new(), program, condition }
}
