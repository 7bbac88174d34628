//! The text of a guessed launch as arguments of `ptx-atomics run`, which makes the same launch from them.

use std::fmt::{self, Display, Formatter};

use ptx_isa::Type;

use super::tensor_map::type_of;
use crate::{Assumed, Assumption, TensorMap, Value, matrix::map::Fill};

impl Assumed {
    /// The arguments for each parameter, or for its parts: `n=256`, `out:u32[]=small`, `args+16=7`.
    pub fn arguments(&self) -> Vec<String> {
        let buffer = |name: &str, zeros| Some(format!("{name}:u32[]{}", if zeros { "" } else { "=small" }));
        (0..self.parameters.len()).flat_map(|parameter| self.format_parameter(parameter, buffer)).collect()
    }

    /// The values of a parameter, for a reader. Buffers of small numbers are omitted because they are listed together.
    pub(super) fn chosen(&self, parameter: usize) -> Vec<String> {
        self.format_parameter(parameter, |name, zeros| zeros.then(|| format!("{name} is a buffer of zeros")))
    }

    /// The text of the fields of a parameter. `buffer` gives the text of a buffer from its name and whether it begins
    /// with zeros. A parameter without a field is 0.
    fn format_parameter(&self, parameter: usize, buffer: impl Fn(&str, bool) -> Option<String>) -> Vec<String> {
        let own = &self.parameters[parameter];
        let field = |field: &Assumption| {
            let Assumption { value, bytes, .. } = field;
            let name = self.name_of(field);
            match value {
                Value::Number(_) | Value::Division(..) => {
                    let number = self.number(value).unwrap_or_default();
                    vec![format!("{name}={}", said_of(number, *bytes, own.is_float && name == own.name))]
                }
                Value::Buffer(maps) => {
                    let maps = maps.iter().map(|(at, map)| format!("{name}[{at}]={}", map_said(map)));
                    buffer(&name, self.begins_with_zeros(field)).into_iter().chain(maps).collect()
                }
                Value::Map(map) => vec![format!("{name}={}", map_said(map))],
            }
        };
        match self.fields_of(parameter).next() {
            Some(_) => self.fields_of(parameter).flat_map(field).collect(),
            None => vec![format!("{}=0", own.name)],
        }
    }
}

/// The text of a number from its bits, which for a floating-point parameter are of its type.
fn said_of(bits: u64, bytes: u64, is_float: bool) -> String {
    let own = bits & u64::MAX >> (64 - 8 * bytes.clamp(1, 8));
    let float = match bytes {
        _ if !is_float => return own.to_string(),
        4 => f64::from(f32::from_bits(own as u32)),
        8 => f64::from_bits(own),
        _ => f64::NAN,
    };
    // A fraction or an infinity might not be read back as the same bits.
    match float as i64 {
        whole if (whole as f64).to_bits() == float.to_bits() => whole.to_string(),
        _ => format!("b{}:{own}", 8 * bytes),
    }
}

fn map_said(map: &TensorMap) -> String {
    let rank = (map.rank as usize).min(5);
    let plain = TensorMap::tiled(map.element, &map.sizes[..rank], &map.box_sizes[..rank]);
    let swizzle = (map.swizzle_mode, map.swizzle_atomicity);
    let ty = type_of(map.element);
    let name = |known: &(&'static str, (u8, u8))| (known.1 == swizzle).then_some(known.0);
    let options = [
        ("type", ty.is_none().then(|| map.element.to_string())),
        ("strides", (map.strides != plain.strides).then(|| list(&map.strides[..rank.saturating_sub(1)]))),
        ("element_strides", (map.element_strides != plain.element_strides).then(|| list(&map.element_strides[..rank]))),
        ("interleave", (map.interleave != plain.interleave).then(|| map.interleave.to_string())),
        ("swizzle", TensorMap::SWIZZLES.iter().find_map(name).filter(|_| swizzle != (0, 0)).map(str::to_owned)),
        ("fill", (map.fill == Fill::Nan).then(|| "nan".to_owned())),
    ];
    let options = options.into_iter().filter_map(|(name, value)| Some(format!(",{name}={}", value?)));
    let (sizes, of_box) = (list(&map.sizes[..rank]), list(&map.box_sizes[..rank]));
    let ty = ty.unwrap_or(Type::U32);
    format!("tensormap({ty}[]=small,{sizes},box={of_box}{})", options.collect::<String>())
}

/// Numbers separated by `x`.
fn list<T: Display>(numbers: &[T]) -> String {
    numbers.iter().map(T::to_string).collect::<Vec<_>>().join("x")
}

impl Display for Assumed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sizes = self.size.plain().named().map(|(option, value)| format!("--{option} {value}"));
        let arguments = self.arguments().into_iter().map(|argument| format!("--arg '{argument}'"));
        f.write_str(&sizes.chain(arguments).collect::<Vec<_>>().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bits: u64, bytes: u64, is_float: bool, expected: &str) {
        assert_eq!(said_of(bits, bytes, is_float), expected, "{bits:#x}");
    }

    #[test]
    fn numbers() {
        check(256, 4, false, "256");
        check(u64::MAX, 4, false, "4294967295");
        check(u64::MAX, 8, false, "18446744073709551615");
        check(1f32.to_bits().into(), 4, true, "1");
        check((-2f64).to_bits(), 8, true, "-2");
        check(1.5f32.to_bits().into(), 4, true, "b32:1069547520");
        check((-0f32).to_bits().into(), 4, true, "b32:2147483648");
        check(f32::NAN.to_bits().into(), 4, true, "b32:2143289344");
        check(0x3c00, 2, true, "b16:15360");
    }
}
