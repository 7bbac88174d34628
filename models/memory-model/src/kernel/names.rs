//! The readable names of a compiler's symbols.

/// The name of a symbol in its source, without parameter types.
pub fn source_name(symbol: &str) -> String {
    // NVPTX spells the `.` of LLVM's own suffixes like this; the suffixes follow the mangled name.
    let mangled = symbol.split("_$_").next().unwrap_or(symbol);
    if let Ok(rust) = rustc_demangle::try_demangle(mangled) {
        return format!("{rust:#}");
    }
    // A bare `y` would be a type.
    let cpp = Some(mangled).filter(|name| name.starts_with("_Z")).and_then(|name| cpp_demangle::Symbol::new(name).ok());
    cpp.and_then(|cpp| cpp.demangle().ok()).map_or_else(|| mangled.to_owned(), |name| without_parameters(&name))
}

/// `scan(unsigned int*)::sums` as `scan::sums`.
fn without_parameters(name: &str) -> String {
    let mut depth = 0usize;
    let kept = name.chars().filter(|c| match c {
        '(' => {
            depth += 1;
            false
        }
        ')' => {
            depth = depth.saturating_sub(1);
            false
        }
        _ => depth == 0,
    });
    kept.collect()
}

/// Whether a name denotes a symbol: it is the symbol itself, its name in the source, or the end of its path.
pub(super) fn is_called(symbol: &str, name: &str) -> bool {
    let shown = source_name(symbol);
    symbol == name || shown == name || shown.strip_suffix(name).is_some_and(|path| path.ends_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols() {
        assert!(is_called("counter", "counter"));
        assert_eq!(source_name("y"), "y");
        assert!(is_called("_ZL7counter", "counter"));
        assert!(is_called("_Z8producerPi", "producer"));
        assert!(is_called("_ZZ4scanPjE4sums", "sums"));
        assert!(is_called("_RNvCszEIKiEIbUE_2mp4FLAG_$_0", "FLAG"));
        assert!(is_called("_RNvCszEIKiEIbUE_2mp4FLAG", "mp::FLAG"));
        assert!(!is_called("_RNvCszEIKiEIbUE_2mp4FLAG", "LAG"));
    }
}
