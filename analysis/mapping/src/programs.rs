//! The generation of test programs: the classical shapes, and all small programs; each also with plain data under
//! guards.

use itertools::{Itertools, iproduct};
use ptx_memory_model::{
    place::{Place, Scope},
    program::{
        Address, AtomOp, Cmp, Instruction, Label, Location, Operand, Program, Register, RegisterDeclaration, RmwOp,
        Statement, Thread, Type, Value, Variable,
    },
    source::{Cpp, Fence, Order, Semantics},
};
use strum::{Display, EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};

use crate::{
    cycles::Cycles,
    placement::placements,
    templates::{self, Template},
    translate::typed,
};

/// An operation without its location, its scope, and the value that it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Op {
    Load(Order),
    Store(Order),
    /// A read-modify-write whose result is read or not.
    Rmw {
        order: Order,
        read: bool,
    },
    Cas {
        success: Order,
        failure: Order,
        expects: Expects,
    },
    Fence(Order),
}

/// The value that a compare-and-exchange expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Expects {
    Initial,
    /// The value that the operation finds if the threads run one after another.
    Found,
}

/// An operation of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Letter {
    pub op: Op,
    /// The number of the variable; 0 for fences.
    pub location: usize,
    pub scope: Scope,
}

const RMW_ORDERS: [Order; 5] = [Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst];
const LOAD_ORDERS: [Order; 3] = [Order::Relaxed, Order::Acquire, Order::SeqCst];
const STORE_ORDERS: [Order; 3] = [Order::Relaxed, Order::Release, Order::SeqCst];
const FENCE_ORDERS: [Order; 4] = [Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst];

impl Op {
    /// Every atomic operation and fence.
    pub fn all() -> Vec<Self> {
        let rmw = iproduct!(RMW_ORDERS, [true, false]).map(|(order, read)| Self::Rmw { order, read });
        let cas = exchanges(Expects::Initial);
        let plain = LOAD_ORDERS.map(Self::Load).into_iter().chain(STORE_ORDERS.map(Self::Store));
        plain.chain(rmw).chain(cas).chain(FENCE_ORDERS.map(Self::Fence)).collect()
    }

    fn writes(self) -> bool {
        matches!(self, Self::Store(_) | Self::Rmw { .. } | Self::Cas { .. })
    }

    fn is_fence(self) -> bool {
        matches!(self, Self::Fence(_))
    }

    /// Whether the operation is an access of plain data.
    fn is_plain(self) -> bool {
        matches!(self, Self::Load(Order::NonAtomic) | Self::Store(Order::NonAtomic))
    }
}

/// Every compare-and-exchange.
fn exchanges(expects: Expects) -> impl Iterator<Item = Op> {
    iproduct!(RMW_ORDERS, LOAD_ORDERS).map(move |(success, failure)| Op::Cas { success, failure, expects })
}

/// Accesses of plain data.
const PLAIN: [Op; 2] = [Op::Load(Order::NonAtomic), Op::Store(Order::NonAtomic)];

/// The update that read-modify-writes perform, and the type of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Values {
    pub update: RmwOp,
    pub ty: Type,
    pub loops: Loops,
}

/// The operations that the lowering expands to loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loops {
    None,
    Updates,
    /// Compare-and-exchanges.
    Exchanges,
    All,
}

impl Loops {
    /// The largest number of loops of a program: each additional loop multiplies the search time.
    const MOST: usize = 2;

    fn has(self, op: Op) -> bool {
        match op {
            Op::Rmw { .. } => matches!(self, Self::Updates | Self::All),
            Op::Cas { .. } => matches!(self, Self::Exchanges | Self::All),
            _ => false,
        }
    }

    /// Whether a program has few enough loops for a search to complete.
    fn are_few<'a>(self, letters: impl IntoIterator<Item = &'a Letter>) -> bool {
        letters.into_iter().filter(|letter| self.has(letter.op)).count() <= Self::MOST
    }
}

impl Values {
    /// Exchanges of 32 bits: no other operation reveals more about orderings.
    pub const EXCHANGE: Self = Self { update: RmwOp::Atom(AtomOp::Exch), ty: Type::U32, loops: Loops::None };
}

