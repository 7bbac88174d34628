//! Tensor maps and the copies through them, compared with a walk over single elements.

use std::collections::BTreeMap;

use ptx_execute::matrix::{
    map::{Field, Fill, Interleave, TensorElement, TensorMap},
    tile::Chunk,
};

use super::random::Random;

/// A map of random sizes, with boxes that fit the swizzle.
fn random_map(random: &mut Random) -> TensorMap {
    let (element, bytes) =
        [(TensorElement::U8, 1), (TensorElement::F16, 2), (TensorElement::F32, 4), (TensorElement::F64, 8)]
            [random.next(4) as usize];
    let (mode, atomicity, width) =
        [(0, 0, 128), (1, 0, 32), (2, 0, 64), (3, 0, 128), (3, 1, 128), (3, 2, 128), (3, 3, 128)]
            [random.next(7) as usize];
    let mut map = TensorMap {
        address: 0x7000_0000,
        element,
        rank: 1 + random.next(5) as u32,
        swizzle_mode: mode,
        swizzle_atomicity: atomicity,
        ..TensorMap::default()
    };
    let row = 16 * (1 + random.next(width / 16));
    map.box_sizes[0] = (row / bytes) as u32;
    let mut stride = 0;
    for i in 0..5 {
        map.sizes[i] = 1 + random.next(40) as u32;
        map.element_strides[i] = 1 + random.next(2) as u32;
        if i > 0 {
            map.box_sizes[i] = 1 + random.next(5) as u32;
            // Distinct places: each stride exceeds the extent of the preceding dimension.
            stride = if i == 1 { 48 * 8 } else { stride * 48 };
            map.strides[i - 1] = stride;
        }
    }
    map
}

/// Section 5.5.7: the permutation of the 16-byte units of a line of 128 bytes, and the flip of 8 bytes in odd lines.
fn swizzled(map: &TensorMap, address: u32) -> u32 {
    let (line, unit, byte) = (address / 128, address % 128 / 16, address % 16);
    let unit = match (map.swizzle_mode, map.swizzle_atomicity) {
        (0, _) => unit,
        (1 | 4, _) => unit ^ (line % 2),
        (2, _) => unit ^ (line % 4),
        (3, 0) => unit ^ (line % 8),
        (3, 1 | 2) => ((unit / 2) ^ (line % 4)) * 2 + unit % 2,
        _ => ((unit / 4) ^ (line % 2)) * 4 + unit % 4,
    };
    let byte = if map.swizzle_atomicity == 2 && line % 2 == 1 { (byte + 8) % 16 } else { byte };
    line * 128 + unit * 16 + byte
}

/// The byte of global memory for each byte of shared memory.
fn bytes(chunks: &[Chunk]) -> BTreeMap<u32, Option<u64>> {
    let mut found = BTreeMap::new();
    for chunk in chunks {
        assert!(chunk.bytes > 0);
        for i in 0..chunk.bytes {
            let old = found.insert(chunk.shared + i, chunk.global.map(|global| global + u64::from(i)));
            assert_eq!(old, None, "a byte twice: {chunk:?}");
        }
    }
    found
}

/// The address of an element in global memory, if the tensor has the element.
fn element(map: &TensorMap, at: &[i64]) -> Option<u64> {
    let size = match map.element {
        TensorElement::U8 => 1,
        TensorElement::F16 => 2,
        TensorElement::F32 => 4,
        _ => 8,
    };
    let inside = at.iter().zip(map.sizes).all(|(at, size)| *at >= 0 && *at < i64::from(size));
    let address = at
        .iter()
        .enumerate()
        .map(|(i, at)| if i == 0 { at * size } else { at * map.strides[i - 1] as i64 })
        .sum::<i64>();
    inside.then(|| map.address.wrapping_add(address as u64))
}

/// Puts elements into shared memory, one after the other.
fn walk(map: &TensorMap, shared: u32, places: impl Iterator<Item = Vec<i64>>) -> BTreeMap<u32, Option<u64>> {
    let size = match map.element {
        TensorElement::U8 => 1,
        TensorElement::F16 => 2,
        TensorElement::F32 => 4,
        _ => 8,
    };
    let mut expected = BTreeMap::new();
    for (i, place) in places.enumerate() {
        for byte in 0..size {
            let at = swizzled(map, shared + i as u32 * size + byte);
            expected.insert(at, element(map, &place).map(|global| global + u64::from(byte)));
        }
    }
    expected
}

