//! Kernels as text, for people and for tests.

use std::fmt::{self, Display, Formatter};

use ptx_isa::effects::{Committed, Proxy};

use crate::kernel::{
    Address, BarrierId, Condition, EventAccess, EventKind, Kernel, ObjectKind, Operation, Semantics, Sum, Test,
    UnknownKind, Varies,
};

/// One line for each block, edge and event; then the values and predicates.
impl Display for Kernel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "kernel {} of line {}", self.name, self.line)?;
        if let Some(threads) = self.threads {
            writeln!(f, "threads {threads}")?;
        }
        for (number, block) in self.blocks.iter().enumerate() {
            writeln!(f, "block {number}{}", if block.is_dead_end { " (dead end)" } else { "" })?;
            for event in &block.events {
                let guard: String =
                    event.guard.iter().map(|condition| format!("@{} ", ConditionNumber(*condition))).collect();
                writeln!(f, "    {}: {guard}{}", event.at.line, self.kind(&event.kind))?;
            }
            for edge in &block.next {
                match edge.when {
                    Some(condition) => writeln!(f, "    to {} when {}", edge.to, ConditionNumber(condition))?,
                    None => writeln!(f, "    to {}", edge.to)?,
                }
            }
        }
        for (number, value) in self.unknowns.iter().enumerate() {
            let kind = match value.kind {
                UnknownKind::Thread => "thread",
                UnknownKind::Warp => "warp",
                UnknownKind::Lane => "lane",
                UnknownKind::CtaOfCluster => "cta of cluster",
                UnknownKind::Other => "value",
            };
            let range = value.range.map_or_else(String::new, |(low, high)| format!(" in {low}..={high}"));
            writeln!(f, "v{number} = {kind}{range}{}", describe_variation(value.varies, value.block))?;
        }
        for (number, predicate) in self.predicates.iter().enumerate() {
            let list = |all: &[Condition], word: &str| {
                all.iter().map(|condition| ConditionNumber(*condition).to_string()).collect::<Vec<_>>().join(word)
            };
            let test = match &predicate.test {
                Test::Unknown => "unknown".into(),
                Test::Within { value, low, high } if low == high => format!("v{value} == {low}"),
                Test::Within { value, low: i64::MIN, high } => format!("v{value} <= {high}"),
                Test::Within { value, low, high: i64::MAX } => format!("v{value} >= {low}"),
                Test::Within { value, low, high } => format!("v{value} in {low}..={high}"),
                Test::OneOfWarp => "one of warp".into(),
                Test::All(all) => list(all, " and "),
                Test::Any(all) => list(all, " or "),
            };
            writeln!(f, "p{number} = {test}{}", describe_variation(predicate.varies, predicate.block))?;
        }
        for (at, reason) in &self.unread {
            writeln!(f, "not read: line {}: {reason}", at.line)?;
        }
        Ok(())
    }
}

/// A condition by its number.
struct ConditionNumber(Condition);

impl Display for ConditionNumber {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}p{}", if self.0.holds { "" } else { "!" }, self.0.predicate)
    }
}

fn describe_variation(varies: Varies, block: Option<usize>) -> String {
    let varies = match varies {
        Varies::No => "",
        Varies::Warp => " of the warp",
        Varies::Thread => " of the thread",
    };
    block.map_or_else(|| varies.to_owned(), |block| format!("{varies} in block {block}"))
}

fn semantics(semantics: Semantics) -> &'static str {
    match (semantics.acquires, semantics.releases) {
        (true, true) => "acq_rel",
        (true, false) => "acquire",
        (false, true) => "release",
        (false, false) => "relaxed",
    }
}

fn sum(sum: &Sum) -> String {
    let mut text = String::new();
    for (value, factor) in &sum.terms {
        match factor {
            1 => text += &format!("+v{value}"),
            factor => text += &format!("{factor:+}*v{value}"),
        }
    }
    if sum.constant != 0 {
        text += &format!("{:+}", sum.constant);
    }
    text
}

impl Kernel {
    fn address(&self, address: &Address) -> String {
        let remote = if address.is_remote { "remote " } else { "" };
        let (name, mark) = match self.objects.get(address.object) {
            Some(object) => (&*object.name, if object.kind == ObjectKind::Unknown { "?" } else { "" }),
            None => ("nothing", "?"),
        };
        format!("{remote}{mark}{name}{}", sum(&address.offset))
    }

