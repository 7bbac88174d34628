//! The elements that a texture read combines, and their values.

use half::f16;
use ptx_isa::Type;

use super::{Addressing, Image, Sampler, Texture};

/// Weights of a linear filter have 8 bits after the point.
const WEIGHT: f64 = 256.0;

/// Where an element is: its index on each axis, `None` for the border.
pub type Index = Option<[u32; 3]>;

/// The two elements of an axis around a coordinate, and the weight of the second. Without a linear filter, the weight
/// is 0.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Axis {
    elements: [Option<u32>; 2],
    weight: f64,
}

impl Axis {
    /// An axis that the texture does not have.
    const NONE: Self = Self { elements: [Some(0); 2], weight: 0.0 };

    fn new(coordinate: f32, size: u32, addressing: Addressing, sampler: &Sampler) -> Self {
        let scale = if sampler.is_normalized { f64::from(size) } else { 1.0 };
        let at = f64::from(coordinate) * scale;
        let start = if sampler.is_linear { at - 0.5 } else { at };
        let first = start.floor();
        let weight = if sampler.is_linear { ((start - first) * WEIGHT).round() / WEIGHT } else { 0.0 };
        let first = first as i64;
        let elements = [first, first.saturating_add(1)];
        Self { elements: elements.map(|index| index_of(index, size, addressing, sampler.is_normalized)), weight }
    }

    /// The elements that count, with their weights.
    fn weighted(self) -> impl Iterator<Item = (Option<u32>, f64)> {
        let [first, second] = self.elements;
        [(first, 1.0 - self.weight), (second, self.weight)].into_iter().filter(|(_, weight)| *weight != 0.0)
    }
}

/// The element with an index, which may be outside. `None` is the border.
fn index_of(index: i64, size: u32, addressing: Addressing, is_normalized: bool) -> Option<u32> {
    let count = i64::from(size.max(1));
    let index = match addressing {
        Addressing::Wrap if is_normalized => index.rem_euclid(count),
        Addressing::Mirror if is_normalized => {
            let within = index.rem_euclid(2 * count);
            within.min(2 * count - 1 - within)
        }
        Addressing::Border => return u32::try_from(index).ok().filter(|index| *index < size),
        _ => index.clamp(0, count - 1),
    };
    Some(index as u32)
}

impl Texture {
    /// The elements that a read at coordinates combines, with their weights. `layer` is the index of a layer.
    pub fn elements(&self, sampler: &Sampler, coordinates: &[f32], layer: Option<u32>) -> Vec<(Index, f64)> {
        let [x, y, z] = self.axes(sampler, coordinates);
        let mut elements = Vec::with_capacity(8);
        for (z, third) in z.weighted() {
            for (y, second) in y.weighted() {
                for (x, first) in x.weighted() {
                    elements.push((place(x, y, z, layer), first * second * third));
                }
            }
        }
        elements
    }

    /// The four elements around coordinates, counter-clockwise from the lower left.
    pub fn gathered(&self, sampler: &Sampler, coordinates: &[f32], layer: Option<u32>) -> [Index; 4] {
        let [x, y, z] = self.axes(&Sampler { is_linear: true, ..*sampler }, coordinates);
        [(0, 1), (1, 1), (1, 0), (0, 0)].map(|(i, j)| place(x.elements[i], y.elements[j], z.elements[0], layer))
    }

    fn axes(&self, sampler: &Sampler, coordinates: &[f32]) -> [Axis; 3] {
        [0, 1, 2].map(|axis: usize| match coordinates.get(axis) {
            Some(at) => Axis::new(*at, self.image.sizes[axis], sampler.addressing[axis], sampler),
            None => Axis::NONE,
        })
    }

    /// The element at integer coordinates. They are not normalized.
    pub fn element(&self, sampler: &Sampler, coordinates: &[i32], layer: Option<u32>) -> Index {
        let [x, y, z] = [0, 1, 2].map(|axis: usize| match coordinates.get(axis) {
            Some(at) => index_of((*at).into(), self.image.sizes[axis], sampler.addressing[axis], false),
            None => Some(0),
        });
        place(x, y, z, layer)
    }
}

fn place(x: Option<u32>, y: Option<u32>, z: Option<u32>, layer: Option<u32>) -> Index {
    Some([x?, y?, layer.or(z)?])
}

/// The face of a cube in a direction, and the coordinates in the face.
pub fn face(x: f32, y: f32, z: f32) -> (u32, [f32; 2]) {
    let (size, first, second, face) = match [x.abs(), y.abs(), z.abs()] {
        [a, b, c] if a >= b && a >= c => (a, if x < 0.0 { z } else { -z }, -y, u32::from(x < 0.0)),
        [_, b, c] if b >= c => (b, x, if y < 0.0 { -z } else { z }, 2 + u32::from(y < 0.0)),
        [.., c] => (c, if z < 0.0 { -x } else { x }, -y, 4 + u32::from(z < 0.0)),
    };
    (face, [first, second].map(|coordinate| (coordinate / size + 1.0) / 2.0))
}

impl Image {
    /// The offset of an element in bytes.
    pub fn offset(&self, [x, y, z]: [u32; 3]) -> u64 {
        let [row, plane] = self.pitches;
        u64::from(x) * self.element_bytes() + u64::from(y) * row + u64::from(z) * plane
    }

    /// Whether the results of a texture read are floating-point numbers.
    fn gives_floats(&self, sampler: &Sampler) -> bool {
        self.channel.is_float() || sampler.gives_fractions
    }

    /// The results for one element: the bits of its four channels. Channels that it does not have are 0, 0 and 1.
    pub fn channels_of(&self, sampler: &Sampler, element: u128) -> [u32; 4] {
        let one = if self.gives_floats(sampler) { 1f32.to_bits() } else { 1 };
        let mut results = [0, 0, 0, one];
        for (result, index) in results.iter_mut().zip(0..self.channels) {
            *result = self.result(sampler, (element >> (index * self.channel.bits())) as u32);
        }
        results
    }

    /// The results for the border.
    pub fn border_of(&self, sampler: &Sampler) -> [u32; 4] {
        let gives_floats = self.gives_floats(sampler);
        sampler.border.map(|value| if gives_floats { value.to_bits() } else { value as i64 as u32 })
    }

    fn result(&self, sampler: &Sampler, bits: u32) -> u32 {
        let (ty, shift) = (self.channel, 32 - self.channel.bits());
        let signed = (bits << shift).cast_signed() >> shift;
        let unsigned = bits << shift >> shift;
        match ty {
            Type::F16 => f16::from_bits(bits as u16).to_f32().to_bits(),
            Type::F32 => bits,
            _ if sampler.gives_fractions && ty.is_signed() => {
                let most = f64::from(i32::MAX >> shift);
                ((f64::from(signed) / most).max(-1.0) as f32).to_bits()
            }
            _ if sampler.gives_fractions => ((f64::from(unsigned) / f64::from(u32::MAX >> shift)) as f32).to_bits(),
            _ if ty.is_signed() => signed.cast_unsigned(),
            _ => unsigned,
        }
    }
}

/// The weighted sum of results that are floating-point numbers. A single element is not changed.
pub fn combined(results: &[([u32; 4], f64)]) -> [u32; 4] {
    if let [(one, _)] = results {
        return *one;
    }
    [0, 1, 2, 3].map(|channel| {
        let sum: f64 = results.iter().map(|(bits, weight)| f64::from(f32::from_bits(bits[channel])) * weight).sum();
        (sum as f32).to_bits()
    })
}
