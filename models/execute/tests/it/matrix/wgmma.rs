//! Matrix descriptors and `wgmma`.

use std::{collections::BTreeSet, time::Instant};

use ptx_execute::matrix::{
    element::{Element, Values},
    shared::{Bytes, SharedMatrix, Swizzle, merge},
    wgmma::{Immediates, Wgmma},
};

use super::random::{Random, naive, rounded, value};

const SWIZZLES: [Swizzle; 8] = [
    Swizzle::None,
    Swizzle::B32,
    Swizzle::B64,
    Swizzle::B96,
    Swizzle::B128,
    Swizzle::B128Atom32,
    Swizzle::B128Atom32Flip8,
    Swizzle::B128Atom64,
];

#[test]
fn a_swizzle_is_its_own_inverse_and_stays_within_a_line() {
    for swizzle in SWIZZLES {
        for address in (0..4096).chain(0x3_f000..0x3_f400) {
            for base in 0..8 {
                let there = swizzle.apply(address, base);
                assert_eq!(swizzle.apply(there, base), address, "{swizzle:?}");
                assert_eq!(there / 128, address / 128, "{swizzle:?}");
            }
        }
    }
}

/// The tables of section 5.5.7, in units of 16 bytes.
#[test]
fn the_swizzles_are_those_of_the_tables() {
    #[rustfmt::skip]
    let tables: [(Swizzle, &[[u32; 8]]); 5] = [
        (Swizzle::B32,  &[[0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 3, 2, 5, 4, 7, 6]]),
        (Swizzle::B64,  &[[0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 3, 2, 5, 4, 7, 6], [2, 3, 0, 1, 6, 7, 4, 5], [3, 2, 1, 0, 7, 6, 5, 4]]),
        (Swizzle::B128, &[
            [0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 3, 2, 5, 4, 7, 6], [2, 3, 0, 1, 6, 7, 4, 5], [3, 2, 1, 0, 7, 6, 5, 4],
            [4, 5, 6, 7, 0, 1, 2, 3], [5, 4, 7, 6, 1, 0, 3, 2], [6, 7, 4, 5, 2, 3, 0, 1], [7, 6, 5, 4, 3, 2, 1, 0],
        ]),
        (Swizzle::B128Atom32, &[[0, 1, 2, 3, 4, 5, 6, 7], [2, 3, 0, 1, 6, 7, 4, 5], [4, 5, 6, 7, 0, 1, 2, 3], [6, 7, 4, 5, 2, 3, 0, 1]]),
        (Swizzle::B128Atom64, &[[0, 1, 2, 3, 4, 5, 6, 7], [4, 5, 6, 7, 0, 1, 2, 3]]),
    ];
    for (swizzle, table) in tables {
        for line in 0..16 {
            for unit in 0..8 {
                let expected = line * 128 + table[line as usize % table.len()][unit as usize] * 16 + 5;
                assert_eq!(
                    swizzle.apply(line * 128 + unit * 16 + 5, 0),
                    expected,
                    "{swizzle:?} line {line} unit {unit}"
                );
            }
        }
    }
    assert_eq!(Swizzle::B128.apply(128 + 16, 1), 128 + 16, "the pattern begins in line 1");
    assert_eq!(Swizzle::B128Atom32Flip8.apply(128, 0), 128 + 32 + 8);
}

/// A descriptor of `wgmma`.
fn descriptor(start: u32, leading: u32, stride: u32, mode: u64) -> u64 {
    let field = |value: u32| u64::from(value >> 4 & 0x3fff);
    field(start) | field(leading) << 16 | field(stride) << 32 | mode << 62
}

