//! The interface to the GPU.

use std::{error::Error, fs, path::Path, sync::Arc};

use cudarc::{
    driver::{CudaContext, CudaSlice, LaunchConfig, PushKernelArg, sys},
    nvrtc::Ptx,
};

use crate::kernel::{Argument, Kernel};

/// The first GPU, or the reason why there is none.
pub fn open() -> Result<Arc<CudaContext>, String> {
    // Safety: the call loads the driver's library, as the next call does, which panics if the library is missing.
    if !unsafe { sys::is_culib_present() } {
        return Err("no NVIDIA driver here".into());
    }
    CudaContext::new(0).map_err(|error| format!("no GPU here: {error}"))
}

pub fn multiprocessors(context: &CudaContext) -> Result<u32, Box<dyn Error>> {
    let count = context.attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    Ok(count.try_into()?)
}

/// Runs a kernel of a module many times. Passes the microseconds and the fault of the result, if it has one, to the
/// callback.
pub fn measure(
    kernel: &Kernel,
    module: &Path,
    runs: u32,
    mut each: impl FnMut(f32, Option<String>),
) -> Result<(), Box<dyn Error>> {
    let context = open()?;
    let function = context.load_module(Ptx::from_src(fs::read_to_string(module)?))?.load_function(kernel.name)?;
    let launch = kernel.on_gpu(multiprocessors(&context)?);
    let config =
        LaunchConfig { grid_dim: (launch.blocks, 1, 1), block_dim: (launch.threads, 1, 1), shared_mem_bytes: 0 };
    let stream = context.default_stream();

    // The first run loads the code and is not measured.
    for run in 0..=runs {
        let mut memories = Vec::new();
        for argument in &launch.arguments {
            memories.extend(match argument {
                Argument::Word(_) => None,
                Argument::Room(words) => Some((stream.alloc_zeros(*words as usize)?, false)),
                Argument::Memory { before, .. } => Some((stream.clone_htod(before)?, true)),
            });
        }
        let mut builder = stream.launch_builder(&function);
        let mut next = memories.iter_mut();
        for argument in &launch.arguments {
            match argument {
                Argument::Word(word) => builder.arg(word),
                _ => builder.arg(&mut next.next().expect("a memory for each argument").0),
            };
        }
        builder.record_kernel_launch(sys::CUevent_flags::CU_EVENT_DEFAULT);
        // Safety: the arguments match the parameters of the kernel, and every memory has the length that the kernel
        // accesses.
        let events = unsafe { builder.launch(config) }?;
        stream.synchronize()?;
        let (start, end) = events.ok_or("no events")?;
        let looked_at = memories.iter().filter(|(_, looked_at)| *looked_at);
        let after = looked_at.map(|(memory, _): &(CudaSlice<u32>, _)| stream.clone_dtoh(memory));
        let after = after.collect::<Result<Vec<_>, _>>()?;
        if run > 0 {
            each(1000.0 * start.elapsed_ms(&end)?, launch.wrong(&after));
        }
    }
    Ok(())
}
