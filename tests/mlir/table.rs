//! The table of `docs/mlir.md`: every atomic, fence and barrier of MLIR's dialects, and the measured result of its
//! lowering. An entry that holds for only one version of MLIR is marked, such as "`nvvm.barrier0` in MLIR 22".
//!
//! To accept a change: `INSTA_UPDATE=always cargo test -p ptx-atomics-cli --test it -- '[mlir] table'`, then read the
//! difference. The document's entries for the other version remain.

use std::{collections::BTreeSet, fs, path::PathBuf, process::Command};

use itertools::Itertools;
use libtest_mimic::{Failed, Trial};

use crate::mlir::native_ops::{other_llvm, target_of};
use testing::{exists, llvm_version, ptx_atomics, root, success, tool};

pub fn trials() -> Vec<Trial> {
    let missing = [tool("llvm-tblgen"), tool("llvm-config")].into_iter().find(|program| !exists(program));
    vec![
        Trial::test("table: docs/mlir.md has the measured table", documented),
        testing::trial("table: the lists have every op of MLIR's dialects".into(), missing, none_is_missing),
    ]
}

/// An op, or a form of an op.
pub struct Row {
    op: String,
    /// The difference from the op's other forms; empty for most ops.
    form: String,
    source: Source,
}

enum Source {
    /// The ops in the body of a function.
    Body(String),
    /// A file of `nvvm/`.
    File(PathBuf),
}

/// A target that has all the ops, except those in the files of `nvvm/`, which name their targets.
const TARGET: (&str, &str) = ("sm_90a", "ptx86");

/// The form of an atomic access.
const ATOMIC: &str = "atomic";

const HEADER: &str = "| op | PTX, LLVM IR | MLIR |\n| --- | --- | --- |\n";

