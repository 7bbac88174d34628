//! `ptx-atomics table --sass`: the measured output of ptxas for the mapping, by the rules in `lowering/src/sass`.

use std::iter::once;

use ptx_atomics::lowering::{
    AtomicOp, Change, Operation, Ordering, Policy, SyncScope, Target, UnknownTarget,
    abi::{ABI, Carrier, barriers},
    lower,
    ptx::{Scope, Space},
    row,
    sass::{ATOMS, COMBINED, Combined, Counts, Family, Sass, leader_orders},
};
use serde::Serialize;
use strum::IntoEnumIterator;

use crate::{
    cli::{Format, TableArgs},
    format::{columns, json, markdown_table},
};

/// The data of all formats.
#[derive(Serialize)]
struct SassTable {
    families: Vec<FamilyTable>,
    /// The operations that shared memory performs natively.
    shared: Vec<Native>,
    combined: CombinedTable,
}

#[derive(Serialize)]
struct FamilyTable {
    target: String,
    /// The GPU and the ptxas that were measured.
    family: String,
    ptxas: &'static str,
    rows: Vec<RowBarriers>,
    operations: Vec<OperationSass>,
}

/// A row of the ABI at one scope, with an access to global memory.
#[derive(Serialize)]
struct RowBarriers {
    row: String,
    scope: &'static str,
    barriers: String,
    counts: Barriers,
}

