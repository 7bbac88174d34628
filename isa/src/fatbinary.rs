//! The PTX in host files of nvcc: executables, libraries, archives, objects and fat binaries.
//!
//! A fat binary is an image of a GPU program for several targets. NVIDIA does not document its format; this module
//! follows the output of `fatbinary` of CUDA 12.9 and 13.5. A header of 16 bytes has a magic number and the length of
//! the following entries. The header of an entry has its kind, its GPU, its compression, and its length.

use std::io::Read;

/// The first bytes of the header of a fat binary: the magic number, and the version of the format.
const MAGIC: [u8; 6] = [0x50, 0xed, 0x55, 0xba, 1, 0];
/// The size of the header of a fat binary, and the minimal size of the header of an entry.
const HEADER: usize = 16;
const ENTRY: usize = 64;
/// The kind of an entry with PTX.
const PTX: u16 = 1;
/// The flags of a compressed entry, for LZ4 and for Zstandard.
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// The limit of the size of PTX. An entry with a larger size is damaged.
const MOST: usize = 1 << 30;

/// The PTX of one entry.
#[derive(Debug, PartialEq, Eq)]
pub struct Image {
    /// The name of its source, if the entry has it.
    pub source: Option<String>,
    /// The GPU, such as 90 for sm_90.
    pub sm: u32,
    /// `None` if the entry is damaged.
    pub text: Option<Vec<u8>>,
}

/// All PTX in a file, in the order of the file.
pub fn images(file: &[u8]) -> Vec<Image> {
    let mut images = Vec::new();
    let mut at = 0;
    while let Some(found) = file.get(at..).and_then(|rest| rest.windows(MAGIC.len()).position(|six| six == MAGIC)) {
        at += found;
        let entries = file.get(at + HEADER..).unwrap_or_default();
        let length = number::<8>(file, at + 8).map_or(0, |length| length as usize).min(entries.len());
        images.extend(of_entries(&entries[..length]));
        at += HEADER + length;
    }
    images
}

fn of_entries(mut entries: &[u8]) -> Vec<Image> {
    let mut images = Vec::new();
    while let Some(entry) = Entry::read(entries) {
        if entry.kind == PTX {
            images.push(entry.image(entries));
        }
        match entries.get(entry.header.saturating_add(entry.length)..) {
            Some(rest) if entry.header >= ENTRY => entries = rest,
            _ => break,
        }
    }
    images
}

/// The header of an entry.
struct Entry {
    kind: u16,
    /// The size of the header in bytes.
    header: usize,
    /// The size of the content after the header in bytes.
    length: usize,
    /// The size of the compressed part of the content.
    compressed: usize,
    sm: u32,
    /// The offset of the source's name in the entry, and its length.
    name: (usize, usize),
    flags: u64,
    /// The size of the content after decompression.
    size: usize,
}

impl Entry {
    fn read(bytes: &[u8]) -> Option<Self> {
        let word = |at| number::<4>(bytes, at).map(|word| word as usize);
        Some(Self {
            kind: number::<2>(bytes, 0)? as u16,
            header: word(4)?,
            length: number::<8>(bytes, 8)? as usize,
            compressed: word(16)?,
            sm: word(28)? as u32,
            name: (word(32)?, word(36)?),
            flags: number::<8>(bytes, 40)?,
            size: number::<8>(bytes, 56)? as usize,
        })
    }

    fn image(&self, entries: &[u8]) -> Image {
        let (at, length) = self.name;
        let name = entries.get(at..at.saturating_add(length)).map(|name| String::from_utf8_lossy(name).into_owned());
        Image { source: name.filter(|name| !name.is_empty()), sm: self.sm, text: self.text(entries) }
    }

    fn text(&self, entries: &[u8]) -> Option<Vec<u8>> {
        let after = entries.get(self.header..self.header.checked_add(self.length)?)?;
        let compressed = after.get(..self.compressed);
        let mut text = match self.flags & (LZ4 | ZSTD) {
            0 => after.to_vec(),
            _ if self.size > MOST => return None,
            LZ4 => lz4_flex::block::decompress(compressed?, self.size).ok()?,
            _ => {
                let mut text = Vec::new();
                let frames = ruzstd::decoding::StreamingDecoder::new(compressed?).ok()?;
                frames.take(self.size as u64).read_to_end(&mut text).ok()?;
                text
            }
        };
        // The text ends with NULs.
        text.truncate(text.iter().position(|byte| *byte == 0).unwrap_or(text.len()));
        Some(text)
    }
}

/// Reads a little-endian number of `BYTES` bytes.
fn number<const BYTES: usize>(file: &[u8], at: usize) -> Option<u64> {
    let bytes = file.get(at..at.checked_add(BYTES)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}
