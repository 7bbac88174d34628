//! Global memory, and the meaning of addresses.

use std::{
    collections::VecDeque,
    ops::{Deref, DerefMut},
};

use ptx_isa::Space;

use crate::{
    footprint::{Accessed, Footprint},
    launch::{Buffer, Contents},
    random::Random,
    shadow::Shadow,
    texture::Textures,
};

/// The windows of the state spaces in generic addresses. Lower addresses are global memory.
pub mod window {
    /// Shared memory of the cluster. The low 32 bits are an address of `.shared::cluster`.
    pub const SHARED: u64 = 0x7f00 << 32;
    /// Local memory of the thread.
    pub const LOCAL: u64 = 0x7e00 << 32;
    /// Parameters of the kernel.
    pub const PARAM: u64 = 0x7d00 << 32;
    /// Functions. Each occupies 16 bytes.
    pub const CODE: u64 = 0x7c00 << 32;
    /// The size of a window.
    pub const SIZE: u64 = 1 << 32;
    /// In addresses of `.shared::cluster`, the bits above the offset are the rank of the CTA plus 1, or 0 for the
    /// thread's own CTA.
    pub const CTA_SHIFT: u32 = 24;
}

/// The place that an address denotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Region {
    /// A buffer, and an offset in it.
    Global(usize, u64),
    /// Shared memory of the CTA with a rank in the cluster, or of the thread's own CTA.
    Shared(Option<u32>, u64),
    /// Local memory of the thread.
    Local(u64),
    /// A parameter of the kernel.
    Param(u64),
    /// No memory.
    Nowhere,
}

/// The place that an address of a state space denotes.
pub fn region(space: Space, address: u64) -> Region {
    let shared = |address: u64| {
        let (rank, offset) = ((address >> window::CTA_SHIFT) as u32, address & ((1 << window::CTA_SHIFT) - 1));
        Region::Shared(rank.checked_sub(1), offset)
    };
    match space {
        Space::Shared | Space::SharedCta | Space::SharedCluster => shared(address & 0xffff_ffff),
        Space::Local => Region::Local(address & 0xffff_ffff),
        Space::Generic | Space::Global | Space::Const => match address & !(window::SIZE - 1) {
            window::SHARED if space == Space::Generic => shared(address & 0xffff_ffff),
            window::LOCAL if space == Space::Generic => Region::Local(address & 0xffff_ffff),
            window::PARAM => Region::Param(address & 0xffff_ffff),
            high => match (high >> 32).checked_sub(1) {
                Some(buffer) => Region::Global(buffer as usize, address & 0xffff_ffff),
                None => Region::Nowhere,
            },
        },
    }
}

/// The generic address of an address in a state space.
pub fn generic(space: Space, address: u64) -> u64 {
    match space {
        Space::Shared | Space::SharedCta | Space::SharedCluster => window::SHARED | address & 0xffff_ffff,
        Space::Local => window::LOCAL | address & 0xffff_ffff,
        Space::Generic | Space::Global | Space::Const => address,
    }
}

/// A piece of global memory.
#[derive(Debug)]
pub struct Piece {
    /// Its name in findings.
    pub name: String,
    /// Its contents.
    pub bytes: Storage,
    /// The maximum number of its bytes. Its last word is whole, for atomic accesses of the word around a byte.
    limit: u64,
    /// The initial contents of bytes by which the piece grows.
    fill: Option<Fill>,
    /// The unwritten bytes, if uninitialized reads are checked.
    pub unwritten: Option<Vec<bool>>,
    /// Its accesses.
    pub shadow: Shadow,
    /// The bytes that the current launch has accessed, if its footprint is wanted.
    pub accessed: Option<Accessed>,
    /// Whether it was freed.
    pub is_freed: bool,
}

/// The storage of a piece.
#[derive(Debug)]
pub enum Storage {
    /// Memory of the machine.
    Owned(Vec<u8>),
    /// Memory of the host, which the host also reads and writes between launches.
    Mapped(&'static mut [u8]),
}

impl Storage {
    /// Replaces the contents. Mapped memory is no longer used.
    pub fn set(&mut self, bytes: &Vec<u8>) {
        match self {
            Self::Owned(owned) => owned.clone_from(bytes),
            Self::Mapped(_) => *self = Self::Owned(bytes.clone()),
        }
    }
}

impl Deref for Storage {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Mapped(bytes) => bytes,
        }
    }
}

impl DerefMut for Storage {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Mapped(bytes) => bytes,
        }
    }
}

/// The initial contents of bytes by which a piece grows.
#[derive(Debug)]
enum Fill {
    Zero,
    Small(Random),
}

/// The pieces of global memory. Each begins at a multiple of 4 GiB.
#[derive(Debug, Default)]
pub struct Global {
    pub pieces: Vec<Piece>,
    /// The textures and surfaces, which are parts of the pieces.
    pub textures: Textures,
    /// The freed pieces, in the order in which they were freed.
    freed: VecDeque<usize>,
}

/// The size of the words in which updates of 8 and 16 bits are performed.
const WORD: usize = 4;

/// The number of pieces from which on the numbers of freed pieces are used again. Below it, each access of a freed piece
/// is found.
const MOST_FRESH: usize = 1 << 14;

/// The number of bytes by which a piece grows at once.
const STEP: u64 = 1 << 16;

impl Piece {
    /// Forgets all accesses.
    pub fn clear_shadow(&mut self, bound: usize) {
        self.shadow = Shadow::of_buffer(bound, self.limit);
    }
}