#[derive(Serialize)]
struct OperationSass {
    operation: &'static str,
    #[serde(rename = "type")]
    ty: String,
    space: String,
    /// The opcodes of the relaxed operation at scope gpu.
    relaxed: String,
    /// The barriers that each ordering adds at scope gpu. `None` if no language has the ordering.
    orderings: [(&'static str, Option<Barriers>); 4],
    /// Whether one lane of a warp may execute the barriers of some ordering for all lanes.
    leader: bool,
}

/// The operations whose lanes ptxas combines if they share an address.
#[derive(Serialize)]
struct CombinedTable {
    known: &'static str,
    unknown: &'static str,
    operations: Vec<CombinedOperation>,
}

#[derive(Serialize)]
struct CombinedOperation {
    operations: Vec<String>,
    types: Vec<String>,
    operand: &'static str,
    result: &'static str,
}

#[derive(Serialize)]
struct Barriers {
    membar: usize,
    errbar: usize,
    cctl: usize,
}

#[derive(Serialize)]
struct Native {
    opcode: String,
    sizes: Vec<String>,
    effect: &'static str,
}

const ORDERINGS: [Ordering; 4] = [Ordering::Acquire, Ordering::Release, Ordering::AcqRel, Ordering::SeqCst];
const SPACES: [Space; 4] = [Space::Global, Space::Shared, Space::Generic, Space::SharedCluster];
const ROWS: [&str; 6] = ["row", "scope", "MEMBAR", "ERRBAR", "CCTL", "barriers"];
const OPERATIONS: [&str; 9] =
    ["operation", "type", "space", "acquire", "release", "acq_rel", "seq_cst", "leader", "relaxed, at scope gpu"];
const COMBINES: [&str; 4] = ["operations", "types", "operand", "result"];
const KNOWN: &str = "If lanes of a warp share an address, ptxas 12.9 and 13.5 let one lane, the leader, execute these operations for \
    all. Before sm_90, all lanes execute the barriers. From sm_90 on, only the leader executes the barriers of an atom or red \
    with an ordering (yes in the column leader); all lanes execute the barriers of fences.";
const UNKNOWN: &str = "NVIDIA does not document whether the leader's barriers order the accesses of the other lanes, and no test ran \
    on a GPU. The strategies auto and fence, with PTX 8.6, do not depend on it.";
const NATIVE: [&str; 3] = ["opcode", "sizes", "effect"];
const COUNTS: &str = "acquire to seq_cst: MEMBAR/ERRBAR/CCTL";

pub fn print(args: &TableArgs) -> Result<String, UnknownTarget> {
    let policy = args.fp_atomics.apply(args.strategy.strategies().into());
    let targets = match args.target.gpu() {
        Some(_) => vec![args.target.target(None, None)?],
        None => {
            let measured = Family::iter().filter_map(|family| family.to_string().parse().ok());
            let version = args.target.version();
            measured.map(|sm| Target::new(sm, version.map(|v| v.max(sm.lowest_ptx())))).collect::<Result<_, _>>()?
        }
    };
    let families = targets.iter().filter_map(|target| FamilyTable::new(&policy, target)).collect();
    let combined = COMBINED.iter().map(CombinedOperation::new).collect();
    let combined = CombinedTable { known: KNOWN, unknown: UNKNOWN, operations: combined };
    let table = SassTable { families, shared: ATOMS.iter().map(Native::new).collect(), combined };
    Ok(match args.format {
        Format::Text => table.print("", "", |header, rows| columns(once(header).chain(rows))),
        Format::Markdown => table.print("## ", "\n", |header, rows| {
            let header: Vec<_> = header.iter().map(String::as_str).collect();
            markdown_table(&header, rows)
        }),
        Format::Json => json(&table),
    })
}

type Rows<'t> = Box<dyn Iterator<Item = Vec<String>> + 't>;

impl SassTable {
    /// The sections, each with a title after `mark` and a table after `gap`.
    fn print(&self, mark: &str, gap: &str, table: impl Fn(Vec<String>, Rows) -> String) -> String {
        let section = |title: String, header: &[&str], rows: Rows| {
            let header = header.iter().map(ToString::to_string).collect();
            format!("{mark}{title}\n{gap}{}", table(header, rows))
        };
        let families = self.families.iter().flat_map(|family| {
            let FamilyTable { target, family: measured, ptxas, rows, operations } = family;
            let rows = Box::new(rows.iter().map(RowBarriers::cells));
            let operations = Box::new(operations.iter().map(OperationSass::cells));
            [
                section(format!("SASS for {target}, by ptxas {ptxas} for {measured}: barriers"), &ROWS, rows),
                section(format!("SASS for {target}: operations ({COUNTS})"), &OPERATIONS, operations),
            ]
        });
        let shared =
            section("Native in shared memory".into(), &NATIVE, Box::new(self.shared.iter().map(Native::cells)));
        let CombinedTable { known, unknown, operations } = &self.combined;
        let operations = Box::new(operations.iter().map(CombinedOperation::cells));
        let combined = section("Combined in a warp".into(), &COMBINES, operations) + &format!("\n{known}\n{unknown}\n");
        families.chain([shared, combined]).collect::<Vec<_>>().join("\n")
    }
}

impl FamilyTable {
    /// `None` if the family was not measured.
    fn new(policy: &Policy, target: &Target) -> Option<Self> {
        let family = Family::from_sm(target.sm)?;
        let scopes = [Scope::Cta, Scope::Gpu, Scope::Sys];
        let rows = ABI.iter().flat_map(|abi| {
            let steps = row(abi.kind, abi.ordering, Carrier::Access, &policy.strategies, target, &mut Vec::new());
            let steps = steps.expect("the row is one of the table");
            scopes.map(|scope| {
                let sass = barriers(&steps, scope, family);
                let counts = Barriers::from(sass.counts());
                RowBarriers { row: abi.name().to_string(), scope: scope.into(), barriers: sass.to_string(), counts }
            })
        });
        let operations = SPACES.into_iter().flat_map(Operation::all);
        let operations = operations.filter_map(|operation| OperationSass::new(operation, policy, target, family));
        Some(Self {
            target: target.to_string(),
            family: family.to_string(),
            ptxas: family.assembler(),
            rows: rows.collect(),
            operations: operations.collect(),
        })
    }
}

impl RowBarriers {
    fn cells(&self) -> Vec<String> {
        let Barriers { membar, errbar, cctl, .. } = self.counts;
        let [membar, errbar, cctl] = [membar, errbar, cctl].map(|count| count.to_string());
        vec![self.row.clone(), self.scope.into(), membar, errbar, cctl, self.barriers.clone()]
    }
}

impl OperationSass {
    /// `None` for a fence, which has no type, and for operations that the target lacks.
    fn new(operation: Operation, policy: &Policy, target: &Target, family: Family) -> Option<Self> {
        let access = operation.access()?;
        let name = match operation {
            Operation::Fence => return None,
            Operation::Load(_) => "load",
            Operation::Store(_) => "store",
            Operation::Rmw(op, _) => op.into(),
            Operation::CmpXchg { failure: Ordering::Relaxed, .. } => "cmpxchg",
            // The failure ordering is joined to the success ordering, so that the result is the same.
            Operation::CmpXchg { .. } => return None,
        };
        let lowered = |ordering| {
            let op = AtomicOp { operation, ordering, scope: SyncScope::Threads(Scope::Gpu) };
            let lowering = lower(&op, policy, target).ok()?;
            Some((Sass::of_sequence(&lowering.sequence, family), lowering))
        };
        let barriers = |ordering: Ordering| {
            let (sass, _) = lowered(ordering).filter(|_| operation.takes(ordering))?;
            Some(Barriers::from(sass?.counts()))
        };
        let (sass, lowering) = lowered(Ordering::Relaxed)?;
        let opcodes = sass.map_or_else(|| "not measured".to_owned(), |sass| sass.to_string());
        let is_loop = lowering.changes.contains(&Change::CasLoop);
        let leader = |ordering: &Ordering| {
            let (_, lowering) = lowered(*ordering)?;
            let mut instructions = lowering.sequence.instructions();
            instructions.any(|instruction| leader_orders(instruction, family)).then_some(())
        };
        Some(Self {
            operation: name,
            ty: access.ty.to_string(),
            space: access.space.to_string(),
            relaxed: if is_loop { format!("{opcodes} (CAS loop)") } else { opcodes },
            orderings: ORDERINGS.map(|ordering| (ordering.into(), barriers(ordering))),
            leader: ORDERINGS.iter().any(|ordering| leader(ordering).is_some()),
        })
    }

    fn cells(&self) -> Vec<String> {
        let counts = |barriers: &Option<Barriers>| match barriers {
            None => "-".to_owned(),
            Some(Barriers { membar, errbar, cctl }) => {
                format!("{membar}/{errbar}/{cctl}")
            }
        };
        let orderings = self.orderings.iter().map(|(_, barriers)| counts(barriers));
        let names = [self.operation.to_owned(), self.ty.clone(), self.space.clone()];
        let leader = if self.leader { "yes" } else { "-" };
        names.into_iter().chain(orderings).chain([leader.into(), self.relaxed.clone()]).collect()
    }
}

impl CombinedOperation {
    fn new(combined: &Combined) -> Self {
        Self {
            operations: combined.ops.iter().map(ToString::to_string).collect(),
            types: combined.types.iter().map(ToString::to_string).collect(),
            operand: if combined.one_operand { "the same in all lanes" } else { "any" },
            result: if combined.unread { "unread" } else { "any" },
        }
    }

    fn cells(&self) -> Vec<String> {
        vec![self.operations.join(" "), self.types.join(" "), self.operand.into(), self.result.into()]
    }
}

impl From<Counts> for Barriers {
    fn from(Counts { membar, errbar, cctl }: Counts) -> Self {
        Self { membar, errbar, cctl }
    }
}

impl Native {
    fn new(atoms: &ptx_atomics::lowering::sass::Atoms) -> Self {
        let sizes = atoms.sizes.iter().map(ToString::to_string).collect();
        Self { opcode: format!("ATOMS.{}", atoms.op), sizes, effect: atoms.effect }
    }

    fn cells(&self) -> Vec<String> {
        vec![self.opcode.clone(), self.sizes.join(" "), self.effect.into()]
    }
}