/// A program of these threads. Each write writes a distinct value: 1, 2 and so on.
pub fn program(threads: &[(Place, Vec<Letter>)], values: Values) -> Program<Cpp> {
    let letters = || threads.iter().flat_map(|(_, letters)| letters);
    let locations =
        letters().filter(|letter| !letter.op.is_fence()).map(|letter| letter.location + 1).max().unwrap_or(0);
    let variable = |index: usize| {
        let name = ["x", "y", "z", "w"].get(index).map_or(format!("v{index}"), |name| (*name).to_owned());
        Variable::new(name, 0)
    };
    let mut value = 0;
    let letters_of_threads = threads
        .iter()
        .enumerate()
        .flat_map(|(thread, (_, letters))| letters.iter().enumerate().map(move |letter| (thread, letter)));
    let threads = threads.iter().map(|(place, letters)| {
        let mut registers: Vec<RegisterDeclaration> = Vec::new();
        let mut code = Vec::with_capacity(letters.len());
        for letter in letters {
            let mut d = || {
                registers.push(RegisterDeclaration {
                    name: format!("r{}", registers.len()),
                    initial: 0,
                    observed: true,
                });
                Register(registers.len() as u16 - 1)
            };
            value += u64::from(letter.op.writes());
            let a = Address { base: Operand::Address(Location(letter.location as u16)), offset: 0 };
            let (new, none, ty) = (Operand::Immediate(value), Operand::Immediate(0), values.ty);
            let scope = letter.scope;
            code.push(
                match letter.op {
                    Op::Load(order) => Instruction::Load { d: d(), a, ty, access: Semantics::new(order, scope) },
                    Op::Store(order) => Instruction::Store { a, b: new, ty, access: Semantics::new(order, scope) },
                    Op::Rmw { order, read } => {
                        let d = read.then(&mut d);
                        Instruction::Rmw {
                            op: values.update,
                            d,
                            a,
                            b: new,
                            c: none,
                            ty,
                            access: Semantics::new(order, scope),
                        }
                    }
                    Op::Cas { success, failure, .. } => {
                        let access = Semantics { order: success, failure, scope };
                        Instruction::Rmw { op: RmwOp::Atom(AtomOp::Cas), d: Some(d()), a, b: none, c: new, ty, access }
                    }
                    Op::Fence(order) => Instruction::Fence(Fence { order, scope }),
                }
                .into(),
            );
        }
        Thread { place: *place, registers, labels: Vec::new(), code }
    });
    let threads = threads.collect();
    let mut program = Program { locations: (0..locations).map(variable).collect(), threads };
    let order: Vec<usize> = (0..program.threads.len()).collect();
    // The expected value of an exchange decides the values that later exchanges find.
    for (thread, (index, letter)) in letters_of_threads {
        if !matches!(letter.op, Op::Cas { expects: Expects::Found, .. }) {
            continue;
        }
        let found = one_after_the_other(&program, &order);
        if let Instruction::Rmw { d: Some(d), b, .. } = &mut program.threads[thread].code[index].instruction {
            *b = Operand::Immediate(found[thread][usize::from(d.0)]);
        }
    }
    program
}

/// The program with its plain data under guards. A guard compares the values that the thread has read from atomics with
/// the values of a sequential run of the threads. One program is generated for each order of the threads with different
/// values; in each, the guards enclose either the plain data alone, or all code after the atomic read.
pub fn guarded(program: &Program<Cpp>) -> Vec<Program<Cpp>> {
    let threads = program.threads.len();
    let mut programs: Vec<Program<Cpp>> = Vec::new();
    for order in (0..threads).permutations(threads) {
        let values = one_after_the_other(program, &order);
        for guarded in [guarded_data(program, &values), guarded_rest(program, &values)] {
            if !programs.contains(&guarded) {
                programs.push(guarded);
            }
        }
    }
    programs
}

/// The final register values of each thread of a program without branches, if the threads run in this order.
fn one_after_the_other(program: &Program<Cpp>, order: &[usize]) -> Vec<Vec<Value>> {
    let mut memory: Vec<Value> = program.locations.iter().map(|variable| variable.initial).collect();
    let mut registers: Vec<Vec<Value>> = program.threads.iter().map(|thread| vec![0; thread.registers.len()]).collect();
    for &thread in order {
        for statement in &program.threads[thread].code {
            let (a, d, written) = match statement.instruction {
                Instruction::Load { a, d, .. } => (a, Some(d), None),
                Instruction::Store { a, b, ty, .. } => (a, None, Some((AtomOp::Exch.into(), b, b, ty))),
                Instruction::Rmw { op, a, b, c, ty, d, .. } => (a, d, Some((op, b, c, ty))),
                _ => continue,
            };
            let Operand::Address(Location(location)) = a.base else { continue };
            let value = |operand| match operand {
                Operand::Register(Register(register)) => registers[thread][usize::from(register)],
                Operand::Immediate(value) => value,
                Operand::Address(location) => location.address(),
            };
            let variable = &mut memory[usize::from(location)];
            let old = *variable;
            if let Some((op, b, c, ty)) = written {
                *variable = op.apply(ty, old, value(b), value(c)).unwrap_or(old);
            }
            if let Some(Register(d)) = d {
                registers[thread][usize::from(d)] = old;
            }
        }
    }
    registers
}

