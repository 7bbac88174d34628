//! A kernel as what is executed.

use std::collections::HashMap;

use ptx_isa::{
    AluOp, Code, Function, Head, Item, Line, Module, Parameter as Declared, Space, Type, Variable,
    arithmetic::Computation,
    mnemonic::Mnemonic,
    syntax::{self, Number, Operand, Shape as Form, Statement},
};

use super::tensor::{Matrix, Product, Slice};

/// The number of a register.
pub type Register = usize;

#[derive(Clone, Copy, Debug)]
pub enum Source {
    Register(Register),
    Not(Register),
    Number(u64),
    Thread,
    Lane,
    Warp,
    /// An integer parameter of the kernel, by its place among these.
    Parameter(usize),
    Cta,
    Grid,
    Unknown,
}

#[derive(Clone, Copy, Debug)]
pub struct Address {
    pub base: Source,
    pub offset: i64,
}

/// Registers that are written; some results are discarded.
pub type Results = Vec<Option<Register>>;

#[derive(Clone, Debug)]
pub enum Op {
    Nothing,
    /// What it writes is unknown.
    Forget,
    /// What is computed; whether an operand may decide the result alone, as a zero of `and`.
    Compute(Computation, bool, Register, Vec<Source>),
    Pack(Register, Vec<Source>, u32),
    Unpack(Results, Source, u32),
    Load {
        d: Results,
        bytes: u32,
        a: Address,
    },
    Store {
        a: Address,
        bytes: u32,
        b: Vec<Source>,
    },
    /// `ldmatrix`, `stmatrix`: so many lanes have the address of a row.
    Rows {
        a: Address,
        lanes: u32,
        bytes: u32,
        writes: bool,
    },
    Copy {
        to: Address,
        bytes: u32,
    },
    CopyCommit,
    CopyWait(u32),
    CopyArrive {
        bar: Address,
        counted: bool,
    },
    Barrier {
        id: Source,
        threads: Option<Source>,
        waits: bool,
    },
    WarpBarrier,
    ProxyFence,
    Initialize {
        bar: Address,
        count: Source,
    },
    Invalidate {
        bar: Address,
    },
    Arrive {
        bar: Address,
        d: Option<Register>,
        count: Source,
        expects: Option<Source>,
        drops: bool,
    },
    Expect {
        bar: Address,
        bytes: Source,
    },
    Wait {
        p: Option<Register>,
        bar: Address,
        parity: Source,
    },
    BulkLoad {
        to: Address,
        bar: Address,
        bytes: Option<Source>,
    },
    BulkStore {
        from: Address,
        bytes: Option<Source>,
    },
    BulkCommit,
    BulkWait(u32),
    Wgmma(Box<Wgmma>),
    WgmmaFence,
    WgmmaCommit,
    WgmmaWait(u32),
    Allocate {
        to: Address,
        columns: Source,
    },
    Deallocate {
        t: Source,
        columns: Source,
    },
    TensorLoad {
        t: Address,
        slice: Slice,
    },
    TensorStore {
        t: Address,
        slice: Slice,
    },
    TensorLoadWait,
    TensorStoreWait,
    TensorCommit {
        bar: Address,
    },
    Product(Box<Product>),
    TensorCopy {
        t: Address,
        matrix: Source,
        slice: Slice,
    },
    TensorShift {
        t: Address,
    },
    Elect {
        lane: Option<Register>,
        p: Option<Register>,
    },
    Shuffle {
        mode: Shuffle,
        d: Option<Register>,
        p: Option<Register>,
        a: Source,
        b: Source,
        c: Source,
    },
    Branch(usize),
    BranchIndexed(Source, Vec<usize>),
    Exit,
    /// What the executor does not know.
    Unknown(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shuffle {
    Index,
    Butterfly,
    Up,
    Down,
}

#[derive(Clone, Debug)]
pub struct Wgmma {
    pub d: Vec<Register>,
    pub a_registers: Vec<Register>,
    pub a: Option<(Source, Matrix)>,
    pub b: (Source, Matrix),
}

#[derive(Clone, Debug)]
pub struct Step {
    pub line: u32,
    pub guard: Option<(Register, bool)>,
    pub op: Op,
    pub reads: Vec<Register>,
    pub writes: Vec<Register>,
}

pub struct Program {
    pub steps: Vec<Step>,
    pub registers: usize,
    pub threads: u32,
    pub has_wgmma: bool,
}

/// What a parameter of the kernel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parameter {
    Pointer,
    Integer,
    Bytes,
}

/// Where shared memory begins among generic addresses.
pub const WINDOW: u64 = 1 << 44;

/// Shared memory, in bytes.
pub const SHARED: u64 = 256 * 1024;

struct Decoder {
    symbols: HashMap<String, u64>,
    parameters: HashMap<String, (Parameter, u64)>,
    registers: HashMap<String, Register>,
    labels: HashMap<String, usize>,
    lists: HashMap<String, Vec<String>>,
    threads: u32,
}

pub fn decode(module: &Module, function: &Function) -> Program {
    let head = Head::read(&function.head);
    let mut decoder = Decoder {
        symbols: HashMap::new(),
        parameters: parameters(&head),
        registers: HashMap::new(),
        labels: HashMap::new(),
        lists: HashMap::new(),
        threads: head.required_threads.map(|[x, y, z]| x * y * z).or(head.most_threads).unwrap_or(128),
    };
    let body = function.body.as_deref().unwrap_or_default();
    decoder.declare(module, body);
    let mut count = 0;
    let mut label = String::new();
    for line in body {
        match &line.code {
            Code::Label(name) => {
                decoder.labels.insert(name.0.to_string(), count);
                label = name.0.to_string();
            }
            Code::Directive(text) => {
                if let Some(targets) = text.trim().strip_prefix(".branchtargets") {
                    let names = targets.trim_end_matches(';').split(',').map(|name| name.trim().to_owned());
                    decoder.lists.insert(label.clone(), names.collect());
                }
            }
            Code::Instruction { .. } | Code::Other(_) => count += 1,
            _ => {}
        }
    }
    let is_code = |line: &&Line| matches!(line.code, Code::Instruction { .. } | Code::Other(_));
    let mut steps: Vec<Step> = body.iter().filter(is_code).map(|line| decoder.step(line)).collect();
    let end = Step { line: 0, guard: None, op: Op::Exit, reads: Vec::new(), writes: Vec::new() };
    steps.push(end);
    let has_wgmma = steps.iter().any(|step| matches!(step.op, Op::Wgmma(_)));
    Program { steps, registers: decoder.registers.len(), threads: decoder.threads, has_wgmma }
}

fn parameters(head: &Head) -> HashMap<String, (Parameter, u64)> {
    let mut integers = 0;
    let parameter = |(index, declared): (usize, &Declared)| {
        let address = (index as u64 + 1) << 36;
        let value = match declared.elements {
            Some(_) => (Parameter::Bytes, address),
            None if declared.is_pointer => (Parameter::Pointer, address),
            None => {
                integers += 1;
                (Parameter::Integer, integers - 1)
            }
        };
        (declared.name.clone(), value)
    };
    head.parameters.iter().enumerate().map(parameter).collect()
}

impl Decoder {
    /// Variables in shared memory, one behind the other.
    fn declare(&mut self, module: &Module, body: &[Line]) {
        let global = module.items.iter().filter_map(|item| match item {
            Item::Directive(text) => Some(text.as_str()),
            Item::Function(_) => None,
        });
        let local = body.iter().filter_map(|line| match &line.code {
            Code::Directive(text) => Some(text.as_str()),
            _ => None,
        });
        let mut next = 1024;
        let mut open = Vec::new();
        for variable in global.chain(local).flat_map(Variable::read) {
            if !variable.space.is_some_and(Space::is_shared_cta) {
                continue;
            }
            match variable.bytes() {
                0 => open.push(variable.name),
                bytes => {
                    next = u64::next_multiple_of(next, variable.align.max(16));
                    self.symbols.insert(variable.name, next);
                    next += bytes;
                }
            }
        }
        let next = next.next_multiple_of(1024);
        self.symbols.extend(open.into_iter().map(|name| (name, next)));
    }

