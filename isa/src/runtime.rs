//! Functions that modules call without having them: what CUDA's runtime and Rust's `core` do.

use strum::IntoEnumIterator;

/// What a function of a runtime does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::EnumIter)]
#[non_exhaustive]
pub enum Runtime {
    /// It prints, and touches no memory that threads share: `vprintf`.
    Prints,
    /// It gives memory that no other thread has: `malloc`.
    Allocates,
    /// It takes memory back: `free`.
    Frees,
    /// The thread, and with it the grid, ends: a failed assertion, or a panic of Rust.
    Ends,
}

impl Runtime {
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Prints => &["vprintf"],
            Self::Allocates => &["malloc"],
            Self::Frees => &["free"],
            Self::Ends => &["__assertfail", "__assert_fail", "abort", "rust_begin_unwind"],
        }
    }

    /// What the function of a symbol does, mangled or not; `None`, if it is none of these.
    pub fn of(symbol: &str) -> Option<Self> {
        let known = Self::iter().find(|runtime| runtime.names().contains(&symbol));
        // Mangled names have the length of each part in front of it.
        let panics = ["4core9panicking", "17rust_begin_unwind"].iter().any(|part| symbol.contains(part));
        let is_of_rust = symbol.starts_with("_R") || symbol.starts_with("_ZN");
        known.or_else(|| (is_of_rust && panics).then_some(Self::Ends))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols() {
        assert_eq!(Runtime::of("vprintf"), Some(Runtime::Prints));
        assert_eq!(Runtime::of("__assertfail"), Some(Runtime::Ends));
        assert_eq!(Runtime::of("_ZN4core9panicking5panic17h0123456789abcdefE"), Some(Runtime::Ends));
        assert_eq!(Runtime::of("_RNvNtCs1_4core9panicking9panic_fmt"), Some(Runtime::Ends));
        assert_eq!(Runtime::of("_RNvCs2_7___rustc17rust_begin_unwind"), Some(Runtime::Ends));
        assert_eq!(Runtime::of("my_4core9panicking"), None);
        assert_eq!(Runtime::of("kernel"), None);
    }
}
