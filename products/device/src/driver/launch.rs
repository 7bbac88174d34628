//! Launches, and occupancy.

use std::{ffi::c_void, ptr};

use ptx_isa::{FullSize, launch::MOST_THREADS};

use crate::{
    attributes::{self, MULTIPROCESSORS, WARP},
    call::{api, driver, put, with},
    error::{Done, Error},
    gpu::Gpu,
    handle::Handle,
    objects::{Kernel, Launch, Stream, Work},
    stream::submit,
};

/// The words of `extra`, the other form of the arguments.
const END: usize = 0;
const POINTER: usize = 1;
const SIZE: usize = 2;

/// An attribute of a launch, with the first words of its value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Attribute {
    number: u32,
    unused: u32,
    value: [u32; 16],
}

/// `CUlaunchConfig`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Configuration {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: Handle<Stream>,
    attributes: *const Attribute,
    count: u32,
}

/// The part of the structure of a kernel node that all its versions share.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelNode {
    pub kernel: Handle<Kernel>,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub parameters: *const *const u8,
    pub extra: *const usize,
}

/// The arguments of a launch: each by its address, or all in one block.
///
/// # Safety
/// The addresses are valid for the parameters of the kernel.
pub unsafe fn arguments(
    gpu: &mut Gpu,
    kernel: Handle<Kernel>,
    parameters: *const *const u8,
    extra: *const usize,
) -> Done<Vec<Vec<u8>>> {
    let facts = gpu.facts(kernel)?;
    let block = if extra.is_null() {
        None
    } else {
        // SAFETY: the caller promises it.
        Some(unsafe { block_of(extra) }?)
    };
    let mut all = Vec::new();
    for (index, parameter) in facts.parameters.iter().enumerate() {
        let size = parameter.bytes as usize;
        let from = match block {
            Some((start, bytes)) if parameter.offset as usize + size <= bytes => {
                start.wrapping_add(parameter.offset as usize)
            }
            Some(_) => return Err(Error::InvalidValue),
            None if parameters.is_null() => return Err(Error::InvalidValue),
            // SAFETY: the caller promises it.
            None => unsafe { *parameters.add(index) },
        };
        if from.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: the caller promises it.
        all.push(unsafe { std::slice::from_raw_parts(from, size) }.to_vec());
    }
    Ok(all)
}

/// The start and the size of the block of arguments.
unsafe fn block_of(extra: *const usize) -> Done<(*const u8, usize)> {
    let (mut start, mut bytes, mut at) = (ptr::null(), 0, extra);
    // SAFETY: the caller promises a list of words that ends with `END`.
    unsafe {
        while *at != END {
            match *at {
                POINTER => start = *at.add(1) as *const u8,
                SIZE => bytes = *(*at.add(1) as *const usize),
                _ => return Err(Error::InvalidValue),
            }
            at = at.add(2);
        }
    }
    if start.is_null() { Err(Error::InvalidValue) } else { Ok((start, bytes)) }
}

/// A launch without attributes.
///
/// # Safety
/// As for [`arguments`].
pub unsafe fn simple(node: &KernelNode) -> Done<Launch> {
    let KernelNode { kernel, grid, block, shared, parameters, extra } = *node;
    with(|gpu| {
        // SAFETY: the caller promises it.
        let arguments = unsafe { arguments(gpu, kernel, parameters, extra) }?;
        let cluster = gpu.kernels.get(kernel)?.head.required_ctas.unwrap_or([1; 3]);
        let size = FullSize { grid, block, cluster, shared };
        Ok(Launch { kernel, size, arguments, is_dependent: false, is_cooperative: false })
    })
}

impl Launch {
    /// Applies the attributes of the launch, `CUlaunchAttributeID`.
    pub fn apply(&mut self, attributes: &[Attribute]) {
        for Attribute { number, value, .. } in attributes {
            match number {
                2 => self.is_cooperative = value[0] != 0,
                4 if value[0] != 0 => self.size.cluster = [value[0], value[1].max(1), value[2].max(1)],
                6 => self.is_dependent = value[0] != 0,
                // A launch that waits for an event of another launch may overlap with it.
                7 => self.is_dependent = true,
                _ => {}
            }
        }
    }
}

/// The attributes at a pointer.
///
/// # Safety
/// The array has this size.
pub unsafe fn attributes_at(at: *const Attribute, count: u32) -> Vec<Attribute> {
    // SAFETY: the caller promises it.
    (0..count as usize).map(|index| unsafe { at.add(index).read_unaligned() }).collect()
}

/// Submits a launch. The driver API has one error for all wrong sizes.
fn launch(stream: Handle<Stream>, launch: Launch) -> Done {
    submit(stream, Work::Launch(launch)).map_err(|error| match error {
        Error::InvalidConfiguration => Error::InvalidValue,
        error => error,
    })
}

