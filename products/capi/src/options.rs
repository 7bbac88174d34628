//! Options of checks and of litmus tests, as text.

use std::num::ParseIntError;

use ptx_atomics_common::{Diagnostic, Errors};
use ptx_execute::Given;
use ptx_isa::Dim3;
use ptx_memory_model::ptx::readings::{self, Readings};

/// The options that a caller set.
#[derive(Default)]
pub struct CallOptions {
    /// The facts of a launch that the caller gives.
    pub given: Given,
    /// A part of the name of each kernel that is checked.
    pub kernel: String,
    /// The reading of the manual.
    pub readings: Readings,
}

/// An option: its name, and a function that sets its value.
pub type Known = (&'static str, fn(&mut CallOptions, &str) -> Result<(), String>);

/// The options that choose the reading of the manual where it is ambiguous.
pub const READINGS: [Known; 2] = [
    ("profile", |to, value| {
        to.readings = match value {
            "default" => Readings::DEFAULT,
            "strict" => Readings::STRICT,
            _ => return Err(format!("unknown profile '{value}'; the known profiles are default, strict")),
        };
        Ok(())
    }),
    ("reading", |to, value| {
        let (of, reading) = readings::read(value)?;
        to.readings = to.readings.with(of, reading);
        Ok(())
    }),
];

/// The options that select kernels and describe their launch.
pub const KERNELS: [Known; 5] = [
    ("block", |to, value| sizes(value).map(|sizes| to.given.size.block = Some(sizes))),
    ("grid", |to, value| sizes(value).map(|sizes| to.given.size.grid = Some(sizes))),
    ("cluster", |to, value| sizes(value).map(|sizes| to.given.size.cluster = Some(sizes))),
    ("param", |to, value| {
        let (name, number) =
            value.split_once('=').ok_or_else(|| format!("expected a parameter, such as n=1024, found '{value}'"))?;
        let number =
            number.parse().map_err(|error: ParseIntError| format!("expected a number, found '{number}': {error}"))?;
        to.given.numbers.push((name.to_owned(), number));
        Ok(())
    }),
    ("kernel", |to, value| {
        value.clone_into(&mut to.kernel);
        Ok(())
    }),
];

impl CallOptions {
    /// Reads a list of `name=value`, separated by commas or semicolons, in which each name is in `known`.
    ///
    /// # Errors
    /// Every item that is not a valid option.
    pub fn read(list: &str, known: &[&[Known]]) -> Result<Self, Errors> {
        let (mut options, mut errors) = (Self::default(), Errors::new());
        let known = || known.iter().copied().flatten();
        for item in list.split([',', ';']).map(str::trim).filter(|item| !item.is_empty()) {
            let (name, value) = item.split_once('=').unwrap_or((item, ""));
            let done = match known().find(|(known, _)| *known == name) {
                Some((_, read)) => read(&mut options, value),
                None => {
                    let names = known().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
                    Err(format!("unknown option '{name}'; the known options are {names}"))
                }
            };
            errors.extend(done.err().map(|reason| Diagnostic::new(format!("in the options: {reason}"))));
        }
        errors.or(options)
    }
}

/// Reads one to three sizes, such as `32x4`; missing sizes are 1.
fn sizes(text: &str) -> Result<Dim3, String> {
    let wrong = || format!("expected one to three sizes, such as 256 or 16x16x4, found '{text}'");
    let mut sizes = [1; 3];
    let mut left = sizes.iter_mut();
    for size in text.split('x') {
        *left.next().ok_or_else(wrong)? = size.parse().map_err(|_| wrong())?;
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_numbers() {
        let right = CallOptions::read("block=32x4; param=n=7,profile=strict", &[&READINGS, &KERNELS]);
        let Ok(options) = right else { panic!("it is right") };
        assert_eq!(options.given.size.block, Some([32, 4, 1]));
        assert_eq!(options.given.numbers, [("n".to_owned(), 7)]);
        let wrong = CallOptions::read("block=1x2x3x4,profile=x,grid=x,param=n,odd", &[&READINGS, &KERNELS]).err();
        assert_eq!(wrong.map(|errors| errors.len()), Some(5));
        assert!(CallOptions::read("block=1", &[&READINGS]).is_err());
    }
}
