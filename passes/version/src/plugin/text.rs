//! Strings between Rust and a shim.

/// A string that neither side owns.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Text {
    start: *const u8,
    length: usize,
}

impl Text {
    pub const fn new(text: &str) -> Self {
        Self { start: text.as_ptr(), length: text.len() }
    }

    /// Nothing if it is null.
    ///
    /// # Safety
    /// The other side has given it, and it is still alive.
    pub unsafe fn get(self) -> Option<String> {
        let bytes = (!self.start.is_null()).then(|| unsafe { std::slice::from_raw_parts(self.start, self.length) })?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}
