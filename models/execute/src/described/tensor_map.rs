//! Tensor maps as arguments: `tensormap(x,128x64,box=64x16,swizzle=128B)` of a named buffer, or
//! `tensormap(x:f16[]=iota,128x64,box=64x16)` of a new buffer.

use ptx_isa::Type;
use strum::IntoEnumIterator;

use crate::{
    TensorMap,
    matrix::map::{Fill as OutOfBounds, Interleave, TensorElement},
};

/// A tensor map. Sizes are in elements, the contiguous dimension first.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// The buffer, or the name of a buffer, as an argument.
    pub of: String,
    sizes: Vec<u32>,
    box_sizes: Vec<u32>,
    element_strides: Vec<u32>,
    /// In bytes, of all dimensions except the contiguous one. Empty if the elements are dense.
    strides: Vec<u64>,
    /// The mode and the atomicity, as `tensormap.replace` numbers them.
    swizzle: (u8, u8),
    interleave: Interleave,
    fill: OutOfBounds,
    /// `None` takes the type of the buffer.
    element: Option<TensorElement>,
}

impl Tensor {
    /// Reads a text that begins with `tensormap(`. `None` for any other text.
    pub fn read(text: &str) -> Option<Result<Self, String>> {
        let inside = text.strip_prefix("tensormap(")?;
        Some(inside.strip_suffix(')').ok_or_else(|| "a `)` is missing".to_owned()).and_then(Self::inside))
    }

    fn inside(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(',').collect();
        let example = "expected a tensor map such as 'tensormap(x,128x64,box=64x16)'";
        // The contents of a buffer may also have commas, so the sizes are the last part that is not an option.
        let at = parts.iter().rposition(|part| !part.contains('=')).filter(|at| *at > 0).ok_or(example)?;
        let rank = list::<u32>(parts[at])?.len();
        let mut tensor = Self {
            of: parts[..at].join(","),
            sizes: list(parts[at])?,
            box_sizes: Vec::new(),
            element_strides: vec![1; rank],
            strides: Vec::new(),
            swizzle: (0, 0),
            interleave: Interleave::None,
            fill: OutOfBounds::Zero,
            element: None,
        };
        for (key, value) in parts[at + 1..].iter().filter_map(|part| part.split_once('=')) {
            match key {
                "box" => tensor.box_sizes = list(value)?,
                "strides" => tensor.strides = list(value)?,
                "element_strides" => tensor.element_strides = list(value)?,
                "swizzle" => {
                    let known = TensorMap::SWIZZLES.iter().find(|(name, _)| *name == value);
                    let names = || TensorMap::SWIZZLES.map(|(name, _)| name).join(", ");
                    tensor.swizzle =
                        known.ok_or_else(|| format!("expected one of {} as the swizzle, found '{value}'", names()))?.1;
                }
                "interleave" => {
                    let why = |_| format!("expected none, 16B or 32B as the interleave, found '{value}'");
                    tensor.interleave = value.parse().map_err(why)?;
                }
                "fill" => {
                    tensor.fill =
                        value.parse().map_err(|_| format!("expected zero or nan as the fill, found '{value}'"))?
                }
                "type" => {
                    let names = || TensorElement::iter().map(|one| one.to_string()).collect::<Vec<_>>().join(", ");
                    let element = value
                        .parse()
                        .map_err(|_| format!("expected one of {} as the type, found '{value}'", names()))?;
                    tensor.element = Some(element);
                }
                _ => {
                    let all = "box, strides, element_strides, swizzle, interleave, fill, type";
                    return Err(format!("expected one of {all} as the option, found '{key}'"));
                }
            }
        }
        let Self { box_sizes, strides, element_strides, .. } = &tensor;
        let fits = (1..=5).contains(&rank) && box_sizes.len() == rank && element_strides.len() == rank;
        match fits && (strides.is_empty() || strides.len() + 1 == rank) {
            true => Ok(tensor),
            false => Err("expected 1 to 5 dimensions, as many sizes of the box, and one stride fewer".into()),
        }
    }

    /// The number of elements of the tensor.
    pub fn count(&self) -> u64 {
        self.sizes.iter().fold(1, |all: u64, size| all.saturating_mul((*size).into()))
    }

    /// The map, for a buffer of elements of type `ty`, and of `bytes` bytes if its size is known.
    pub fn map(&self, ty: Type, bytes: Option<u64>) -> Result<TensorMap, String> {
        let element = self.element.or_else(|| element(ty));
        let element = element.ok_or_else(|| format!("a tensor has no elements of {ty}: give them by type="))?;
        let mut map = TensorMap::tiled(element, &self.sizes, &self.box_sizes);
        map.strides.iter_mut().zip(&self.strides).for_each(|(to, from)| *to = *from);
        map.element_strides.iter_mut().zip(&self.element_strides).for_each(|(to, from)| *to = *from);
        (map.swizzle_mode, map.swizzle_atomicity) = self.swizzle;
        (map.fill, map.interleave) = (self.fill, self.interleave);
        let mut refused = map.refused();
        if let Some(bytes) = bytes.filter(|bytes| *bytes < map.bytes()) {
            refused.push(format!("the tensor has {} bytes, and its buffer {bytes}", map.bytes()));
        }
        if refused.is_empty() { Ok(map) } else { Err(refused.join("; ")) }
    }
}

