//! The report on all launches of a program.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
};

use annotate_snippets::Level;
use itertools::Itertools;
use ptx_atomics::{
    execute::{Fault, FaultKind},
    pass::{Diagnostic, Input},
    ptx::{InstPlace, launch::format_size},
};
use ptx_atomics_device::{Entry, Launched, Operation, Submitted, Unordered};

use crate::{
    render::{self, Message},
    run::{
        place::RunPtx,
        text::{self, Importance},
    },
};

/// The identifier of races of operations of streams.
const STREAMS: &str = "stream-race";

/// A kernel that the program has launched, with its launches in their order.
pub struct Launches {
    pub kernel: String,
    pub ptx: String,
    pub all: Vec<Launched>,
}

/// The entries of all processes of a program, each with the name of its file.
pub fn read(folder: &Path) -> Vec<(PathBuf, Entry)> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path());
    let reports = files.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")).sorted();
    let mut entries = Vec::new();
    for path in reports {
        let text = fs::read(&path).unwrap_or_default();
        // A process that ends while it writes leaves a part of a line.
        let lines = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
        entries.extend(lines.map(|entry| (path.clone(), entry)));
    }
    entries
}

/// The launches by kernel. Processes that load the same PTX share its kernels.
pub fn kernels(entries: Vec<(PathBuf, Entry)>, folder: &Path) -> Vec<Launches> {
    let mut texts: HashMap<(PathBuf, u32), String> = HashMap::new();
    let mut kernels: BTreeMap<(String, String), Vec<Launched>> = BTreeMap::new();
    for (process, entry) in entries {
        match entry {
            Entry::Module { number, file } => {
                let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
                texts.insert((process, number), text);
            }
            Entry::Contents { .. } | Entry::Unordered(_) => {}
            Entry::Launch(launched) => {
                let text = texts.get(&(process, launched.module)).cloned().unwrap_or_default();
                kernels.entry((launched.kernel.clone(), text)).or_default().push(*launched);
            }
        }
    }
    kernels.into_iter().map(|((kernel, ptx), all)| Launches { kernel, ptx, all }).collect()
}

/// The races of operations of streams.
pub fn races(entries: &[(PathBuf, Entry)]) -> Vec<Unordered> {
    let race = |(_, entry): &(PathBuf, Entry)| match entry {
        Entry::Unordered(race) => Some((**race).clone()),
        Entry::Module { .. } | Entry::Contents { .. } | Entry::Launch(_) => None,
    };
    entries.iter().filter_map(race).collect()
}

/// The file with the contents of each buffer before its first launch.
pub fn contents(entries: &[(PathBuf, Entry)]) -> BTreeMap<u64, PathBuf> {
    let contents = |(_, entry): &(PathBuf, Entry)| match entry {
        Entry::Contents { number, file } => Some((*number, file.clone())),
        Entry::Module { .. } | Entry::Launch(_) | Entry::Unordered(_) => None,
    };
    // Of the processes that have the buffer, the first one.
    entries.iter().rev().filter_map(contents).collect()
}

/// A launch in words.
fn describe(launched: &Launched) -> String {
    let size = launched.size;
    let cluster =
        if size.cluster == [1; 3] { String::new() } else { format!(", cluster {}", format_size(size.cluster)) };
    let shared = if size.shared == 0 { String::new() } else { format!(", {} bytes of shared memory", size.shared) };
    let (grid, block) = (format_size(size.grid), format_size(size.block));
    let test = launched.test.as_ref().map_or(String::new(), |test| format!(" in {test}"));
    format!("launch {}{test}: grid {grid}, block {block}{cluster}{shared}", launched.number)
}

/// Prints the findings, and a summary. Whether there is a finding that is not a warning.
pub fn print(kernels: &[Launches], races: &[Unordered], has_races: bool) -> bool {
    let mut has_finding = !races.is_empty();
    races.iter().for_each(race);
    for launches in kernels {
        has_finding |= findings(launches);
    }
    summary(kernels, has_races, has_finding);
    has_finding
}

