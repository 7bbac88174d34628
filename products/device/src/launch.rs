//! Launches: their limits, their execution, and the errors of their findings.

use std::{
    io::{IsTerminal, Write},
    ops::ControlFlow,
};

use ptx_execute::{Argument, Detail, Fault, FaultKind, Launch as OnDevice, Progress, Report, RunOptions};
use ptx_isa::{
    FullSize,
    launch::{MOST_BLOCK, MOST_CLUSTER, MOST_GRID, MOST_THREADS, PORTABLE_CLUSTER, count},
};

use crate::{
    attributes,
    error::{Done, Error},
    gpu::Gpu,
    handle::Handle,
    objects::{Kernel, Launch, Stream},
    report::{Given, Launched, Operation},
    say::say,
};

/// The maximum dynamic shared memory of a kernel that does not ask for more.
pub const PORTABLE_SHARED: u32 = 48 << 10;
/// The bytes of kernels' output that are held until the program waits for the kernels.
const MOST_PRINTED: usize = 1 << 20;

/// The findings that are errors of the API, the first one first.
const ERRORS: [(FaultKind, Error); 7] = [
    (FaultKind::Trap, Error::LaunchFailed),
    (FaultKind::OutOfBounds, Error::IllegalAddress),
    (FaultKind::Misaligned, Error::MisalignedAddress),
    (FaultKind::Absent, Error::IllegalAddress),
    (FaultKind::Unsupported, Error::NotSupported),
    (FaultKind::Hang, Error::Timeout),
    (FaultKind::StepLimit, Error::Timeout),
];

impl Gpu {
    /// Checks the sizes of a launch.
    pub fn check(&mut self, launch: &Launch) -> Done {
        let Launch { kernel, size, is_cooperative, .. } = launch;
        let facts = self.facts(*kernel)?;
        let kernel = self.kernels.get(*kernel)?;
        let FullSize { grid, block, cluster, shared } = *size;
        let is_outside =
            |sizes: [u32; 3], most: [u32; 3]| sizes.iter().zip(most).any(|(one, most)| *one == 0 || *one > most);
        if is_outside(grid, MOST_GRID) || is_outside(block, MOST_BLOCK) || count(block) > MOST_THREADS.into() {
            return Err(Error::InvalidConfiguration);
        }
        if kernel.head.most_threads.is_some_and(|most| count(block) > most.into()) {
            return Err(Error::OutOfResources);
        }
        let most_shared = kernel.most_shared.unwrap_or(PORTABLE_SHARED).max(PORTABLE_SHARED);
        if facts.shared + u64::from(shared) > most_shared.into() {
            return Err(Error::InvalidValue);
        }
        let most = if kernel.allows_large_clusters { MOST_CLUSTER } else { PORTABLE_CLUSTER };
        let divides = (0..3).all(|axis| cluster[axis] > 0 && grid[axis].is_multiple_of(cluster[axis]));
        if !divides || count(cluster) > most.into() {
            return Err(Error::InvalidCluster);
        }
        let resident = self.resident(launch.kernel, count(block) as u32, shared)?;
        let all = u64::from(resident) * u64::from(attributes::MULTIPROCESSORS);
        if *is_cooperative && count(grid) > all { Err(Error::TooLarge) } else { Ok(()) }
    }

    /// The number of CTAs that a multiprocessor can hold at the same time.
    pub fn resident(&mut self, kernel: Handle<Kernel>, threads: u32, shared: u32) -> Done<u32> {
        let facts = self.facts(kernel)?;
        let limits = attributes::limits(self.sm);
        if threads == 0 || threads > MOST_THREADS {
            return Ok(0);
        }
        let bytes = facts.shared as u32 + shared + attributes::RESERVED_SHARED;
        let by_threads = limits.threads / threads.next_multiple_of(32);
        Ok(by_threads.min(limits.shared / bytes.max(1)).min(limits.ctas))
    }

