//! Tensor maps as a host makes them for tiles, with the limits of `cuTensorMapEncodeTiled` (CUDA Driver API, 'Tensor
//! Map Object Management').

use super::{
    map::{Interleave, TensorElement, TensorMap},
    shared::Swizzle,
};

/// The maximum number of elements of a box in a dimension, and the maximum traversal stride.
const MOST_IN_BOX: u32 = 256;
const MOST_STRIDE: u32 = 8;

impl TensorMap {
    /// The names of the swizzles, with the mode and the atomicity, as `tensormap.replace` numbers them.
    pub const SWIZZLES: [(&str, (u8, u8)); 8] = [
        ("none", (0, 0)),
        ("32B", (1, 0)),
        ("64B", (2, 0)),
        ("96B", (4, 0)),
        ("128B", (3, 0)),
        ("128B_atom32B", (3, 1)),
        ("128B_atom32B_flip8B", (3, 2)),
        ("128B_atom64B", (3, 3)),
    ];

    /// A map of a dense tensor, and of its boxes. Sizes are in elements, the contiguous dimension first. Dimensions
    /// after the fifth are ignored.
    pub fn tiled(element: TensorElement, sizes: &[u32], box_sizes: &[u32]) -> Self {
        let mut map = Self { element, rank: sizes.len().min(5) as u32, element_strides: [1; 5], ..Self::default() };
        map.sizes.iter_mut().zip(sizes).for_each(|(to, from)| *to = *from);
        map.box_sizes.iter_mut().zip(box_sizes).for_each(|(to, from)| *to = *from);
        let (elements, bytes) = element.unit();
        let mut stride = u64::from(map.sizes[0]) / elements * bytes;
        for dimension in 1..map.rank as usize {
            map.strides[dimension - 1] = stride;
            stride = stride.saturating_mul(map.sizes[dimension].into());
        }
        map
    }

    /// The bytes from the first element of the tensor to the end of the last one.
    pub fn bytes(&self) -> u64 {
        let (elements, bytes) = self.element.unit();
        let rank = (self.rank as usize).min(5);
        let row = u64::from(self.sizes[0]) / elements * bytes;
        (1..rank).fold(row, |all, dimension| {
            let last = u64::from(self.sizes[dimension]).saturating_sub(1);
            all.saturating_add(last.saturating_mul(self.strides[dimension - 1]))
        })
    }

    /// The reasons why `cuTensorMapEncodeTiled` rejects the map, each as a clause.
    pub fn refused(&self) -> Vec<String> {
        let mut refused = Vec::new();
        let mut must = |holds: bool, what: String| {
            if !holds {
                refused.push(what);
            }
        };
        let rank = (self.rank as usize).min(5);
        must((1..=5).contains(&self.rank), format!("expected a tensor of 1 to 5 dimensions, found {}", self.rank));
        must(self.address.is_multiple_of(16), "expected an address that is a multiple of 16".into());
        must(self.sizes[..rank].iter().all(|size| *size > 0), "expected sizes of at least 1".into());
        for stride in &self.strides[..rank.saturating_sub(1)] {
            must(
                stride.is_multiple_of(16) && *stride < 1 << 40,
                format!("expected a stride that is a multiple of 16 bytes below 2^40, found {stride}"),
            );
        }
        for size in &self.box_sizes[..rank] {
            must(
                (1..=MOST_IN_BOX).contains(size),
                format!("expected a box of 1 to {MOST_IN_BOX} elements in a dimension, found {size}"),
            );
        }
        let strides = &self.element_strides[..rank];
        must(
            strides.iter().all(|stride| (1..=MOST_STRIDE).contains(stride)),
            format!("expected traversal strides of 1 to {MOST_STRIDE}"),
        );
        let (elements, bytes) = self.element.unit();
        let row = u64::from(self.box_sizes[0]) * bytes / elements;
        let inner = || format!("expected a row of the box that is a multiple of 16 bytes, found {row}");
        must(self.interleave != Interleave::None || row.is_multiple_of(16), inner());
        match self.swizzle() {
            Ok(swizzle) => must(
                swizzle == Swizzle::None || self.interleave != Interleave::None || row <= u64::from(swizzle.width()),
                format!(
                    "expected a row of the box of at most the bytes of the swizzle, {}, found {row}",
                    swizzle.width()
                ),
            ),
            Err(why) => must(false, why.to_string()),
        }
        refused
    }
}
