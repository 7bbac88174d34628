//! Labelled kernels of other projects, each racy, divergent or free: parts of GPUVerify's test suite and benchmarks, of
//! Indigo, and publication protocols. They are not part of this repository. If they are not checked out next to it, the
//! test is skipped.

use std::{collections::BTreeMap, fs, path::PathBuf, process::Command, time::Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use ptx_execute::{Argument, Contents, Device, FaultKind, Launch, RunOptions};
use ptx_isa::{Dim3, FullSize, Module};

/// A row of `index.csv`.
#[derive(Clone, Debug)]
struct Kernel {
    id: String,
    set: String,
    kernel: String,
    block: [String; 3],
    grid: [String; 3],
    label: String,
    same_value: bool,
    space: String,
}

/// The fields of a line. Some fields are in quotes.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            other => fields.last_mut().expect("a field").push(other),
        }
    }
    fields
}

fn kernels(folder: &std::path::Path) -> Vec<Kernel> {
    let text = fs::read_to_string(folder.join("index.csv")).expect("an index");
    let row = |line: &str| {
        let f = fields(line);
        let three = |at: usize| [f[at].clone(), f[at + 1].clone(), f[at + 2].clone()];
        Kernel {
            id: f[0].clone(),
            set: f[1].clone(),
            kernel: f[3].clone(),
            block: three(4),
            grid: three(7),
            label: f[10].clone(),
            space: f[12].clone(),
            same_value: f[13] == "yes",
        }
    };
    text.lines().skip(1).filter(|line| !line.is_empty()).map(row).collect()
}

/// The kernels whose verdict differs from their label, each with the reason.
const OTHERS: [(&str, &str); 6] = [
    ("bench-C-AMP-Convolution-convolution-simple-mutant", "its PTX has no access to a neighbour's element"),
    ("bench-C-AMP-MatrixMultiplication-mxm-amp-simple-mutant", "its PTX has no access to a neighbour's element"),
    ("bench-C-AMP-MersenneTwister-box-muller-kernel-mutant", "its PTX has no access to a neighbour's element"),
    ("bench-CUDA20-scan-workefficient-mutant", "after the barrier that it lacks, each thread reads its own writes"),
    (
        "bench-CUDA50-6-Advanced-segmentationTreeThrust-getRepresentatives",
        "it follows a chain in its input, which is a cycle in the given input",
    ),
    ("bench-gpgpu-sim-ispass2009-NQU-nqueen", "it is given more queens than its arrays have room for"),
];

/// The findings in the runs of a kernel.
#[derive(Debug, Default)]
struct KernelFindings {
    kinds: BTreeMap<FaultKind, String>,
    steps: u64,
    seconds: f64,
    is_cut: bool,
}

impl KernelFindings {
    fn add(&mut self, report: ptx_execute::Report) {
        self.is_cut |= report.notes.iter().any(|note| note.line == 0);
        self.steps += report.steps;
        for finding in report.findings {
            let other = finding.other.as_ref().map_or(0, |other| other.at.line);
            let text = format!("{} (lines {other} and {})", finding.message, finding.site.at.line);
            self.kinds.entry(finding.kind).or_insert(text);
        }
    }

    fn verdict(&self) -> &'static str {
        let has = |kind| self.kinds.contains_key(&kind);
        match () {
            () if has(FaultKind::Race) => "racy",
            () if has(FaultKind::DivergentBarrier) || has(FaultKind::BarrierCount) => "divergent",
            () if has(FaultKind::Hang) => "hang",
            () if has(FaultKind::Unsupported) => "unsupported",
            () if has(FaultKind::StepLimit) => "limit",
            () if has(FaultKind::Trap) => "trap",
            () if has(FaultKind::SameValue) => "same value",
            () => "free",
        }
    }
}

/// A generator of random numbers, by its seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as u32) % bound.max(1)
    }
}

/// Graphs of at most 200 nodes, as the neighbours of each node.
fn graph(kind: u64, numbers: &mut Numbers) -> Vec<Vec<u32>> {
    let n: u32 = [120, 200, 64, 150, 33, 180][(kind % 6) as usize];
    let mut all = vec![Vec::new(); n as usize];
    match kind % 6 {
        0 => all.iter_mut().for_each(|own| (0..numbers.below(7)).for_each(|_| own.push(numbers.below(n)))),
        1 => {
            all.iter_mut().enumerate().for_each(|(at, own)| own.extend([(at as u32 + 1) % n, (at as u32 + n - 1) % n]))
        }
        2 => all.iter_mut().enumerate().for_each(|(at, own)| own.extend((0..n).filter(|to| *to != at as u32))),
        3 => all.iter_mut().enumerate().for_each(|(at, own)| match at {
            0 => own.extend(1..n),
            _ => own.push(0),
        }),
        4 => all.iter_mut().for_each(|own| (0..40).for_each(|_| own.push(numbers.below(n)))),
        _ => all.iter_mut().enumerate().for_each(|(at, own)| own.extend((0..3).map(|_| numbers.below(at as u32 + 1)))),
    }
    all
}

