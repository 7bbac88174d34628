//! The allocations of a process.

use std::collections::BTreeMap;

use ptx_execute::Buffer;

/// The kind of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Memory of the device, which the host cannot access.
    Device,
    /// Memory of the device that a graph allocates: each launch of the graph has it again, so that no call ends it.
    Graph,
    /// Managed memory: the host accesses it at the same address.
    Managed,
    /// Memory of the host, allocated by the API. The device accesses it at the same address.
    Pinned,
    /// Memory of the host that a program registered: its address there.
    Registered(usize),
}

impl Kind {
    /// Whether the memory is memory of the host, or moves there.
    pub fn is_of_host(self) -> bool {
        !matches!(self, Self::Device | Self::Graph)
    }
}

/// An allocation.
#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    pub buffer: Buffer,
    pub bytes: u64,
    pub kind: Kind,
    /// The flags of the call.
    pub flags: u32,
    /// The number of the allocation.
    pub number: u64,
}

/// The allocations of a process.
pub struct Memory {
    /// By device pointer.
    pub allocations: BTreeMap<u64, Allocation>,
    /// The device pointers of registered memory of the host, by its address.
    pub registered: BTreeMap<usize, u64>,
    /// The maximum number of bytes, and the number of allocated bytes.
    pub limit: u64,
    pub used: u64,
    pub count: u64,
}

impl Memory {
    pub fn new(limit: u64) -> Self {
        Self { allocations: BTreeMap::new(), registered: BTreeMap::new(), limit, used: 0, count: 0 }
    }

    /// The allocation that contains an address, and its start.
    pub fn find(&self, address: u64) -> Option<(u64, &Allocation)> {
        let (start, allocation) = self.allocations.range(..=address).next_back()?;
        (address - start < allocation.bytes.max(1)).then_some((*start, allocation))
    }

    /// The device pointer of an address of the host in managed, pinned or registered memory.
    pub fn of_host(&self, host: usize) -> Option<u64> {
        if self.find(host as u64).is_some_and(|(_, found)| matches!(found.kind, Kind::Managed | Kind::Pinned)) {
            return Some(host as u64);
        }
        let (start, device) = self.registered.range(..=host).next_back()?;
        let bytes = self.allocations.get(device)?.bytes;
        ((host - start) as u64 <= bytes).then(|| device + (host - start) as u64)
    }
}