/// Whether a statement accesses plain data, and its destination register.
fn reads(statement: &Statement<Cpp>) -> (bool, Option<Register>) {
    match statement.instruction {
        Instruction::Load { d, access, .. } => (access.order == Order::NonAtomic, Some(d)),
        Instruction::Store { access, .. } => (access.order == Order::NonAtomic, None),
        Instruction::Rmw { d, .. } => (false, d),
        _ => (false, None),
    }
}

/// Adds a branch to a new label that skips the following code unless the register has its value.
fn guard(thread: &mut Thread<Cpp>, register: Register, values: &[Value]) -> Label {
    let target = Label(thread.labels.len() as u16);
    thread.labels.push(format!("end{}", target.0));
    let value = Operand::Immediate(values[usize::from(register.0)]);
    let when = Some((Cmp::Ne, Operand::Register(register), value));
    thread.code.push(Instruction::Branch { when, target }.into());
    target
}

fn close(thread: &mut Thread<Cpp>, labels: Vec<Label>) {
    thread.code.extend(labels.into_iter().rev().map(|label| Statement::from(Instruction::Label(label))));
}

fn guarded_data(program: &Program<Cpp>, values: &[Vec<Value>]) -> Program<Cpp> {
    let mut program = program.clone();
    for (thread, values) in program.threads.iter_mut().zip(values) {
        let mut read: Vec<Register> = Vec::new();
        for statement in std::mem::take(&mut thread.code) {
            let (plain, d) = reads(&statement);
            let guards = if plain { &read[..] } else { &[] };
            let labels = guards.iter().map(|register| guard(thread, *register, values)).collect();
            thread.code.push(statement);
            close(thread, labels);
            read.extend(d.filter(|_| !plain));
        }
    }
    program
}

fn guarded_rest(program: &Program<Cpp>, values: &[Vec<Value>]) -> Program<Cpp> {
    let mut program = program.clone();
    for (thread, values) in program.threads.iter_mut().zip(values) {
        let mut labels = Vec::new();
        let code = std::mem::take(&mut thread.code);
        let last = code.len().saturating_sub(1);
        for (index, statement) in code.into_iter().enumerate() {
            let (plain, d) = reads(&statement);
            thread.code.push(statement);
            if let Some(d) = d.filter(|_| !plain && index < last) {
                labels.push(guard(thread, d, values));
            }
        }
        close(thread, labels);
    }
    program
}

/// Each thread in its own CTA of one GPU.
pub fn on_one_gpu(thread: usize) -> Place {
    Place { cta: thread as u32, ..Place::default() }
}

/// Reads (`R`), writes (`W`) and read-modify-writes (`U`) of each thread, with the names of the literature.
const SHAPES: [(&str, &str); 22] = [
    ("SB", "Wx Ry | Wy Rx"),
    ("MP", "Wx Wy | Ry Rx"),
    ("LB", "Rx Wy | Ry Wx"),
    ("R", "Wx Wy | Wy Rx"),
    ("S", "Wx Wy | Ry Wx"),
    ("2+2W", "Wx Wy | Wy Wx"),
    ("WRC", "Wx | Rx Wy | Ry Rx"),
    ("WWC", "Wx | Rx Wy | Ry Wx"),
    ("WRW+WR", "Wx | Rx Wy | Wy Rx"),
    ("ISA2", "Wx Wy | Ry Wz | Rz Rx"),
    ("IRIW", "Wx | Rx Ry | Wy | Ry Rx"),
    ("RWC", "Wx | Rx Ry | Wy Rx"),
    ("W+RWC", "Wx Wy | Ry Rz | Wz Rx"),
    ("Z6.3", "Wx Wy | Wy Wz | Rz Rx"),
    ("3SB", "Wx Ry | Wy Rz | Wz Rx"),
    ("3LB", "Rx Wy | Ry Wz | Rz Wx"),
    ("3.2W", "Wx Wy | Wy Wz | Wz Wx"),
    ("CoRR", "Wx | Rx Rx"),
    ("CoWR", "Wx Rx | Wx"),
    ("CoRW", "Rx Wx | Wx"),
    ("CoWW", "Wx Wx | Rx Rx"),
    // Figure 12 of the paper: whether a release sequence continues after an update.
    ("MP+rs", "Wx Wy | Uy Wy | Ry Rx"),
];