    fn access(&self, access: &EventAccess) -> String {
        let does = match (access.reads, access.writes) {
            (true, true) => "update",
            (true, false) => "read",
            (false, true) => "write",
            (false, false) => "nothing of",
        };
        let proxy = match access.proxy {
            Proxy::Generic => String::new(),
            proxy => format!("{proxy} "),
        };
        let extent = access.extent.map_or_else(|| "?".to_owned(), |extent| extent.to_string());
        let space = format!("{:?}", access.space).to_lowercase();
        format!("{proxy}{does} {space} {}[..{extent}]", self.address(&access.address))
    }

    fn kind(&self, kind: &EventKind) -> String {
        match kind {
            EventKind::Access(access) | EventKind::Global(access) => self.access(access),
            EventKind::GridWait => "wait for grids".into(),
            EventKind::Start(start) => {
                let operation = match &start.operation {
                    Operation::TensorLoad => "tensor load".into(),
                    Operation::TensorStore => "tensor store".into(),
                    Operation::TensorMatrix { group, shape } => {
                        let shape = shape.as_ref().map_or_else(|| "?".into(), sum);
                        format!("tensor matrix of {group} shape {shape}")
                    }
                    Operation::TensorCopy { group, is_4x256b } => {
                        format!("tensor copy of {group}{}", if *is_4x256b { " 4x256b" } else { "" })
                    }
                    Operation::TensorShift { group } => format!("tensor shift of {group}"),
                    Operation::Copy => "copy".into(),
                    Operation::BulkLoad => "bulk load".into(),
                    Operation::BulkStore => "bulk store".into(),
                    Operation::Wgmma => "wgmma".into(),
                };
                let accesses: Vec<_> = start.accesses.iter().map(|access| self.access(access)).collect();
                let barrier = start.barrier.as_ref().map(|barrier| format!(", signals {}", self.address(barrier)));
                format!("start {operation}: {}{}", accesses.join(", "), barrier.unwrap_or_default())
            }
            EventKind::TensorWait(direction) => format!("tensor wait {direction:?}").to_lowercase(),
            EventKind::TensorCommit { group, of, barrier } => {
                let of = if *of == Committed::ReadA { "reads of A, " } else { "" };
                format!("tensor commit of {of}{group} {}", self.address(barrier))
            }
            EventKind::TensorFence(side) => format!("tensor fence {side:?}").to_lowercase(),
            EventKind::Allocate { object, access } => {
                let name = self.objects.get(*object).map_or("nothing", |object| &object.name);
                format!("allocate {name}: {}", self.access(access))
            }
            EventKind::Deallocate(access) => format!("deallocate {}", self.access(access)),
            EventKind::Relinquish => "relinquish".into(),
            EventKind::CommitGroup(groups) => format!("commit group {groups:?}").to_lowercase(),
            EventKind::WaitGroup { of, pending, reads_only } => {
                let reads = if *reads_only { " reads" } else { "" };
                format!("wait group {of:?} {pending}{reads}").to_lowercase()
            }
            EventKind::CopyArrive(barrier) => format!("copy arrive {}", self.address(barrier)),
            EventKind::MatrixFence => "matrix fence".into(),
            EventKind::ProxyFence(fence) => format!("proxy fence {fence:?}").to_lowercase(),
            EventKind::Initialize { barrier, count } => {
                let count = count.map_or_else(|| "?".to_owned(), |count| count.to_string());
                format!("initialize {} {count}", self.address(barrier))
            }
            EventKind::Invalidate(barrier) => format!("invalidate {}", self.address(barrier)),
            EventKind::InitializeFence => "initialize fence".into(),
            EventKind::Arrive { barrier, semantics: own, scope, .. } => {
                format!("arrive {}.{scope} {}", semantics(*own), self.address(barrier))
            }
            EventKind::Wait { barrier, semantics: own, scope } => {
                format!("wait {}.{scope} {}", semantics(*own), self.address(barrier))
            }
            EventKind::Barrier(barrier) => {
                let of = match barrier.of {
                    BarrierId::Cta(number) => number.to_string(),
                    BarrierId::SomeCta => "?".into(),
                    BarrierId::Warp => "of the warp".into(),
                    BarrierId::Cluster => "of the cluster".into(),
                };
                let does = match (barrier.arrives, barrier.waits) {
                    (true, false) => " arrive",
                    (false, true) => " wait",
                    _ => "",
                };
                let threads = barrier.threads.map_or_else(String::new, |threads| format!(" threads {threads}"));
                format!("barrier {of}{does}{threads}{}", if barrier.orders { "" } else { " relaxed" })
            }
            EventKind::Fence { semantics: own, scope } => format!("fence {}.{scope}", semantics(*own)),
            EventKind::Atomic { access, semantics: own, scope } => {
                format!("atomic {}.{scope} {}", semantics(*own), self.access(access))
            }
            EventKind::Unknown(reason) => format!("unknown: {reason}"),
        }
    }
}
