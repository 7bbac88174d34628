//! The same program in LLVM IR and in MLIR's LLVM dialect gives the same PTX, byte for byte, and the same errors.
//!
//! The programs are the cells of `tests/grid`, with variables and with constants as operands, in files of many
//! functions. A test run covers a part of them: programs that contain every pair of words, and with
//! `scripts/test --all` every 400th program. The variable `MLIR_SHARD` selects another part: `K/N`; `1/1` is the whole.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    path::Path,
    process::{Command, Output},
    sync::LazyLock,
};

use itertools::{EitherOrBoth, Itertools, iproduct};
use libtest_mimic::{Failed, Trial};
use ptx_lowering::{AtomicOp, Ordering, Strategy, SyncScope, ptx::Scope};
use strum::IntoEnumIterator;

use testing::{
    FP_ATOMICS, Pairs,
    cells::{self, Cell, Pointer, addresses, cells, module, scattered},
    exists, lower_to_assembly, one_of, ptx_atomics,
    reasons::reasons,
    root, success, target, tool, word,
};

use crate::mlir::dialect::{self, Program};

/// GPU, PTX version, and the scope that replaces LLVM's default scope.
const TARGETS: [(&str, &str, Scope); 7] = [
    ("sm_35", "ptx60", Scope::Gpu),
    ("sm_60", "ptx63", Scope::Sys),
    ("sm_70", "ptx60", Scope::Sys),
    ("sm_80", "ptx78", Scope::Sys),
    ("sm_90", "ptx78", Scope::Sys),
    ("sm_90", "ptx86", Scope::Sys),
    ("sm_100", "ptx88", Scope::Cluster),
];

/// The part that `scripts/test --all` covers: shard 1 of 400.
const SAMPLE: (usize, usize) = (1, 400);

/// The maximum number of functions in a file.
const FILE: usize = 4_000;

pub fn trials() -> Vec<Trial> {
    let shard = std::env::var("MLIR_SHARD").ok().map(|text| {
        let numbers = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        numbers.filter(|(k, n)| (1..=*n).contains(k)).expect("MLIR_SHARD is K/N")
    });
    let shard = shard.or(testing::all().then_some(SAMPLE));
    let grid = (0..TARGETS.len()).map(|number| {
        let (sm, ptx, scope) = TARGETS[number];
        let name = format!("equivalence: every cell for {sm} with {ptx}");
        Trial::test(name, move || match shard {
            Some(shard) => Run { sm, ptx, scope }.check(of_shard(shard)),
            None => Run { sm, ptx, scope }.check(of_pairs(number)),
        })
    });
    let missing = (!exists(tool("mlir-translate"))).then_some(tool("mlir-translate"));
    let inputs = fs::read_dir(root().join("tests/inputs")).expect("the inputs").map(|entry| entry.expect("one").path());
    let imported = inputs.sorted().map(|path| {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        testing::trial(format!("equivalence: {name} imported by MLIR"), missing, move || imported(&path))
    });
    let kernels =
        fs::read_dir(root().join("tests/optimizer")).expect("the kernels").map(|entry| entry.expect("one").path());
    let kernels = kernels.filter(|path| path.extension().is_some_and(|extension| extension == "ll")).sorted();
    let optimized = kernels.map(|path| {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        testing::trial(format!("equivalence: {name} optimized by the pass in MLIR"), missing, move || optimized(&path))
    });
    let absent = Trial::test("equivalence: MLIR rejects operations outside of the grid", absent);
    let variables = testing::trial("equivalence: variables have the same addresses".into(), missing, variables);
    // Other tests cover the PTX for LLVM IR.
    let alike = one_of(6, grid).into_iter().chain(one_of(3, imported)).chain(one_of(3, optimized));
    alike.chain([absent, variables]).collect()
}

struct Run {
    sm: &'static str,
    ptx: &'static str,
    scope: Scope,
}

