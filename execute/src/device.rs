//! A device: global memory, and a module that runs on it.

use crate::{
    launch::{Buffer, Contents, Launch, LaunchError, Options},
    report::Report,
};

pub(crate) struct State<'m> {
    module: &'m ptx_isa::Module,
    pieces: Vec<Vec<u8>>,
}

impl<'m> State<'m> {
    pub fn new(module: &'m ptx_isa::Module, _options: Options) -> Result<Self, Vec<LaunchError>> {
        Ok(Self { module, pieces: Vec::new() })
    }

    pub fn allocate(&mut self, _name: &str, contents: Contents) -> Buffer {
        self.pieces.push(match contents {
            Contents::Bytes(bytes) => bytes,
            Contents::Uninitialized(bytes) => vec![0; bytes as usize],
            Contents::Grows(_) => Vec::new(),
        });
        Buffer(self.pieces.len() as u32 - 1)
    }

    pub fn variable(&self, _name: &str) -> Option<Buffer> {
        None
    }

    pub fn contents(&self, buffer: Buffer) -> &[u8] {
        &self.pieces[buffer.0 as usize]
    }

    pub fn write(&mut self, buffer: Buffer, at: usize, bytes: &[u8]) {
        let piece = &mut self.pieces[buffer.0 as usize];
        for (index, byte) in bytes.iter().enumerate() {
            if let Some(place) = piece.get_mut(at + index) {
                *place = *byte;
            }
        }
    }

    pub fn address(&self, buffer: Buffer) -> u64 {
        (u64::from(buffer.0) + 1) << 32
    }

    pub fn launch(&mut self, launch: &Launch) -> Result<Report, Vec<LaunchError>> {
        let _ = self.module;
        Err(vec![LaunchError { line: None, reason: format!("kernel '{}' cannot run yet", launch.kernel) }])
    }
}