/// Prints a race of operations of streams.
fn race(race: &Unordered) {
    let [first, second] = &race.operations;
    let said = |of: &Submitted| {
        let operation = match &of.operation {
            Operation::Kernel { name, launch } => format!("kernel '{name}', launch {launch}"),
            Operation::Copy => "a copy".to_owned(),
            Operation::Fill => "a fill of memory".to_owned(),
            Operation::Free => "an operation that frees the memory".to_owned(),
        };
        let stream = if of.stream == 0 { "the default stream".to_owned() } else { format!("stream {}", of.stream) };
        let access = if of.writes { "writes" } else { "reads" };
        format!("{operation}, in {stream}: {access} the bytes")
    };
    let test = race.test.as_ref().map(|test| format!("in {test}"));
    let (kind, help) = match race.is_of_graph {
        true => (
            "nodes of a graph",
            "let the second node depend on the first, by `cudaGraphAddDependencies`, or by an event during the capture",
        ),
        false => (
            "operations of streams",
            "let the second stream wait for an event of the first, by `cudaEventRecord` and `cudaStreamWaitEvent`, or wait for \
             the first stream before the second call",
        ),
    };
    let plural = if race.bytes == 1 { "byte" } else { "bytes" };
    let diagnostic = Diagnostic {
        notes: [format!("the first call: {}", said(first)), format!("the second call: {}", said(second))]
            .into_iter()
            .chain(test)
            .collect(),
        help: Some(help.to_owned()),
        ..Diagnostic::new(format!("two {kind} have no order, and access {} {plural} at `{}`", race.bytes, race.place))
    };
    render::message(&Message { level: Level::ERROR, id: Some(STREAMS), diagnostic: &diagnostic, first: None }, None);
}

/// Prints each finding of a kernel once, with the first launch that shows it.
fn findings(launches: &Launches) -> bool {
    let mut found: Vec<(&Fault, &Launched, usize)> = Vec::new();
    for launched in &launches.all {
        for finding in &launched.findings {
            let site = |fault: &Fault| (fault.kind, fault.site.at, fault.other.as_ref().map(|other| other.at));
            match found.iter_mut().find(|(other, ..)| site(other) == site(finding)) {
                Some((.., count)) => *count += 1,
                None => found.push((finding, launched, 1)),
            }
        }
    }
    let name = format!("PTX of {}", launches.kernel);
    let ptx = RunPtx::new(Input::new(name, launches.ptx.clone().into_bytes()));
    for (finding, launched, count) in &found {
        let more = if *count > 1 { format!(", and {} more", count - 1) } else { String::new() };
        let level = if finding.kind.is_warning() { Importance::Warning } else { Importance::Wrong };
        text::fault(finding, &launches.kernel, level, vec![format!("{}{more}", describe(launched))], &ptx);
    }
    let mut notes: Vec<_> = launches.all.iter().flat_map(|launched| &launched.notes).collect();
    notes.sort();
    notes.dedup();
    for (line, difference) in notes {
        let location = ptx.line(InstPlace::line(*line));
        render::note(&Diagnostic { location, ..Diagnostic::new(&**difference) }, Some(&ptx.input));
    }
    found.iter().any(|(finding, ..)| !finding.kind.is_warning())
}

/// Prints the number of launches, and the result for all schedules.
fn summary(kernels: &[Launches], has_races: bool, has_finding: bool) {
    let all = || kernels.iter().flat_map(|launches| &launches.all);
    let counted = |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let (launches, cut) = (all().count(), all().filter(|launched| launched.is_cut).count());
    let checked = all().filter(|launched| launched.is_checked).count();
    let steps: u64 = all().map(|launched| launched.steps).sum();
    let of = counted(launches, "launch", "launches") + " of " + &counted(kernels.len(), "kernel", "kernels");
    if launches == 0 {
        return render::say("the program launched no kernel on the device of ptx-atomics");
    }
    if cut > 0 {
        render::say(&format!("{cut} of them stopped at the budget: see --budget"));
    }
    let is_race = |launched: &Launched| launched.findings.iter().any(|finding| finding.kind == FaultKind::Race);
    for kernel in kernels {
        let open =
            kernel.all.iter().find(|launched| launched.is_checked && !launched.is_determinate && !is_race(launched));
        let why = open.and_then(|launched| Some((launched, launched.dependence.as_ref()?)));
        if let Some((launched, why)) = why {
            render::say(&format!(
                "note: kernel '{}', launch {}: schedules may differ: {why}",
                kernel.kernel, launched.number
            ));
        }
    }
    let is_determinate = all().all(|launched| launched.is_determinate || !launched.is_checked);
    let verdict = match () {
        () if has_finding => "with the findings above".to_owned(),
        () if !has_races || checked == 0 => "without a finding; not checked for races".to_owned(),
        () if is_determinate && checked == launches => "no race in any schedule".to_owned(),
        () if is_determinate => format!("no race in any schedule of the {checked} that were checked"),
        () => format!("no race in the executed schedules of the {checked} that were checked"),
    };
    render::say(&format!("{of}: {steps} instructions by threads, {verdict}"));
}
