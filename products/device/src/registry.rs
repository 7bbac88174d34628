//! The fat binaries, kernels and variables that the code of nvcc and clang registers when a program starts. PTX is
//! loaded when a program first uses it.

use crate::{
    error::{Done, Error},
    gpu::Gpu,
    handle::Handle,
    objects::{Fat, Image, Kernel, Named},
};

impl Gpu {
    /// The image of a fat binary.
    pub fn registered(&mut self, fat: Handle<Fat>) -> Done<Handle<Image>> {
        let Fat { data, loaded, managed } = self.registry.fats.get(fat)?;
        if let Some(image) = loaded.filter(|image| self.images.get(*image).is_ok()) {
            return Ok(image);
        }
        let (data, managed) = (*data, managed.clone());
        // SAFETY: the program registers an image that it keeps.
        let image = unsafe { self.load(data as *const std::ffi::c_void) }?;
        for (pointer, name) in managed {
            let (address, _) = self.variable(image, &name)?;
            // SAFETY: the program registers the address of its pointer to the variable.
            unsafe { *(pointer as *mut u64) = address };
        }
        self.registry.fats.get_mut(fat)?.loaded = Some(image);
        Ok(image)
    }

    /// The kernel of a function of the host, or of its own handle.
    pub fn kernel_of(&mut self, host: usize) -> Done<Handle<Kernel>> {
        if self.kernels.get(Handle::new(host)).is_ok() {
            return Ok(Handle::new(host));
        }
        let Named { fat, name } = self.registry.kernels.get(&host).cloned().ok_or(Error::InvalidFunction)?;
        let image = self.registered(fat)?;
        self.kernel(image, &name).map_err(|_| Error::InvalidFunction)
    }

    /// The device pointer and the size of a variable of the host.
    pub fn symbol(&mut self, host: usize) -> Done<(u64, usize)> {
        let Named { fat, name } = self.registry.variables.get(&host).cloned().ok_or(Error::InvalidSymbol)?;
        let image = self.registered(fat)?;
        self.variable(image, &name).map_err(|_| Error::InvalidSymbol)
    }
}