/// A cell of the grid, whether its operands are constants, and a number that selects the constants and the policy.
type Item = (Cell, bool, usize);

/// Pairs of a strategy and a value of `--fp-atomics`.
fn policies() -> Vec<(Strategy, &'static str)> {
    iproduct!(Strategy::iter(), FP_ATOMICS).collect()
}

fn of_shard((k, n): (usize, usize)) -> impl Iterator<Item = Item> {
    let grid = iproduct!(cells().filter(dialect::has), [false, true]).enumerate();
    grid.filter_map(move |(index, (cell, constant))| {
        let scattered = scattered(index);
        // The strategy and the constants do not affect the differences between the two languages.
        (scattered % n == k - 1).then_some((cell, constant, scattered / n))
    })
}

/// Programs that contain every pair of words, each with an ordering and without one. The words describe the cell, the
/// target and the policy. A target has one list of `--fp-atomics` for each strategy, because each policy
/// costs a few processes.
fn of_pairs(number: usize) -> impl Iterator<Item = Item> {
    static PAIRS: LazyLock<Vec<(usize, Item)>> = LazyLock::new(|| {
        let targets = TARGETS.map(|(sm, ptx, _)| target(sm, Some(ptx)));
        let policies = policies();
        let grid = iproduct!(cells().filter(dialect::has), [false, true]).enumerate();
        let mut pairs = Pairs::default();
        let items = grid.sorted_by_key(|(index, _)| scattered(*index)).filter_map(|(index, (cell, constant))| {
            let scattered = scattered(index) / 512;
            let number = scattered % targets.len();
            let strategy = scattered / 8 % (policies.len() / FP_ATOMICS.len());
            let policy = strategy * FP_ATOMICS.len() + (strategy + number) % FP_ATOMICS.len();
            let lacks = !reasons(&meant(cell.op, TARGETS[number].2), &targets[number]).is_empty();
            // Only a program with an ordering shows that an ordering is lost.
            let shown = word((matches!(cell.op.ordering, Ordering::Unordered | Ordering::Relaxed), lacks));
            let of_run = [word(number), word(policies[policy].0), word(policies[policy].1), word(constant)];
            let words = cell.words().into_iter().chain(of_run).map(|of| of ^ shown).collect_vec();
            pairs.is_new(&words).then_some((number, (cell, constant, index * policies.len() + policy)))
        });
        items.collect()
    });
    PAIRS.iter().filter(move |(other, _)| *other == number).map(|(_, item)| item.clone())
}

/// The operation with `default` as its scope, if it has LLVM's default scope.
fn meant(op: AtomicOp, default: Scope) -> AtomicOp {
    let scope = if op.scope == SyncScope::Threads(Scope::Sys) { SyncScope::Threads(default) } else { op.scope };
    AtomicOp { scope, ..op }
}

/// The properties that the programs of a file share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Flags {
    strategy: &'static str,
    fp_atomics: &'static str,
    may_be_local: bool,
    /// Whether the target lacks the operations.
    rejected: bool,
}

impl Run {
    fn check(&self, part: impl Iterator<Item = Item>) -> Result<(), Failed> {
        let target = target(self.sm, Some(self.ptx));
        let policies = policies();
        let mut groups: BTreeMap<Flags, Vec<Program>> = BTreeMap::new();
        for (cell, constant, policy) in part {
            let (strategy, fp_atomics) = policies[policy % policies.len()];
            let rejected = !reasons(&meant(cell.op, self.scope), &target).is_empty();
            let may_be_local = cell.may_be_local();
            let flags = Flags { strategy: strategy.into(), fp_atomics, may_be_local, rejected };
            let program = if constant { Program::constant(cell, policy / policies.len()) } else { Program::new(cell) };
            groups.entry(flags).or_default().push(program);
        }
        let mut programs = [0; 2];
        let mut differences = Vec::new();
        for (flags, group) in &groups {
            for file in group.chunks(FILE) {
                programs[usize::from(flags.rejected)] += file.len();
                differences.extend(self.differences(*flags, file)?);
            }
        }
        let [same, rejected] = programs;
        let name = format!("equivalence: {} with {}", self.sm, self.ptx);
        println!(
            "{name}: {} programs, {rejected} of them rejected, {} differences",
            same + rejected,
            differences.len()
        );
        if differences.is_empty() { Ok(()) } else { Err(differences.into_iter().take(5).join("\n\n").into()) }
    }

