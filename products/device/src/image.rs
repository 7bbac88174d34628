//! Modules and libraries: PTX as text or in fat binaries, and its kernels.

use std::{
    borrow::Cow,
    ffi::{CStr, c_void},
    slice,
};

use ptx_execute::KernelFacts;
use ptx_isa::{Module, fatbinary};

use crate::{
    error::{Done, Error},
    gpu::Gpu,
    handle::Handle,
    objects::{Image, Kernel},
    say::say,
};

/// The first word of the structure that `__cudaRegisterFatBinary` gets, and of a fat binary.
const WRAPPER: u32 = 0x4662_43b1;
const FATBINARY: u32 = 0xba55_ed50;
/// The first word of an ELF file.
const ELF: u32 = 0x464c_457f;

/// The structure that wraps a fat binary in an executable.
#[repr(C)]
struct Wrapper {
    magic: u32,
    version: u32,
    data: *const c_void,
    unused: *const c_void,
}

/// The header of a fat binary.
#[repr(C)]
struct Header {
    magic: u32,
    version: u16,
    bytes: u16,
    length: u64,
}

/// The remedy for a program without PTX.
const KEEP: &str = "compile it with `-gencode arch=compute_90,code=compute_90`, or a lower number, to keep the PTX";

/// An image in the memory of the program.
enum Found<'a> {
    Fat(&'a [u8]),
    Text(Cow<'a, str>),
    MachineCode,
}

/// Finds the kind and the end of an image.
///
/// # Safety
/// The pointer leads to an image.
unsafe fn find<'a>(image: *const c_void) -> Found<'a> {
    // SAFETY: each image has at least four bytes: the shortest text is longer.
    match unsafe { image.cast::<u32>().read_unaligned() } {
        WRAPPER => {
            // SAFETY: the magic number says so.
            unsafe { find((*image.cast::<Wrapper>()).data) }
        }
        FATBINARY => {
            // SAFETY: the magic number says so.
            let header = unsafe { image.cast::<Header>().read_unaligned() };
            let length = usize::from(header.bytes) + header.length as usize;
            // SAFETY: the header has the length.
            Found::Fat(unsafe { slice::from_raw_parts(image.cast(), length) })
        }
        ELF => Found::MachineCode,
        // SAFETY: a text ends with NUL.
        _ => Found::Text(unsafe { CStr::from_ptr(image.cast()) }.to_string_lossy()),
    }
}

impl Gpu {
    /// The PTX of an image.
    fn choose_text(&self, found: Found<'_>) -> Done<String> {
        let refused = |why: String| {
            say(&why);
            Err(Error::NoBinary)
        };
        let bytes = match found {
            Found::Text(text) => return Ok(text.into_owned()),
            Found::MachineCode => return refused(format!("expected PTX, found machine code alone: {KEEP}")),
            Found::Fat(bytes) => bytes,
        };
        let images = fatbinary::images(bytes);
        let newest = images.iter().map(|image| image.sm).min();
        let fitting = images.into_iter().filter(|image| image.sm <= self.sm.number());
        match (fitting.max_by_key(|image| image.sm), newest) {
            (Some(image), _) => {
                let text = image.text.ok_or(Error::InvalidImage)?;
                Ok(String::from_utf8_lossy(&text).into_owned())
            }
            (None, Some(sm)) => refused(format!(
                "expected PTX for {}, found PTX for sm_{sm} and newer GPUs: set {}=sm_{sm}",
                self.sm,
                crate::options::DEVICE
            )),
            (None, None) => refused(format!("expected PTX in a fat binary, found machine code alone: {KEEP}")),
        }
    }

    /// Loads an image.
    ///
    /// # Safety
    /// The pointer is NULL or leads to an image.
    pub unsafe fn load(&mut self, image: *const c_void) -> Done<Handle<Image>> {
        if image.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: the caller promises it.
        let text = self.choose_text(unsafe { find(image) })?;
        self.load_text(&text)
    }

    /// Loads an image from the contents of a file.
    pub fn load_file(&mut self, mut bytes: Vec<u8>) -> Done<Handle<Image>> {
        bytes.extend([0; 4]);
        // SAFETY: the bytes have at least four bytes, and a NUL at their end; a cut fat binary is refused before.
        let found = match bytes.first_chunk().map(|first| u32::from_le_bytes(*first)) {
            Some(FATBINARY) => Found::Fat(&bytes),
            _ => unsafe { find(bytes.as_ptr().cast()) },
        };
        let text = self.choose_text(found)?;
        self.load_text(&text)
    }

    /// Loads PTX.
    pub fn load_text(&mut self, text: &str) -> Done<Handle<Image>> {
        let (module, errors) = Module::read_partly(text);
        if module.target.is_empty() || module.functions().next().is_none() && !errors.is_empty() {
            let why = errors.first().map(|error| format!(": line {}: {error}", error.line)).unwrap_or_default();
            say(&format!("expected PTX{why}"));
            return Err(Error::InvalidPtx);
        }
        let error = |function: &ptx_isa::Function| {
            let start = text.find(&format!("{}(", function.name)).unwrap_or(0);
            function.body.is_none().then(|| errors.iter().find(|error| error.span.start >= start).cloned()).flatten()
        };
        let entries = module.functions().filter(|function| function.head.is_entry);
        let kernels: Vec<_> = entries.map(|entry| (entry.name.clone(), entry.head.clone(), error(entry))).collect();
        let managed = managed_variables(&module);
        let id = self.device.load(Cow::Owned(module));
        self.recorder.module(id, text);
        let image = self.images.insert(Image { module: id, kernels: Vec::new(), managed: managed.clone() });
        for (name, head, error) in kernels {
            let kernel = Kernel {
                image,
                module: id,
                name: name.clone(),
                head,
                facts: None,
                most_shared: None,
                allows_large_clusters: false,
                error,
            };
            let kernel = self.kernels.insert(kernel);
            self.images.get_mut(image)?.kernels.push((name, kernel));
        }
        for name in &managed {
            if let Some(buffer) = self.device.variable_of(id, name) {
                self.manage(buffer)?;
            }
        }
        Ok(image)
    }

    /// Unloads an image with its kernels and variables.
    pub fn unload(&mut self, image: Handle<Image>) -> Done {
        self.flush();
        let Image { module, managed, .. } = self.images.remove(image)?;
        for name in managed {
            if let Some(buffer) = self.device.variable_of(module, &name) {
                self.free(self.device.address(buffer))?;
            }
        }
        self.kernels.retain(|kernel| kernel.image != image);
        self.device.unload(module);
        Ok(())
    }

    /// The kernel of an image with a name.
    pub fn kernel(&self, image: Handle<Image>, name: &str) -> Done<Handle<Kernel>> {
        let kernels = &self.images.get(image)?.kernels;
        kernels.iter().find(|(own, _)| own == name).map(|(_, kernel)| *kernel).ok_or(Error::NotFound)
    }

    /// The device pointer and the size of a variable of an image.
    pub fn variable(&self, image: Handle<Image>, name: &str) -> Done<(u64, usize)> {
        let module = self.images.get(image)?.module;
        let buffer = self.device.variable_of(module, name).ok_or(Error::NotFound)?;
        Ok((self.device.address(buffer), self.device.contents(buffer).len()))
    }

    /// Facts about a kernel.
    pub fn facts(&mut self, kernel: Handle<Kernel>) -> Done<KernelFacts> {
        let found = self.kernels.get(kernel)?;
        if let Some(facts) = &found.facts {
            return Ok(facts.clone());
        }
        if let Some(error) = &found.error {
            say(&format!("kernel '{}' cannot be read: line {}: {error}", found.name, error.line));
            return Err(Error::InvalidPtx);
        }
        match self.device.kernel(found.module, &found.name) {
            Ok(facts) => {
                self.kernels.get_mut(kernel)?.facts = Some(facts.clone());
                Ok(facts)
            }
            Err(errors) => {
                errors.iter().for_each(|error| say(&format!("kernel '{}': {error}", found.name)));
                Err(Error::InvalidPtx)
            }
        }
    }
}

/// The names of the managed variables of a module.
fn managed_variables(module: &Module) -> Vec<String> {
    let texts = module.items.iter().filter_map(|item| match item {
        ptx_isa::Item::Directive(text) => Some(text),
        ptx_isa::Item::Function(_) => None,
    });
    let managed = texts.filter(|text| text.contains(".attribute") && text.contains(".managed"));
    managed.flat_map(|text| ptx_isa::Variable::read(text)).map(|variable| variable.name).collect()
}
