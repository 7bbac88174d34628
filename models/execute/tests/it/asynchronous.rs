//! Asynchronous operations: their results, the findings without each line that orders them, and reported bugs of other
//! projects.

mod orders;
mod reported;
mod values;

use ptx_execute::{Argument, Buffer, Contents, Device, Fault, FaultKind, Launch, RunOptions};
use ptx_isa::Module;

/// The bytes that a kernel of one CTA writes to its first parameter, and the findings. `inputs` are the contents of its
/// further parameters.
pub fn outcome(text: &str, launch: &Launch, inputs: &[&[u8]], options: RunOptions) -> (Vec<u8>, Vec<Fault>) {
    let module: Module = text.parse().unwrap_or_else(|error| panic!("{error}"));
    let mut device = Device::new(&module, options).expect("a device");
    let out = device.allocate("out", Contents::Bytes(vec![0; 1 << 18]));
    let buffers: Vec<Buffer> =
        inputs.iter().map(|bytes| device.allocate("in", Contents::Bytes(bytes.to_vec()))).collect();
    let arguments = launch.arguments.iter().map(|argument| match argument {
        // An argument of one byte is the index of a buffer.
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

/// A placeholder for a buffer.
pub fn any_buffer() -> Buffer {
    let module: Module = ".version 8.0\n.target sm_90\n.address_size 64\n".parse().expect("PTX");
    Device::new(&module, RunOptions::default()).expect("a device").allocate("any", Contents::Bytes(Vec::new()))
}

/// The most severe finding, in a word.
pub fn verdict(findings: &[Fault]) -> &'static str {
    let has = |kind: FaultKind| findings.iter().any(|finding| finding.kind == kind);
    match () {
        () if has(FaultKind::Race) => "race",
        () if has(FaultKind::Hang) => "hangs",
        () if has(FaultKind::TensorMemory) => "leaks",
        () if has(FaultKind::BarrierCount) => "count",
        () if findings.iter().any(|finding| finding.kind != FaultKind::SameValue) => "misuse",
        () => "redundant",
    }
}

/// Instructions that are parsed but not supported. A finding names each of them.
#[test]
fn refused() {
    for instruction in [
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.sync_restrict::shared::read::mma::a.shared::cluster.b64 [bar]",
        "mbarrier.arrive.shared::cluster.multicast::cluster::32b.b64 _, [bar], 1",
        "mbarrier.check_layout.layout::v1.shared::cta.b64 %p0, [bar]",
        "mbarrier.test_wait.phase_type::primary.shared::cta.b64 %p0|%p1, [bar], 0",
        "multimem.st.async.release.sys.global.u32 [0], 1",
        "fabric.submit",
    ] {
        let text = format!(
            ".version 9.4\n.target sm_107a\n.address_size 64\n.visible .entry k() {{\n.reg .pred %p<2>;\n\
             .shared .align 8 .b64 bar;\n{instruction};\nret;\n}}\n"
        );
        let (_, findings) = outcome(&text, &Launch::new("k", [1; 3], Vec::new()), &[], RunOptions::default());
        let mnemonic = instruction.split(' ').next().expect("a mnemonic");
        let is_said = |finding: &Fault| finding.kind == FaultKind::Unsupported && finding.message.contains(mnemonic);
        assert!(findings.iter().any(is_said), "{instruction}: {findings:?}");
    }
}