/// The ops, each with its form and its text.
#[rustfmt::skip]
const OPS: [(&str, &str, &str); 39] = [
    ("llvm.load",            ATOMIC,    "%r = llvm.load %p atomic acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32"),
    ("llvm.store",           ATOMIC,    "llvm.store %v, %p atomic release {alignment = 4 : i64} : i32, !llvm.ptr<1>"),
    ("llvm.atomicrmw",       "",        "%r = llvm.atomicrmw add %p, %v acq_rel : !llvm.ptr<1>, i32"),
    ("llvm.cmpxchg",         "",        "%r = llvm.cmpxchg %p, %v, %v seq_cst acquire : !llvm.ptr<1>, i32"),
    ("llvm.fence",           "",        "llvm.fence syncscope(\"device\") acq_rel"),
    ("llvm.call_intrinsic",  "",        "llvm.call_intrinsic \"llvm.nvvm.membar.gl\"() : () -> ()"),
    ("llvm.inline_asm",      "",        "llvm.inline_asm has_side_effects \"fence.sc.gpu;\", \"~{memory}\" : () -> ()"),
    ("memref.atomic_rmw",    "",        "%r = memref.atomic_rmw addi %v, %m[%i] : (i32, memref<?xi32>) -> i32"),
    ("memref.generic_atomic_rmw", "",   "%r = memref.generic_atomic_rmw %m[%i] : memref<?xi32> {\n^bb0(%was: i32):\n\
                                         memref.atomic_yield %v : i32\n}"),
    ("memref.dma_start",     "",        "memref.dma_start %m[%i], %m[%i], %i, %t[%i] : memref<?xi32>, memref<?xi32>, memref<1xi32>"),
    ("memref.dma_wait",      "",        "memref.dma_wait %t[%i], %i : memref<1xi32>"),
    ("gpu.barrier",          "",        "gpu.barrier"),
    ("gpu.all_reduce",       "",        "%r = gpu.all_reduce add %v uniform {} : (i32) -> i32"),
    ("nvvm.inline_ptx",      "",        "nvvm.inline_ptx \"fence.sc.gpu;\""),
    ("nvvm.cp.async.commit.group", "",  "nvvm.cp.async.commit.group"),
    ("nvvm.cp.async.wait.group", "",    "nvvm.cp.async.wait.group 0"),
    ("nvvm.cp.async.bulk.commit.group", "", "nvvm.cp.async.bulk.commit.group"),
    ("nvvm.cp.async.bulk.wait_group", "", "nvvm.cp.async.bulk.wait_group 0"),
    ("nvvm.cp.async.bulk.tensor.reduce", "", "nvvm.cp.async.bulk.tensor.reduce %g, %s, box[%v] {redKind = #nvvm.tma_redux_kind<add>} \
                                         : !llvm.ptr, !llvm.ptr<3>"),
    ("nvvm.griddepcontrol",  "",        "nvvm.griddepcontrol wait"),
    ("nvvm.wgmma.fence.aligned", "",    "nvvm.wgmma.fence.aligned"),
    ("nvvm.wgmma.commit.group.sync.aligned", "", "nvvm.wgmma.commit.group.sync.aligned"),
    ("nvvm.wgmma.wait.group.sync.aligned", "", "nvvm.wgmma.wait.group.sync.aligned 0"),
    ("spirv.AtomicCompareExchange", "", "%r = spirv.AtomicCompareExchange <Device> <Acquire> <None> %q, %v, %v : POINTER"),
    ("spirv.AtomicCompareExchangeWeak", "", "%r = spirv.AtomicCompareExchangeWeak <Device> <Acquire> <None> %q, %v, %v : POINTER"),
    ("spirv.AtomicIIncrement", "",      "%r = spirv.AtomicIIncrement <Device> <None> %q : POINTER"),
    ("spirv.AtomicIDecrement", "",      "%r = spirv.AtomicIDecrement <Device> <None> %q : POINTER"),
    ("spirv.EXT.AtomicFAdd", "",        "%r = spirv.EXT.AtomicFAdd <Device> <None> %f, %x : !spirv.ptr<f32, CrossWorkgroup>"),
    ("spirv.MemoryBarrier",  "",        "spirv.MemoryBarrier <Device>, <AcquireRelease>"),
    ("spirv.ControlBarrier", "",        "spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease>"),
    ("spirv.ControlBarrier", "memory scope wider than execution scope", "spirv.ControlBarrier <Workgroup>, <Device>, <AcquireRelease>"),
    ("spirv.INTEL.ControlBarrierArrive", "", "spirv.INTEL.ControlBarrierArrive <Workgroup> <Device> <Acquire>"),
    ("spirv.INTEL.ControlBarrierWait", "", "spirv.INTEL.ControlBarrierWait <Workgroup> <Device> <Acquire>"),
    ("omp.atomic.read",      "",        "omp.atomic.read %g = %p memory_order(acquire) : !llvm.ptr, !llvm.ptr<1>, i32"),
    ("omp.atomic.write",     "",        "omp.atomic.write %g = %v memory_order(release) : !llvm.ptr, i32"),
    ("omp.atomic.update",    "",        UPDATE),
    ("omp.atomic.capture",   "",        "omp.atomic.capture memory_order(acq_rel) {\nomp.atomic.read %h = %g : !llvm.ptr, !llvm.ptr, i32\nUPDATE\n}"),
    ("omp.flush",            "",        "omp.flush"),
    ("omp.barrier",          "",        "omp.barrier"),
];