    fn register(&mut self, name: &str) -> Register {
        let count = self.registers.len();
        *self.registers.entry(name.to_owned()).or_insert(count)
    }

    fn name(&mut self, name: &str, suffix: Option<&str>) -> Source {
        if let Some(place) = self.symbols.get(name) {
            return Source::Number(*place);
        }
        if let Some((_, place)) = self.parameters.get(name) {
            return Source::Number(*place);
        }
        match (name, suffix) {
            ("%tid", Some("x")) => Source::Thread,
            ("%laneid", _) => Source::Lane,
            ("%warpid", _) => Source::Warp,
            ("%ntid", Some("x")) => Source::Number(u64::from(self.threads)),
            ("%nctaid", Some("x")) => Source::Grid,
            ("%ctaid", Some("x")) => Source::Cta,
            ("%ntid" | "%nctaid" | "%cluster_nctarank" | "%cluster_nctaid" | "%nwarpid", _) => Source::Number(1),
            ("%tid" | "%ctaid" | "%cluster_ctarank" | "%cluster_ctaid" | "%smid" | "%clusterid", _) => {
                Source::Number(0)
            }
            ("%clock" | "%clock64" | "%globaltimer" | "%dynamic_smem_size", _) => Source::Unknown,
            ("WARP_SZ", _) => Source::Number(32),
            _ => Source::Register(self.register(name)),
        }
    }

