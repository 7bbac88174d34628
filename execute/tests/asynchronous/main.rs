//! Asynchronous operations: what they compute, what is found without each line that orders them, and the bugs that others reported.

mod orders;
mod reported;
mod values;

use ptx_execute::{Argument, Buffer, Contents, Device, Finding, FindingKind, Launch, Options, Report, TensorMap};
use ptx_isa::{Head, Module};

/// A tensor of two dimensions with elements of 32 bits, of which a copy has so many bytes.
pub fn map_of(bytes: u32) -> TensorMap {
    use ptx_execute::matrix::map::TensorElement::U32;
    let mut map = TensorMap { element: U32, rank: 2, ..TensorMap::default() };
    (map.sizes[0], map.sizes[1], map.strides[0]) = (4096, 4096, 16384);
    (map.box_sizes[0], map.box_sizes[1]) = (bytes / 4, 1);
    map.element_strides = [1; 5];
    map
}

/// Runs the kernel of a module with buffers that grow, the same number for all that are numbers, and boxes of so many bytes for
/// its tensor maps.
pub fn run(module: &Module, grid: u32, number: u64, boxes: &[u32], options: Options) -> Report {
    let function = module.functions().find(|function| function.body.is_some()).expect("a kernel");
    let head = Head::read(&function.head);
    let block = head.required_threads.expect("the size of a CTA");
    let cluster = head.required_ctas.unwrap_or([1; 3]);
    let mut device = Device::new(module, options).expect("a device");
    let mut boxes = boxes.iter().copied().chain(std::iter::repeat(4096));
    let argument = |parameter: &ptx_isa::Parameter| match (parameter.elements, parameter.ty.map_or(8, |ty| ty.bits())) {
        (Some(_), _) => {
            let buffer = device.allocate("tensor", Contents::Grows(1 << 28));
            Argument::TensorMap(Box::new(map_of(boxes.next().unwrap_or(0))), buffer)
        }
        (None, 64) => Argument::Buffer(device.allocate("buffer", Contents::Grows(1 << 28)), 0),
        (None, bits) => Argument::Bytes(number.to_le_bytes()[..bits as usize / 8].to_vec()),
    };
    let arguments: Vec<Argument> = head.parameters.iter().map(argument).collect();
    let launch = Launch { grid: [grid, 1, 1], cluster, ..Launch::new(&*function.name, block, arguments) };
    device.launch(&launch).unwrap_or_else(|errors| panic!("{errors:?}"))
}

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