/// The ops that MLIR has since version 23.
#[rustfmt::skip]
const SINCE_23: [(&str, &str, &str); 8] = [
    ("gpu.barrier",          "subgroup", "gpu.barrier scope <subgroup>"),
    ("gpu.barrier",          "cluster", "gpu.barrier scope <cluster>"),
    ("gpu.initialize_named_barrier", "", "%n = gpu.initialize_named_barrier %v : i32 -> !gpu.named_barrier\n\
                                         gpu.barrier named(%n : !gpu.named_barrier)"),
    ("spirv.AtomicLoad",     "",        "%r = spirv.AtomicLoad <Device> <Acquire> %q : POINTER"),
    ("spirv.AtomicStore",    "",        "spirv.AtomicStore <Device> <Release> %q, %v : POINTER"),
    ("spirv.NamedBarrierInitialize", "", "%n = spirv.NamedBarrierInitialize %v : i32 -> !spirv.named_barrier"),
    ("spirv.MemoryNamedBarrier", "",    "%n = spirv.NamedBarrierInitialize %v : i32 -> !spirv.named_barrier\n\
                                         spirv.MemoryNamedBarrier %n, <Workgroup>, <AcquireRelease> : !spirv.named_barrier"),
    ("omp.atomic.compare",   "",        "omp.atomic.compare memory_order(acq_rel) %g : !llvm.ptr {\n^bb0(%was: i32):\n\
                                         %c = llvm.icmp \"eq\" %was, %v : i32\n%n = llvm.select %c, %v, %was : i1, i32\n\
                                         omp.yield(%n : i32)\n}"),
];

const UPDATE: &str =
    "omp.atomic.update %g : !llvm.ptr {\n^bb0(%was: i32):\n%n = llvm.add %was, %v : i32\nomp.yield(%n : i32)\n}";

/// The atomics of SPIR-V that take one value.
const SPIRV: [&str; 10] = ["And", "Exchange", "IAdd", "ISub", "Or", "SMax", "SMin", "UMax", "UMin", "Xor"];

/// The function around the ops of a dialect. The first entry that is a prefix of the op's name applies.
const AROUND: [(&str, &str); 4] = [
    ("memref.", "func.func @f(%m: memref<?xi32>, %t: memref<1xi32>, %i: index, %v: i32) {\nBODY\nreturn\n}\n"),
    ("gpu.", "gpu.module @m {\ngpu.func @f(%v: i32) kernel {\nBODY\ngpu.return\n}\n}\n"),
    (
        "spirv.",
        "spirv.func @f(%q: POINTER, %f: !spirv.ptr<f32, CrossWorkgroup>, %v: i32, %x: f32) \"None\" {\nBODY\n\
         spirv.Return\n}\n",
    ),
    (
        "",
        "llvm.func @f(%p: !llvm.ptr<1>, %s: !llvm.ptr<3>, %g: !llvm.ptr, %h: !llvm.ptr, %v: i32) {\nBODY\nllvm.return\n}\n",
    ),
];

/// The files of `nvvm/` for the MLIR under test. The name of a file is an op, and optionally its form after a hyphen.
pub fn nvvm_files() -> Vec<PathBuf> {
    let files = fs::read_dir(root().join("tests/mlir/nvvm")).expect("the files");
    let files = files.map(|entry| entry.expect("one").path()).sorted();
    files.filter(|path| other_llvm(&fs::read_to_string(path).expect("an input")).is_none()).collect()
}

/// Every row, dialect by dialect.
pub fn rows() -> impl Iterator<Item = Row> {
    let since_23 = SINCE_23.into_iter().filter(|_| llvm_version() >= 23);
    let listed = OPS.into_iter().chain(since_23).map(|(op, form, body)| (op.to_owned(), form, body.to_owned()));
    let spirv = SPIRV.into_iter().map(|name| {
        let op = format!("spirv.Atomic{name}");
        (op.clone(), "", format!("%r = {op} <Device> <AcquireRelease> %q, %v : POINTER"))
    });
    let listed = listed.chain(spirv).map(|(op, form, body)| Row { op, form: form.into(), source: Source::Body(body) });
    let files = nvvm_files().into_iter().map(|path| {
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let (op, form) = stem.split_once('-').unwrap_or((&stem, ""));
        Row { op: format!("nvvm.{op}"), form: form.into(), source: Source::File(path) }
    });
    let dialects = ["llvm", "memref", "gpu", "nvvm", "spirv", "omp"];
    let place = move |row: &Row| dialects.iter().position(|dialect| row.op.starts_with(&format!("{dialect}.")));
    listed.chain(files).sorted_by_key(place)
}

