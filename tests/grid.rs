//! Every operation × type × ordering × scope × address space × volatile × read or unread × strategy × target, from LLVM IR
//! to PTX text.
//!
//! Each cell is a function. The test parses the text of each function. Its instructions must be strong enough,
//! according to a checker that does not use the ABI table, and the target must have them. Every assembler that supports
//! the target must accept the text. An operation that the instruction set lacks must be an error.
//!
//! A test run covers a part of the grid: cells that together catch each kind of fault for every pair of words, and with
//! `scripts/test --all` every 400th cell. `scripts/grid` tests the whole, or the shard that the variable `GRID_SHARD`
//! names: `K/N`.

use std::{
    collections::{BTreeMap, HashSet},
    fmt::Write,
    sync::LazyLock,
};

use itertools::{Itertools, iproduct};
use libtest_mimic::{Failed, Trial};
use ptx_atomics::{
    judge::Strength,
    llvm::{Errors, FpChoice, Input, Options},
    lowering::{
        AtomicOp, Operation, Ordering, Sequence, Sm, Strategy, SyncScope, Target,
        ptx::{Scope, Space, Statement},
    },
    ptx_from_llvm_ir,
};
use strum::IntoEnumIterator;
use testing::{
    ASSEMBLERS, FP_ATOMICS, Pairs,
    cells::{Cell, addresses, cells, llvm_ir, module, scattered},
    mutants::Catches,
    reasons::{reasons, reasons_of},
    target, word,
};

/// GPUs of every kind. The PTX versions are chosen so that each assembler supports many of the targets.
const TARGETS: [(&str, &str); 11] = [
    ("sm_20", "ptx32"),
    ("sm_35", "ptx40"),
    ("sm_50", "ptx50"),
    ("sm_60", "ptx63"),
    ("sm_70", "ptx60"),
    ("sm_75", "ptx83"),
    ("sm_80", "ptx78"),
    ("sm_90", "ptx78"),
    ("sm_90a", "ptx86"),
    ("sm_100", "ptx88"),
    ("sm_120", "ptx94"),
];

/// The reasons for rejections in the user documentation.
const REJECTIONS: &str = include_str!("../docs/rejections.md");

/// The part of `scripts/test --all`.
const SAMPLE: Shard = Shard { index: 1, count: 400 };

/// The maximum number of functions in a module.
const MODULE: usize = 5_000;

pub fn trials() -> Vec<Trial> {
    let shard = std::env::var("GRID_SHARD").ok().map(|text| text.parse().expect("GRID_SHARD is K/N"));
    let shard = shard.or(testing::all().then_some(SAMPLE));
    let runs = iproduct!(TARGETS, FP_ATOMICS).map(|((sm, ptx), floats)| {
        let run = Run { target: target(sm, Some(ptx)), floats };
        Trial::test(format!("every cell for {}, {floats}", run.target), move || match shard {
            Some(shard) => run.check(run.shard(shard)),
            None => run.check(run.pairs()),
        })
    });
    // The spelling of an address does not depend on the target, except through the forms of the instruction.
    let named = TARGETS.into_iter().skip(1).step_by(3).map(|(sm, ptx)| {
        let run = Run { target: target(sm, Some(ptx)), floats: FP_ATOMICS[0] };
        Trial::test(format!("assemblers accept addresses of variables for {}", run.target), move || run.addresses())
    });
    let missed =
        testing::left_to_all(Trial::test("the smaller sample catches the mutants of every 400th cell", missed));
    let missing = ASSEMBLERS.iter().filter_map(|assembler| assembler.missing());
    let skipped = missing.map(|what| testing::trial("assembling".into(), Some(what), || Ok(())));
    let first = ASSEMBLERS.iter().find_map(|assembler| assembler.missing());
    let gpus =
        Sm::all().map(|sm| testing::trial(format!("{sm} has every operation"), first, move || every_operation(sm)));
    runs.chain(named).chain(skipped).chain(gpus).chain([missed]).collect()
}

/// Every N-th cell, from the K-th on.
#[derive(Clone, Copy)]
struct Shard {
    index: usize,
    count: usize,
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((index, count)) if (1..=count).contains(&index) => Ok(Self { index, count }),
            _ => Err(format!("'{text}' is not K/N with 1 <= K <= N")),
        }
    }
}

impl Shard {
    fn has(self, index: usize) -> bool {
        scattered(index) % self.count == self.index - 1
    }
}

/// One target and policy.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Run {
    target: Target,
    /// The value of `--fp-atomics`.
    floats: &'static str,
}

