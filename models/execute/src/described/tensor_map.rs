//! Tensor maps as arguments: `tensormap(x,128x64,box=64x16,swizzle=128B)`, of a buffer that has a name, or of a new one, as in
//! `tensormap(x:f16[]=iota,128x64,box=64x16)`.

use ptx_isa::Type;
use strum::IntoEnumIterator;

use crate::{
    TensorMap,
    matrix::map::{Fill as OutOfBounds, Interleave, TensorElement},
};

/// A tensor map. Sizes are in elements, the contiguous dimension first.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// A buffer, or the name of one, as an argument.
    pub of: String,
    sizes: Vec<u32>,
    box_sizes: Vec<u32>,
    element_strides: Vec<u32>,
    /// In bytes, of all dimensions but the contiguous one; none if the elements lie side by side.
    strides: Vec<u64>,
    /// The mode and the atomicity, as `tensormap.replace` numbers them.
    swizzle: (u8, u8),
    interleave: Interleave,
    fill: OutOfBounds,
    /// None is the buffer's.
    element: Option<TensorElement>,
}

impl Tensor {
    /// Reads what begins with `tensormap(`; nothing if it does not.
    pub fn read(text: &str) -> Option<Result<Self, String>> {
        let inside = text.strip_prefix("tensormap(")?;
        Some(inside.strip_suffix(')').ok_or_else(|| "a `)` is missing".to_owned()).and_then(Self::inside))
    }

    fn inside(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(',').collect();
        let example = "a tensor map is as in 'tensormap(x,128x64,box=64x16)'";
        // The contents of a buffer may have commas, too: its sizes are the last part that is no option.
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
                    tensor.swizzle = known.ok_or_else(|| format!("'{value}' is no swizzle of {}", names()))?.1;
                }
                "interleave" => {
                    let why = |_| format!("the interleave '{value}' is not none, 16B or 32B");
                    tensor.interleave = value.parse().map_err(why)?;
                }
                "fill" => tensor.fill = value.parse().map_err(|_| format!("the fill '{value}' is not zero or nan"))?,
                "type" => {
                    let names = || TensorElement::iter().map(|one| one.to_string()).collect::<Vec<_>>().join(", ");
                    let element = value.parse().map_err(|_| format!("'{value}' is no type of {}", names()))?;
                    tensor.element = Some(element);
                }
                _ => {
                    let all = "box, strides, element_strides, swizzle, interleave, fill, type";
                    return Err(format!("'{key}' is no option of {all}"));
                }
            }
        }
        let Self { box_sizes, strides, element_strides, .. } = &tensor;
        let fits = (1..=5).contains(&rank) && box_sizes.len() == rank && element_strides.len() == rank;
        match fits && (strides.is_empty() || strides.len() + 1 == rank) {
            true => Ok(tensor),
            false => Err("it has 1 to 5 dimensions, as many sizes of its box, and one stride fewer".into()),
        }
    }

    /// How many elements it has.
    pub fn count(&self) -> u64 {
        self.sizes.iter().fold(1, |all: u64, size| all.saturating_mul((*size).into()))
    }

    /// The map, for elements of a buffer that has so many bytes, where that is known.
    pub fn map(&self, ty: Type, bytes: Option<u64>) -> Result<TensorMap, String> {
        let element = self.element.or_else(|| element(ty));
        let element = element.ok_or_else(|| format!("a tensor has no elements of {ty}: say them by type="))?;
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

/// The elements of tensors, each with the types of its buffer, the type of the same name first.
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

/// The elements of a tensor in a buffer of a type.
fn element(ty: Type) -> Option<TensorElement> {
    ELEMENTS.iter().find(|(_, types)| types.contains(&ty)).map(|(element, _)| *element)
}

/// The type of a buffer that has the elements of a tensor.
pub(super) fn type_of(element: TensorElement) -> Option<Type> {
    ELEMENTS.iter().find(|(own, _)| *own == element).map(|(_, types)| types[0])
}

/// Numbers with an `x` between them.
fn list<T: std::str::FromStr>(text: &str) -> Result<Vec<T>, String> {
    let number = |one: &str| one.parse().map_err(|_| format!("'{text}' has no sizes as in '128x64'"));
    text.split('x').map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A map of a buffer with elements of a type and so many bytes.
    fn check_of(text: &str, ty: Type, bytes: Option<u64>, expected: Result<&str, &str>) {
        let read = Tensor::read(text).unwrap_or_else(|| Err("it is none".into())).and_then(|tensor| {
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
    fn what_is_none() {
        check("tensormap(x,128x64,box=64x16", Err("a `)` is missing"));
        check("tensormap(x)", Err("a tensor map is as in 'tensormap(x,128x64,box=64x16)'"));
        check("tensormap(x,ax4,box=1x1)", Err("'ax4' has no sizes as in '128x64'"));
        check(
            "tensormap(x,8x8,box=8)",
            Err("it has 1 to 5 dimensions, as many sizes of its box, and one stride fewer"),
        );
        check(
            "tensormap(x,8,box=8,swizzle=1B)",
            Err("'1B' is no swizzle of none, 32B, 64B, 96B, 128B, 128B_atom32B, 128B_atom32B_flip8B, 128B_atom64B"),
        );
        check(
            "tensormap(x,8,box=8,color=1)",
            Err("'color' is no option of box, strides, element_strides, swizzle, interleave, fill, type"),
        );
    }

    #[test]
    fn what_the_driver_refuses() {
        check(
            "tensormap(x,512,box=257)",
            Err(
                "a box has 1 to 256 elements in a dimension, and this one 257; a row of the box is a multiple of 16 bytes, and this one has 514",
            ),
        );
        check("tensormap(x,9x2,box=8x1)", Err("a stride is a multiple of 16 bytes below 2^40, and this one is 18"));
        check(
            "tensormap(x,128x2,box=128x1,swizzle=128B)",
            Err("a row of the box has at most the bytes of the swizzle, 128, and this one has 256"),
        );
        check_of("tensormap(x,32,box=16)", Type::U8, Some(16), Err("the tensor has 32 bytes, and its buffer 16"));
    }
}
