//! Prints the kernel models of PTX files: `kernels a.ptx b.ptx`. With `--summary` first, it only counts.

use std::{env, fs, time::Instant};

use ptx_hazards::{Address, EventKind, Kernel, ObjectKind, read};
use ptx_isa::Module;

fn main() {
    let mut arguments = env::args().skip(1).peekable();
    let only_counts = arguments.next_if(|argument| argument == "--summary").is_some();
    for path in arguments {
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("{path}: {error}");
                continue;
            }
        };
        let start = Instant::now();
        let module: Module = match text.parse() {
            Ok(module) => module,
            Err(errors) => {
                eprintln!("{path}: {errors}");
                continue;
            }
        };
        let parsed = start.elapsed();
        let kernels = read(&module);
        let all = start.elapsed();
        for kernel in &kernels {
            if !only_counts {
                println!("{kernel}");
            }
        }
        let (known, total) = kernels.iter().flat_map(addresses).fold((0, 0), |(known, total), (kernel, address)| {
            let is_known = kernel.objects.get(address.object).is_some_and(|object| object.kind != ObjectKind::Unknown);
            (known + usize::from(is_known), total + 1)
        });
        let unbounded = |kernel: &Kernel, address: &Address| {
            let has_none =
                |(value, _): &(usize, i64)| kernel.unknowns.get(*value).is_none_or(|value| value.range.is_none());
            address.offset.terms.iter().any(has_none)
        };
        let open = kernels.iter().flat_map(addresses).filter(|(kernel, address)| unbounded(kernel, address)).count();
        let events: usize = kernels.iter().flat_map(|kernel| &kernel.blocks).map(|block| block.events.len()).sum();
        let unread: usize = kernels.iter().map(|kernel| kernel.unread.len()).sum();
        eprintln!(
            "{path}: {} kernels, {events} events, {known} of {total} addresses known, {open} without range, {unread} unread, {:.0} ms to parse, {:.0} ms to read",
            kernels.len(),
            parsed.as_secs_f64() * 1e3,
            (all - parsed).as_secs_f64() * 1e3,
        );
    }
}

fn addresses(kernel: &Kernel) -> Vec<(&Kernel, &Address)> {
    let mut found = Vec::new();
    for event in kernel.blocks.iter().flat_map(|block| &block.events) {
        match &event.kind {
            EventKind::Access(access) | EventKind::Deallocate(access) | EventKind::Allocate { access, .. } => {
                found.push(&access.address)
            }
            EventKind::Atomic { access, .. } => found.push(&access.address),
            EventKind::Start(start) => {
                found.extend(start.accesses.iter().map(|access| &access.address));
                found.extend(&start.barrier);
            }
            EventKind::TensorCommit { barrier, .. }
            | EventKind::CopyArrive(barrier)
            | EventKind::Initialize { barrier, .. }
            | EventKind::Invalidate(barrier)
            | EventKind::Arrive { barrier, .. }
            | EventKind::Wait { barrier, .. } => found.push(barrier),
            _ => {}
        }
    }
    found.into_iter().map(|address| (kernel, address)).collect()
}
