//! Strings that Rust and a shim exchange.

/// A string that is only borrowed, in both directions.
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

    /// The string; `None` if the pointer is null.
    ///
    /// # Safety
    /// The other side has passed the string, and it is still alive.
    pub unsafe fn get(self) -> Option<String> {
        let bytes = (!self.start.is_null()).then(|| unsafe { std::slice::from_raw_parts(self.start, self.length) })?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}
