//! Memory: allocations, and the memory of the host that kernels access.

use std::{ptr, slice};

use ptx_execute::{Buffer, Contents};

use crate::{
    allocations::{Allocation, Kind},
    error::{Done, Error},
    gpu::Gpu,
};

/// The first address after the device pointers: the executor has other uses for higher addresses.
const END: u64 = 0x7b00 << 32;
/// The alignment of rows of pitched memory.
pub const PITCH: usize = 512;
/// The number of places that are tried for memory that is mapped into the process.
const TRIES: usize = 4096;

impl Gpu {
    /// Allocates memory. Memory of the host that is registered stays where it is.
    pub fn allocate(&mut self, bytes: u64, kind: Kind, flags: u32) -> Done<u64> {
        let all = self.memory.used.checked_add(bytes).filter(|all| *all <= self.memory.limit);
        if all.is_none() || bytes > u32::MAX.into() {
            return Err(Error::OutOfMemory);
        }
        let number = self.memory.count + 1;
        let name = format!("buffer{number}");
        let (address, buffer) = match kind {
            Kind::Device | Kind::Graph => {
                let buffer = self.device.allocate(&name, Contents::Uninitialized(bytes));
                (self.device.address(buffer), buffer)
            }
            Kind::Managed | Kind::Pinned => self.map_anywhere(&name, bytes)?,
            Kind::Registered(host) => {
                let buffer = self.device.allocate(&name, Contents::Bytes(Vec::new()));
                // SAFETY: the program keeps registered memory until it unregisters it.
                let memory = unsafe { slice::from_raw_parts_mut(host as *mut u8, bytes as usize) };
                self.device.map(buffer, memory, bytes);
                self.memory.registered.insert(host, self.device.address(buffer));
                (self.device.address(buffer), buffer)
            }
        };
        if address >= END {
            self.device.free(buffer);
            return Err(Error::OutOfMemory);
        }
        self.memory.count = number;
        self.memory.used += bytes;
        self.memory.allocations.insert(address, Allocation { buffer, bytes, kind, flags, number });
        Ok(address)
    }

    /// Allocates memory that the host accesses at its device pointer.
    fn map_anywhere(&mut self, name: &str, bytes: u64) -> Done<(u64, Buffer)> {
        for _ in 0..TRIES {
            let buffer = self.device.allocate(name, Contents::Bytes(Vec::new()));
            let address = self.device.address(buffer);
            if address >= END {
                self.device.free(buffer);
                break;
            }
            if let Some(memory) = map_at(address, bytes) {
                self.device.map(buffer, memory, bytes);
                return Ok((address, buffer));
            }
            // The program has other memory there.
            self.device.free(buffer);
        }
        Err(Error::OutOfMemory)
    }

    /// Makes a variable of a module managed memory.
    pub fn manage(&mut self, buffer: Buffer) -> Done<u64> {
        let address = self.device.address(buffer);
        if self.memory.allocations.contains_key(&address) {
            return Ok(address);
        }
        let contents = self.device.contents(buffer).to_vec();
        let memory = map_at(address, contents.len() as u64).ok_or(Error::OutOfMemory)?;
        memory[..contents.len()].copy_from_slice(&contents);
        self.device.map(buffer, memory, contents.len() as u64);
        let (bytes, kind) = (contents.len() as u64, Kind::Managed);
        self.memory.allocations.insert(address, Allocation { buffer, bytes, kind, flags: 1, number: 0 });
        Ok(address)
    }

    /// Frees an allocation.
    pub fn free(&mut self, address: u64) -> Done {
        if self.memory.allocations.get(&address).is_some_and(|found| found.kind == Kind::Graph) {
            return Ok(());
        }
        let Allocation { buffer, bytes, kind, .. } =
            self.memory.allocations.remove(&address).ok_or(Error::InvalidValue)?;
        self.device.free(buffer);
        self.memory.used = self.memory.used.saturating_sub(bytes);
        match kind {
            Kind::Device | Kind::Graph => {}
            // SAFETY: the memory was mapped by `map_at`, and the executor no longer uses it.
            Kind::Managed | Kind::Pinned => unsafe {
                libc::munmap(address as *mut libc::c_void, bytes.max(4) as usize);
            },
            Kind::Registered(host) => drop(self.memory.registered.remove(&host)),
        }
        Ok(())
    }

    /// The bytes at a device pointer.
    pub fn read(&self, address: u64, bytes: usize) -> Done<&[u8]> {
        let (buffer, offset) = self.device.find(address).ok_or(Error::InvalidValue)?;
        let range = offset as usize..(offset as usize).checked_add(bytes).ok_or(Error::InvalidValue)?;
        self.device.contents(buffer).get(range).ok_or(Error::InvalidValue)
    }

    /// Writes bytes at a device pointer.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Done {
        self.read(address, bytes.len())?;
        let (buffer, offset) = self.device.find(address).ok_or(Error::InvalidValue)?;
        self.device.write(buffer, offset as usize, bytes);
        Ok(())
    }
}

/// Maps memory into the process at an address. `None` if the process has other memory there.
fn map_at(address: u64, bytes: u64) -> Option<&'static mut [u8]> {
    let length = (bytes.max(4) as usize).next_multiple_of(4);
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    let flags = flags | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: the flags keep all memory that the process has.
    let memory = unsafe { libc::mmap(address as *mut libc::c_void, length, access, flags, -1, 0) };
    if memory == libc::MAP_FAILED {
        return None;
    }
    if memory as u64 != address {
        // An old kernel took the address as a wish.
        // SAFETY: the memory was just mapped.
        unsafe { libc::munmap(memory, length) };
        return None;
    }
    // SAFETY: the memory is mapped until `free`, which takes it from the executor first.
    Some(unsafe { slice::from_raw_parts_mut(ptr::with_exposed_provenance_mut(address as usize), length) })
}