/// A program with its name.
pub struct Named {
    pub name: String,
    pub threads: Vec<(Place, Vec<Letter>)>,
}

/// The variants of the accesses of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variants {
    /// Loads and stores, with each ordering.
    Accesses,
    /// Relaxed loads and stores, with each fence or none between two of them.
    Fences,
    /// Loads, stores and read-modify-writes with each ordering, and failing compare-and-exchanges.
    Rmws,
    /// Loads and stores with each ordering, and one compare-and-exchange with each pair of orderings.
    Exchanges,
}

/// Every shape of at most this many accesses, in each variant, at one scope and one placement.
pub fn shapes(variants: Variants, accesses: usize, scope: Scope, place: &dyn Fn(usize) -> Place) -> Vec<Named> {
    let shapes = parsed(accesses).flat_map(|(name, threads)| variants_of(name, &threads, variants, &[], scope, place));
    shapes.collect()
}

/// Like [`shapes`], with each choice of plain variables, at least one variable plain and one atomic.
fn plain_shapes(variants: Variants, accesses: usize, scope: Scope, place: &dyn Fn(usize) -> Place) -> Vec<Named> {
    let shapes = parsed(accesses).flat_map(|(name, threads)| {
        let slots = || threads.iter().flatten();
        let variables = slots().map(|&(_, variable)| variable).sorted().dedup().collect_vec();
        let choices = variables.iter().copied().powerset().filter(|plain| (1..variables.len()).contains(&plain.len()));
        // An update must be atomic.
        let updated = |plain: &[usize]| slots().any(|(access, variable)| *access == "U" && plain.contains(variable));
        let choices = choices.filter(|plain| !updated(plain)).collect_vec();
        choices.into_iter().flat_map(|plain| variants_of(name, &threads, variants, &plain, scope, place)).collect_vec()
    });
    shapes.collect()
}

