//! A CUDA device on the CPU: `libcuda.so.1`, the driver API, and `libcudart.so`, the runtime API, over `ptx-execute`.
//!
//! `ptx-atomics exec` puts this library before a program, which calls it instead of NVIDIA's. A call that is not
//! implemented returns `CUDA_ERROR_NOT_SUPPORTED` and names itself once on standard error.
//!
//! - `gpu` has the state of the process, under one mutex. The library knows the executor only through
//!   `ptx_execute::Device`: load a module, allocate, free, map, read, write, launch.
//! - All work runs at once, in the thread that asks for it. A host function runs in the thread that submits it. A kernel
//!   that waits for a later action of the host is reported as a deadlock.
//! - `order` has the order that the API guarantees between operations of streams, and `races` reports operations that
//!   race without it.
//! - A fault of a kernel is the error of every later call, as on a GPU, until the device is reset.
//! - An array is an allocation with a pitch. Textures and surfaces are images in allocations, which the executor knows by
//!   their handles.
//! - Each allocation has 4 GiB of addresses, from a multiple of 4 GiB on, and these addresses are the device pointers.
//!   The host cannot read device memory. Managed and pinned memory is mapped into the process at its device pointer,
//!   and the mapping is the executor's storage, so that no copy is needed before or after a launch. Registered memory
//!   is storage of the executor in the same way, at a device pointer of its own, which `cuMemHostGetDevicePointer`
//!   gives. A launch takes 0.03 to 0.06 ms with 512 MiB of managed memory, and the same time without.

mod allocations;
mod array;
mod attributes;
mod call;
mod copy;
mod driver;
mod error;
mod folder;
mod gpu;
mod graph;
mod handle;
mod image;
mod launch;
mod memory;
mod objects;
mod options;
mod order;
mod races;
mod registry;
mod report;
mod runtime;
mod say;
mod stream;
mod stub;
mod texture;

pub use self::{
    folder::{LIBRARY, fill_folder},
    options::{BUDGET, DEVICE, OPTIONS, Options},
    report::{Entry, Given, Launched, Operation, Submitted, Unordered},
};