#[test]
fn a_box_is_every_element_of_it() {
    let mut random = Random(1);
    let (mut inside, mut outside) = (0, 0);
    for _ in 0..400 {
        let map = random_map(&mut random);
        let rank = map.rank as usize;
        let at: Vec<i32> = (0..rank).map(|_| random.next(50) as i32 - 6).collect();
        let shared = 1024 * random.next(3) as u32 + 128 * random.next(8) as u32;
        // Every second element with a traversal stride of 2. The first dimension has no stride.
        let count = |i: usize| {
            if i == 0 {
                map.box_sizes[0]
            } else {
                (0..map.box_sizes[i]).step_by(map.element_strides[i] as usize).count() as u32
            }
        };
        let total: u32 = (0..rank).map(count).product();
        let places = (0..total).map(|mut index| {
            (0..rank)
                .map(|i| {
                    let step = i64::from(index % count(i)) * if i == 0 { 1 } else { i64::from(map.element_strides[i]) };
                    index /= count(i);
                    i64::from(at[i]) + step
                })
                .collect()
        });
        let expected = walk(&map, shared, places);
        let chunks = map.tile(&at, shared).unwrap();
        assert_eq!(bytes(&chunks), expected, "{map:?} {at:?}");
        assert_eq!(map.tile_bytes(), expected.len() as u64);
        inside += expected.values().flatten().count();
        outside += expected.len() - expected.values().flatten().count();
    }
    assert!(inside > 1000 && outside > 1000);
}

#[test]
fn gathered_rows_are_each_elsewhere() {
    let mut random = Random(2);
    for _ in 0..100 {
        let map = TensorMap { rank: 2, ..random_map(&mut random) };
        let at = [(); 5].map(|()| random.next(50) as i32 - 6);
        let places = at[1..]
            .iter()
            .flat_map(|row| (0..map.box_sizes[0]).map(move |i| vec![i64::from(at[0]) + i64::from(i), i64::from(*row)]));
        let expected = walk(&map, 0x800, places);
        assert_eq!(bytes(&map.gather(at, 0x800).unwrap()), expected);
        assert_eq!(map.gather_bytes(), expected.len() as u64);
    }
}

/// The three examples of section 5.5.4, computed by hand: the first pixels, and the first pixel of a new row.
#[test]
fn im2col_walks_through_the_bounding_box() {
    let example = |w: u32, stride: u32, pixels: u32, channels: u32, lower: i16, upper: i16| TensorMap {
        address: 0x10_0000,
        element: TensorElement::F16,
        rank: 4,
        sizes: [64, w, 14, 64, 0],
        strides: [128, 128 * 16, 128 * 16 * 16, 0],
        box_sizes: [channels, pixels, 0, 0, 0],
        element_strides: [1, stride, stride, 1, 0],
        lower: [lower, lower, 0],
        upper: [upper, upper, 0],
        ..TensorMap::default()
    };
    // C, W, H and N of a pixel, by its number.
    type Pixels = &'static [(usize, [i64; 4])];
    type Case = (TensorMap, [i32; 4], [u16; 2], Pixels);
    let cases: [Case; 3] = [
        // W goes from -1 to 7, H from -1 to 12.
        (
            example(9, 1, 64, 8, -1, -1),
            [0, 7, 7, 4],
            [0, 0],
            &[(0, [0, 7, 7, 4]), (1, [0, -1, 8, 4]), (9, [0, 7, 8, 4])],
        ),
        // W goes from 0 to 6, H from 0 to 11. The read pixels are at an offset of 2.
        (
            example(9, 1, 64, 8, 0, -2),
            [0, 4, 4, 7],
            [2, 2],
            &[(0, [0, 6, 6, 7]), (2, [0, 8, 6, 7]), (3, [0, 2, 7, 7]), (52, [0, 2, 2, 8])],
        ),
        // Every second pixel of W from -1 to 6.
        (
            example(8, 2, 32, 16, -1, -1),
            [0, 5, 7, 7],
            [1, 1],
            &[(0, [0, 6, 8, 7]), (1, [0, 0, 10, 7]), (4, [0, 6, 10, 7]), (5, [0, 0, 12, 7])],
        ),
    ];
    for (map, at, offsets, pixels) in cases {
        let chunks = bytes(&map.im2col(&at, &offsets, 0).unwrap());
        let row = map.box_sizes[0] * 2;
        assert_eq!(chunks.len() as u64, map.im2col_bytes());
        for (number, place) in pixels {
            assert_eq!(chunks[&(*number as u32 * row)], element(&map, place), "{map:?} pixel {number}");
        }
    }
}

#[test]
fn a_map_survives_its_block_and_another_block_is_known() {
    let mut random = Random(3);
    for i in 0..100 {
        let mut map = random_map(&mut random);
        map.lower = [-3, 2, i];
        map.upper = [0, -7, 5];
        map.fill = Fill::Nan;
        map.interleave = Interleave::B32;
        assert_eq!(TensorMap::decode(&map.encode()), Ok(map));
    }
    assert_eq!(TensorMap::decode(&[0; 128]), Ok(TensorMap::default()));
    assert!(TensorMap::decode(&[1; 128]).is_err());
    let mut block = TensorMap::default().encode();
    for (at, byte) in [(16, 16), (17, 6), (18, 3), (19, 5), (20, 4), (21, 2)] {
        block[at] = byte;
        assert!(TensorMap::decode(&block).is_err(), "byte {at}");
        block[at] = 0;
    }
}