/// The number of threads of a CTA, and the number of CTAs, with which a kernel fills the device.
pub fn fitting(gpu: &mut Gpu, kernel: Handle<Kernel>, most: u32, shared: impl Fn(u32) -> u32) -> Done<(u32, u32)> {
    let own = gpu.kernels.get(kernel)?.head.most_threads.unwrap_or(MOST_THREADS);
    let most = if most == 0 { own } else { own.min(most) };
    let mut best = (0, 0);
    for warps in (1..=most.max(WARP) / WARP).rev() {
        let threads = warps * WARP;
        let ctas = gpu.resident(kernel, threads, shared(threads))?;
        if ctas * threads > best.0 * best.1 {
            best = (threads, ctas);
        }
    }
    Ok((best.0, best.1 * MULTIPROCESSORS))
}

/// The function by which a program gives the shared memory of a CTA of a size.
pub type SharedOf = Option<unsafe extern "C" fn(i32) -> usize>;

unsafe fn give_fitting(
    grid: *mut i32,
    block: *mut i32,
    kernel: Handle<Kernel>,
    shared_of: SharedOf,
    shared: usize,
    most: i32,
) -> Done {
    // The function may use the API.
    // SAFETY: the program promises that the function takes a number of threads.
    let by_size: Vec<u32> = (0..=MOST_THREADS / WARP)
        .map(|warps| shared_of.map_or(shared, |of| unsafe { of((warps * WARP) as i32) }) as u32)
        .collect();
    let most = most.max(0) as u32;
    let (threads, ctas) = with(|gpu| fitting(gpu, kernel, most, |threads| by_size[(threads / WARP) as usize]))?;
    // SAFETY: the program passes pointers for the results.
    unsafe {
        put(grid, ctas as i32)?;
        put(block, threads as i32)
    }
}

api! { driver:
    cuLaunchKernel(
        kernel: Handle<Kernel>, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared: u32, stream: Handle<Stream>, parameters: *const *const u8, extra: *const usize,
    ) = cuLaunchKernel_ptsz {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        launch(stream, simple(&KernelNode { kernel, grid, block, shared, parameters, extra })?)
    }
    cuLaunchCooperativeKernel(
        kernel: Handle<Kernel>, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared: u32, stream: Handle<Stream>, parameters: *const *const u8,
    ) = cuLaunchCooperativeKernel_ptsz {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let node = KernelNode { kernel, grid, block, shared, parameters, extra: ptr::null() };
        launch(stream, Launch { is_cooperative: true, ..simple(&node)? })
    }
    cuLaunchKernelEx(
        configuration: *const Configuration, kernel: Handle<Kernel>, parameters: *const *const u8,
        extra: *const usize,
    ) = cuLaunchKernelEx_ptsz {
        let Configuration { grid, block, shared, stream, attributes, count } = *configuration;
        let mut own = simple(&KernelNode { kernel, grid, block, shared, parameters, extra })?;
        own.apply(&attributes_at(attributes, count));
        launch(stream, own)
    }
    cuOccupancyMaxActiveBlocksPerMultiprocessor(
        to: *mut i32, kernel: Handle<Kernel>, threads: i32, shared: usize,
    ) { put(to, with(|gpu| gpu.resident(kernel, threads as u32, shared as u32))? as i32) }
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        to: *mut i32, kernel: Handle<Kernel>, threads: i32, shared: usize, _flags: u32,
    ) { put(to, with(|gpu| gpu.resident(kernel, threads as u32, shared as u32))? as i32) }
    cuOccupancyMaxPotentialBlockSize(
        grid: *mut i32, block: *mut i32, kernel: Handle<Kernel>, shared_of: SharedOf, shared: usize, most: i32,
    ) { give_fitting(grid, block, kernel, shared_of, shared, most) }
    cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: *mut i32, block: *mut i32, kernel: Handle<Kernel>, shared_of: SharedOf, shared: usize, most: i32,
        _flags: u32,
    ) { give_fitting(grid, block, kernel, shared_of, shared, most) }
    cuOccupancyAvailableDynamicSMemPerBlock(to: *mut usize, kernel: Handle<Kernel>, ctas: i32, _threads: i32) {
        let bytes = with(|gpu| {
            let shared = gpu.facts(kernel)?.shared as u32;
            let limits = attributes::limits(gpu.sm);
            let each = limits.shared / (ctas.max(1) as u32);
            Ok(each.saturating_sub(attributes::RESERVED_SHARED + shared).min(limits.shared_of_cta))
        })?;
        put(to, bytes as usize)
    }
    cuOccupancyMaxPotentialClusterSize(to: *mut i32, kernel: Handle<Kernel>, _configuration: *const c_void) {
        let is_large = with(|gpu| Ok(gpu.kernels.get(kernel)?.allows_large_clusters))?;
        put(to, if is_large { 16 } else { 8 })
    }
    cuOccupancyMaxActiveClusters(to: *mut i32, kernel: Handle<Kernel>, configuration: *const Configuration) {
        let Configuration { block, shared, attributes, count, .. } = *configuration;
        let cluster = attributes_at(attributes, count).iter().find(|one| one.number == 4).map_or(1, |one| {
            one.value[..3].iter().map(|size| (*size).max(1)).product()
        });
        let ctas = with(|gpu| gpu.resident(kernel, block.iter().product(), shared))? * MULTIPROCESSORS;
        put(to, (ctas / cluster) as i32)
    }
}
