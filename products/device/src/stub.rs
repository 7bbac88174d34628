//! A shared library in ELF that has no symbols of its own: it has a name, defines a version of that name, and needs
//! another library, which has the symbols.
//!
//! A program that was linked with NVIDIA's runtime asks the library `libcudart.so.13` for the version
//! `libcudart.so.13` of symbols. The loader then takes the symbols from any library without versions.

/// A program header: type, flags, the range of the file, and the alignment.
struct Segment(u32, u32, usize, usize, u64);

const HEADER: usize = 64;
const SEGMENT: usize = 56;
/// The size of a symbol.
const SYMBOL: usize = 24;
/// The types of segments: loaded, dynamic, and the permissions of the stack.
const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;
const STACK: u32 = 0x6474_e551;
/// The permissions: read and write.
const WRITABLE: u32 = 6;
const PAGE: u64 = 4096;

/// The tags of the dynamic section.
mod tag {
    pub const NULL: u64 = 0;
    pub const NEEDED: u64 = 1;
    pub const HASH: u64 = 4;
    pub const STRTAB: u64 = 5;
    pub const SYMTAB: u64 = 6;
    pub const STRSZ: u64 = 10;
    pub const SYMENT: u64 = 11;
    pub const SONAME: u64 = 14;
    pub const VERSYM: u64 = 0x6fff_fff0;
    pub const VERDEF: u64 = 0x6fff_fffc;
    pub const VERDEFNUM: u64 = 0x6fff_fffd;
}

/// The number of this machine in ELF.
const MACHINE: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };

/// The bytes of a library with a name, which needs another library.
pub fn library(name: &str, needed: &str) -> Vec<u8> {
    let strings = [b"\0", name.as_bytes(), b"\0", needed.as_bytes(), b"\0"].concat();
    let (name_at, needed_at) = (1, 2 + name.len());
    // The sections follow the headers, each at a multiple of 8.
    let mut bytes = vec![0; HEADER + 3 * SEGMENT];
    let mut section = |content: &[u8]| {
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let at = bytes.len();
        bytes.extend(content);
        at as u64
    };
    let strings_at = section(&strings);
    let symbols_at = section(&[0; SYMBOL]);
    // One bucket with the first symbol, which is none.
    let hash_at = section(&words(&[1, 1, 0, 0]));
    let versions_of_symbols_at = section(&[0; 2]);
    let versions_at = section(&versions(name, name_at as u32));
    let entries = [
        (tag::SONAME, name_at as u64),
        (tag::NEEDED, needed_at as u64),
        (tag::STRTAB, strings_at),
        (tag::STRSZ, strings.len() as u64),
        (tag::SYMTAB, symbols_at),
        (tag::SYMENT, SYMBOL as u64),
        (tag::HASH, hash_at),
        (tag::VERSYM, versions_of_symbols_at),
        (tag::VERDEF, versions_at),
        (tag::VERDEFNUM, 2),
        (tag::NULL, 0),
    ];
    let dynamic: Vec<u8> =
        entries.iter().flat_map(|(tag, value)| [tag.to_le_bytes(), value.to_le_bytes()].concat()).collect();
    let dynamic_at = section(&dynamic) as usize;
    let length = bytes.len();
    let segments = [
        Segment(LOAD, WRITABLE, 0, length, PAGE),
        Segment(DYNAMIC, WRITABLE, dynamic_at, dynamic.len(), 8),
        Segment(STACK, WRITABLE, 0, 0, 16),
    ];
    let headers: Vec<u8> = [header(segments.len() as u16), segments.iter().flat_map(Segment::bytes).collect()].concat();
    bytes[..headers.len()].copy_from_slice(&headers);
    bytes
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The header of a shared library of 64 bits.
fn header(segments: u16) -> Vec<u8> {
    let identity = [0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let shorts = |values: &[u16]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
    let longs = |values: &[u64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
    [
        identity.to_vec(),
        // A shared library of this machine, of version 1.
        shorts(&[3, MACHINE]),
        words(&[1]),
        // The entry, the program headers, and no sections.
        longs(&[0, HEADER as u64, 0]),
        words(&[0]),
        shorts(&[HEADER as u16, SEGMENT as u16, segments, 64, 0, 0]),
    ]
    .concat()
}

impl Segment {
    fn bytes(&self) -> Vec<u8> {
        let Self(kind, flags, at, length, alignment) = *self;
        let (at, length) = (at as u64, length as u64);
        let longs = [at, at, at, length, length, alignment].map(u64::to_le_bytes).concat();
        [words(&[kind, flags]), longs].concat()
    }
}

/// The definitions of versions: the library itself, and the version with its name.
fn versions(name: &str, name_at: u32) -> Vec<u8> {
    /// The sizes of a definition and of the name that follows it.
    const DEFINITION: u32 = 20;
    const NAME: u32 = 8;
    let one = |flags: u16, number: u16, next: u32| {
        let shorts = [1, flags, number, 1].map(u16::to_le_bytes).concat();
        [shorts, words(&[hash(name), DEFINITION, next, name_at, 0])].concat()
    };
    [one(1, 1, DEFINITION + NAME), one(0, 2, 0)].concat()
}

/// The hash of a name in ELF.
fn hash(name: &str) -> u32 {
    name.bytes().fold(0_u32, |hash, byte| {
        let hash = (hash << 4).wrapping_add(byte.into());
        let high = hash & 0xf000_0000;
        (hash ^ high >> 24) & !high
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes() {
        // Hashes that the linker wrote into libraries.
        assert_eq!([hash(""), hash("GLIBC_2.2.5")], [0, 0x0969_1a75]);
    }
}