    fn lower(&self, flags: Flags, file: &Path, more: &[&str]) -> Result<Output, Failed> {
        let mut command = lower_to_assembly();
        command.arg(file).args(["--mcpu", self.sm, "--mattr", &format!("+{}", self.ptx)]);
        command.args(["--default-scope", self.scope.into(), "--strategy", flags.strategy]);
        command.args(["--fp-atomics", flags.fp_atomics]).args(flags.may_be_local.then_some("--generic-may-be-local"));
        Ok(command.args(more).output()?)
    }

    /// Programs that give different results in the two languages, directly or through the pass in MLIR.
    fn differences(&self, flags: Flags, programs: &[Program]) -> Result<Vec<String>, Failed> {
        let source = |name: &str| {
            let program = programs.iter().find(|program| program.cell.name == name);
            program.map_or(String::new(), |program| program.llvm_ir() + &program.mlir())
        };
        let folder = tempfile::tempdir()?;
        let write = |name: &str, text: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, text).map(|()| path)
        };
        let triple = "target triple = \"nvptx64-nvidia-cuda\"\n".to_owned();
        let llvm_ir = write("a.ll", (triple + &programs.iter().map(Program::llvm_ir).collect::<String>()).as_bytes())?;
        let mlir = write("a.mlir", programs.iter().map(Program::mlir).collect::<String>().as_bytes())?;
        let expected = self.lower(flags, &llvm_ir, &[])?;
        let direct = self.lower(flags, &mlir, &[])?;
        let passed = self.lower(flags, &mlir, &["--emit", "mlir"])?;
        if expected.status.success() == flags.rejected {
            return Err(format!("{}: {}", expected.status, String::from_utf8_lossy(&expected.stderr)).into());
        }
        if flags.rejected {
            let [expected, direct, passed] = [errors(&expected)?, errors(&direct)?, errors(&passed)?];
            return Ok([compare(&expected, &direct, &source), compare(&expected, &passed, &source)].concat());
        }
        let [expected, direct] = [stdout(&expected)?, stdout(&direct)?];
        let passed = stdout(&passed)?;
        if let Some(left) = passed.lines().find(|line| is_atomic(line)) {
            return Err(format!("an atomic after the pass: {left}").into());
        }
        let again = self.lower(flags, &write("b.mlir", passed.as_bytes())?, &[])?;
        let [expected, direct, mut again] = [&expected, &direct, &stdout(&again)?].map(|text| functions(text));
        let mut differences = compare(&expected, &direct, &source);
        // LLVM removes an unused stack slot before its pass runs; after the pass in MLIR, embedded assembly keeps the
        // slot. MLIR's translation also folds the cast of a constant vector to an integer, which the LLVM path packs
        // instead; the bits are the same.
        let other = |program: &&Program| program.cell.pointer == Pointer::Alloca || program.has_constant_vector();
        let other: HashSet<_> = programs.iter().filter(other).map(|program| &*program.cell.name).collect();
        let expected = expected.into_iter().filter(|(name, _)| !other.contains(&**name)).collect_vec();
        again.retain(|(name, _)| !other.contains(&**name));
        differences.extend(compare(&expected, &again, &source));
        Ok(differences)
    }
}

fn stdout(output: &Output) -> Result<String, Failed> {
    if !output.status.success() {
        return Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout.clone())?)
}