fn words(values: impl IntoIterator<Item = u32>) -> Contents {
    Contents::Bytes(values.into_iter().flat_map(u32::to_le_bytes).collect())
}

fn size(text: &str, other: u32) -> u32 {
    text.parse().unwrap_or(other)
}

/// Runs a graph kernel. Its arguments are `nindex`, `nlist`, two arrays of data, and the number of nodes.
fn run_graph(module: &Module, kernel: &Kernel, found: &mut KernelFindings) -> Result<(), Failed> {
    for seed in 0..12u64 {
        let mut numbers = Numbers(seed + 1);
        let graph = graph(seed, &mut numbers);
        let n = graph.len() as u32;
        let mut device =
            Device::new(module, RunOptions { most_steps: 1_000_000, ..RunOptions::default().of_seed(seed) })
                .map_err(join_reasons)?;
        let starts = graph.iter().scan(0, |at, own| {
            *at += own.len() as u32;
            Some(*at)
        });
        let index = device.allocate("nindex", words(std::iter::once(0).chain(starts)));
        let list = device.allocate("nlist", words(graph.iter().flatten().copied()));
        let first =
            device.allocate("data1", words((0..4096).map(|_| if seed % 3 == 0 { 0 } else { numbers.below(n) })));
        let second =
            device.allocate("data2", words((0..4096).map(|_| if seed % 4 == 3 { 0 } else { numbers.below(n) })));
        let mut arguments: Vec<Argument> =
            [index, list, first, second].into_iter().map(|buffer| Argument::Buffer(buffer, 0)).collect();
        arguments.push(Argument::u32(n));
        let block = [[64, 1, 1], [128, 1, 1], [32, 1, 1], [256, 1, 1]][(seed / 3 % 4) as usize];
        let grid = [[3, 1, 1], [2, 1, 1], [5, 1, 1]][(seed % 3) as usize];
        let launch = Launch::new(&*kernel.kernel, FullSize { grid, ..block.into() }, arguments);
        found.add(device.launch(&launch).map_err(join_reasons)?);
        if found.verdict() == "racy" && kernel.label != "divergent" {
            break;
        }
    }
    Ok(())
}

fn run_other(module: &Module, kernel: &Kernel, found: &mut KernelFindings) -> Result<(), Failed> {
    let function = module.functions().find(|function| function.name == kernel.kernel && function.body.is_some());
    let head = &function.ok_or("no such kernel")?.head;
    let dim = |sizes: &[String; 3]| -> Dim3 { [size(&sizes[0], 2), size(&sizes[1], 1), size(&sizes[2], 1)] };
    let (block, grid) = (dim(&kernel.block), dim(&kernel.grid));
    let is_pointer = |parameter: &ptx_isa::Parameter| {
        let none = head.parameters.iter().all(|parameter| !parameter.is_pointer);
        parameter.is_pointer || none && parameter.ty.is_some_and(|ty| ty.bits() == 64)
    };
    // Flags and counters of protocols are zero at the start.
    let contents = || match kernel.set.as_str() {
        "publication" => Contents::Bytes(vec![0; 1 << 20]),
        _ => Contents::Grows(1 << 26),
    };
    let mut fitting: Vec<Launch> = Vec::new();
    for seed in 0..16u64 {
        let most_steps = if seed < 2 { 6_000_000 } else { 300_000 };
        let options = RunOptions { most_steps, ..RunOptions::default().of_seed(seed) };
        let mut device = Device::new(module, options).map_err(join_reasons)?;
        let mut open = Vec::new();
        let mut arguments = Vec::new();
        for (index, parameter) in head.parameters.iter().enumerate() {
            let bits = parameter.ty.map_or(8, |ty| ty.bits());
            arguments.push(match parameter.elements {
                None if is_pointer(parameter) => {
                    Argument::Buffer(device.allocate(&format!("param{index}"), contents()), 0)
                }
                None => {
                    open.push(index);
                    Argument::Bytes((16u64.to_le_bytes()[..bits as usize / 8]).to_vec())
                }
                // A parameter with the size of several pointers is filled with pointers.
                Some(bytes) => Argument::Bytes(
                    (0..bytes / 8)
                        .flat_map(|word| {
                            let buffer = device.allocate(&format!("param{index}.{word}"), Contents::Grows(1 << 26));
                            device.address(buffer).to_le_bytes()
                        })
                        .collect(),
                ),
            });
        }
        let launch = Launch::new(&*kernel.kernel, FullSize { grid, ..block.into() }, arguments);
        if fitting.is_empty() {
            fitting = launch.fitting(module, &open).map_err(join_reasons)?;
        }
        let known = &fitting[seed as usize % fitting.len()];
        // If a run of all CTAs takes too long, a few CTAs are run.
        let grid = if found.is_cut { grid.map(|size| size.min(2)) } else { grid };
        let size = FullSize { grid, ..launch.size };
        let launch = Launch { arguments: known.arguments.clone(), size, ..launch };
        let report = device.launch(&launch).map_err(join_reasons)?;
        let is_long = report.steps > 10_000_000;
        found.add(report);
        // Short kernels are run with every seed, long kernels twice.
        let is_enough = found.steps > 1_000_000 && seed >= 4 && seed + 1 >= fitting.len() as u64;
        let is_racy = found.verdict() == "racy" && kernel.label != "divergent";
        if is_racy || is_long && seed > 0 || is_enough {
            break;
        }
    }
    Ok(())
}

