//! Which accesses nothing orders.

use std::collections::BTreeSet;

use super::clock::{Agent, Clock};

/// What two accesses are that race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// One of them is of an asynchronous operation.
    Asynchronous,
    /// One of them makes or ends an mbarrier.
    Barrier,
    Ordinary,
}

impl Class {
    fn with(self, other: Self) -> Self {
        let both = [self, other];
        if both.contains(&Self::Barrier) { Self::Barrier } else { self.min(other) }
    }
}

/// Two accesses that nothing orders, by their lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Race {
    pub class: Class,
    pub first: u32,
    pub second: u32,
}

/// Tensor operations that execute one behind the other without a wait (section 9.7.16.6.2), with where they were started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipe {
    pub kind: PipeKind,
    pub thread: Agent,
    pub epoch: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipeKind {
    /// A product, by its accumulator and its shape.
    Product(u32, u64),
    /// An operand of a product in tensor memory, of the same product.
    Operand(u32, u64),
    Copy,
    Shift,
}

impl Pipe {
    fn is_before(self, later: Self) -> bool {
        use PipeKind::{Copy, Operand, Product, Shift};
        match (self.kind, later.kind) {
            (Product(a, shape), Product(b, other)) => a == b && shape == other,
            (Operand(..), Operand(..)) | (Copy, Product(..) | Operand(..) | Copy) => true,
            (Product(..) | Operand(..), Copy) => true,
            (Shift, Product(..) | Operand(..) | Copy) | (Product(..) | Operand(..), Shift) => true,
            _ => false,
        }
    }
}

/// What accesses memory, and when it counts as done.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub line: u32,
    pub agent: Agent,
    pub epoch: u32,
    pub writes: bool,
    /// Through the async proxy.
    pub proxy: bool,
    pub class: Class,
    pub pipe: Option<Pipe>,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    access: Access,
    /// Which bytes of the cell.
    mask: u16,
}

impl Record {
    fn is_before(&self, clock: &Clock, later: &Access) -> bool {
        let Access { agent, epoch, .. } = self.access;
        // The completion of what goes through the async proxy is a proxy fence.
        let needs_fence = later.proxy && !self.access.proxy;
        if if needs_fence { clock.has_fenced(agent, epoch) } else { clock.has_seen(agent, epoch) } {
            return true;
        }
        match (self.access.pipe, later.pipe) {
            (Some(first), Some(second)) => first.is_before(second) && clock.has_seen(first.thread, first.epoch),
            _ => false,
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Cell {
    writes: Vec<Record>,
    reads: Vec<Record>,
}

/// The cells of a memory, and the races found.
pub struct Shadow {
    cells: Vec<Cell>,
}

pub type Races = BTreeSet<Race>;

impl Shadow {
    pub fn new(cells: usize) -> Self {
        Self { cells: vec![Cell::default(); cells] }
    }

    /// Whether anything has been written there.
    pub fn is_written(&self, cell: usize) -> bool {
        self.cells.get(cell).is_some_and(|cell| !cell.writes.is_empty())
    }

    pub fn touch(&mut self, cell: usize, mask: u16, clock: &Clock, access: &Access, races: &mut Races) {
        if self.cells.len() <= cell {
            self.cells.resize(cell + 1, Cell::default());
        }
        let Cell { writes, reads } = &mut self.cells[cell];
        let mut check = |records: &[Record]| {
            for record in records {
                if record.mask & mask != 0 && !record.is_before(clock, access) {
                    let class = record.access.class.with(access.class);
                    races.insert(Race { class, first: record.access.line, second: access.line });
                }
            }
        };
        check(writes);
        if access.writes {
            check(reads);
            let uncover = |record: &mut Record| {
                record.mask &= !mask;
                record.mask != 0
            };
            writes.retain_mut(uncover);
            reads.retain_mut(uncover);
            writes.push(Record { access: *access, mask });
        } else {
            // Of one agent, who has seen the later read has seen the earlier one.
            let is_repeated = |record: &Record| {
                let Access { agent, proxy, pipe, .. } = record.access;
                let same_pipe = pipe.map(|pipe| pipe.kind) == access.pipe.map(|pipe| pipe.kind);
                agent == access.agent && proxy == access.proxy && same_pipe
            };
            reads
                .retain(|record| record.mask & !mask != 0 || !(is_repeated(record) || record.is_before(clock, access)));
            reads.push(Record { access: *access, mask });
        }
    }
}