/// The manual's examples of canonical layouts: shapes and strides of CuTe, in elements, before the swizzle. As in CuTe,
/// the leftmost mode of a shape varies fastest.
#[test]
fn the_layouts_are_those_of_the_manuals_examples() {
    type Modes = &'static [(usize, usize)];
    #[rustfmt::skip]
    let examples: [(usize, bool, u64, u32, u32, Modes, Modes); 5] = [
        // Bits, across, swizzle, LBO, SBO, rows, columns.
        (32, false, 0, 64 * 4,  32 * 4,  &[(8, 4), (2, 32)], &[(4, 1), (4, 64)]),
        (32, false, 3, 16,      64 * 4,  &[(8, 8), (2, 64)], &[(4, 1), (2, 4)]),
        (16, true,  0, 128 * 2, 64 * 2,  &[(8, 1), (1, 8), (2, 64)],  &[(8, 8), (2, 128)]),
        (16, true,  3, 128 * 2, 256 * 2, &[(8, 1), (2, 8), (2, 128)], &[(8, 16), (2, 256)]),
        (16, true,  2, 256 * 2, 512 * 2, &[(8, 1), (4, 8), (2, 256)], &[(8, 32), (2, 512)]),
    ];
    let offset = |modes: Modes, mut index: usize| {
        modes
            .iter()
            .map(|(size, stride)| {
                let at = index % size;
                index /= size;
                at * stride
            })
            .sum::<usize>()
    };
    for (bits, across, mode, leading, stride, rows, columns) in examples {
        let size = |modes: Modes| modes.iter().map(|(size, _)| size).product::<usize>();
        let start = 0x1000;
        let matrix =
            SharedMatrix::of_wgmma(descriptor(start, leading, stride, mode), [size(rows), size(columns), bits], across);
        let swizzle = [Swizzle::None, Swizzle::B128, Swizzle::B64, Swizzle::B32][mode as usize];
        let mut seen = BTreeSet::new();
        for unit in matrix.units() {
            let plain = start + ((offset(rows, unit.row) + offset(columns, unit.column)) * bits / 8) as u32;
            assert_eq!(unit.address, swizzle.apply(plain, 0), "{bits} {across} {mode} {unit:?}");
            assert!(seen.insert(unit.address));
        }
        assert_eq!(seen.len(), size(rows) * size(columns) * bits / 128);
    }
}

#[test]
fn ranges_are_merged() {
    let at = |address, bytes| Bytes { address, bytes };
    assert_eq!(merge(vec![at(32, 16), at(0, 16), at(16, 8), at(24, 2), at(16, 1)]), [at(0, 26), at(32, 16)]);
    assert_eq!(merge(vec![at(u32::MAX - 15, 16), at(0, 16)]), [at(0, 16), at(u32::MAX - 15, 16)]);
    let matrix = SharedMatrix::of_wgmma(descriptor(0x400, 16, 1024, 1), [64, 16, 16], false);
    assert!(
        matrix.ranges().iter().all(|range| range.bytes <= 64),
        "32 bytes of each line of 128, which may be next to each other"
    );
    assert_eq!(matrix.ranges().iter().map(|range| range.bytes).sum::<u32>(), 64 * 32);
}

/// Stores a matrix, with K or M (N) contiguous, as a kernel would: bytes are placed in tiles as wide as the swizzle,
/// then swizzled.
fn store(memory: &mut [u8], matrix: &SharedMatrix, elements: &[u64]) {
    let bytes = matrix.bits / 8;
    let width = if matrix.swizzle == Swizzle::None { 16 } else { matrix.swizzle.width() as usize };
    for (i, element) in elements.iter().enumerate() {
        let (row, column) = (i / matrix.columns, i % matrix.columns);
        let (along, line) = if matrix.across { (row * bytes, column) } else { (column * bytes, row) };
        let (tile, groups) = (along / width, line / 8);
        let (by_tile, by_group) = match (matrix.swizzle, matrix.across) {
            (Swizzle::None, true) => (matrix.stride, matrix.leading),
            _ => (matrix.leading, matrix.stride),
        };
        let at = matrix.start as usize
            + tile * by_tile as usize
            + groups * by_group as usize
            + line % 8 * width
            + along % width;
        let at = matrix.swizzle.apply(at as u32, 0) as usize;
        memory[at..][..bytes].copy_from_slice(&element.to_le_bytes()[..bytes]);
    }
}

/// Forms: the types of D and of both multiplicands, and K.
const FORMS: [(Element, Element, Element, usize); 8] = [
    (Element::F32, Element::F16, Element::F16, 16),
    (Element::F16, Element::F16, Element::F16, 16),
    (Element::F32, Element::Bf16, Element::Bf16, 16),
    (Element::F32, Element::Tf32, Element::Tf32, 8),
    (Element::F32, Element::E4m3, Element::E5m2, 32),
    (Element::F16, Element::E5m2, Element::E4m3, 32),
    (Element::S32, Element::S8, Element::U8, 32),
    (Element::S32, Element::U8, Element::S8, 32),
];