    fn source(&mut self, operand: &Operand<'_>) -> Source {
        match &operand.shape {
            Form::Name { name, suffix } => self.name(name.text, suffix.map(|suffix| suffix.text)),
            Form::Number(Number::Integer(value) | Number::Double(value)) => Source::Number(*value),
            Form::Number(Number::Single(bits)) => Source::Number(u64::from(*bits)),
            Form::Not(name) => match self.name(name.text, None) {
                Source::Register(register) => Source::Not(register),
                _ => Source::Unknown,
            },
            Form::Sum(address) => match self.name(address.base.text, None) {
                Source::Number(base) => Source::Number(base.wrapping_add_signed(address.offset)),
                _ => Source::Unknown,
            },
            Form::Memory { .. } => self.address(operand).base,
            _ => Source::Unknown,
        }
    }

    fn result(&mut self, operand: &Operand<'_>) -> Option<Register> {
        match self.source(operand) {
            Source::Register(register) => Some(register),
            _ => None,
        }
    }

    fn list(&mut self, operand: &Operand<'_>) -> Vec<Source> {
        match &operand.shape {
            Form::Vector(elements) => elements.iter().map(|element| self.source(element)).collect(),
            _ => vec![self.source(operand)],
        }
    }

    fn results(&mut self, operand: &Operand<'_>) -> Results {
        match &operand.shape {
            Form::Vector(elements) => elements.iter().map(|element| self.result(element)).collect(),
            _ => vec![self.result(operand)],
        }
    }

    fn address(&mut self, operand: &Operand<'_>) -> Address {
        if let Form::Memory { parts, .. } = &operand.shape
            && let [Operand { shape: Form::Number(Number::Integer(value)), .. }] = &parts[..]
        {
            return Address { base: Source::Number(*value), offset: 0 };
        }
        match operand.address() {
            Some(address) => Address { base: self.name(address.base.text, None), offset: address.offset },
            None => Address { base: Source::Unknown, offset: 0 },
        }
    }

    fn step(&mut self, line: &Line) -> Step {
        let text = line.code.to_string();
        let mut step = Step { line: line.number, guard: None, op: Op::Nothing, reads: Vec::new(), writes: Vec::new() };
        let Ok(Statement::Instruction(instruction)) = syntax::statement(text.trim()) else {
            step.op = Op::Unknown(text);
            return step;
        };
        step.guard = instruction.guard.as_ref().map(|guard| (self.register(guard.predicate.text), guard.negated));
        let (writes, reads): (Vec<String>, Vec<String>) = match &line.code {
            Code::Other(other) => {
                let names = |names: &[ptx_isa::Name]| names.iter().map(|name| name.0.to_string()).collect();
                (names(&other.writes), names(&other.reads))
            }
            Code::Instruction { instruction, .. } => {
                let sources = instruction.sources().flat_map(ptx_isa::Operand::registers);
                let address = instruction.address().map(|address| &address.base);
                (
                    instruction.destinations().map(|name| name.0.to_string()).collect(),
                    sources.chain(address).map(|name| name.0.to_string()).collect(),
                )
            }
            _ => Default::default(),
        };
        let mut registers = |names: Vec<String>| -> Vec<Register> {
            let all = names.iter().map(|name| self.name(name, None));
            all.filter_map(|source| if let Source::Register(register) = source { Some(register) } else { None })
                .collect()
        };
        step.writes = registers(writes);
        step.reads = registers(reads);
        let words: Vec<&str> = std::iter::once(instruction.mnemonic.text)
            .chain(instruction.modifiers.iter().map(|word| word.text))
            .collect();
        step.op = self.op(&words, &instruction.operands, &step.writes).unwrap_or_else(|| Op::Unknown(words.join(".")));
        if let Op::TensorLoad { .. } = step.op {
            step.writes = self.results(&instruction.operands[0]).into_iter().flatten().collect();
        }
        step
    }