impl Global {
    /// Allocates a piece.
    pub fn allocate(&mut self, name: &str, contents: Contents, seed: u64, bound: usize) -> usize {
        let number = match self.freed.front() {
            Some(oldest) if self.pieces.len() >= MOST_FRESH => *oldest,
            _ => self.pieces.len(),
        };
        let (bytes, limit, fill, unwritten) = match contents {
            Contents::Bytes(mut bytes) => {
                let limit = bytes.len() as u64;
                bytes.resize(bytes.len().next_multiple_of(WORD), 0);
                (bytes, limit, None, None)
            }
            Contents::Uninitialized(limit) => {
                let length = (limit.min(1 << 32) as usize).next_multiple_of(WORD);
                (vec![0; length], limit, None, Some(vec![true; length]))
            }
            Contents::Grows(limit) => {
                (Vec::new(), limit.min(1 << 32), Some(Fill::Small(Random::new(seed ^ number as u64))), None)
            }
            Contents::GrowsZero(limit) => (Vec::new(), limit.min(1 << 32), Some(Fill::Zero), None),
        };
        let shadow = Shadow::of_buffer(bound, limit);
        let bytes = Storage::Owned(bytes);
        let (name, accessed) = (name.to_owned(), None);
        let piece = Piece { name, bytes, limit, fill, unwritten, shadow, accessed, is_freed: false };
        match self.pieces.get_mut(number) {
            Some(old) => {
                self.freed.pop_front();
                *old = piece;
            }
            None => self.pieces.push(piece),
        }
        number
    }

    /// Frees a piece. Later accesses of it are outside of all memory.
    pub fn free(&mut self, piece: usize) {
        let Some(freed) = self.pieces.get_mut(piece).filter(|piece| !piece.is_freed) else { return };
        (freed.bytes, freed.unwritten, freed.is_freed) = (Storage::Owned(Vec::new()), None, true);
        self.freed.push_back(piece);
    }

    /// Removes the pieces from a number on.
    pub fn truncate(&mut self, count: usize) {
        self.pieces.truncate(count);
        self.freed.retain(|piece| *piece < count);
    }

    /// Gives a piece memory of the host as its storage.
    pub fn map(&mut self, piece: usize, memory: &'static mut [u8], bytes: u64) {
        let Some(piece) = self.pieces.get_mut(piece) else { return };
        (piece.limit, piece.unwritten) = (bytes.min(memory.len() as u64), None);
        piece.bytes = Storage::Mapped(memory);
    }

    /// Begins a footprint: the bytes that are accessed from now on, if it is wanted.
    pub fn begin_footprint(&mut self, is_wanted: bool) {
        self.pieces.iter_mut().for_each(|piece| piece.accessed = is_wanted.then(Accessed::default));
    }

    /// The footprint that was begun.
    pub fn footprint(&self) -> Footprint {
        let mut footprint = Footprint::default();
        for (number, piece) in self.pieces.iter().enumerate() {
            if let Some(accessed) = &piece.accessed {
                accessed.add_to(&mut footprint, Self::address(number));
            }
        }
        footprint
    }

    /// The name of an address, or the address itself if no piece contains it.
    pub fn name_of(&self, piece: usize, at: u64) -> String {
        match self.pieces.get(piece) {
            Some(piece) => offset(&piece.name, at),
            None => format!("address {:#x}", ((piece as u64 + 1) << 32).wrapping_add(at)),
        }
    }

    /// The address of a piece.
    pub fn address(piece: usize) -> u64 {
        Buffer(piece as u32).address()
    }

    /// The bytes of a piece from an offset on. The piece grows if it can. `None` if the piece has no such bytes.
    pub fn slice(&mut self, piece: usize, at: u64, bytes: u64) -> Option<&mut [u8]> {
        let limit = self.pieces.get(piece)?.limit;
        self.words(piece, at, bytes).filter(|_| at + bytes <= limit)
    }

    /// Like `slice`, with the rest of the last word.
    pub fn words(&mut self, piece: usize, at: u64, bytes: u64) -> Option<&mut [u8]> {
        let piece = self.pieces.get_mut(piece).filter(|piece| !piece.is_freed)?;
        let end = at.checked_add(bytes)?;
        if end > piece.bytes.len() as u64 {
            piece.grow(end)?;
        }
        piece.bytes.get_mut(at as usize..end as usize)
    }
}

impl Piece {
    /// Its bytes, without the rest of its last word.
    pub fn contents(&self) -> &[u8] {
        let length = self.bytes.len().min(usize::try_from(self.limit).unwrap_or(usize::MAX));
        &self.bytes[..length]
    }

    fn grow(&mut self, end: u64) -> Option<()> {
        let fill = self.fill.as_mut().filter(|_| end <= self.limit.next_multiple_of(WORD as u64))?;
        let Storage::Owned(bytes) = &mut self.bytes else { return None };
        let length = (end.next_multiple_of(STEP)).max(bytes.len() as u64 * 5 / 4).min(self.limit.next_multiple_of(4));
        bytes.reserve_exact(length as usize - bytes.len());
        match fill {
            Fill::Zero => bytes.resize(length as usize, 0),
            Fill::Small(random) => {
                while (bytes.len() as u64) < length {
                    let value = random.below(8) as u32;
                    bytes.extend(value.to_le_bytes());
                }
            }
        }
        Some(())
    }
}

/// The name of an offset from a name.
pub fn offset(name: &str, at: u64) -> String {
    if at == 0 { name.to_owned() } else { format!("{name}+{at}") }
}

/// Up to 16 bytes as a number.
pub fn number(bytes: &[u8]) -> u128 {
    let mut all = [0; 16];
    all[..bytes.len()].copy_from_slice(bytes);
    u128::from_le_bytes(all)
}
