//! A launch that is assumed in the words of `ptx-atomics run`, which makes the same launch of them.

use std::fmt::{self, Display, Formatter};

use super::assumed::{Assumed, Assumption, Value};
use crate::{
    TensorMap,
    matrix::map::{Fill, TensorElement},
};

impl Assumed {
    /// Each parameter, or the parts of it, as arguments: `n=256`, `out:u32[]=small`, `args+16=7`.
    pub fn arguments(&self) -> Vec<String> {
        (0..self.parameters.len()).flat_map(|parameter| self.arguments_of(parameter)).collect()
    }

    /// The same of the parameter with a number. Of what no part is known, all is 0.
    pub fn arguments_of(&self, parameter: usize) -> Vec<String> {
        let fields = self.fields.iter().filter(|field| field.parameter == parameter);
        let said: Vec<String> = fields.flat_map(|field| self.said(field)).collect();
        let name = self.parameters.get(parameter).filter(|_| said.is_empty());
        said.into_iter().chain(name.map(|own| format!("{}=0", own.name))).collect()
    }

    fn said(&self, field: &Assumption) -> Vec<String> {
        let name = self.name_of(field);
        let parameter = &self.parameters[field.parameter];
        match &field.value {
            Value::Number(number) => {
                let is_float = parameter.is_float && name == parameter.name;
                vec![format!("{name}={}", said_of(*number, field.bytes, is_float))]
            }
            Value::Buffer(maps) => {
                let maps = maps.iter().map(|(at, map)| format!("{name}[{at}]={}", map_said(map)));
                let contents = if self.begins_with_zeros(field) { "" } else { "=small" };
                std::iter::once(format!("{name}:u32[]{contents}")).chain(maps).collect()
            }
            Value::Map(map) => vec![format!("{name}={}", map_said(map))],
        }
    }
}

/// The bits of a number. Where a parameter of floating point is meant, these are of its type.
fn said_of(bits: u64, bytes: u64, is_float: bool) -> String {
    let own = bits & u64::MAX >> (64 - 8 * bytes.clamp(1, 8));
    let float = match bytes {
        _ if !is_float => return own.to_string(),
        4 => f64::from(f32::from_bits(own as u32)),
        8 => f64::from_bits(own),
        _ => f64::NAN,
    };
    // What has a fraction or no end could come back as another one.
    match float as i64 {
        whole if (whole as f64).to_bits() == float.to_bits() => whole.to_string(),
        _ => format!("b{}:{own}", 8 * bytes),
    }
}

fn map_said(map: &TensorMap) -> String {
    use TensorElement::{B4x16, B4x16P64, B6x16P32, F32Ftz, Tf32, Tf32Ftz};
    let rank = (map.rank as usize).min(5);
    let plain = TensorMap::tiled(map.element, &map.sizes[..rank], &map.box_sizes[..rank]);
    let swizzle = (map.swizzle_mode, map.swizzle_atomicity);
    let is_special = matches!(map.element, F32Ftz | Tf32 | Tf32Ftz | B4x16 | B4x16P64 | B6x16P32);
    let buffer = if is_special { "u32".to_owned() } else { map.element.to_string() };
    let name = |known: &(&'static str, (u8, u8))| (known.1 == swizzle).then_some(known.0);
    let options = [
        ("type", is_special.then(|| map.element.to_string())),
        ("strides", (map.strides != plain.strides).then(|| list(&map.strides[..rank.saturating_sub(1)]))),
        ("element_strides", (map.element_strides != plain.element_strides).then(|| list(&map.element_strides[..rank]))),
        ("interleave", (map.interleave != plain.interleave).then(|| map.interleave.to_string())),
        ("swizzle", TensorMap::SWIZZLES.iter().find_map(name).filter(|_| swizzle != (0, 0)).map(str::to_owned)),
        ("fill", (map.fill == Fill::Nan).then(|| "nan".to_owned())),
    ];
    let options = options.into_iter().filter_map(|(name, value)| Some(format!(",{name}={}", value?)));
    let (sizes, of_box) = (list(&map.sizes[..rank]), list(&map.box_sizes[..rank]));
    format!("tensormap({buffer}[]=small,{sizes},box={of_box}{})", options.collect::<String>())
}

/// Numbers with an `x` between them.
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