impl Row {
    /// A module with the op.
    pub fn text(&self) -> Result<String, Failed> {
        let body = match &self.source {
            Source::File(path) => return Ok(fs::read_to_string(path)?),
            Source::Body(body) => body.replace("UPDATE", UPDATE),
        };
        let (_, around) = AROUND.iter().find(|(dialect, _)| self.op.starts_with(dialect)).ok_or("no function")?;
        Ok(around.replace("BODY", &body).replace("POINTER", "!spirv.ptr<i32, CrossWorkgroup>"))
    }

    /// The results of lowering the op to PTX and of the pass in MLIR.
    fn measure(&self) -> Result<[String; 2], Failed> {
        let text = self.text()?;
        assert!(text.contains(&self.op), "{}:\n{text}", self.op);
        let file = tempfile::Builder::new().suffix(".mlir").tempfile()?;
        fs::write(file.path(), &text)?;
        let (sm, ptx) = target_of(&text).unwrap_or(TARGET);
        let target = ["--mcpu", sm, "--mattr", &format!("+{ptx}")];
        let lower = |emit: &str| -> Result<Result<String, String>, Failed> {
            let output = ptx_atomics().arg("lower").args(target).args(["--emit", emit]).arg(file.path()).output()?;
            if output.status.success() {
                return Ok(Ok(String::from_utf8(output.stdout)?));
            }
            let said = String::from_utf8(output.stderr)?;
            assert_eq!(output.status.code(), Some(1), "{text}{said}");
            let mut errors = said.lines().filter_map(|line| line.strip_prefix("error: "));
            let message =
                errors.clone().find(|error| error.contains(&self.op)).or_else(|| errors.next()).ok_or("no error")?;
            // MLIR's message ends with the whole op in its printed form.
            let message = message.split(" that was explicitly marked").next().unwrap_or(message);
            Ok(Err(format!("error: {}", message.replace(&self.op, "the op"))))
        };
        let ptx = lower("ptx")?.map(|ptx| in_ptx(&ptx));
        let mlir = lower("mlir")?.map(|mlir| self.in_mlir(&text, &mlir));
        Ok([ptx, mlir].map(|result| result.unwrap_or_else(|error| error)))
    }

    /// The ops into which the pass in MLIR turns the op.
    fn in_mlir(&self, before: &str, after: &str) -> String {
        // The text of an atomic access has `atomic` after its name.
        let count = |text: &str| {
            let lines = text.lines().filter(|line| self.form != ATOMIC || line.contains(" atomic "));
            lines.flat_map(words).filter(|word| *word == self.op).count()
        };
        let fenced = after.contains("llvm.inline_asm has_side_effects \"\", \"~{memory}\"");
        let fences = if fenced { ", between fences of the compiler" } else { "" };
        if count(after) >= count(before) {
            return format!("stays{fences}");
        }
        let before: BTreeSet<_> = before.lines().flat_map(words).collect();
        let made = after.lines().filter(|line| !line.contains("_asm has_side_effects \"\"")).flat_map(words);
        let made = made.filter(|word| MADE.contains(word) && !before.contains(word)).unique();
        format!("{}{fences}", made.map(|word| format!("`{word}`")).join(", "))
    }
}

/// The ops that replace the op. Further ops compute their addresses and values.
const MADE: [&str; 5] = ["llvm.inline_asm", "llvm.call_intrinsic", "nvvm.barrier", "nvvm.bar.warp.sync", "scf.while"];

/// The names of ops, and other words.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '_'))
}

/// The mnemonics of instructions that order or synchronize. Loads and stores do if their first modifier says so.
#[rustfmt::skip]
const ORDERING: [&str; 13] = [
    "atom", "red", "fence", "membar", "bar", "barrier", "mbarrier", "cp", "tcgen05", "wgmma", "griddepcontrol", "ld", "st",
];