/// An access, and the number of its variable.
type Slot = (&'static str, usize);

/// The shapes of at most this many accesses.
fn parsed(accesses: usize) -> impl Iterator<Item = (&'static str, Vec<Vec<Slot>>)> {
    let slot = |slot: &'static str| (&slot[..1], "xyz".find(&slot[1..]).unwrap_or_default());
    let shapes = SHAPES.into_iter().map(move |(name, text)| {
        (name, text.split(" | ").map(|thread| thread.split(' ').map(slot).collect_vec()).collect_vec())
    });
    shapes.filter(move |(_, threads)| threads.iter().map(Vec::len).sum::<usize>() <= accesses)
}

fn variants_of(
    name: &str,
    threads: &[Vec<Slot>],
    variants: Variants,
    plain: &[usize],
    scope: Scope,
    place: &dyn Fn(usize) -> Place,
) -> Vec<Named> {
    let choices: Vec<Vec<Vec<Op>>> = threads
        .iter()
        .flatten()
        .map(|(access, variable)| match (plain.contains(variable), *access, variants) {
            (false, ..) => stand_ins(variants, access),
            (_, "R", Variants::Fences) => fenced(PLAIN[0]),
            (_, _, Variants::Fences) => fenced(PLAIN[1]),
            (_, "R", _) => vec![vec![PLAIN[0]]],
            _ => vec![vec![PLAIN[1]]],
        })
        .collect();
    let mut found = Vec::new();
    // Each choice is an operation, possibly with a preceding fence.
    for chosen in choices.iter().map(|of| of.iter()).multi_cartesian_product() {
        let exchanges = chosen.iter().flat_map(|ops| *ops).filter(|op| matches!(op, Op::Cas { .. })).count();
        if variants == Variants::Exchanges && exchanges != 1 {
            continue;
        }
        let mut chosen = chosen.into_iter();
        let with = |(index, slots): (usize, &Vec<Slot>)| {
            let letters = slots.iter().enumerate().flat_map(|(number, (_, location))| {
                let ops = chosen.next().map(|ops| &ops[..]).unwrap_or_default();
                // A fence before the first access orders nothing.
                let ops = if number == 0 { &ops[ops.len() - 1..] } else { ops };
                let letter = |op: &Op| Letter { op: *op, location: if op.is_fence() { 0 } else { *location }, scope };
                ops.iter().map(letter).collect_vec()
            });
            (place(index), letters.collect())
        };
        found.push(Named { name: name.to_owned(), threads: threads.iter().enumerate().map(with).collect() });
    }
    found.dedup_by(|a, b| a.threads == b.threads);
    found
}

/// An operation with each preceding fence, or none.
fn fenced(op: Op) -> Vec<Vec<Op>> {
    let fences = FENCE_ORDERS.map(|order| vec![Op::Fence(order), op]);
    [vec![op]].into_iter().chain(fences).collect()
}

/// The choices for an access of a shape: an operation, possibly with a preceding fence.
fn stand_ins(variants: Variants, access: &str) -> Vec<Vec<Op>> {
    let rmws = |read| RMW_ORDERS.map(|order| vec![Op::Rmw { order, read }]).into_iter();
    let (plain, orders): (fn(Order) -> Op, _) = match access {
        "R" => (Op::Load, LOAD_ORDERS),
        "W" => (Op::Store, STORE_ORDERS),
        _ if variants == Variants::Accesses => {
            return rmws(true).chain(exchanges(Expects::Found).map(|op| vec![op])).collect();
        }
        _ => return rmws(true).collect(),
    };
    // The value that an update leaves in memory reveals its read if its result is not read.
    let reads = access == "R";
    match variants {
        Variants::Accesses => orders.map(|order| vec![plain(order)]).to_vec(),
        Variants::Fences => {
            let update = |order| vec![Op::Rmw { order, read: false }];
            let updates = reads.then(|| [Order::Relaxed, Order::Release].map(update)).into_iter().flatten();
            fenced(plain(Order::Relaxed)).into_iter().chain(updates).collect()
        }
        Variants::Exchanges => {
            let exchanges = exchanges(Expects::Initial).chain(exchanges(Expects::Found));
            orders.map(plain).into_iter().chain(exchanges).map(|op| vec![op]).collect()
        }
        Variants::Rmws => {
            let failing = reads.then(|| {
                FAILURES.map(|(success, failure)| vec![Op::Cas { success, failure, expects: Expects::Initial }])
            });
            let read = reads.then(|| rmws(true)).into_iter().flatten();
            let plain = orders.map(|order| vec![plain(order)]).into_iter();
            plain.chain(read).chain(rmws(false)).chain(failing.into_iter().flatten()).collect()
        }
    }
}

/// Success and failure orderings of a compare-and-exchange.
const FAILURES: [(Order, Order); 5] = [
    (Order::Relaxed, Order::Acquire),
    (Order::Relaxed, Order::SeqCst),
    (Order::Release, Order::Acquire),
    (Order::AcqRel, Order::Relaxed),
    (Order::SeqCst, Order::SeqCst),
];

/// Calls `each` for every program of this many operations on at most two variables, with fences between accesses. The
/// programs include exactly one of each class of programs that differ only in the names of variables and the order of
/// threads; [`is_one_of_all`] recognizes it.
fn all(operations: usize, alphabet: &[Op], each: &mut dyn FnMut(&[Vec<Letter>])) {
    let letters: Vec<Letter> = alphabet
        .iter()
        .flat_map(|op| {
            let locations = if op.is_fence() { 1 } else { 2 };
            (0..locations).map(|location| Letter { op: *op, location, scope: Scope::Gpu })
        })
        .sorted()
        .collect();
    for lengths in partitions(operations, operations) {
        // A single thread has no concurrent outcomes.
        if lengths.len() > 1 {
            let mut threads = Vec::new();
            extend(&lengths, &letters, &mut threads, each);
        }
    }
}

/// The partitions of a number, the greatest part first.
fn partitions(number: usize, greatest: usize) -> Vec<Vec<usize>> {
    if number == 0 {
        return vec![Vec::new()];
    }
    let with = |first: usize| {
        let rest = partitions(number - first, first).into_iter();
        rest.map(move |rest| [first].into_iter().chain(rest).collect())
    };
    (1..=number.min(greatest)).rev().flat_map(with).collect()
}

fn extend(lengths: &[usize], letters: &[Letter], threads: &mut Vec<Vec<Letter>>, each: &mut dyn FnMut(&[Vec<Letter>])) {
    let last = threads.last().map_or(0, Vec::len);
    if threads.is_empty() || last == lengths[threads.len() - 1] {
        // Threads of equal length are in ascending order.
        if let [.., before, this] = &threads[..]
            && before.len() == this.len()
            && before > this
        {
            return;
        }
        if threads.len() == lengths.len() {
            return each(threads);
        }
        threads.push(Vec::new());
        extend(lengths, letters, threads, each);
        threads.pop();
        return;
    }
    let length = lengths[threads.len() - 1];
    for letter in letters {
        if letter.op.is_fence() && (last == 0 || last + 1 == length) {
            continue;
        }
        // The variable that is used first is number 0.
        if letter.location == 1 && !threads.iter().flatten().any(|letter| !letter.op.is_fence()) {
            continue;
        }
        // A variable is either plain or atomic.
        let otherwise = |other: &&Letter| {
            !other.op.is_fence() && other.location == letter.location && other.op.is_plain() != letter.op.is_plain()
        };
        if !letter.op.is_fence() && threads.iter().flatten().any(|other| otherwise(&other)) {
            continue;
        }
        threads.last_mut().expect("pushed above").push(*letter);
        extend(lengths, letters, threads, each);
        threads.last_mut().expect("pushed above").pop();
    }
}

/// Whether the program represents its class, and its threads communicate.
fn is_one_of_all(threads: &[Vec<Letter>]) -> bool {
    communicates(threads) && is_canonical(threads)
}

/// Whether each thread shares a variable with another thread, and one of the two writes it.
fn communicates(threads: &[Vec<Letter>]) -> bool {
    let shares = |a: &[Letter], b: &[Letter]| {
        iproduct!(a, b).any(|(a, b)| {
            !a.op.is_fence() && !b.op.is_fence() && a.location == b.location && (a.op.writes() || b.op.writes())
        })
    };
    threads.iter().enumerate().all(|(index, thread)| {
        threads.iter().enumerate().any(|(other, letters)| other != index && shares(thread, letters))
    })
}

/// Whether the program, whose threads are sorted, precedes the program with the variables renamed.
fn is_canonical(threads: &[Vec<Letter>]) -> bool {
    let first =
        |threads: &[Vec<Letter>]| threads.iter().flatten().find(|letter| !letter.op.is_fence()).map(|l| l.location);
    let rename = |letter: &Letter| {
        let location = if letter.op.is_fence() { 0 } else { 1 - letter.location };
        Letter { location, ..*letter }
    };
    let mut other: Vec<Vec<Letter>> = threads.iter().map(|thread| thread.iter().map(rename).collect()).collect();
    other.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    first(threads) == Some(0) && (first(&other) != Some(0) || threads <= &other[..])
}

/// A set of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Set {
    /// All programs of two operations.
    Two,
    Three,
    /// All programs of four operations; of compare-and-exchanges only distinctive failure orderings.
    Four,
    /// All programs of five operations over a small alphabet, for unread updates with fences around them.
    Five,
    /// The shapes, with loads and stores.
    Accesses,
    /// The shapes, with fences.
    Fences,
    /// The shapes, with read-modify-writes.
    Rmws,
    /// The shapes, with a compare-and-exchange.
    Exchanges,
    /// The shapes of two and three threads, at every scope and every placement of the threads.
    Placements,
    /// All programs of four operations with one plain and one atomic variable.
    PlainFour,
    /// Like [`Set::Accesses`], with plain data under guards.
    PlainAccesses,
    /// Like [`Set::Fences`], with plain data under guards.
    PlainFences,
    /// Like [`Set::Rmws`], with plain data under guards.
    PlainRmws,
    /// Like [`Set::Exchanges`], with plain data under guards.
    PlainExchanges,
    /// The shapes with waiting loops instead of some accesses.
    Waiting,
    /// The same at every scope and every placement of the threads.
    WaitingPlacements,
    /// Fences next to fences, next to operations with orderings, and at the ends of threads.
    Fenced,
    /// The same at every scope and every placement of the threads.
    FencedPlacements,
    /// Updates that do not change the value.
    Unwritten,
    /// Updates that pass on acquired values to threads that acquire them by a fence of a narrower scope. Only for the
    /// optimizer: a strategy that splits an update, such as `fence`, does not pass them on.
    PassedOn,
    /// Updates whose ordering applies to their own read and write. Only for the optimizer: a strategy that splits an
    /// update into a fence and a relaxed update does not preserve them.
    Own,
    /// All critical cycles of two threads, at every scope and every placement that the scope includes.
    CyclesTwo,
    /// The same for three threads.
    CyclesThree,
    /// The same for four threads.
    CyclesFour,
    /// Critical cycles with a scope for each operation, updates, waiting loops, more fences, and thread-private
    /// accesses.
    CyclesMixed,
}