/// The row and column of an accumulator: section 9.7.15.5.1.1, figure of D.
fn d_place(warp: usize, lane: usize, i: usize) -> (usize, usize) {
    (warp * 16 + lane / 4 + i / 2 % 2 * 8, lane % 4 * 2 + i % 2 + i / 4 * 8)
}

fn check(form: (Element, Element, Element, usize), n: usize, modes: [u64; 2], across: [bool; 2], random: &mut Random) {
    let (d_type, a_type, b_type, k) = form;
    let word = format!("m64n{n}k{k}");
    let types = [d_type, a_type, b_type].map(|element| element.to_string());
    let words = ["mma_async", "sync", "aligned", &word, &types[0], &types[1], &types[2]];
    let negate_a = d_type != Element::S32 && random.next(2) == 1;
    let immediates = Immediates { negate_a, negate_b: false, transpose_a: across[0], transpose_b: across[1] };
    let wgmma = Wgmma::from_modifiers(&words, immediates).unwrap_or_else(|error| panic!("{error}"));
    // Tiles are stored one after the other, with lines in groups of eight.
    let layout = |start: u32, rows: usize, bits: usize, mode: u64, across: bool| {
        let width = [16, 128, 64, 32][mode as usize];
        let group = width * 8;
        let (along, lines) = if across { (rows * bits / 8, k) } else { (k * bits / 8, rows) };
        let tile = group * (lines as u32).div_ceil(8);
        assert!(tile * (along as u32).div_ceil(width) < 0x1_0000);
        let swapped = mode == 0 && across;
        if swapped { descriptor(start, group, tile, mode) } else { descriptor(start, tile, group, mode) }
    };
    let a = wgmma.a(layout(0x400, 64, a_type.bits(), modes[0], across[0]));
    let b = wgmma.b(layout(0x2_0000, n, b_type.bits(), modes[1], across[1]));
    assert_eq!([a.across, b.across], across);
    let mut memory = vec![0xa5; 0x4_0000];
    let mut fill = |element: Element, count: usize| -> (Vec<u64>, Vec<f64>) {
        (0..count).map(|_| random.element(element)).unzip()
    };
    let ((a_bits, a_values), (b_bits, b_values)) = (fill(a_type, 64 * k), fill(b_type, n * k));
    let (c_bits, c_values) = fill(d_type, 64 * n);
    store(&mut memory, &a, &a_bits);
    store(&mut memory, &b, &b_bits);
    let read = |address: u32| -> [u8; 16] { memory[address as usize..][..16].try_into().unwrap() };
    assert_eq!(a.load(&read), a_bits, "{words:?} {modes:?} {across:?}");
    assert_eq!(b.load(&read), b_bits, "{words:?} {modes:?} {across:?}");
    let each = 32 / d_type.bits();
    assert_eq!(wgmma.registers()[0], n / 2 / each);
    let mut d = [(); 4].map(|()| vec![[0; 32]; n / 2 / each]);
    let places = (0..128 * n / 2).map(|i| (i / (n / 2) / 32, i / (n / 2) % 32, i % (n / 2)));
    for (warp, lane, i) in places.clone() {
        let (row, column) = d_place(warp, lane, i);
        d[warp][i / each][lane] |= c_bits[row * n + column] << (i % each * d_type.bits());
    }
    let sign = if negate_a { -1.0 } else { 1.0 };
    for accumulate in [true, false] {
        let result = wgmma.compute(&a_bits, &b_bits, accumulate.then_some(&d));
        let c = |i, j| if accumulate { c_values[i * n + j] } else { 0.0 };
        let expected = naive(64, n, k, |i, l| sign * a_values[i * k + l], |l, j| b_values[j * k + l], c);
        for (warp, lane, i) in places.clone() {
            let (row, column) = d_place(warp, lane, i);
            let bits = result[warp][i / each][lane] >> (i % each * d_type.bits());
            assert_eq!(value(d_type, bits), rounded(d_type, expected[row * n + column]), "{words:?} {row} {column}");
        }
    }
}

#[test]
fn every_layout_gives_the_naive_product() {
    let mut random = Random(5);
    for form in FORMS {
        for n in [8, 24, 128, 256] {
            for mode in 0..4 {
                check(form, n, [mode, 3 - mode], [false; 2], &mut random);
            }
        }
        if form.1.bits() == 16 {
            for (i, n) in [64, 128, 256, 128].into_iter().enumerate() {
                check(form, n, [i as u64, 3 - i as u64], [true, i % 2 == 0], &mut random);
            }
        }
    }
}

