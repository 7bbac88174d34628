//! The bugs of `tests/async/reported`, and the launches of their kernels on the CPU machine.
//!
//! A file is the fixed form. Without the lines that end in `// the fix`, and with the lines after `// before: `, it is
//! the form before the fix.

use std::{fs, iter};

use ptx_execute::{
    Argument, Contents, Device, Fault, FaultKind, Launch, LaunchError, Report, RunOptions, Site, TensorMap,
    matrix::map::TensorElement,
};
use ptx_isa::{FullSize, Function, LaunchSize, Module, Parameter};

use crate::root;

/// A reported bug.
#[derive(Clone, Debug)]
pub struct Reported {
    /// The name of its file.
    pub name: String,
    /// The PTX before the fix.
    pub before: String,
    /// The PTX after the fix.
    pub fixed: String,
}

/// All reported bugs, sorted by name.
pub fn reported() -> Vec<Reported> {
    let files = fs::read_dir(root().join("tests/async/reported")).expect("the folder of reported bugs");
    let mut files: Vec<_> = files.map(|file| file.expect("a file of the folder").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "ptx"));
    files.sort();
    let read = |file: &std::path::PathBuf| {
        let fixed = fs::read_to_string(file).expect("a text");
        let lines = fixed.lines().filter(|line| !line.trim_end().ends_with("// the fix"));
        let before = lines.map(|line| line.replacen("// before: ", "", 1) + "\n").collect();
        Reported { name: file.file_stem().expect("a name").to_string_lossy().into_owned(), before, fixed }
    };
    files.iter().map(read).collect()
}

/// The box sizes of tensor maps in bytes, which the PTX of a kernel does not contain.
const BOXES: [(&str, &[u32]); 10] = [
    ("cudnn_784", &[2048]),
    ("cula_114", &[2048]),
    ("cutlass_3647", &[16384, 16384]),
    ("deepgemm_389", &[4096, 1024, 512]),
    ("fastvideo_1819", &[4096]),
    ("flashkda_24_empty", &[2048, 2048]),
    ("flashkda_24_init", &[2048]),
    ("flashkda_24_store", &[4096, 8192]),
    ("tilelang_2634", &[4096, 1024]),
    ("transformerengine_2695", &[2048]),
];

/// The box sizes for the kernel of a file; empty for other kernels.
pub fn boxes(name: &str) -> &'static [u32] {
    BOXES.iter().find(|(other, _)| *other == name).map_or(&[], |(_, boxes)| boxes)
}

/// The seeds that show the fault of a kernel, each with a value for its numeric parameters. Loops are skipped, run
/// once, and run often.
pub const INPUTS: [(u64, u64); 5] = [(0, 3), (1, 2), (2, 4), (3, 6), (0, 0)];

/// A tensor map of two dimensions with elements of 32 bits. A copy transfers `bytes` bytes.
pub fn map_of(bytes: u32) -> TensorMap {
    let mut map = TensorMap { element: TensorElement::U32, rank: 2, ..TensorMap::default() };
    (map.sizes[0], map.sizes[1], map.strides[0]) = (4096, 4096, 16384);
    (map.box_sizes[0], map.box_sizes[1]) = (bytes / 4, 1);
    map.element_strides = [1; 5];
    map
}

/// Runs a kernel with growing buffers, the same number for all numeric parameters, and boxes of the given sizes for its
/// tensor maps.
/// # Errors
///
/// The reason why the kernel cannot be launched.
pub fn run(
    module: &Module,
    kernel: &Function,
    number: u64,
    boxes: &[u32],
    options: RunOptions,
) -> Result<Report, Vec<LaunchError>> {
    let head = &kernel.head;
    let known = LaunchSize::from_head(head);
    let block = known.block.unwrap_or([head.most_threads.unwrap_or(128), 1, 1]);
    let cluster = known.cluster.unwrap_or([1; 3]);
    // `try_cancel` needs CTAs that have not begun.
    let takes = kernel.body.iter().flatten().any(|line| line.text.contains("try_cancel"));
    let grid = if takes { [96, 1, 1] } else { cluster };
    let mut device = Device::new(module, options)?;
    let mut boxes = boxes.iter().copied().chain(iter::repeat(4096));
    let argument = |parameter: &Parameter| match (parameter.elements, parameter.ty.map_or(8, |ty| ty.bits())) {
        (Some(_), _) => {
            let buffer = device.allocate("tensor", Contents::Grows(1 << 28));
            Argument::TensorMap(Box::new(map_of(boxes.next().unwrap_or(0))), buffer)
        }
        (None, 64) => Argument::Buffer(device.allocate("buffer", Contents::Grows(1 << 28)), 0),
        (None, bits) => Argument::Bytes(number.to_le_bytes()[..bits as usize / 8].to_vec()),
    };
    let arguments: Vec<Argument> = head.parameters.iter().map(argument).collect();
    device.launch(&Launch::new(&*kernel.name, FullSize { grid, cluster, ..block.into() }, arguments))
}

/// The class of two racing accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// One access initializes, uses or invalidates an mbarrier.
    Barrier,
    /// One access is part of an asynchronous operation.
    Asynchronous,
    /// Two ordinary accesses.
    Ordinary,
}

impl Class {
    fn from_site(site: &Site) -> Self {
        match site.family() {
            Some(family) if family.is_mbarrier() => Self::Barrier,
            Some(_) => Self::Asynchronous,
            None => Self::Ordinary,
        }
    }
}

/// The class of a data race, and the lines of both accesses; `None` for other findings.
pub fn race(finding: &Fault) -> Option<(Class, [u32; 2])> {
    let other = finding.other.as_ref().filter(|_| finding.kind == FaultKind::Race)?;
    let class = Class::from_site(other).min(Class::from_site(&finding.site));
    Some((class, [other.at.line, finding.site.at.line]))
}