impl Set {
    /// Whether the programs have plain data.
    pub fn is_plain(self) -> bool {
        matches!(
            self,
            Self::PlainFour | Self::PlainAccesses | Self::PlainFences | Self::PlainRmws | Self::PlainExchanges
        )
    }

    /// Whether the programs test read-modify-writes.
    pub fn has_updates(self) -> bool {
        matches!(self, Self::Two | Self::Rmws | Self::PlainRmws | Self::Unwritten)
    }

    /// Whether the programs test compare-and-exchanges.
    pub fn has_exchanges(self) -> bool {
        matches!(self, Self::Two | Self::Exchanges | Self::PlainExchanges)
    }

    /// Whether the programs are designed for the optimizer's rewrites.
    pub fn is_for_the_optimizer(self) -> bool {
        self.templates().is_some()
    }

    /// Whether only the optimizer must preserve the programs, and strategies need not.
    pub fn is_for_the_optimizer_alone(self) -> bool {
        matches!(self, Self::PassedOn | Self::Own)
    }

    /// The templates of the programs, if there are any, and whether their threads are placed.
    fn templates(self) -> Option<(&'static [Template], bool)> {
        match self {
            Self::Waiting => Some((&templates::WAITING, false)),
            Self::WaitingPlacements => Some((&templates::WAITING, true)),
            Self::Fenced => Some((&templates::FENCED, false)),
            Self::FencedPlacements => Some((&templates::FENCED, true)),
            Self::Unwritten => Some((&templates::UNWRITTEN, false)),
            Self::PassedOn => Some((&templates::PASSED_ON, true)),
            Self::Own => Some((&templates::OWN, true)),
            _ => None,
        }
    }