    #[expect(clippy::too_many_lines, reason = "a table")]
    fn op(&mut self, words: &[&str], operands: &[Operand<'_>], writes: &[Register]) -> Option<Op> {
        let has = |word: &str| words.contains(&word);
        let is_shared = words.iter().any(|word| word.starts_with("shared"));
        let last = *words.last()?;
        Some(match words {
            ["ld", "param", ..] => {
                let value = operands[1].address().and_then(|address| {
                    self.parameters.get(address.base.text).filter(|(kind, _)| *kind != Parameter::Bytes).copied()
                });
                match (value, self.result(&operands[0])) {
                    (Some((kind, value)), Some(d)) => {
                        let value = match kind {
                            Parameter::Integer => Source::Parameter(usize::try_from(value).ok()?),
                            _ => Source::Number(value),
                        };
                        let ty = last.parse::<Type>().ok().filter(|ty| !ty.is_float() && ty.bits() <= 64)?;
                        Op::Compute(Computation::Alu(AluOp::Mov, ty), false, d, vec![value])
                    }
                    _ => Op::Forget,
                }
            }
            ["ld" | "st" | "atom" | "red" | "ldu", ..] if has("global") || has("const") || has("local") => Op::Forget,
            ["ld" | "ldu", ..] => {
                Op::Load { d: self.results(&operands[0]), bytes: width(last)?, a: self.address(&operands[1]) }
            }
            ["st", "async", ..] => Op::BulkLoad {
                to: self.address(&operands[0]),
                bytes: Some(Source::Number(u64::from(width(last)?) * self.list(&operands[1]).len() as u64)),
                bar: self.address(&operands[2]),
            },
            ["st", "bulk", ..] => return None,
            ["st", ..] => Op::Store { a: self.address(&operands[0]), bytes: width(last)?, b: self.list(&operands[1]) },
            ["prefetch" | "prefetchu" | "applypriority" | "discard" | "createpolicy", ..] => Op::Forget,
            ["ldmatrix", ..] => {
                Op::Rows { a: self.address(&operands[1]), lanes: rows(words), bytes: 16, writes: false }
            }
            ["stmatrix", ..] => Op::Rows { a: self.address(&operands[0]), lanes: rows(words), bytes: 16, writes: true },
            ["cp", "async", "commit_group"] => Op::CopyCommit,
            ["cp", "async", "wait_group"] => Op::CopyWait(self.constant(operands)?),
            ["cp", "async", "wait_all"] => Op::CopyWait(u32::MAX),
            ["cp", "async", "mbarrier", "arrive", ..] => {
                Op::CopyArrive { bar: self.address(&operands[0]), counted: has("noinc") }
            }
            ["cp", "async", "bulk", "commit_group"] => Op::BulkCommit,
            ["cp", "async", "bulk", "wait_group", ..] => Op::BulkWait(self.constant(operands)?),
            ["cp", "async", "bulk", "prefetch", ..] => Op::Nothing,
            ["cp", "async", "bulk", ..] | ["cp", "reduce", "async", "bulk", ..] => self.bulk(words, operands),
            ["cp", "async", ..] => Op::Copy { to: self.address(&operands[0]), bytes: self.constant(&operands[2..])? },
            ["bar" | "barrier", "warp", "sync", ..] => Op::WarpBarrier,
            ["barrier", "cluster", ..] if has("wait") => {
                Op::Barrier { id: Source::Number(99), threads: None, waits: true }
            }
            ["barrier", "cluster", ..] => Op::Nothing,
            ["bar" | "barrier", .., "red", _, _] => return None,
            ["bar" | "barrier", ..] => Op::Barrier {
                id: self.source(&operands[0]),
                threads: operands.get(1).map(|operand| self.source(operand)),
                waits: has("sync"),
            },
            ["fence", "proxy", "async" | "async::generic", rest @ ..] => {
                if rest.contains(&"global") {
                    Op::Nothing
                } else {
                    Op::ProxyFence
                }
            }
            ["fence" | "membar", ..] => Op::Nothing,
            ["mbarrier", "init", ..] => {
                Op::Initialize { bar: self.address(&operands[0]), count: self.source(&operands[1]) }
            }
            ["mbarrier", "inval", ..] => Op::Invalidate { bar: self.address(&operands[0]) },
            ["mbarrier", "expect_tx", ..] => {
                Op::Expect { bar: self.address(&operands[0]), bytes: self.source(&operands[1]) }
            }
            ["mbarrier", "arrive" | "arrive_drop", ..] => {
                let at = operands.iter().position(|operand| matches!(operand.shape, Form::Memory { .. }))?;
                let more = operands.get(at + 1).map(|operand| self.source(operand));
                let (count, expects) = if has("expect_tx") {
                    (Source::Number(1), Some(more?))
                } else {
                    (more.unwrap_or(Source::Number(1)), None)
                };
                Op::Arrive {
                    d: if at == 1 {
                        self.result(&operands[0]).filter(|_| !matches!(operands[0].shape, Form::Sink))
                    } else {
                        None
                    },
                    bar: self.address(&operands[at]),
                    count,
                    expects,
                    drops: words[1] == "arrive_drop",
                }
            }
            ["mbarrier", "try_wait" | "test_wait", ..] => Op::Wait {
                p: self.result(&operands[0]),
                bar: self.address(&operands[1]),
                parity: self.source(&operands[2]),
            },
            ["clusterlaunchcontrol", "try_cancel", ..] => Op::BulkLoad {
                to: self.address(&operands[0]),
                bar: self.address(&operands[1]),
                bytes: Some(Source::Number(16)),
            },
            ["wgmma", "mma_async", ..] => self.wgmma(words, operands)?,
            ["wgmma", "fence", ..] => Op::WgmmaFence,
            ["wgmma", "commit_group", ..] => Op::WgmmaCommit,
            ["wgmma", "wait_group", ..] => Op::WgmmaWait(self.constant(operands)?),
            ["tcgen05", rest @ ..] => self.tensor(rest, operands)?,
            ["elect", ..] => {
                let (lane, p) = self.pair(&operands[0]);
                Op::Elect { lane, p }
            }
            ["shfl", "sync", mode, ..] => {
                let (d, p) = self.pair(&operands[0]);
                let mode = match *mode {
                    "idx" => Shuffle::Index,
                    "bfly" => Shuffle::Butterfly,
                    "up" => Shuffle::Up,
                    _ => Shuffle::Down,
                };
                let mut source = |at: usize| self.source(&operands[at]);
                Op::Shuffle { mode, d, p, a: source(1), b: source(2), c: source(3) }
            }
            ["bra", ..] => Op::Branch(*self.labels.get(operands[0].text.text)?),
            ["brx", ..] => {
                let list = self.lists.get(operands[1].text.text)?;
                let targets = list.iter().map(|name| self.labels.get(name).copied()).collect::<Option<_>>()?;
                Op::BranchIndexed(self.source(&operands[0]), targets)
            }
            ["ret" | "exit" | "trap", ..] => Op::Exit,
            ["call", ..] => return None,
            ["setmaxnreg" | "nanosleep" | "griddepcontrol" | "pmevent" | "brkpt", ..] => Op::Nothing,
            ["tensormap", "replace", ..] if is_shared => {
                Op::Store { a: self.address(&operands[0]), bytes: 8, b: vec![Source::Unknown; 16] }
            }
            ["tensormap", "cp_fenceproxy", ..] => {
                Op::Load { d: vec![None; 16], bytes: 8, a: self.address(&operands[1]) }
            }
            ["mov", ty] => self.mov(ty, operands)?,
            _ => match self.compute(words, operands) {
                Some(op) => op,
                None if !writes.is_empty() || operands.is_empty() => {
                    let known = Mnemonic::of(&words.join("."));
                    let touches = known.is_some_and(Mnemonic::orders_or_touches_memory);
                    if touches { return None } else { Op::Forget }
                }
                None => return None,
            },
        })
    }

    fn constant(&mut self, operands: &[Operand<'_>]) -> Option<u32> {
        match self.source(operands.first()?) {
            Source::Number(value) => u32::try_from(value).ok(),
            _ => None,
        }
    }

    fn pair(&mut self, operand: &Operand<'_>) -> (Option<Register>, Option<Register>) {
        match &operand.shape {
            Form::Pair(both) => (self.result(&both[0]), self.result(&both[1])),
            _ => (self.result(operand), None),
        }
    }

    fn mov(&mut self, ty: &str, operands: &[Operand<'_>]) -> Option<Op> {
        let ty: Type = ty.parse().ok()?;
        let bits = ty.bits();
        Some(match (&operands[0].shape, &operands[1].shape) {
            (Form::Vector(elements), _) => {
                let part = bits / u32::try_from(elements.len()).ok()?;
                Op::Unpack(self.results(&operands[0]), self.source(&operands[1]), part)
            }
            (_, Form::Vector(elements)) => {
                let part = bits / u32::try_from(elements.len()).ok()?;
                Op::Pack(self.result(&operands[0])?, self.list(&operands[1]), part)
            }
            _ => {
                let source = self.source(&operands[1]);
                Op::Compute(Computation::Alu(AluOp::Mov, ty), false, self.result(&operands[0])?, vec![source])
            }
        })
    }

    fn compute(&mut self, words: &[&str], operands: &[Operand<'_>]) -> Option<Op> {
        if matches!(operands[0].shape, Form::Pair(_)) {
            return None;
        }
        let d = self.result(&operands[0])?;
        let sources: Vec<Source> = operands[1..].iter().map(|operand| self.source(operand)).collect();
        if matches!(words[0], "cvta" | "mapa") {
            let is_shared = words[0] == "cvta" && words.iter().any(|word| word.starts_with("shared"));
            let window = match words[1] {
                _ if !is_shared => 0,
                "to" => WINDOW.wrapping_neg(),
                _ => WINDOW,
            };
            let ty = words.last()?.parse().ok()?;
            let sources = vec![*sources.first()?, Source::Number(window)];
            return Some(Op::Compute(Computation::Alu(AluOp::Add, ty), false, d, sources));
        }
        // Floating-point values are not followed.
        let computation = Computation::of(words[0], &words[1..])?;
        let types = (0..computation.arity()).map(|index| computation.source_type(index));
        if types.chain([computation.result_type()]).any(|ty| ty.is_float() || ty.element().is_some())
            || sources.len() != computation.arity()
        {
            return None;
        }
        let absorbs = matches!(computation, Computation::Alu(AluOp::And | AluOp::Or | AluOp::Selp | AluOp::MulLo, _));
        Some(Op::Compute(computation, absorbs, d, sources))
    }

    fn bulk(&mut self, words: &[&str], operands: &[Operand<'_>]) -> Op {
        let is_tensor = words.contains(&"tensor");
        let destination = words.iter().find(|word| matches!(**word, "global") || word.starts_with("shared"));
        if destination.is_some_and(|word| word.starts_with("shared")) {
            // Without a tensor, the number of bytes stands in front of the mbarrier.
            let (bytes, bar) = if is_tensor { (None, 2) } else { (Some(self.source(&operands[2])), 3) };
            return Op::BulkLoad { to: self.address(&operands[0]), bar: self.address(&operands[bar]), bytes };
        }
        let bytes = if is_tensor { None } else { Some(self.source(&operands[2])) };
        Op::BulkStore { from: self.address(&operands[1]), bytes }
    }

    fn wgmma(&mut self, words: &[&str], operands: &[Operand<'_>]) -> Option<Op> {
        let shape = words.iter().find_map(|word| {
            let (n, k) = word.strip_prefix("m64n")?.split_once('k')?;
            Some((n.parse::<u32>().ok()?, k.parse::<u32>().ok()?))
        })?;
        let (n, _) = shape;
        let d = self.results(&operands[0]).into_iter().flatten().collect();
        let in_registers = matches!(operands[1].shape, Form::Vector(_));
        // Behind the matrices stand scale-d, the signs, and what is transposed.
        let flags: Vec<Source> = operands[3..].iter().map(|operand| self.source(operand)).collect();
        let flag = |at: usize| matches!(flags.get(at), Some(Source::Number(1)));
        let (a_across, b_across) = if in_registers { (false, flag(3)) } else { (flag(3), flag(4)) };
        let (a_registers, a) = if in_registers {
            (self.results(&operands[1]).into_iter().flatten().collect(), None)
        } else {
            (Vec::new(), Some((self.source(&operands[1]), Matrix { rows: 64, across: a_across, tensor: false })))
        };
        let b = (self.source(&operands[2]), Matrix { rows: n, across: b_across, tensor: false });
        Some(Op::Wgmma(Box::new(Wgmma { d, a_registers, a, b })))
    }

    fn tensor(&mut self, words: &[&str], operands: &[Operand<'_>]) -> Option<Op> {
        let repeat = || {
            let count = words.iter().find_map(|word| word.strip_prefix('x')?.parse::<u32>().ok());
            let shape = *words.iter().find(|word| word.contains('b') && word.as_bytes()[0].is_ascii_digit())?;
            Slice::of(shape, count.unwrap_or(1))
        };
        Some(match words {
            ["alloc", ..] => Op::Allocate { to: self.address(&operands[0]), columns: self.source(&operands[1]) },
            ["dealloc", ..] => Op::Deallocate { t: self.source(&operands[0]), columns: self.source(&operands[1]) },
            ["relinquish_alloc_permit", ..] | ["fence::before_thread_sync" | "fence::after_thread_sync", ..] => {
                Op::Nothing
            }
            ["ld", "red", ..] => return None,
            ["ld", ..] => {
                let slice = repeat()?.apart(operands.get(2).and_then(|operand| number(operand)));
                Op::TensorLoad { t: self.address(&operands[1]), slice }
            }
            ["st", ..] => {
                let slice = repeat()?.apart(operands.get(1).and_then(|operand| number(operand)));
                Op::TensorStore { t: self.address(&operands[0]), slice }
            }
            ["wait::ld", ..] => Op::TensorLoadWait,
            ["wait::st", ..] => Op::TensorStoreWait,
            ["commit", ..] => Op::TensorCommit { bar: self.address(&operands[0]) },
            ["cp", ..] => Op::TensorCopy {
                t: self.address(&operands[0]),
                matrix: self.source(&operands[1]),
                slice: Slice::of_copy(words)?,
            },
            ["shift", ..] => Op::TensorShift { t: self.address(&operands[0]) },
            ["mma", "sp" | "ws", ..] => return None,
            ["mma", ..] => {
                let in_tensor = matches!(operands[1].shape, Form::Memory { .. });
                let scales: Vec<Address> = operands[4..]
                    .iter()
                    .filter(|operand| matches!(operand.shape, Form::Memory { .. }))
                    .map(|operand| self.address(operand))
                    .collect();
                Op::Product(Box::new(Product {
                    d: self.address(&operands[0]),
                    a: if in_tensor { None } else { Some(self.source(&operands[1])) },
                    a_tensor: if in_tensor { Some(self.address(&operands[1])) } else { None },
                    b: self.source(&operands[2]),
                    shape: self.source(&operands[3]),
                    scales,
                    scaled: words.contains(&"block_scale"),
                }))
            }
            _ => return None,
        })
    }
}

fn number(operand: &Operand<'_>) -> Option<u32> {
    match operand.shape {
        Form::Number(Number::Integer(value)) => u32::try_from(value).ok(),
        _ => None,
    }
}

/// The bytes of a type.
fn width(ty: &str) -> Option<u32> {
    let bits: u32 = ty.trim_start_matches(|c: char| c.is_ascii_lowercase()).parse().ok()?;
    Some(bits / 8)
}

/// How many lanes have an address of a row.
fn rows(words: &[&str]) -> u32 {
    let count = words.iter().find_map(|word| word.strip_prefix('x')?.parse::<u32>().ok());
    8 * count.unwrap_or(1)
}