    /// Runs a launch to its end.
    pub fn launch(&mut self, stream: Handle<Stream>, launch: &Launch) -> Done {
        self.check(launch)?;
        let given: Vec<Given> = launch.arguments.iter().map(|bytes| self.given(bytes)).collect();
        let kernel = self.kernels.get(launch.kernel)?;
        let (module, name) = (kernel.module, kernel.name.clone());
        let FullSize { grid, block, cluster, shared } = launch.size;
        let signature = (launch.kernel.0, [grid, block, cluster], shared, given.clone());
        let is_new = self.options.every || !self.checked.contains(&signature);
        let races = self.options.is_checked(&name) && is_new;
        if races {
            self.checked.insert(signature);
        }
        if self.options.contents {
            given.iter().for_each(|given| self.record_contents(given));
        }
        self.launches += 1;
        let budget = self.options.budget;
        self.device.set_options(RunOptions {
            races,
            step_limit: u64::MAX,
            most_steps: budget,
            memory_limit: self.memory.limit,
            lenient: true,
            presence: true,
            footprint: self.is_concurrent() && self.options.is_checked(&name),
            ..RunOptions::default()
        });
        let on_device = OnDevice {
            module,
            dependent: launch.is_dependent,
            ..OnDevice::new(name.clone(), launch.size, launch.arguments.iter().cloned().map(Argument::Bytes).collect())
        };
        let mut progress = Shown::new(self.options.progress, &name, self.launches);
        let done = self.device.launch_with(&on_device, &mut |progress_of| progress.show(progress_of));
        progress.end();
        let mut report = match done {
            Ok(report) => report,
            Err(errors) => {
                errors.iter().for_each(|error| say(&format!("kernel '{name}' was not launched: {error}")));
                return Err(Error::InvalidValue);
            }
        };
        self.printed.push_str(&report.printed);
        if self.printed.len() > MOST_PRINTED {
            self.flush();
        }
        let is_cut = report.work >= budget;
        self.fault = if is_cut { Some(Error::Timeout) } else { error(&report) };
        self.tell(&name, &report, is_cut);
        let given = if self.options.record { given } else { Vec::new() };
        let footprint = std::mem::take(&mut report.footprint);
        self.recorder.launch(Launched::new(self.launches, on_device, given, (races, is_cut), report));
        self.order(stream, Operation::Kernel { name, launch: self.launches }, footprint);
        Ok(())
    }

    /// Says why a kernel has stopped.
    fn tell(&self, kernel: &str, report: &Report, is_cut: bool) {
        if is_cut {
            let (launch, time, options) = (self.launches, report.time, "--budget N, --no-races, or smaller inputs");
            say(&format!(
                "kernel '{kernel}', launch {launch}: stopped after {time} instructions of warps; try {options}"
            ));
        }
        if let Some(fault) = self.fault.and_then(|_| cause(report)) {
            let launch = self.launches;
            say(&format!("kernel '{kernel}', launch {launch}: {fault}, at {}", fault.site));
        }
    }

    /// Records the contents of the buffers of an argument, unless an earlier launch had them.
    fn record_contents(&mut self, given: &Given) {
        match given {
            Given::Bytes(_) => {}
            Given::Struct(parts) => parts.iter().for_each(|part| self.record_contents(part)),
            Given::Buffer { number, bytes, .. } if self.recorder.lacks_contents(*number) => {
                let found = self.memory.allocations.values().find(|allocation| allocation.number == *number);
                let contents = found.and_then(|found| self.device.contents(found.buffer).get(..*bytes as usize));
                self.recorder.contents(*number, contents.unwrap_or_default());
            }
            Given::Buffer { .. } => {}
        }
    }

    /// An argument without its address, if it is a device pointer or a struct with device pointers.
    fn given(&self, bytes: &[u8]) -> Given {
        if bytes.len() > 8 {
            return Given::Struct(bytes.chunks(8).map(|part| self.given(part)).collect());
        }
        let address = bytes.try_into().map(u64::from_le_bytes).unwrap_or(0);
        match self.memory.find(address) {
            Some((start, allocation)) => {
                Given::Buffer { number: allocation.number, bytes: allocation.bytes, offset: address - start }
            }
            None => Given::Bytes(bytes.to_vec()),
        }
    }
}

/// The finding that is an error of the API.
fn cause(report: &Report) -> Option<&Fault> {
    ERRORS.iter().find_map(|(kind, _)| report.findings.iter().find(|finding| finding.kind == *kind))
}

fn error(report: &Report) -> Option<Error> {
    let fault = cause(report)?;
    if fault.detail == Detail::Assertion {
        return Some(Error::Assertion);
    }
    ERRORS.iter().find(|(kind, _)| *kind == fault.kind).map(|(_, error)| *error)
}

/// The progress of a launch on a terminal.
struct Shown {
    title: Option<String>,
    is_shown: bool,
}

/// The number of instructions of threads from which on a launch shows its progress.
const LONG: u64 = 50_000_000;

impl Shown {
    fn new(is_wanted: bool, kernel: &str, launch: u64) -> Self {
        let is_wanted = is_wanted && std::io::stderr().is_terminal();
        Self { title: is_wanted.then(|| format!("kernel '{kernel}', launch {launch}")), is_shown: false }
    }

    fn show(&mut self, progress: Progress) -> ControlFlow<()> {
        if let Some(title) = self.title.as_ref().filter(|_| progress.steps > LONG) {
            let (millions, Progress { ended, ctas, .. }) = (progress.steps / 1_000_000, progress);
            let _ = write!(
                std::io::stderr(),
                "\rptx-atomics: {title}: {millions} million instructions, {ended} of {ctas} CTAs ended "
            );
            self.is_shown = true;
        }
        ControlFlow::Continue(())
    }

    fn end(&self) {
        if self.is_shown {
            let _ = writeln!(std::io::stderr());
        }
    }
}