    /// The sampling interval for about a thousand programs.
    pub fn sample(self) -> usize {
        match self {
            Self::Two => 1,
            Self::Three => 200,
            Self::Four => 16_000,
            Self::Five => 800,
            Self::Accesses => 4,
            Self::Fences => 240,
            Self::Rmws | Self::Placements => 80,
            Self::Exchanges => 40,
            Self::PlainFour | Self::PlainFences => 400,
            Self::PlainAccesses | Self::PlainRmws | Self::PlainExchanges => 16,
            Self::Waiting => 40,
            Self::WaitingPlacements => 800,
            Self::Fenced => 150,
            Self::FencedPlacements => 1_500,
            Self::Unwritten => 4,
            Self::PassedOn | Self::Own => 1,
            Self::CyclesTwo => 150,
            Self::CyclesThree | Self::CyclesFour | Self::CyclesMixed => 100 * self.whole(),
        }
    }

    /// The sampling interval of a run of the whole set: 1, except for the large sets of cycles, from which a run takes
    /// a hundred thousand programs.
    pub fn whole(self) -> usize {
        const MOST: u64 = 100_000;
        self.cycles().map_or(1, |cycles| (cycles.count() / MOST).max(1) as usize)
    }

    fn cycles(self) -> Option<Cycles> {
        match self {
            Self::CyclesTwo => Some(Cycles::all(2)),
            Self::CyclesThree => Some(Cycles::all(3)),
            Self::CyclesFour => Some(Cycles::all(4)),
            Self::CyclesMixed => Some(Cycles::Mixed),
            _ => None,
        }
    }
}

