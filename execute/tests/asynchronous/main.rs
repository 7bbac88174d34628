//! Asynchronous operations: what they compute, what is found without each line that orders them, and the bugs that others reported.

mod orders;
mod reported;
mod values;

use ptx_execute::{Argument, Buffer, Contents, Device, Finding, FindingKind, Launch, Options};
use ptx_isa::Module;

/// What a kernel of one CTA writes to its first parameter, and what is found. Others get these bytes.
pub fn outcome(text: &str, launch: &Launch, inputs: &[&[u8]], options: Options) -> (Vec<u8>, Vec<Finding>) {
    let module: Module = text.parse().unwrap_or_else(|error| panic!("{error}"));
    let mut device = Device::new(&module, options).expect("a device");
    let out = device.allocate("out", Contents::Bytes(vec![0; 1 << 18]));
    let buffers: Vec<Buffer> =
        inputs.iter().map(|bytes| device.allocate("in", Contents::Bytes(bytes.to_vec()))).collect();
    let arguments = launch.arguments.iter().map(|argument| match argument {
        // Buffers are given by their places.
        Argument::Bytes(bytes) if bytes.len() == 1 => match bytes[0] {
            0 => Argument::Buffer(out, 0),
            index => Argument::Buffer(buffers[index as usize - 1], 0),
        },
        Argument::TensorMap(map, _) => Argument::TensorMap(map.clone(), buffers[map.address as usize - 1]),
        other => other.clone(),
    });
    let launch = Launch { arguments: arguments.collect(), ..launch.clone() };
    let report = device.launch(&launch).unwrap_or_else(|errors| panic!("{errors:?}"));
    (device.contents(out).to_vec(), report.findings)
}

/// A buffer that stands for one.
pub fn any_buffer() -> Buffer {
    let module: Module = ".version 8.0\n.target sm_90\n.address_size 64\n".parse().expect("PTX");
    Device::new(&module, Options::default()).expect("a device").allocate("any", Contents::Bytes(Vec::new()))
}

/// The worst that is found, in a word.
pub fn verdict(findings: &[Finding]) -> &'static str {
    let has = |kind: FindingKind| findings.iter().any(|finding| finding.kind == kind);
    match () {
        () if has(FindingKind::Race) => "race",
        () if has(FindingKind::Hang) => "hangs",
        () if has(FindingKind::TensorMemory) => "leaks",
        () if has(FindingKind::BarrierCount) => "count",
        () if findings.iter().any(|finding| finding.kind != FindingKind::SameValue) => "misuse",
        () => "redundant",
    }
}