/// The element types of tensors, each with the types of its buffer. The type with the same name is first.
const ELEMENTS: [(TensorElement, &[Type]); 10] = [
    (TensorElement::U8, &[Type::U8, Type::S8, Type::B8]),
    (TensorElement::U16, &[Type::U16, Type::S16, Type::B16]),
    (TensorElement::U32, &[Type::U32, Type::B32]),
    (TensorElement::S32, &[Type::S32]),
    (TensorElement::U64, &[Type::U64, Type::B64]),
    (TensorElement::S64, &[Type::S64]),
    (TensorElement::F16, &[Type::F16]),
    (TensorElement::Bf16, &[Type::Bf16]),
    (TensorElement::F32, &[Type::F32]),
    (TensorElement::F64, &[Type::F64]),
];

/// The element type of a tensor in a buffer of a type.
fn element(ty: Type) -> Option<TensorElement> {
    ELEMENTS.iter().find(|(_, types)| types.contains(&ty)).map(|(element, _)| *element)
}

/// The type of a buffer for the elements of a tensor.
pub(super) fn type_of(element: TensorElement) -> Option<Type> {
    ELEMENTS.iter().find(|(own, _)| *own == element).map(|(_, types)| types[0])
}

/// Reads numbers separated by `x`.
fn list<T: std::str::FromStr>(text: &str) -> Result<Vec<T>, String> {
    let number = |one: &str| one.parse().map_err(|_| format!("expected sizes such as '128x64', found '{text}'"));
    text.split('x').map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the map of a buffer of `bytes` bytes with elements of a type.
    fn check_of(text: &str, ty: Type, bytes: Option<u64>, expected: Result<&str, &str>) {
        let read =
            Tensor::read(text).unwrap_or_else(|| Err("the text is not a tensor map".into())).and_then(|tensor| {
                let TensorMap { element, rank, sizes, strides, box_sizes, swizzle_mode, fill, .. } =
                    tensor.map(ty, bytes)?;
                let of = &tensor.of;
                Ok(format!("{of} {element} {rank} {sizes:?} {strides:?} {box_sizes:?} {swizzle_mode} {fill:?}"))
            });
        assert_eq!(read.as_deref().map_err(String::as_str), expected, "{text}");
    }

    fn check(text: &str, expected: Result<&str, &str>) {
        check_of(text, Type::F16, None, expected);
    }

    #[test]
    fn maps() {
        check(
            "tensormap(x,128x64,box=64x16,swizzle=128B)",
            Ok("x f16 2 [128, 64, 0, 0, 0] [256, 0, 0, 0] [64, 16, 0, 0, 0] 3 Zero"),
        );
        check_of(
            "tensormap(x:u32[]=iota,8x4x2,box=4x1x2,fill=nan)",
            Type::U32,
            Some(256),
            Ok("x:u32[]=iota u32 3 [8, 4, 2, 0, 0] [32, 128, 0, 0] [4, 1, 2, 0, 0] 0 Nan"),
        );
        check_of(
            "tensormap(x:u32[]=1,2,3,4,4x1,box=4x1,strides=16,type=tf32)",
            Type::U32,
            Some(16),
            Ok("x:u32[]=1,2,3,4 tf32 2 [4, 1, 0, 0, 0] [16, 0, 0, 0] [4, 1, 0, 0, 0] 0 Zero"),
        );
    }

    #[test]
    fn invalid_texts_are_errors() {
        check("tensormap(x,128x64,box=64x16", Err("a `)` is missing"));
        check("tensormap(x)", Err("expected a tensor map such as 'tensormap(x,128x64,box=64x16)'"));
        check("tensormap(x,ax4,box=1x1)", Err("expected sizes such as '128x64', found 'ax4'"));
        check(
            "tensormap(x,8x8,box=8)",
            Err("expected 1 to 5 dimensions, as many sizes of the box, and one stride fewer"),
        );
        check(
            "tensormap(x,8,box=8,swizzle=1B)",
            Err(
                "expected one of none, 32B, 64B, 96B, 128B, 128B_atom32B, 128B_atom32B_flip8B, 128B_atom64B as the swizzle, found '1B'",
            ),
        );
        check(
            "tensormap(x,8,box=8,color=1)",
            Err(
                "expected one of box, strides, element_strides, swizzle, interleave, fill, type as the option, found 'color'",
            ),
        );
    }

    #[test]
    fn maps_that_the_driver_refuses() {
        check(
            "tensormap(x,512,box=257)",
            Err(
                "expected a box of 1 to 256 elements in a dimension, found 257; expected a row of the box that is a multiple of 16 bytes, found 514",
            ),
        );
        check("tensormap(x,9x2,box=8x1)", Err("expected a stride that is a multiple of 16 bytes below 2^40, found 18"));
        check(
            "tensormap(x,128x2,box=128x1,swizzle=128B)",
            Err("expected a row of the box of at most the bytes of the swizzle, 128, found 256"),
        );
        check_of("tensormap(x,32,box=16)", Type::U8, Some(16), Err("the tensor has 32 bytes, and its buffer 16"));
    }
}