/// The second 16 columns of K, selected by a start address 32 bytes further on, inside the pattern.
#[test]
fn a_start_within_a_pattern_is_swizzled_by_its_address() {
    let mut random = Random(9);
    let whole = SharedMatrix::of_wgmma(descriptor(0x400, 16, 1024, 1), [64, 64, 16], false);
    let elements: Vec<u64> = (0..64 * 64).map(|_| random.next(1 << 16)).collect();
    let mut memory = vec![0; 0x4000];
    store(&mut memory, &whole, &elements);
    for step in 0..4 {
        let part = SharedMatrix::of_wgmma(descriptor(0x400 + 32 * step, 16, 1024, 1), [64, 16, 16], false);
        let loaded = part.load(&|address| memory[address as usize..][..16].try_into().unwrap());
        for (i, element) in loaded.iter().enumerate() {
            assert_eq!(*element, elements[i / 16 * 64 + step as usize * 16 + i % 16]);
        }
    }
}

#[test]
fn a_in_registers_is_a_in_memory() {
    let mut random = Random(13);
    for (k, a_type) in [(16, Element::F16), (8, Element::Tf32), (32, Element::S8)] {
        let types = if a_type == Element::S8 {
            ["s32", "s8", "s8"]
        } else {
            ["f32", if k == 16 { "f16" } else { "tf32" }, if k == 16 { "f16" } else { "tf32" }]
        };
        let word = format!("m64n8k{k}");
        let wgmma =
            Wgmma::from_modifiers(&["mma_async", &word, types[0], types[1], types[2]], Immediates::default()).unwrap();
        let per = 32 / a_type.bits();
        let elements: Vec<u64> = (0..64 * k).map(|_| random.next(1 << a_type.bits())).collect();
        let mut warps = [(); 4].map(|()| vec![[0; 32]; wgmma.registers()[1]]);
        assert_eq!(wgmma.registers()[1], 4);
        for (i, element) in elements.iter().enumerate() {
            let (row, column) = (i / k, i % k);
            let register = row % 16 / 8 + column / (4 * per) * 2;
            warps[row / 16][register][row % 8 * 4 + column / per % 4] |= element << (column % per * a_type.bits());
        }
        assert_eq!(wgmma.a_of_registers(&warps), elements);
    }
}

#[test]
fn wrong_forms_are_refused_and_descriptors_do_not_panic() {
    for words in [
        ["m64n8k16", "f32", "f16", "bf16"],
        ["m64n12k16", "f32", "f16", "f16"],
        ["m32n8k16", "f32", "f16", "f16"],
        ["m64n8k16", "f16", "bf16", "bf16"],
    ] {
        assert!(Wgmma::from_modifiers(&words, Immediates::default()).is_err(), "{words:?}");
    }
    let transposed = Immediates { transpose_b: true, ..Immediates::default() };
    assert!(Wgmma::from_modifiers(&["m64n8k32", "s32", "s8", "s8"], transposed).is_err());
    let wgmma = Wgmma::from_modifiers(&["m64n256k16", "f32", "f16", "f16"], transposed).unwrap();
    for descriptor in [u64::MAX, 0, 1 << 63, 0x3fff_3fff_3fff_3fff] {
        assert_eq!(wgmma.b(descriptor).ranges().iter().map(|range| u64::from(range.bytes)).sum::<u64>() % 16, 0);
        assert_eq!(wgmma.b(descriptor).load(&|_| [0; 16]).len(), 256 * 16);
    }
    let _ = wgmma.compute(&[], &[], Some(&[const { Vec::new() }; 4]));
}

/// A tile of 128×128×64 takes about a millisecond when optimized; the limit leaves room for a busy machine.
#[test]
fn a_tile_is_fast() {
    let wgmma = Wgmma::from_modifiers(&["m64n128k16", "f32", "f16", "f16"], Immediates::default()).unwrap();
    let (a, b) = (wgmma.a(descriptor(0, 16, 1024, 1)), wgmma.b(descriptor(0x4000, 16, 1024, 1)));
    let start = Instant::now();
    for _ in 0..8 {
        let read = |address: u32| [address as u8; 16];
        let _ = wgmma.compute(&a.load(&read), &b.load(&read), None);
    }
    let elapsed = start.elapsed();
    println!("128×128×64: {elapsed:?}");
    assert!(cfg!(debug_assertions) || elapsed.as_millis() < 100, "{elapsed:?}");
}