/// Whether the PTX has an instruction that orders.
fn in_ptx(ptx: &str) -> String {
    let orders = |line: &&str| {
        // A predicate may precede the instruction.
        let instruction = line.trim().split(' ').find(|word| !word.starts_with('@')).unwrap_or_default();
        let mut words = instruction.split(['.', ';', '\t']);
        let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        ORDERING.contains(&first)
            && (!matches!(first, "ld" | "st") || matches!(second, "acquire" | "release" | "relaxed"))
    };
    if ptx.lines().any(|line| orders(&line)) {
        return "works".into();
    }
    let called =
        ptx.lines().flat_map(words).filter(|word| word.starts_with("__kmpc_") && !word.contains("_param_")).unique();
    let called = called.map(|name| format!("`{name}`")).join(", ");
    if called.is_empty() { "nothing is left".into() } else { format!("a call of {called}") }
}

/// Prefixes of op names. The table has every op with such a prefix.
const FAMILIES: [&str; 5] = ["nvvm.mbarrier.", "nvvm.fence.", "nvvm.cluster.", "spirv.Atomic", "omp.atomic."];

/// A row of the table: ops, each with its form, and the text of the last two columns.
struct Line {
    names: Vec<String>,
    fate: String,
}

/// The table. A row has the ops of a dialect with the same results.
fn measured() -> Result<Vec<Line>, Failed> {
    let mut fates: Vec<([String; 2], Vec<Row>)> = Vec::new();
    for row in rows() {
        let fate = row.measure()?;
        let same =
            |(known, rows): &&mut ([String; 2], Vec<Row>)| *known == fate && dialect(&rows[0].op) == dialect(&row.op);
        match fates.iter_mut().find(same) {
            Some((_, rows)) => rows.push(row),
            None => fates.push((fate, vec![row])),
        }
    }
    let all: Vec<_> = fates.iter().flat_map(|(_, rows)| rows).collect();
    let lines = fates.iter().map(|([ptx, mlir], rows)| {
        let counts = |of: &dyn Fn(&Row) -> bool| {
            (rows.iter().filter(|row| of(row)).count(), all.iter().filter(|row| of(row)).count())
        };
        let names = rows.iter().map(|row| {
            let family = FAMILIES.into_iter().find(|family| row.op.starts_with(family));
            let of_family = family.map(|family| (family, counts(&|row| row.op.starts_with(family))));
            let (forms, all_forms) = counts(&|other| other.op == row.op);
            match of_family {
                Some((family, (here, all))) if here == all => format!("`{family}*`"),
                Some((family, (here, all))) if 2 * here > all => format!("the other `{family}*`"),
                _ if row.form.is_empty() || forms == all_forms && row.form != ATOMIC => format!("`{}`", row.op),
                _ => format!("`{}` ({})", row.op, row.form),
            }
        });
        Line { names: names.unique().collect(), fate: format!("{ptx} | {mlir}") }
    });
    Ok(lines.collect())
}

/// The dialect of an op.
fn dialect(op: &str) -> &str {
    op.trim_start_matches("the other ").trim_start_matches('`').split('.').next().unwrap_or_default()
}

/// The text in the document between a name and the only version that has the op, or has it with this result.
const MARK: &str = " in MLIR ";