/// Whether a line of MLIR has an atomic or a fence.
pub fn is_atomic(line: &str) -> bool {
    let words = ["llvm.atomicrmw", "llvm.cmpxchg", "llvm.fence", "memref.atomic_rmw", "memref.generic_atomic_rmw"];
    let access = line.contains("llvm.load") || line.contains("llvm.store");
    words.iter().any(|word| line.contains(word)) || access && line.contains(" atomic ")
}

/// The head of a PTX file, and each function by its name.
pub fn functions(ptx: &str) -> Vec<(String, String)> {
    let mut parts = ptx.split("\t// .globl\t");
    let head = ("".to_owned(), parts.next().unwrap_or_default().to_owned());
    let named = parts.map(|part| (part.lines().next().unwrap_or_default().to_owned(), part.to_owned()));
    [head].into_iter().chain(named).collect()
}

/// Each error: its function, its message and its help. The lines of the input differ.
fn errors(output: &Output) -> Result<Vec<(String, String)>, Failed> {
    let text = String::from_utf8_lossy(&output.stderr);
    if output.status.code() != Some(1) || !output.stdout.is_empty() {
        return Err(format!("{}: {text}", output.status).into());
    }
    let errors = text.split("\n\n").filter(|error| !error.contains("nothing was written"));
    let said = |error: &str| {
        let lines = error.lines().filter(|line| line.starts_with("error: ") || line.contains("= help: "));
        lines.map(str::trim).join("\n")
    };
    let function = |error: &str| {
        let name = error.split_once("in function '").and_then(|(_, rest)| rest.split_once('\''));
        name.map_or(String::new(), |(name, _)| name.to_owned())
    };
    Ok(errors.map(|error| (function(error), said(error))).collect())
}

/// The parts that differ, each with the program that `source` returns for its name.
pub fn compare(
    expected: &[(String, String)],
    found: &[(String, String)],
    source: &dyn Fn(&str) -> String,
) -> Vec<String> {
    let pairs = expected.iter().zip_longest(found).map(EitherOrBoth::left_and_right);
    let pairs = pairs.filter(|(expected, found)| expected != found);
    let show = |part: Option<&(String, String)>| part.map_or("nothing".into(), |(_, text)| text.clone());
    pairs
        .map(|(expected, found)| {
            let name = expected.or(found).map(|(name, _)| name.clone()).unwrap_or_default();
            let program = source(&name);
            format!("{program}expected:\n{}\nfound:\n{}", show(expected), show(found))
        })
        .collect()
}

/// An input of the other tests gives the same PTX directly and after import into MLIR.
fn imported(path: &Path) -> Result<(), Failed> {
    let Output { status, stdout, stderr } =
        Command::new(tool("mlir-translate")).arg("--import-llvm").arg(path).output()?;
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    // These inputs have vectors that are only moved, or arithmetic on 128 bits.
    assert_eq!(!status.success(), matches!(stem, Some("floats" | "wide")), "{}", String::from_utf8_lossy(&stderr));
    if !status.success() {
        return Ok(());
    }
    let file = tempfile::Builder::new().suffix(".mlir").tempfile()?;
    fs::write(file.path(), stdout)?;
    for mattr in ["+ptx78", "+ptx86"] {
        let lower = |path: &Path| success(lower_to_assembly().arg(path).args(["--mattr", mattr]));
        let expected = lower(path)?;
        assert_eq!(expected, lower(file.path())?);
        if stem == Some("operands") {
            let passed = tempfile::Builder::new().suffix(".mlir").tempfile()?;
            let emit = ["--emit", "mlir", "--mattr", mattr];
            fs::write(passed.path(), success(ptx_atomics().arg("lower").arg(file.path()).args(emit))?)?;
            assert_eq!(expected, lower(passed.path())?, "by the pass in MLIR");
        }
    }
    Ok(())
}

