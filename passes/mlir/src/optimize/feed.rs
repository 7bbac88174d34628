//! The conversion of a function of MLIR to the optimizer's graph of events.

use std::collections::HashMap;

use melior::ir::{BlockLike, BlockRef, RegionLike, RegionRef, Value, operation::OperationLike};
use ptx_lowering::{
    AtomicOp,
    ptx::{Scope, Space},
};
use ptx_optimize::{Address, Atomic, Block, End, Event, EventKind, Function};

use super::{
    effect::{self, Bodies},
    shared::{is_kernel, product},
};
use crate::ir::{self, Extracted, Op};

/// A function of the optimizer, with the parts of MLIR that it represents.
pub struct Fed<'c, 'a> {
    pub function: Function,
    /// The op at which each block of the function ends.
    pub ends: Vec<Op<'c, 'a>>,
    /// The ops, by the numbers of events, each with its operation if it is an atomic or a fence.
    pub ops: Vec<(Op<'c, 'a>, Option<AtomicOp>)>,
    /// Whether the function contains ops with regions. The graph may then have paths that the program lacks, and no
    /// fence can be inserted on an edge.
    pub is_structured: bool,
}

/// Ops whose regions are executed by each thread that reaches them, any number of times.
const STRUCTURED: [&str; 8] = [
    "affine.for",
    "affine.if",
    "memref.alloca_scope",
    "scf.execute_region",
    "scf.for",
    "scf.if",
    "scf.index_switch",
    "scf.while",
];

/// Converts a function; `atomic` returns the operation of each atomic. `None` if its control flow is unknown.
pub fn feed<'c: 'a, 'a>(
    function: Op<'c, 'a>,
    obstacle: Option<String>,
    bodies: &Bodies,
    atomic: impl Fn(Op<'c, 'a>) -> Option<Asked<'c, 'a>>,
) -> Option<Fed<'c, 'a>> {
    let mut reader = Reader {
        atomic,
        bodies,
        of_cta: if obstacle.is_none() { Scope::Cta } else { Scope::Cluster },
        blocks: Vec::new(),
        ends: Vec::new(),
        ops: Vec::new(),
        addresses: Vec::new(),
        numbers: HashMap::new(),
        is_structured: false,
    };
    reader.region(function.region(0).ok()?, &mut None)?;
    let kernel = is_kernel(function);
    // The attributes have a meaning only on kernels.
    let single_thread =
        kernel && ["nvvm.reqntid", "known_block_size"].iter().any(|name| product(function, name) == Some(1));
    let made =
        Function { blocks: reader.blocks, kernel, single_thread, shared_obstacle: obstacle, ..Function::default() };
    let ends = reader.ends.into_iter().collect::<Option<_>>()?;
    Some(Fed { function: made, ends, ops: reader.ops, is_structured: reader.is_structured })
}

/// An atomic: its operation, and its address.
pub struct Asked<'c, 'a> {
    pub op: AtomicOp,
    pub address: Option<Value<'c, 'a>>,
}

struct Reader<'c, 'a, 'b, F> {
    atomic: F,
    bodies: &'b Bodies,
    /// The widest scope that contains a thread which can address a location in the CTA's shared memory.
    of_cta: Scope,
    blocks: Vec<Block>,
    ends: Vec<Option<Op<'c, 'a>>>,
    ops: Vec<(Op<'c, 'a>, Option<AtomicOp>)>,
    /// The bases of the addresses, by number.
    addresses: Vec<Base<'c, 'a>>,
    /// The index of the first of its blocks, for each block of MLIR.
    numbers: HashMap<*mut std::ffi::c_void, usize>,
    is_structured: bool,
}

/// The value or symbol from which an address is computed, and the text of the offsets.
#[derive(PartialEq)]
enum Base<'c, 'a> {
    Value(Value<'c, 'a>, String),
    Symbol(String, String),
}

impl<'c: 'a, 'a, F: Fn(Op<'c, 'a>) -> Option<Asked<'c, 'a>>> Reader<'c, 'a, '_, F> {
    fn block(&mut self) -> usize {
        self.blocks.push(Block::default());
        self.ends.push(None);
        self.blocks.len() - 1
    }