/// The lines of a table in the document.
fn lines(table: &str) -> Vec<Line> {
    let rows = table.lines().skip(HEADER.lines().count());
    let columns = rows.filter_map(|row| row.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    columns
        .map(|(names, fate)| Line { names: names.split(", ").map(Into::into).collect(), fate: fate.into() })
        .collect()
}

/// Each name with its result: names without a mark, and names whose mark has a matching version.
fn entries(lines: &[Line], version: impl Fn(u32) -> bool) -> BTreeSet<(&str, &str)> {
    let all = lines.iter().flat_map(|line| line.names.iter().map(|name| (&**name, &*line.fate)));
    let held = all.filter_map(|(name, fate)| match name.split_once(MARK) {
        Some((name, of)) => of.parse().is_ok_and(&version).then_some((name, fate)),
        None => Some((name, fate)),
    });
    held.collect()
}

/// The measured lines, and the document's entries for the other version. Entries that hold for only one version are
/// marked.
fn merged(measured: &[Line], written: &[Line]) -> Vec<Line> {
    let ours = llvm_version();
    let other = if ours == 22 { 23 } else { 22 };
    let (here, there) = (entries(measured, |_| true), entries(written, |version| version == other));
    let marked = |name: &str, fate: &str| match there.contains(&(name, fate)) {
        true => name.to_owned(),
        false => format!("{name}{MARK}{ours}"),
    };
    let line = |line: &Line| Line {
        names: line.names.iter().map(|name| marked(name, &line.fate)).collect(),
        fate: line.fate.clone(),
    };
    let mut lines: Vec<_> = measured.iter().map(line).collect();
    for (name, fate) in there.difference(&here) {
        let marked = format!("{name}{MARK}{other}");
        let of_dialect = |line: &Line| dialect(&line.names[0]) == dialect(name);
        match lines.iter_mut().find(|line| line.fate == *fate && of_dialect(line)) {
            Some(line) => line.names.push(marked),
            None => {
                let place = lines.iter().rposition(of_dialect).map_or(lines.len(), |last| last + 1);
                lines.insert(place, Line { names: vec![marked], fate: (*fate).to_owned() });
            }
        }
    }
    lines
}

/// The table in the document is the measured table.
fn documented() -> Result<(), Failed> {
    let path = root().join("docs/mlir.md");
    let document = fs::read_to_string(&path)?;
    let start = document.find(HEADER.lines().next().unwrap_or_default()).ok_or("docs/mlir.md has no table of ops")?;
    let (before, rest) = document.split_at(start);
    let end = rest.find("\n\n").map_or(rest.len(), |end| end + 1);
    let (measured, written) = (measured()?, lines(&rest[..end]));
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        let rows = merged(&measured, &written);
        let rows = rows.iter().map(|Line { names, fate }| format!("| {} | {fate} |\n", names.join(", ")));
        fs::write(&path, format!("{before}{HEADER}{}{}", rows.collect::<String>(), &rest[end..]))?;
        return Ok(());
    }
    let (measured, written) = (entries(&measured, |_| true), entries(&written, |version| version == llvm_version()));
    let only = |what, these: &BTreeSet<_>, those| {
        these.difference(those).map(|(name, fate)| format!("{what} | {name} | {fate} |")).collect_vec()
    };
    let differences = [only("written: ", &written, &measured), only("measured:", &measured, &written)].concat();
    match differences.is_empty() {
        true => Ok(()),
        false => Err(format!("docs/mlir.md is not as measured:\n{}", differences.join("\n")).into()),
    }
}

/// Each dialect, the files that define its ops, and its ops that do not affect the order of memory accesses. A `*`
/// matches any suffix.
#[rustfmt::skip]
const OTHERS: [(&str, &[&str], &str); 6] = [
    ("llvm", &["LLVMIR/LLVMOps.td", "LLVMIR/LLVMIntrinsicOps.td"],
        "a* b* call com* cond_br dso_local_equivalent e* fadd fcmp fdiv fmul fneg fp* freeze frem fsub func getelementptr icmp \
         in* l* m* or ptrto* re* s* trunc u* va_arg xor zext"),
    ("memref", &["MemRef/IR/MemRefOps.td"],
        "alloc* assume_alignment atomic_yield c* dealloc dim distinct_objects e* get_global global load memory_space_cast prefetch \
         r* s* t* view"),
    // `gpu.wait` is for the host; the lanes of a warp exchange values without memory.
    ("gpu", &["GPU/IR/GPUOps.td"],
        "alloc b* c* d* func g* host_* l* mem* module num_subgroups printf r* s* t* wait warp_* yield"),
    // Ops on the lanes of a warp exchange values and do not order memory. The wait for a copy orders it, not the copy
    // itself.
    ("nvvm", &["LLVMIR/NVVMOps.td"],
        "breakpoint clusterlaunchcontrol.* convert.* cp.async.bulk.global.* cp.async.bulk.prefetch cp.async.bulk.shared.* \
         cp.async.bulk.tensor.global.* cp.async.bulk.tensor.prefetch cp.async.bulk.tensor.shared.* cp.async.shared.global dot.* \
         elect.sync exit ldmatrix m* nanosleep p* r* s* tcgen05.alloc tcgen05.cp tcgen05.dealloc tcgen05.ld \
         tcgen05.mma* tcgen05.relinquish_alloc_permit tcgen05.shift tcgen05.st vote.sync wgmma.mma_async wmma.*"),
    ("spirv", &["SPIRV/IR/SPIRVOps.td"],
        "A* B* CL.* Comp* Const* Conv* CopyMemory Dot EXT.Const* EXT.Emit* EXT.Set* EXT.Spec* Em* En* Ex* F* G* \
         I* KHR.* Kill L* Mat* N* O* P* R* S* T* U* V* f* m*"),
    // Regions and tasks order memory through calls of OpenMP's library, which are not atomics of the program.
    ("omp", &["OpenMP/OpenMPOps.td"],
        "allocate_dir c* d* loop* ma* new_cli o* p* s* t* un* work* wsloop yield"),
];