/// A kernel builds a map from zeros, field by field, in memory.
#[test]
fn a_map_is_made_by_replacing_its_fields() {
    let mut block = [0; 128];
    let fields = [
        ("global_address", 0, 0x1234_5678_9abc),
        ("rank", 0, 1),
        ("box_dim", 0, 64),
        ("box_dim", 1, 128),
        ("global_dim", 0, 1000),
        ("global_dim", 1, 77),
        ("global_stride", 0, 2048),
        ("element_stride", 0, 1),
        ("element_stride", 1, 1),
        ("elemtype", 0, 6),
        ("interleave_layout", 0, 0),
        ("swizzle_mode", 0, 3),
        ("fill_mode", 0, 1),
    ];
    for (word, ord, value) in fields {
        let mut map = TensorMap::decode(&block).unwrap();
        map.replace(Field::from_word(word, ord).unwrap(), value).unwrap();
        block = map.encode();
    }
    let expected = TensorMap {
        address: 0x1234_5678_9abc,
        element: TensorElement::F16,
        rank: 2,
        sizes: [1000, 77, 0, 0, 0],
        strides: [2048, 0, 0, 0],
        box_sizes: [64, 128, 0, 0, 0],
        element_strides: [1, 1, 0, 0, 0],
        swizzle_mode: 3,
        fill: Fill::Nan,
        ..TensorMap::default()
    };
    assert_eq!(TensorMap::decode(&block), Ok(expected));
    assert_eq!(expected.tile_bytes(), 64 * 128 * 2);
    assert_eq!(expected.fill.bytes(expected.element)[..2], [0xff, 0x7f]);
    let mut map = expected;
    for (word, ord, value) in [
        ("rank", 0, 5),
        ("box_dim", 5, 1),
        ("global_stride", 4, 1),
        ("elemtype", 0, 16),
        ("swizzle_mode", 0, 9),
        ("fill_mode", 0, u64::MAX),
    ] {
        assert!(map.replace(Field::from_word(word, ord).unwrap(), value).is_err(), "{word}");
    }
    assert_eq!(Field::from_word("nothing", 0), None);
}

#[test]
fn a_tensor_without_a_box_is_refused() {
    let map = TensorMap {
        element: TensorElement::F16,
        rank: 2,
        sizes: [64; 5],
        strides: [128; 4],
        box_sizes: [64, 8, 1, 1, 1],
        element_strides: [1; 5],
        ..TensorMap::default()
    };
    assert!(map.tile(&[0, 0], 0).is_ok());
    let no = |map: TensorMap| assert!(map.tile(&[0, 0], 0).is_err(), "{map:?}");
    assert!(map.tile(&[0], 0).is_err());
    no(TensorMap { box_sizes: [63, 8, 1, 1, 1], ..map });
    no(TensorMap { box_sizes: [128, 8, 1, 1, 1], swizzle_mode: 3, ..map });
    no(TensorMap { box_sizes: [64, u32::MAX, 1, 1, 1], ..map });
    no(TensorMap { box_sizes: [0, 8, 1, 1, 1], ..map });
    no(TensorMap { interleave: Interleave::B16, ..map });
    no(TensorMap { swizzle_mode: 1, swizzle_atomicity: 1, ..map });
    for element in [TensorElement::B4x16P64, TensorElement::B6x16P32] {
        no(TensorMap { element, ..map });
        assert!(TensorMap { element, box_sizes: [128, 8, 1, 1, 1], ..map }.tile(&[0, 0], 0).is_ok(), "{element:?}");
    }
    no(TensorMap::default());
    let wide = TensorMap { box_sizes: [u32::MAX - 15; 5], ..map };
    assert!(wide.gather([0; 5], 0).is_err());
    assert!(map.im2col(&[0, 0], &[], 0).is_err());
    assert!(TensorMap { rank: 0, ..map }.tile(&[], 0).is_err());
    assert!(TensorMap { rank: 6, ..map }.tile(&[0; 6], 0).is_err());
    let extreme = TensorMap { address: u64::MAX, strides: [u64::MAX; 4], sizes: [u32::MAX; 5], swizzle_mode: 3, ..map };
    for at in [[i32::MIN; 2], [i32::MAX; 2]] {
        let chunks = extreme.tile(&at, u32::MAX - 100).unwrap();
        assert_eq!(chunks.iter().map(|chunk| u64::from(chunk.bytes)).sum::<u64>(), 1024);
    }
}

#[test]
fn types_that_round_do_so() {
    let tf32 = |value: u32| TensorElement::Tf32.loaded(value);
    assert_eq!(
        [tf32(0x3f80_1000), tf32(0x3f80_3000), tf32(0x3f80_1001), tf32(0x3f80_0fff)],
        [0x3f80_0000, 0x3f80_4000, 0x3f80_2000, 0x3f80_0000]
    );
    assert_eq!(
        [0x8000_0001, 0x0040_0000, 0x0080_0000].map(|bits| TensorElement::F32Ftz.loaded(bits)),
        [0x8000_0000, 0, 0x0080_0000]
    );
    assert_eq!(TensorElement::F32.loaded(1), 1);
    assert!(f32::from_bits(tf32(0x7f80_0001)).is_nan());
}