    /// Converts the blocks of a region, and returns the index of the first of them. If the region belongs to an op of
    /// the function, the blocks that leave the region without leaving the function are added to `exits`.
    fn region(&mut self, region: RegionRef<'c, 'a>, exits: &mut Option<Vec<usize>>) -> Option<usize> {
        let blocks: Vec<_> = std::iter::successors(region.first_block(), |block| block.next_in_region()).collect();
        for block in &blocks {
            let number = self.block();
            self.numbers.insert(block.to_raw().ptr, number);
        }
        for block in &blocks {
            self.fill(*block, exits)?;
        }
        self.number(*blocks.first()?)
    }

    fn number(&self, block: BlockRef<'c, 'a>) -> Option<usize> {
        self.numbers.get(&block.to_raw().ptr).copied()
    }

    fn fill(&mut self, block: BlockRef<'c, 'a>, exits: &mut Option<Vec<usize>>) -> Option<()> {
        let mut current = self.number(block)?;
        let terminator = block.terminator()?;
        for op in std::iter::successors(block.first_operation(), |op| op.next_in_block()) {
            if op == terminator {
                self.ends[current] = Some(op);
                let mut next: Vec<_> = op.successors().map(|block| self.number(block)).collect::<Option<_>>()?;
                next.sort_unstable();
                next.dedup();
                match exits {
                    Some(exits) if next.is_empty() => exits.push(current),
                    _ => {}
                }
                let unreachable = ir::name(op) == "llvm.unreachable";
                self.blocks[current].next = next;
                self.blocks[current].end = if unreachable { End::Never } else { End::Return };
                self.succeeds(current, op);
            } else if STRUCTURED.contains(&ir::name(op)) {
                self.is_structured = true;
                self.ends[current] = Some(op);
                let (mut entries, mut left) = (Vec::new(), Some(Vec::new()));
                for region in op.regions().filter(|region| region.first_block().is_some()) {
                    entries.push(self.region(region, &mut left)?);
                }
                let after = self.block();
                entries.push(after);
                for from in left.into_iter().flatten().chain([current]) {
                    self.blocks[from].next.clone_from(&entries);
                }
                // The block ends at the same op as in MLIR.
                self.ends[after] = Some(terminator);
                current = after;
            } else if op.regions().next().is_some() {
                self.event(current, op, EventKind::Unknown(format!("`{}`", ir::name(op))), None);
            } else if let Some(asked) = (self.atomic)(op) {
                if let Some(atomic) = self.atomic(&asked) {
                    self.event(current, op, EventKind::Atomic(atomic), Some(asked.op));
                }
            } else if let Some(kind) = effect::kind(op, self.bodies) {
                self.event(current, op, kind, None);
            }
        }
        Some(())
    }

    fn event(&mut self, block: usize, op: Op<'c, 'a>, kind: EventKind, asked: Option<AtomicOp>) {
        let id = Some(self.ops.len());
        self.ops.push((op, asked));
        self.blocks[block].events.push(Event { id, kind });
    }

    /// The event for an atomic or fence; `None` if no other thread accesses the memory.
    fn atomic(&mut self, asked: &Asked<'c, 'a>) -> Option<Atomic> {
        let op = asked.op;
        let reach = match op.operation.access() {
            Some(access) if access.is_private() => return None,
            Some(access) if access.space.is_shared_cta() => self.of_cta,
            Some(access) if access.space == Space::SharedCluster => Scope::Cluster,
            _ => Scope::Sys,
        };
        Some(Atomic {
            op,
            address: asked.address.map(|pointer| self.address(pointer, reach)),
            success: None,
            can_acquire: true,
        })
    }

    /// A pointer as an address that threads of this scope can use.
    fn address(&mut self, pointer: Value<'c, 'a>, reach: Scope) -> Address {
        let base = base(pointer);
        let block = match &base {
            Base::Value(value, _) => self.block_of(*value),
            Base::Symbol(..) => None,
        };
        let known = self.addresses.iter().position(|known| *known == base);
        let value = known.unwrap_or_else(|| {
            self.addresses.push(base);
            self.addresses.len() - 1
        });
        Address { value, block, reach }
    }