/// The optimization of atomics gives the same result in both languages.
fn optimized(path: &Path) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let [llvm_ir, mlir, passed] = ["a.ll", "a.mlir", "b.mlir"].map(|name| folder.path().join(name));
    // MLIR writes the alignments that follow from the layout into the ops.
    let layout = "target datalayout = \"e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"\n";
    fs::write(&llvm_ir, layout.to_owned() + &fs::read_to_string(path)?)?;
    success(Command::new(tool("mlir-translate")).arg("--import-llvm").arg(&llvm_ir).arg("-o").arg(&mlir))?;
    let optimize = ["--optimize-atomics", "all"];
    let mut changed = false;
    for target in [["--mcpu", "sm_80", "--mattr", "+ptx78"], ["--mcpu", "sm_90", "--mattr", "+ptx86"]] {
        let lower = |path: &Path, more: &[&str]| success(lower_to_assembly().arg(path).args(target).args(more));
        let expected = lower(&llvm_ir, &optimize)?;
        fs::write(&passed, lower(&mlir, &[&optimize[..], &["--emit", "mlir"]].concat())?)?;
        assert_eq!(expected, lower(&passed, &[])?, "{target:?}");
        changed |= expected != lower(&llvm_ir, &[])?;
    }
    assert!(changed, "nothing is optimized");
    Ok(())
}

/// Variables have the same names in both languages, and after the pass in MLIR.
fn variables() -> Result<(), Failed> {
    let mut pairs = Pairs::default();
    let cells = addresses().filter(|cell| pairs.is_new(&cell.words_of_address()) || testing::all()).collect_vec();
    let folder = tempfile::tempdir()?;
    let [llvm_ir, mlir, passed] = ["a.ll", "a.mlir", "b.mlir"].map(|name| folder.path().join(name));
    fs::write(&llvm_ir, module(&cells))?;
    success(Command::new(tool("mlir-translate")).arg("--import-llvm").arg(&llvm_ir).arg("-o").arg(&mlir))?;
    let lower = |path: &Path, more: &[&str]| success(lower_to_assembly().arg(path).args(more));
    fs::write(&passed, lower(&mlir, &["--emit", "mlir"])?)?;
    let [expected, direct, again] = [&llvm_ir, &mlir, &passed].map(|path| lower(path, &[]));
    // The pass in MLIR resolves fewer generic addresses.
    let local = again?.lines().find(|line| line.contains("$local")).map(str::to_owned);
    assert_eq!(local, None);
    let expected = functions(&expected?);
    assert!(expected.len() > cells.len());
    let source = |name: &str| {
        let cell = cells.iter().find(|cell| cell.name == name);
        cell.map(cells::llvm_ir).unwrap_or_default()
    };
    let differences = compare(&expected, &functions(&direct?), &source);
    if differences.is_empty() { Ok(()) } else { Err(differences.into_iter().take(5).join("\n\n").into()) }
}

/// MLIR's verifier rejects each kind of operation on each type that the grid leaves out.
fn absent() -> Result<(), Failed> {
    let absent = cells().filter(|cell| !dialect::has(cell)).map(Program::new);
    let absent = absent.unique_by(|program| {
        let mlir = program.mlir();
        let op = mlir.lines().nth(1).and_then(|line| line.split_once("llvm."));
        let words = op.map(|(_, op)| op.split('%').next().unwrap_or_default().replace(" volatile", ""));
        (program.cell.ty.0, words)
    });
    let file = tempfile::Builder::new().suffix(".mlir").tempfile()?;
    let mut count = 0;
    for program in absent {
        fs::write(file.path(), program.mlir())?;
        let Output { status, stderr, .. } = ptx_atomics().arg("lower").arg(file.path()).output()?;
        let stderr = String::from_utf8(stderr)?;
        assert!(status.code() == Some(1) && stderr.contains("is not MLIR"), "{}{stderr}", program.mlir());
        count += 1;
    }
    println!("equivalence: {count} kinds of operation that the dialect has not");
    assert!(count > 20);
    Ok(())
}