/// Further ops that MLIR has since version 23. `llvm.intr.arithmetic.fence` concerns floats and does not order memory.
const OTHERS_SINCE_23: [(&str, &str); 3] = [
    ("llvm", "intr.arithmetic.fence named_metadata"),
    ("nvvm", "addf cos divf ex2 fma log2 tcgen05.ld.red tensormap.replace"),
    ("omp", "affinity_entry alloc_shared_mem allocate_free f* groupprivate iterator"),
];

/// Parts of a name that show that the op belongs in the table.
const ABOUT: [&str; 4] = ["atomic", "barrier", "fence", "flush"];

/// Every op of the dialects is in the table or in a list of unrelated ops, and every entry of both exists.
fn none_is_missing() -> Result<(), Failed> {
    let include = success(Command::new(tool("llvm-config")).arg("--includedir"))?;
    let include = include.trim();
    let rows: BTreeSet<_> = rows().map(|row| row.op).collect();
    for (dialect, files, others) in OTHERS {
        let mut installed = BTreeSet::new();
        for file in files {
            let file = format!("{include}/mlir/Dialect/{file}");
            let records = success(Command::new(tool("llvm-tblgen")).args(["--print-records", &file, "-I", include]))?;
            let name =
                |line: &str| Some(line.trim().strip_prefix("string opName = \"")?.strip_suffix("\";")?.to_owned());
            installed.extend(records.lines().filter_map(name));
        }
        let start = format!("{dialect}.");
        let listed: BTreeSet<_> = rows.iter().filter_map(|op| op.strip_prefix(&start)).map(str::to_owned).collect();
        let unknown: Vec<_> = listed.difference(&installed).collect();
        assert!(unknown.is_empty(), "not in the dialect {dialect}: {unknown:?}");
        // A `*` does not match a part of `ABOUT`.
        let matches = |pattern: &str, op: &str| match pattern.strip_suffix('*') {
            Some(start) => op.starts_with(start) && !ABOUT.iter().any(|word| op.to_lowercase().contains(word)),
            None => op == pattern,
        };
        let since_23 = OTHERS_SINCE_23.iter().filter(|(of, _)| *of == dialect && llvm_version() >= 23);
        let patterns = since_23.map(|(_, others)| *others).chain([others]).flat_map(str::split_whitespace);
        let (mut left, patterns): (BTreeSet<_>, Vec<_>) = (&installed - &listed, patterns.collect());
        for pattern in patterns {
            let before = left.len();
            left.retain(|op| !matches(pattern, op));
            assert!(left.len() < before, "no other op of the dialect {dialect} is {pattern}");
        }
        assert!(left.is_empty(), "not in the table: {dialect} {left:?}");
    }
    Ok(())
}
