//! The kinds of files, recognized by the content, or else by the name.

use std::path::Path;

use ptx_atomics::{isolated::Language, pass::Input};

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// PTX text.
    Ptx,
    /// LLVM IR or MLIR, as text or in binary form.
    Ir(Language),
    /// A source that must be compiled to LLVM IR or PTX.
    Source,
    /// A binary that may contain PTX: an executable, a library, an archive, an object, a cubin or a fat binary.
    Binary,
    /// A litmus test.
    Litmus,
}

/// The first bytes of binary files.
const MAGIC: [(&[u8], Kind); 7] = [
    (b"BC\xc0\xde", Kind::Ir(Language::Llvm)),
    (b"\xde\xc0\x17\x0b", Kind::Ir(Language::Llvm)),
    (b"ML\xefR", Kind::Ir(Language::Mlir)),
    (b"\x7fELF", Kind::Binary),
    (b"!<arch>\n", Kind::Binary),
    (b"\x50\xed\x55\xba", Kind::Binary),
    (b"MZ", Kind::Binary),
];

/// The first words of a text after its comments. Each word determines the kind.
const FIRST: [(&str, Kind); 14] = [
    (".version", Kind::Ptx),
    ("source_filename", Kind::Ir(Language::Llvm)),
    ("target datalayout", Kind::Ir(Language::Llvm)),
    ("target triple", Kind::Ir(Language::Llvm)),
    ("define ", Kind::Ir(Language::Llvm)),
    ("declare ", Kind::Ir(Language::Llvm)),
    ("attributes #", Kind::Ir(Language::Llvm)),
    ("@", Kind::Ir(Language::Llvm)),
    ("%", Kind::Ir(Language::Llvm)),
    ("module {", Kind::Ir(Language::Mlir)),
    ("module attributes", Kind::Ir(Language::Mlir)),
    ("gpu.module", Kind::Ir(Language::Mlir)),
    ("\"builtin.module\"", Kind::Ir(Language::Mlir)),
    ("PTX ", Kind::Litmus),
];

/// The extensions of names. `to-llvm-ir.sh` has the extensions of sources, too.
const ENDINGS: [(&str, Kind); 17] = [
    ("ptx", Kind::Ptx),
    ("ll", Kind::Ir(Language::Llvm)),
    ("llir", Kind::Ir(Language::Llvm)),
    ("bc", Kind::Ir(Language::Llvm)),
    ("mlir", Kind::Ir(Language::Mlir)),
    ("mlirbc", Kind::Ir(Language::Mlir)),
    ("rs", Kind::Source),
    ("cu", Kind::Source),
    ("c", Kind::Source),
    ("cpp", Kind::Source),
    ("cc", Kind::Source),
    ("cubin", Kind::Binary),
    ("fatbin", Kind::Binary),
    ("so", Kind::Binary),
    ("a", Kind::Binary),
    ("o", Kind::Binary),
    ("litmus", Kind::Litmus),
];

/// The inputs that a command accepts.
pub const KNOWN_HELP: &str =
    "give a .ptx, .ll, .bc, .mlir, .cu, .rs, .c or .cpp, or a binary or a folder with PTX in it";

impl Kind {
    /// The kind of a file, if its content or its name determines it.
    pub fn from_input(input: &Input) -> Option<Self> {
        Self::of_content(input.bytes()).or_else(|| Self::of_name(Path::new(input.name())))
    }

    /// The kind that a name implies.
    pub fn of_name(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?;
        ENDINGS.iter().find(|(known, _)| *known == ending).map(|(_, kind)| *kind)
    }

    fn of_content(bytes: &[u8]) -> Option<Self> {
        let magic = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, kind)| *kind);
        magic.or_else(|| {
            let text = first(std::str::from_utf8(bytes).ok()?);
            FIRST.iter().find(|(word, _)| text.starts_with(word)).map(|(_, kind)| *kind)
        })
    }
}

/// A text without the comments at its beginning, in any language.
fn first(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        let rest = match text.as_bytes() {
            [b'/', b'*', ..] => text.split_once("*/").map(|(_, rest)| rest),
            [b'/', b'/', ..] | [b';', ..] => text.split_once('\n').map(|(_, rest)| rest),
            _ => return text,
        };
        text = rest.unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, text: impl Into<Vec<u8>>, kind: Option<Kind>) {
        assert_eq!(Kind::from_input(&Input::new(name, text)), kind, "{name}");
    }

    #[test]
    fn content_counts_before_the_name() {
        let (llvm, mlir) = (Some(Kind::Ir(Language::Llvm)), Some(Kind::Ir(Language::Mlir)));
        check("a.ll", "// by nvcc\n\n/* and\n */ .version 8.6\n", Some(Kind::Ptx));
        check("a.ptx", "; ModuleID = 'a'\nsource_filename = \"a\"\n", llvm);
        check("a.txt", "define void @f() { ret void }", llvm);
        check("a.ll", b"ML\xefR\x0d".to_vec(), mlir);
        check("<stdin>", "module attributes {gpu.container_module} {\n", mlir);
        check("kernel", b"\x7fELF\x02".to_vec(), Some(Kind::Binary));
        check("a.ptx", "", Some(Kind::Ptx));
        check("a.cu", "__global__ void f() {}", Some(Kind::Source));
        check("a.litmus", "PTX mp\n", Some(Kind::Litmus));
        check("a.png", b"\x89PNG".to_vec(), None);
        check("<stdin>", "/*", None);
        check("<stdin>", "nothing", None);
    }
}
