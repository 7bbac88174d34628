//! Functions that modules call without defining them: functions of CUDA's runtime and of Rust's `core`.

use strum::IntoEnumIterator;

/// The effect of a runtime function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::EnumIter)]
#[non_exhaustive]
pub enum Runtime {
    /// Printing. It accesses no memory that threads share: `vprintf`.
    Prints,
    /// Allocation of memory that no other thread has: `malloc`.
    Allocates,
    /// Deallocation: `free`.
    Frees,
    /// A failed assertion, which ends the thread and its grid. Its arguments are the condition, the file, the line and
    /// the function.
    Fails,
    /// The end of the thread and of its grid: a panic of Rust.
    Ends,
}

impl Runtime {
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Prints => &["vprintf"],
            Self::Allocates => &["malloc"],
            Self::Frees => &["free"],
            Self::Fails => &["__assertfail", "__assert_fail"],
            Self::Ends => &["abort", "rust_begin_unwind"],
        }
    }

    /// The effect of the function with this symbol, mangled or not; `None` if the function is unknown.
    pub fn from_symbol(symbol: &str) -> Option<Self> {
        let known = Self::iter().find(|runtime| runtime.names().contains(&symbol));
        // In a mangled name, the length of each part precedes the part.
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
        assert_eq!(Runtime::from_symbol("vprintf"), Some(Runtime::Prints));
        assert_eq!(Runtime::from_symbol("__assertfail"), Some(Runtime::Fails));
        assert_eq!(Runtime::from_symbol("_ZN4core9panicking5panic17h0123456789abcdefE"), Some(Runtime::Ends));
        assert_eq!(Runtime::from_symbol("_RNvNtCs1_4core9panicking9panic_fmt"), Some(Runtime::Ends));
        assert_eq!(Runtime::from_symbol("_RNvCs2_7___rustc17rust_begin_unwind"), Some(Runtime::Ends));
        assert_eq!(Runtime::from_symbol("my_4core9panicking"), None);
        assert_eq!(Runtime::from_symbol("kernel"), None);
    }
}
