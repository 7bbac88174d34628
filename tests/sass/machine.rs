//! Machine code in the format of nvdisasm.

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    process::Command,
};

use libtest_mimic::Failed;
use ptx_lowering::{Target, sass::Sass};

use testing::{Assembler, root, success};

pub const NVDISASM: &str = "nvdisasm-13.5";
const OF_MEMORY: [&str; 16] = [
    "LD",
    "LDG",
    "LDS",
    "ST",
    "STG",
    "STS",
    "ATOM",
    "ATOMG",
    "ATOMS",
    "RED",
    "REDG",
    "MEMBAR",
    "ERRBAR",
    "CGAERRBAR",
    "CCTL",
    "QSPC",
];

/// An instruction of a kernel.
#[derive(Debug)]
pub struct Placed {
    pub opcode: String,
    /// Some lanes may not execute the instruction: it has a predicate, or an earlier branch or exit with a predicate
    /// skips it.
    pub guarded: bool,
}

/// The instructions of a kernel, in the order of the text.
pub struct Kernel(pub Vec<Placed>);

impl Placed {
    fn is_one_of(&self, mnemonics: &[&str]) -> bool {
        mnemonics.contains(&self.opcode.split('.').next().unwrap_or_default())
    }

    pub fn is_barrier(&self) -> bool {
        self.is_one_of(&["MEMBAR", "ERRBAR", "CGAERRBAR", "CCTL"])
    }
}

impl Kernel {
    /// The memory and fence opcodes.
    pub fn sass(&self) -> Sass {
        let of_memory = self.0.iter().filter(|placed| placed.is_one_of(&OF_MEMORY));
        of_memory.map(|placed| placed.opcode.clone()).collect()
    }

    /// Whether the lanes of a warp cooperate.
    pub fn is_of_warp(&self) -> bool {
        self.0.iter().any(|placed| placed.is_one_of(&["VOTE", "VOTEU", "REDUX", "CREDUX"]))
    }

    /// The barriers that some lanes may not execute.
    pub fn guarded_barriers(&self) -> impl Iterator<Item = &Placed> {
        self.0.iter().filter(|placed| placed.is_barrier() && placed.guarded)
    }

    /// Parses the lines of a kernel.
    fn from_lines(lines: &[&str]) -> Self {
        let mut places = HashMap::new();
        let mut instructions = Vec::new();
        for line in lines {
            if let Some(label) = line.strip_suffix(':') {
                places.insert(label, instructions.len());
            }
            instructions
                .extend(line.strip_prefix("/*").and_then(|line| line.split_once("*/")).map(|(_, text)| text.trim()));
        }
        let predicate = |text: &str| text.starts_with('@') && !text.starts_with("@PT ") && !text.starts_with("@UPT ");
        // The line up to which some lanes may be elsewhere.
        let mut apart = 0;
        let placed = instructions.into_iter().enumerate().map(|(index, text)| {
            let guarded = predicate(text) || index < apart;
            let opcode = text.split([' ', '{', ';']).find(|word| !word.is_empty() && !word.starts_with('@'));
            let opcode = opcode.unwrap_or_default().to_owned();
            if predicate(text) {
                let label = text.split(['(', ')']).nth(1).unwrap_or_default();
                apart = apart.max(match opcode.split('.').next() {
                    Some("BRA") => places.get(label).copied().unwrap_or(usize::MAX),
                    Some("EXIT") => usize::MAX,
                    _ => 0,
                });
            }
            Placed { opcode, guarded }
        });
        Self(placed.collect())
    }
}

/// The machine code of an assembler for kernels with the names of [`kernel_name`].
pub fn disassembled(assembler: &Assembler, target: &Target, kernels: &[String]) -> Result<Vec<Kernel>, Failed> {
    let header = format!(".version {}\n.target {}\n.address_size 64\n", target.ptx, target.sm);
    let file = tempfile::NamedTempFile::new()?;
    assembler.assemble_to(file.path(), target, (header + &kernels.concat()).as_bytes())?;
    let text = success(Command::new(nvdisasm()).args(["-c", "-ndf"]).arg(file.path()))?;
    let mut lines: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut of_kernel = None;
    for line in text.lines().map(str::trim) {
        of_kernel = line.strip_prefix(".text.").and_then(|line| line.strip_suffix(':')).or(of_kernel);
        lines.entry(of_kernel.unwrap_or_default()).or_default().push(line);
    }
    let found = (0..kernels.len()).map(|index| lines.get(&*kernel_name(index)).map(|lines| Kernel::from_lines(lines)));
    Ok(found.collect::<Option<_>>().ok_or("a kernel is missing")?)
}

pub fn kernel_name(index: usize) -> String {
    format!("cell_{index}")
}

/// The missing assembler or disassembler, if any.
pub fn missing(assembler: &Assembler) -> Option<&'static str> {
    assembler.missing().or((!nvdisasm().exists()).then_some(NVDISASM))
}

fn nvdisasm() -> PathBuf {
    root().join(".tools").join(NVDISASM).join("nvidia/cu13/bin/nvdisasm")
}
