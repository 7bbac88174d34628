//! The types of buffer elements, and the conversion between numbers and their bytes.

use std::fmt::{self, Display, Formatter};

use half::{bf16, f16};
use ptx_isa::Type;
use strum::IntoEnumIterator;

/// A number from text or from memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Integer(i128),
    Float(f64),
}

impl Number {
    /// Reads `7`, `-1`, `0x1f`, `1.5`, `1e-3`, `inf` or `nan`.
    pub fn read(text: &str) -> Option<Self> {
        let (is_negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let hex = digits.strip_prefix("0x").or(digits.strip_prefix("0X"));
        let integer = match hex {
            // The digits may not begin with a second sign.
            Some(hex) => u64::from_str_radix(hex, 16).ok().filter(|_| !hex.starts_with('+')),
            None if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse::<u64>().ok(),
            None => None,
        };
        if let Some(integer) = integer {
            let integer = i128::from(integer);
            return Some(Self::Integer(if is_negative { -integer } else { integer }));
        }
        let is_float = hex.is_none() && !digits.starts_with(['-', '+']);
        let float: f64 = digits.parse().ok().filter(|_| is_float)?;
        Some(Self::Float(if is_negative { -float } else { float }))
    }

    pub fn float(self) -> f64 {
        match self {
            Self::Integer(integer) => integer as f64,
            Self::Float(float) => float,
        }
    }
}

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(integer) => write!(f, "{integer}"),
            Self::Float(float) => write!(f, "{float}"),
        }
    }
}

/// The possible types of elements.
fn elements() -> impl Iterator<Item = Type> {
    Type::iter().filter(|ty| (8..=64).contains(&ty.bits()) && !matches!(ty, Type::F16x2 | Type::Bf16x2))
}

/// The type with a name: a PTX name, or `i32` for `s32`.
pub fn named(name: &str) -> Option<Type> {
    let signed = name.strip_prefix('i').map(|digits| format!("s{digits}"));
    let name = signed.as_deref().unwrap_or(name);
    elements().find(|ty| ty.to_string() == name)
}

/// The names of all types.
pub fn names() -> String {
    elements().map(|ty| ty.to_string()).collect::<Vec<_>>().join(", ")
}

/// The size of an element in bytes.
pub fn size(ty: Type) -> usize {
    ty.bits() as usize / 8
}

pub fn is_float(ty: Type) -> bool {
    matches!(ty, Type::F16 | Type::Bf16 | Type::F32 | Type::F64)
}

pub fn is_signed(ty: Type) -> bool {
    matches!(ty, Type::S8 | Type::S16 | Type::S32 | Type::S64)
}

/// An element of 0, 1, 2, …, which wraps to 0 after the largest value of an integer type.
pub fn iota(ty: Type, index: u64) -> Number {
    let unused = if is_float(ty) { 0 } else { 64 - ty.bits() };
    Number::Integer((index << unused >> unused).into())
}

/// The bytes of a number as an element, the lowest first.
pub fn encode(ty: Type, number: Number) -> Result<Vec<u8>, String> {
    let bytes = match (ty, number) {
        (Type::F16, number) => f16::from_f64(number.float()).to_le_bytes().to_vec(),
        (Type::Bf16, number) => bf16::from_f64(number.float()).to_le_bytes().to_vec(),
        (Type::F32, number) => (number.float() as f32).to_le_bytes().to_vec(),
        (Type::F64, number) => number.float().to_le_bytes().to_vec(),
        (ty, Number::Integer(integer)) => {
            let bits = ty.bits();
            if integer >= 1 << bits || integer < -(1 << (bits - 1)) {
                return Err(format!("{integer} does not fit in {ty}"));
            }
            integer.to_le_bytes()[..size(ty)].to_vec()
        }
        (ty, Number::Float(float)) => return Err(format!("expected {ty}, found {float}")),
    };
    Ok(bytes)
}

/// The number in bytes. Missing bytes are 0.
pub fn decode(ty: Type, bytes: &[u8]) -> Number {
    let mut all = [0; 8];
    all.iter_mut().zip(bytes.iter().take(size(ty))).for_each(|(to, from)| *to = *from);
    let bits = u64::from_le_bytes(all);
    match ty {
        Type::F16 => Number::Float(f16::from_bits(bits as u16).to_f64()),
        Type::Bf16 => Number::Float(bf16::from_bits(bits as u16).to_f64()),
        Type::F32 => Number::Float(f32::from_bits(bits as u32).into()),
        Type::F64 => Number::Float(f64::from_bits(bits)),
        ty if is_signed(ty) => {
            let unused = 64 - ty.bits();
            Number::Integer(((bits << unused) as i64 >> unused).into())
        }
        _ => Number::Integer(bits.into()),
    }
}

/// The number in the fewest digits that distinguish it from every other element of its type.
pub fn format_element(ty: Type, bytes: &[u8]) -> String {
    match decode(ty, bytes) {
        Number::Float(float) if ty != Type::F64 => (float as f32).to_string(),
        number => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ty: &str, text: &str, expected: Result<&str, &str>) {
        let ty = named(ty).expect("a type");
        let number = Number::read(text).expect("a number");
        let again = encode(ty, number).map(|bytes| format_element(ty, &bytes));
        assert_eq!(again.as_deref().map_err(String::as_str), expected, "{ty} {text}");
    }

    #[test]
    fn numbers_are_bytes_and_back() {
        check("u8", "255", Ok("255"));
        check("u8", "-1", Ok("255"));
        check("s8", "-1", Ok("-1"));
        check("i32", "0xffffffff", Ok("-1"));
        check("u64", "0xffffffffffffffff", Ok("18446744073709551615"));
        check("u8", "256", Err("256 does not fit in u8"));
        check("s8", "-129", Err("-129 does not fit in s8"));
        check("u32", "1.5", Err("expected u32, found 1.5"));
        check("f32", "0.1", Ok("0.1"));
        check("f16", "1.5", Ok("1.5"));
        check("bf16", "-2", Ok("-2"));
        check("f64", "1e-3", Ok("0.001"));
        check("f32", "-inf", Ok("-inf"));
    }

    #[test]
    fn words_that_are_no_numbers() {
        for text in ["", "-", "--1", "0x", "0x+1", "1 2", "x", "+-1"] {
            assert_eq!(Number::read(text), None, "{text}");
        }
        for name in ["", "i", "i33", "f16x2", "pred", "b128"] {
            assert_eq!(named(name), None, "{name}");
        }
    }
}