/// Whether an operation depends on the policy. Only operations on floats do.
fn depends(op: &AtomicOp) -> bool {
    matches!(op.operation, Operation::Rmw(op, access) if access.ty.is_float() && op.takes(access.ty))
}

/// The smaller sample. It has a cell if the cell catches a kind of incorrect lowering for a pair of words for which no
/// earlier cell catches it.
static SMALL: LazyLock<Small> = LazyLock::new(|| {
    let (targets, strategies) = (TARGETS.map(|(sm, ptx)| target(sm, Some(ptx))), Strategy::iter().collect_vec());
    let cells = cells().enumerate().sorted_by_key(|(index, _)| scattered(*index));
    let cells = cells.map(|(_, cell)| (cell.words(), cell)).collect_vec();
    let (mut near, mut pairs, mut catches) = (Pairs::default(), Pairs::default(), Catches::default());
    // Each cell occurs twice, with different targets, strategies and policies.
    let items = iproduct!(0..2, &cells).enumerate().filter_map(|(index, (_, (words, cell)))| {
        let scattered = scattered(index);
        let target = targets[scattered % targets.len()];
        let strategy = strategies[scattered / 16 % strategies.len()];
        let floats = if depends(&cell.op) { FP_ATOMICS[scattered / 128 % FP_ATOMICS.len()] } else { FP_ATOMICS[0] };
        let run = Run { target, floats };
        let words = run.words(words, strategy);
        // These properties largely determine the kinds that the cell catches, and need no lowering to compute.
        let likely = word((cell.op.ordering, cell.op.scope, reasons(&cell.op, &target).is_empty()));
        let is_near = near.is_new(&words.map(|of| of ^ likely));
        let finds_more = is_near && pairs.finds_more(&words, catches.find_kinds(&cell.op, strategy, &target));
        finds_more.then(|| (run, cell.clone(), strategy))
    });
    Small { cells: items.collect(), pairs }
});

struct Small {
    cells: Vec<(Run, Cell, Strategy)>,
    pairs: Pairs,
}

/// The smaller sample catches the 19,746 incorrect lowerings that every 400th cell catches, except 4.
fn missed() -> Result<(), Failed> {
    let (mut pairs, mut catches) = (SMALL.pairs.clone(), Catches::default());
    let before = pairs.count_faults();
    for (sm, ptx) in TARGETS {
        let run = Run { target: target(sm, Some(ptx)), floats: FP_ATOMICS[0] };
        for (cell, strategy) in run.shard(SAMPLE) {
            pairs.finds_more(&run.words(&cell.words(), strategy), catches.find_kinds(&cell.op, strategy, &run.target));
        }
    }
    let missed = pairs.count_faults() - before;
    println!("{} cells catch {before}; every 400th catches {missed} more", SMALL.cells.len());
    // Some pairs occur only in one cell of a thousand.
    if missed * 1000 < before { Ok(()) } else { Err(format!("the smaller sample misses {missed} mutants").into()) }
}

impl Run {
    fn words(&self, cell: &[u64; 7], strategy: Strategy) -> [u64; 10] {
        let of_run = [word(self.target), word(strategy), word(self.floats)];
        std::array::from_fn(|index| cell.iter().chain(&of_run).copied().nth(index).expect("ten words"))
    }

    fn pairs(&self) -> Vec<(Cell, Strategy)> {
        let mine = SMALL.cells.iter().filter(|(run, ..)| run == self);
        mine.map(|(_, cell, strategy)| (cell.clone(), *strategy)).collect()
    }

    fn shard(&self, shard: Shard) -> impl Iterator<Item = (Cell, Strategy)> {
        let all = iproduct!(cells(), Strategy::iter()).enumerate().filter(move |(index, _)| shard.has(*index));
        let native = self.floats == FP_ATOMICS[0];
        all.map(|(_, one)| one).filter(move |(cell, _)| native || depends(&cell.op))
    }