fn join_reasons(errors: Vec<ptx_execute::LaunchError>) -> Failed {
    errors.iter().map(|error| error.reason.clone()).collect::<Vec<_>>().join("; ").into()
}

fn check(folder: &std::path::Path, kernel: &Kernel) -> Result<KernelFindings, Failed> {
    let text = fs::read_to_string(folder.join("ptx").join(format!("{}.ptx", kernel.id)))?;
    let module: Module = text.parse()?;
    let mut found = KernelFindings::default();
    let start = Instant::now();
    match kernel.set.as_str() {
        "indigo" => run_graph(&module, kernel, &mut found)?,
        _ => run_other(&module, kernel, &mut found)?,
    }
    found.seconds = start.elapsed().as_secs_f64();
    Ok(found)
}

/// Checks that the verdict is the label.
fn judged(kernel: &Kernel, found: &KernelFindings) -> Result<(), Failed> {
    let verdict = found.verdict();
    let expected = match (&*kernel.label, kernel.same_value) {
        ("free", true) | ("racy", true) => verdict == "same value" || verdict == &*kernel.label,
        (label, _) => verdict == label,
    };
    let diverges = [FaultKind::DivergentBarrier, FaultKind::BarrierCount, FaultKind::Hang]
        .iter()
        .any(|kind| found.kinds.contains_key(kind));
    let is_other = OTHERS.iter().any(|(id, _)| *id == kernel.id);
    match (expected || kernel.label == "divergent" && diverges, is_other) {
        (true, false) | (false, true) => Ok(()),
        (true, true) => Err("the verdict matches the label: remove the exception".into()),
        (false, false) => Err(format!(
            "{} {}, found {verdict}{}: {:?}",
            kernel.label,
            kernel.space,
            if found.is_cut { " (cut)" } else { "" },
            found.kinds
        )
        .into()),
    }
}

fn main() {
    const ARCHIVE: &str = "races/given.tar.gz";
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(2));
    let mut trials = Vec::new();
    let folder: Option<PathBuf> = testing::shared(ARCHIVE).map(|archive| {
        let folder = testing::root().join("target/tmp/labelled");
        fs::create_dir_all(&folder).expect("a folder");
        let status = Command::new("tar").arg("xzf").arg(&archive).arg("-C").arg(&folder).status();
        assert!(status.expect("tar").success());
        folder
    });
    match folder {
        None => trials.push(testing::absent("labelled kernels", ARCHIVE)),
        Some(folder) => {
            let kernels = kernels(&folder);
            assert!(!kernels.is_empty(), "the index names no kernel");
            let of_kernels = kernels.into_iter().map(|kernel| {
                let folder = folder.clone();
                let name = format!("{} {}", kernel.set, kernel.id);
                Trial::test(name, move || {
                    let found = check(&folder, &kernel)?;
                    if std::env::var_os("LABELLED_TIMES").is_some() {
                        eprintln!("{} {:.2} s {} M", kernel.id, found.seconds, found.steps / 1_000_000);
                    }
                    judged(&kernel, &found)
                })
            });
            trials.extend(testing::one_of(16, of_kernels));
        }
    }
    libtest_mimic::run(&arguments, trials).exit()
}
