//! Launches, facts about kernels, and occupancy.

use std::{cell::RefCell, ffi::c_void, ptr};

use crate::{
    call::{api, put, with},
    driver::{
        launch::{
            Attribute, KernelNode, attributes_at, cuOccupancyAvailableDynamicSMemPerBlock,
            cuOccupancyMaxActiveClusters, simple,
        },
        module::{attribute, set_attribute},
    },
    error::{Done, Error},
    handle::Handle,
    objects::{Kernel, Launch, Stream, Work},
    runtime::errors::{done, runtime},
    stream::submit,
};

/// `dim3`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Sizes {
    x: u32,
    y: u32,
    z: u32,
}

impl Sizes {
    fn all(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

/// `cudaLaunchConfig_t`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Configuration {
    grid: Sizes,
    block: Sizes,
    shared: usize,
    stream: Handle<Stream>,
    attributes: *const Attribute,
    count: u32,
}

/// `CUlaunchConfig`, for functions of the driver API.
#[repr(C)]
struct DriverConfiguration {
    grid: Sizes,
    block: Sizes,
    shared: u32,
    stream: Handle<Stream>,
    attributes: *const Attribute,
    count: u32,
}

/// The sizes of a launch that has begun with `<<<…>>>`.
#[derive(Clone, Copy)]
struct Pushed {
    grid: Sizes,
    block: Sizes,
    shared: usize,
    stream: Handle<Stream>,
}

thread_local! {
    /// The sizes of launches that have begun with `<<<…>>>`.
    static PUSHED: RefCell<Vec<Pushed>> = const { RefCell::new(Vec::new()) };
}

/// The launch of a function of the host.
///
/// # Safety
/// The arguments are addresses, one for each parameter of the kernel.
pub unsafe fn launch_of(
    function: usize,
    grid: [u32; 3],
    block: [u32; 3],
    shared: usize,
    arguments: *const *const u8,
) -> Done<Launch> {
    let kernel = with(|gpu| gpu.kernel_of(function))?;
    let shared = u32::try_from(shared).map_err(|_| Error::InvalidValue)?;
    // SAFETY: the caller promises it.
    unsafe { simple(&KernelNode { kernel, grid, block, shared, parameters: arguments, extra: ptr::null() }) }
}

/// The kernel of a function of the host.
fn kernel_of(function: usize) -> Done<Handle<Kernel>> {
    with(|gpu| gpu.kernel_of(function))
}

/// `cudaFuncAttributes`: three sizes, and numbers, each with its `CUfunction_attribute`.
const SIZES: [u32; 3] = [1, 2, 3];
const NUMBERS: [u32; 14] = [0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 14, 16];

fn resident(function: usize, threads: i32, shared: usize) -> Done<i32> {
    with(|gpu| {
        let kernel = gpu.kernel_of(function)?;
        let threads = u32::try_from(threads).map_err(|_| Error::InvalidValue)?;
        Ok(gpu.resident(kernel, threads, shared as u32)? as i32)
    })
}

api! { runtime:
    __cudaPushCallConfiguration(grid: Sizes, block: Sizes, shared: usize, stream: Handle<Stream>) {
        PUSHED.with_borrow_mut(|pushed| pushed.push(Pushed { grid, block, shared, stream }));
        Ok(())
    }
    __cudaPopCallConfiguration(grid: *mut Sizes, block: *mut Sizes, shared: *mut usize, stream: *mut Handle<Stream>) {
        let popped = PUSHED.with_borrow_mut(Vec::pop).ok_or(Error::MissingConfiguration)?;
        put(grid, popped.grid)?;
        put(block, popped.block)?;
        put(shared, popped.shared)?;
        put(stream, popped.stream)
    }
    // The handle is the function itself, so that the launch reports the errors of the kernel.
    __cudaGetKernel(to: *mut usize, function: usize) { put(to, function) }
    cudaGetKernel(to: *mut Handle<Kernel>, function: usize) = cudaGetFuncBySymbol { put(to, kernel_of(function)?) }
    cudaLaunchKernel(
        function: usize, grid: Sizes, block: Sizes, arguments: *const *const u8, shared: usize, stream: Handle<Stream>,
    ) = __cudaLaunchKernel = cudaLaunchKernel_ptsz = __cudaLaunchKernel_ptsz {
        submit(stream, Work::Launch(launch_of(function, grid.all(), block.all(), shared, arguments)?))
    }
    cudaLaunchCooperativeKernel(
        function: usize, grid: Sizes, block: Sizes, arguments: *const *const u8, shared: usize, stream: Handle<Stream>,
    ) = cudaLaunchCooperativeKernel_ptsz {
        let launch = launch_of(function, grid.all(), block.all(), shared, arguments)?;
        submit(stream, Work::Launch(Launch { is_cooperative: true, ..launch }))
    }
    cudaLaunchKernelExC(
        configuration: *const Configuration, function: usize, arguments: *const *const u8,
    ) = cudaLaunchKernelExC_ptsz {
        let Configuration { grid, block, shared, stream, attributes, count } = *configuration;
        let mut launch = launch_of(function, grid.all(), block.all(), shared, arguments)?;
        launch.apply(&attributes_at(attributes, count));
        submit(stream, Work::Launch(launch))
    }
    cudaFuncGetAttributes(to: *mut u8, function: usize) {
        let (sizes, numbers) = with(|gpu| {
            let kernel = gpu.kernel_of(function)?;
            let mut all = |numbers: &[u32]| numbers.iter().map(|number| attribute(gpu, *number, kernel)).collect::<Done<Vec<i32>>>();
            Ok((all(&SIZES)?, all(&NUMBERS)?))
        })?;
        for (index, size) in sizes.iter().enumerate() {
            put(to.cast::<usize>().add(index), *size as usize)?;
        }
        let to = to.cast::<usize>().add(sizes.len()).cast::<i32>();
        numbers.iter().enumerate().try_for_each(|(index, number)| put(to.add(index), *number))
    }
    cudaFuncSetAttribute(function: usize, number: u32, value: i32) {
        with(|gpu| {
            let kernel = gpu.kernel_of(function)?;
            set_attribute(gpu, number, kernel, value)
        })
    }
    cudaFuncSetCacheConfig(_function: usize, _config: u32) { Ok(()) }
    cudaFuncSetSharedMemConfig(_function: usize, _config: u32) { Ok(()) }
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(to: *mut i32, function: usize, threads: i32, shared: usize) {
        put(to, resident(function, threads, shared)?)
    }
    cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        to: *mut i32, function: usize, threads: i32, shared: usize, _flags: u32,
    ) { put(to, resident(function, threads, shared)?) }
    cudaOccupancyAvailableDynamicSMemPerBlock(to: *mut usize, function: usize, ctas: i32, threads: i32) {
        done(cuOccupancyAvailableDynamicSMemPerBlock(to, kernel_of(function)?, ctas, threads))
    }
    cudaOccupancyMaxPotentialClusterSize(to: *mut i32, function: usize, _configuration: *const c_void) {
        let is_large = with(|gpu| {
            let kernel = gpu.kernel_of(function)?;
            Ok(gpu.kernels.get(kernel)?.allows_large_clusters)
        })?;
        put(to, if is_large { 16 } else { 8 })
    }
    cudaOccupancyMaxActiveClusters(to: *mut i32, function: usize, configuration: *const Configuration) {
        let Configuration { grid, block, shared, stream, attributes, count } = *configuration;
        let own = DriverConfiguration { grid, block, shared: shared as u32, stream, attributes, count };
        done(cuOccupancyMaxActiveClusters(to, kernel_of(function)?, (&raw const own).cast()))
    }
}