    fn check(&self, part: impl IntoIterator<Item = (Cell, Strategy)>) -> Result<(), Failed> {
        let target = &self.target;
        let mut rejected = BTreeMap::<&'static str, usize>::new();
        // The missing operations are the same with every strategy.
        let mut lacking: BTreeMap<bool, BTreeMap<String, Cell>> = BTreeMap::new();
        let mut accepted: BTreeMap<(&'static str, bool), Vec<Cell>> = BTreeMap::new();
        for (cell, strategy) in part {
            match reasons_of(&cell.op, target, self.floats == "ieee").first() {
                Some(reason) => {
                    *rejected.entry(*reason).or_default() += 1;
                    lacking.entry(cell.may_be_local()).or_default().insert(cell.name.clone(), cell);
                }
                None => accepted.entry((strategy.into(), cell.may_be_local())).or_default().push(cell),
            }
        }
        lacking.into_values().try_for_each(|cells| self.rejects(&cells.into_values().collect_vec()))?;
        let undocumented = rejected.keys().find(|reason| !REJECTIONS.contains(&format!("| {reason} |")));
        assert_eq!(undocumented, None, "docs/rejections.md has every reason");

        let mut functions = Functions::default();
        let mut checked = 0;
        for ((strategy, _), cells) in &accepted {
            let strategy: Strategy = strategy.parse()?;
            for cells in cells.chunks(MODULE) {
                let ptx = self.ptx(cells, strategy)?;
                self.strong(cells, strategy, &ptx)?;
                functions.add(&ptx);
                checked += cells.len();
            }
        }
        for assembler in ASSEMBLERS.iter().filter(|a| a.missing().is_none() && a.knows(target)) {
            functions.files.iter().try_for_each(|file| assembler.assemble(target, file.as_bytes()))?;
            println!("grid: assembled: {}: {checked}", assembler.name);
        }
        rejected.iter().for_each(|(reason, count)| println!("grid: rejected: {reason}: {count}"));
        println!("grid: accepted: {target}: {checked}");
        println!("grid: functions: {}", functions.seen.len());
        Ok(())
    }

    /// The assemblers accept every spelling of a variable's address.
    fn addresses(&self) -> Result<(), Failed> {
        let mut pairs = Pairs::default();
        let cells = addresses().filter(|cell| reasons(&cell.op, &self.target).is_empty());
        let cells = cells.filter(|cell| pairs.is_new(&cell.words_of_address()) || testing::all()).collect_vec();
        assert!(cells.len() > if testing::all() { 500 } else { 100 });
        for cells in cells.chunks(FILE) {
            let ptx = self.ptx(cells, Strategy::Recommended)?;
            self.strong(cells, Strategy::Recommended, &ptx)?;
            let mut knowing = ASSEMBLERS.iter().filter(|a| a.missing().is_none() && a.knows(&self.target));
            knowing.try_for_each(|assembler| assembler.assemble(&self.target, ptx.as_bytes()))?;
        }
        Ok(())
    }

    fn lower(&self, cells: &[Cell], strategy: Strategy) -> Result<Vec<u8>, Errors> {
        let policy = self.floats.parse::<FpChoice>().expect("a policy").apply(strategy.into());
        let generic_may_be_local = cells.first().is_some_and(Cell::may_be_local);
        let options = Options { policy, generic_may_be_local, ..Options::new(self.target) };
        ptx_from_llvm_ir(&Input::new("grid.ll", module(cells)), &options)
    }

    fn ptx(&self, cells: &[Cell], strategy: Strategy) -> Result<String, Failed> {
        let ptx = self.lower(cells, strategy);
        let messages = |errors: Errors| errors.iter().map(|error| error.message.clone()).join("\n");
        Ok(String::from_utf8(ptx.map_err(messages)?)?)
    }

    /// Each cell that the target lacks gives an error in its function.
    fn rejects(&self, cells: &[Cell]) -> Result<(), Failed> {
        for cells in cells.chunks(MODULE) {
            let errors = self.lower(cells, Strategy::Recommended).err().unwrap_or_default();
            let named: HashSet<_> = errors.iter().filter_map(|error| error.function.as_deref()).collect();
            if let Some(cell) = cells.iter().find(|cell| !named.contains(cell.name.as_str())) {
                return Err(format!("no error for {}\n{}", self.target, llvm_ir(cell)).into());
            }
        }
        Ok(())
    }

    fn strong(&self, cells: &[Cell], strategy: Strategy, ptx: &str) -> Result<(), Failed> {
        for ((name, _, body), cell) in functions(ptx).zip_eq(cells) {
            assert_eq!(name, cell.name);
            let sequence = sequence(body)?;
            let fail = |what: String| Err(format!("{strategy}: {what}\n{}\n{sequence}", llvm_ir(cell)).into());
            let fence = cell.op.operation == Operation::Fence && cell.op.scope == SyncScope::SingleThread;
            // LLVM removes accesses of a stack slot whose results are unused.
            let local = cell.op.operation.access().is_some_and(|access| access.space == Space::Local);
            let removed = local && !sequence.instructions().any(|instruction| instruction.address().is_some());
            if let Err(missing) = Strength::from_sequence(&sequence).covers(&cell.op)
                && !(fence || removed)
            {
                return fail(missing.join(", "));
            }
            let lacks = self.target.lacks(sequence.statements());
            if !lacks.is_empty() {
                return fail(lacks.iter().join(", "));
            }
        }
        Ok(())
    }
}

/// Every operation on every type.
static OPERATIONS: LazyLock<Vec<Cell>> = LazyLock::new(|| {
    let of_interest = |cell: &Cell| {
        let space = cell.op.operation.access().map_or(Space::Global, |access| access.space);
        let seq_cst = cell.op.ordering == Ordering::SeqCst && cell.op.scope == SyncScope::Threads(Scope::Cluster);
        seq_cst && space == Space::Global
    };
    cells().filter(of_interest).collect()
});

/// Lowers every operation for a GPU with its lowest PTX version, and assembles the PTX. At least one assembler must
/// support the GPU. The smaller sample has each operation on at least one type, and each type in at least one
/// operation.
fn every_operation(sm: Sm) -> Result<(), Failed> {
    let target = Target::new(sm, None)?;
    let mut pairs = Pairs::default();
    let mut is_new = |cell: &Cell| cell.words().into_iter().filter(|of| pairs.is_new(&[*of, 0])).count() > 0;
    let cells = OPERATIONS.iter().filter(|cell| reasons(&cell.op, &target).is_empty());
    let cells = cells.filter(|cell| is_new(cell) || testing::all()).cloned().collect_vec();
    assert!(cells.len() > if testing::all() { 200 } else { 40 });
    let ptx = Run { target, floats: FP_ATOMICS[0] }.ptx(&cells, Strategy::Fence)?;
    assert!(ptx.contains(&format!(".version {}\n.target {sm}\n", target.ptx)), "{}", ptx.lines().take(9).join("\n"));
    // The grid test covers all assemblers.
    let knowing = ASSEMBLERS.iter().find(|assembler| assembler.knows(&target));
    knowing.ok_or("no assembler knows the GPU")?.assemble(&target, ptx.as_bytes())
}

/// The functions of PTX text, each with its name, its head and its body.
fn functions(ptx: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    ptx.split(".visible .func ").skip(1).map(|function| {
        let (head, rest) = function.trim_start().split_once("\n{").expect("a body");
        let (body, _) = rest.split_once("\n}\n").expect("the end of a body");
        let signature = if head.starts_with('(') { head.split_once(')').expect("a result").1 } else { head };
        (signature.split('(').next().expect("a name").trim(), head, body)
    })
}

/// The instructions of the cell: all except loads of parameters and stores of results.
fn sequence(body: &str) -> Result<Sequence, Failed> {
    let lines = body.lines().map(str::trim).filter(|line| !line.contains(".param"));
    let mut statements = Vec::new();
    for line in lines {
        match line.parse::<Statement>() {
            Ok(statement) => statements.push(statement),
            Err(error) => {
                let mnemonic = line.split(['.', ' ', ';']).next().unwrap_or("");
                if ["atom", "red", "ld", "st", "fence", "membar"].contains(&mnemonic) {
                    return Err(error.to_string().into());
                }
            }
        }
    }
    Ok(statements.into_iter().collect())
}

/// PTX of many modules, without duplicate functions, in files that an assembler reads in linear time.
#[derive(Default)]
struct Functions {
    files: Vec<String>,
    seen: HashSet<String>,
}

/// The number of functions in a file.
const FILE: usize = 500;

impl Functions {
    fn add(&mut self, ptx: &str) {
        let head_of_file = ptx.split(".visible .func").next().unwrap_or_default();
        for (name, head, body) in functions(ptx) {
            let function = format!("{head}\n{{{body}\n}}");
            let renamed = |new: &str| {
                function
                    .replace(&format!("{name}_"), &format!("{new}_"))
                    .replace(&format!("{name}("), &format!("{new}("))
            };
            let function = renamed("f");
            if self.seen.contains(&function) {
                continue;
            }
            if self.seen.len().is_multiple_of(FILE) {
                self.files.push(head_of_file.to_owned());
            }
            self.seen.insert(function);
            let file = self.files.last_mut().expect("one was opened");
            let name = format!("f{}", self.seen.len());
            writeln!(file, ".visible .func {}", renamed(&name)).expect("writing to a string does not fail");
        }
    }
}