/// Calls `each` for the programs of a set, with their names, in part `shard.0` (from 1 on) of `shard.1`. Programs with
/// more than two loops are skipped, because no search completes on them.
pub fn each(set: Set, values: Values, shard: (usize, usize), each: &mut dyn FnMut(&str, &Program<Cpp>)) {
    if let Some(cycles) = set.cycles() {
        return cycles.each(shard, &mut |name, program| {
            each(name, &typed(program, values.ty).expect("the values are small"));
        });
    }
    let mut number = 0;
    let mut take = |name: &str, make: &dyn Fn() -> Vec<Program<Cpp>>| {
        number += 1u64;
        // Neighboring programs differ in one operation: the numbers are scattered, so that every shard is
        // representative.
        let scattered = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        if scattered as usize % shard.1 == shard.0 - 1 {
            make().iter().for_each(|program| each(name, program));
        }
    };
    if let Some((templates, placed)) = set.templates() {
        let placed = |threads| match placed {
            false => vec![(Scope::Gpu, (0..threads).map(on_one_gpu).collect())],
            // Only scopes that include all threads; the other placement sets cover the rest.
            true => iproduct!(Scope::iter(), placements(threads))
                .filter(|(scope, places)| iproduct!(places, places).all(|(from, to)| from.includes(*scope, *to)))
                .collect(),
        };
        templates::each(templates, values.update, &placed, &mut |name, program| {
            // The types can hold all values of the programs.
            take(name, &|| vec![typed(&program(), values.ty).expect("the values are small")]);
        });
        return;
    }
    let mut take = |name: &str, plain: bool, threads: &dyn Fn() -> Option<Vec<(Place, Vec<Letter>)>>| {
        take(name, &|| {
            let few = |threads: &Vec<(Place, Vec<Letter>)>| {
                values.loops.are_few(threads.iter().flat_map(|(_, letters)| letters))
            };
            let program = threads().filter(few).map(|threads| program(&threads, values));
            if plain { program.iter().flat_map(guarded).collect() } else { program.into_iter().collect() }
        });
    };
    let plain = set.is_plain();
    let mut small = |operations, alphabet: &[Op]| {
        all(operations, alphabet, &mut |threads| {
            take(set.into(), plain, &|| {
                let has_data = || threads.iter().flatten().any(|letter| letter.op.is_plain());
                let placed = || threads.iter().enumerate().map(|(index, thread)| (on_one_gpu(index), thread.clone()));
                (is_one_of_all(threads) && (!plain || has_data())).then(|| placed().collect())
            });
        });
    };
    let (variants, accesses) = match set {
        Set::Two => return small(2, &Op::all()),
        Set::Three => return small(3, &Op::all()),
        Set::Four => return small(4, &some_failures()),
        Set::PlainFour => return small(4, &[&some_failures()[..], &PLAIN].concat()),
        Set::Five => return small(5, &SMALL_ALPHABET),
        Set::Accesses | Set::PlainAccesses => (Variants::Accesses, 6),
        Set::Fences | Set::PlainFences => (Variants::Fences, 6),
        Set::Rmws | Set::PlainRmws => (Variants::Rmws, 4),
        Set::Exchanges | Set::PlainExchanges => (Variants::Exchanges, 4),
        Set::Placements => (Variants::Accesses, 5),
        Set::Waiting | Set::WaitingPlacements | Set::Fenced | Set::FencedPlacements | Set::Unwritten => return,
        Set::PassedOn | Set::Own | Set::CyclesTwo | Set::CyclesThree | Set::CyclesFour | Set::CyclesMixed => return,
    };
    if set != Set::Placements {
        let shapes = if plain { plain_shapes } else { shapes };
        for Named { name, threads } in shapes(variants, accesses, Scope::Gpu, &on_one_gpu) {
            take(&name, plain, &|| Some(threads.clone()));
        }
        return;
    }
    for scope in Scope::iter() {
        for Named { name, threads } in shapes(variants, accesses, scope, &on_one_gpu) {
            for places in placements(threads.len()) {
                let placed = || places.iter().zip(&threads).map(|(place, (_, thread))| (*place, thread.clone()));
                take(&name, false, &|| Some(placed().collect()));
            }
        }
    }
}

/// Every operation, except compare-and-exchanges whose failure ordering is implied by the success ordering; of these,
/// one for each success ordering remains.
fn some_failures() -> Vec<Op> {
    let differs = |op: &Op| match op {
        Op::Cas { success, failure, .. } => {
            *failure == Order::Relaxed
                || !success.acquires()
                || (*failure == Order::SeqCst && *success != Order::SeqCst)
        }
        _ => true,
    };
    Op::all().into_iter().filter(differs).collect()
}

const SMALL_ALPHABET: [Op; 8] = [
    Op::Load(Order::Relaxed),
    Op::Load(Order::Acquire),
    Op::Store(Order::Relaxed),
    Op::Store(Order::Release),
    Op::Rmw { order: Order::Relaxed, read: false },
    Op::Rmw { order: Order::AcqRel, read: false },
    Op::Fence(Order::Acquire),
    Op::Fence(Order::SeqCst),
];