    /// The block that computes a value; `None` for a value from outside the function.
    fn block_of(&self, value: Value<'c, 'a>) -> Option<usize> {
        let (block, is_argument) = match ir::argument_of(value) {
            Some((block, _)) => (block, true),
            None => (ir::defining(value)?.0.block()?, false),
        };
        // The arguments of the first block are the arguments of the function.
        self.number(block).filter(|number| !is_argument || *number > 0)
    }

    /// Records the edge that is taken if a compare-and-exchange of the block succeeds.
    fn succeeds(&mut self, block: usize, branch: Op<'c, 'a>) {
        let Some((exchange, number)) = success(branch) else { return };
        let edge = branch.successor(number).ok().and_then(|to| self.number(to)).map(|to| (block, to));
        let Self { blocks, ops, .. } = self;
        for event in &mut blocks[block].events {
            if let EventKind::Atomic(atomic) = &mut event.kind
                && event.id.is_some_and(|id| ops[id].0 == exchange)
            {
                atomic.success = edge;
            }
        }
    }
}

/// The base from which an address is computed by casts and constant offsets.
fn base<'c: 'a, 'a>(pointer: Value<'c, 'a>) -> Base<'c, 'a> {
    let (mut value, mut offsets) = (pointer, String::new());
    while let Some((op, _)) = ir::defining(value) {
        let constant = op.operands().count() == 1;
        match ir::name(op) {
            "llvm.addrspacecast" | "llvm.bitcast" => {}
            "llvm.getelementptr" if constant => {
                let attribute = |name| ir::inherent(op, name).map(|found| found.to_string()).unwrap_or_default();
                offsets += &format!("{} {};", attribute("rawConstantIndices"), attribute("elem_type"));
            }
            "llvm.mlir.addressof" => {
                let name = ir::inherent(op, "global_name").map(|name| name.to_string());
                return Base::Symbol(name.unwrap_or_default(), offsets);
            }
            _ => break,
        }
        let Ok(operand) = op.operand(0) else { break };
        value = operand;
    }
    Base::Value(value, offsets)
}

/// The compare-and-exchange whose success determines a branch, and the index of the successor on success.
fn success<'c: 'a, 'a>(branch: Op<'c, 'a>) -> Option<(Op<'c, 'a>, usize)> {
    if !matches!(ir::name(branch), "llvm.cond_br" | "cf.cond_br") {
        return None;
    }
    let (condition, _) = ir::defining(branch.operand(0).ok()?)?;
    let field = |extract: Op<'c, 'a>| {
        let Extracted::In(pair) = (ir::name(extract) == "llvm.extractvalue").then(|| ir::extracted(extract))?? else {
            return None;
        };
        let (exchange, _) = ir::defining(pair).filter(|(op, _)| ir::name(*op) == "llvm.cmpxchg")?;
        Some((exchange, ir::inherent(extract, "position")?.to_string()))
    };
    let found = match ir::name(condition) {
        "llvm.icmp" | "arith.cmpi" => {
            let [left, right] = [0, 1].map(|index| condition.operand(index).ok());
            let pair = |old: Option<Value<'c, 'a>>, other: Option<Value<'c, 'a>>| {
                let (exchange, position) = field(ir::defining(old?)?.0)?;
                (position == "array<i64: 0>" && exchange.operand(1).ok() == other).then_some(exchange)
            };
            let exchange = pair(left, right).or_else(|| pair(right, left))?;
            // The numbers of `eq` and `ne` in both dialects.
            match ir::inherent(condition, "predicate").and_then(ir::integer)? {
                0 => (exchange, 0),
                1 => (exchange, 1),
                _ => return None,
            }
        }
        _ => (field(condition).filter(|(_, position)| position == "array<i64: 1>")?.0, 0),
    };
    let [taken, other] = [found.1, 1 - found.1].map(|number| branch.successor(number).ok());
    (taken != other).then_some(found)
}
