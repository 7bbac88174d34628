//! Tensor memory: loads, stores, copies, shifts and products.

use std::{collections::BTreeSet, time::Instant};

use ptx_execute::matrix::{
    element::{Element, Values},
    shared::{SharedMatrix, Swizzle},
    tcgen05::{Output, TensorMma},
    tensor::{COLUMNS, Cell, Copy, LANES, TensorMemory, Transfer, shift},
};

use super::random::{Random, naive, rounded, value};

fn numbered() -> TensorMemory {
    let mut memory = TensorMemory::default();
    for (lane, column) in (0..LANES).flat_map(|lane| (0..COLUMNS).map(move |column| (lane, column))) {
        memory.set(Cell { lane, column }, (lane << 16 | column) as u32);
    }
    memory
}

/// The layouts of the figures of section 9.7.16.2.3, in the notation of CuTe: strides of the digits of a thread's and a
/// value's number, in bits of a row-major block whose rows have the given number of bits.
#[test]
fn registers_are_those_of_the_figures() {
    type Modes = &'static [(usize, usize)];
    #[rustfmt::skip]
    let shapes: [(&str, &str, usize, Modes, Modes); 7] = [
        // Shape, repeat, bits of a row, thread's digits, value's digits: size and stride.
        ("32x32b",  "x4", 128, &[(32, 128)],                      &[(128, 1)]),
        ("16x64b",  "x1", 64,  &[(2, 512), (2, 32), (8, 64)],     &[(32, 1)]),
        ("16x64b",  "x2", 128, &[(2, 1024), (2, 32), (8, 128)],   &[(32, 1), (2, 64)]),
        ("16x128b", "x1", 128, &[(4, 32), (8, 128)],              &[(32, 1), (2, 1024)]),
        ("16x128b", "x2", 256, &[(4, 32), (8, 256)],              &[(32, 1), (2, 2048), (2, 128)]),
        ("16x256b", "x2", 512, &[(4, 64), (8, 512)],              &[(64, 1), (2, 4096), (2, 256)]),
        ("16x32bx2", "x2", 128, &[(16, 128), (2, 64)],            &[(64, 1)]),
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
    let memory = numbered();
    for (shape, repeat, row, threads, values) in shapes {
        let transfer = Transfer::from_modifiers(&["sync", "aligned", shape, repeat, "b32"], 2).unwrap();
        let address = 32 << 16 | 100;
        for (register, lanes) in transfer.load(&memory, address).iter().enumerate() {
            for (lane, value) in lanes.iter().enumerate() {
                let bit = offset(threads, lane) + offset(values, register * 32);
                let expected = (32 + bit / row) << 16 | (100 + bit % row / 32);
                assert_eq!(*value as usize, expected, "{shape}.{repeat} lane {lane} register {register}");
            }
        }
    }
}

/// Section 9.7.16.8.3: the number of registers.
const REGISTERS: [(&str, [usize; 8]); 5] = [
    ("32x32b", [1, 2, 4, 8, 16, 32, 64, 128]),
    ("16x64b", [1, 2, 4, 8, 16, 32, 64, 128]),
    ("16x32bx2", [1, 2, 4, 8, 16, 32, 64, 128]),
    ("16x128b", [2, 4, 8, 16, 32, 64, 128, 0]),
    ("16x256b", [4, 8, 16, 32, 64, 128, 0, 0]),
];

#[test]
fn stores_and_loads_use_each_cell_once() {
    let mut random = Random(4);
    for (shape, registers) in REGISTERS {
        for (i, count) in registers.into_iter().enumerate() {
            for packed in [false, true] {
                let repeat = format!("x{}", 1 << i);
                let split = (1 << i) * if packed { 2 } else { 1 };
                let mut words = vec![shape, repeat.as_str()];
                words.extend(packed.then_some("pack::16b"));
                let Ok(transfer) = Transfer::from_modifiers(&words, split) else {
                    assert_eq!(count, 0, "{words:?}");
                    continue;
                };
                assert_eq!(transfer.registers(), count, "{words:?}");
                let data: Vec<[u64; 32]> = (0..count).map(|_| [(); 32].map(|()| random.next(1 << 32))).collect();
                let mut memory = TensorMemory::default();
                // The widest form has all columns.
                let address = 64 << 16;
                transfer.store(&mut memory, address, &data);
                assert!(transfer.load(&memory, address) == data, "{words:?}");
                let touched = transfer.touched(address);
                let cells: BTreeSet<Cell> = touched.iter().copied().collect();
                assert_eq!(cells.len(), touched.len(), "{words:?}: a cell twice");
                assert_eq!(cells.len(), count * 32 * if packed { 2 } else { 1 });
                // The cells are a whole block.
                let lanes = if shape == "32x32b" { 32 } else { 16 };
                assert!(
                    cells.iter().all(|cell| (64..64 + lanes).contains(&cell.lane) && cell.column < cells.len() / lanes)
                );
            }
        }
    }
    assert!(Transfer::from_modifiers(&["32x32b", "x3"], 0).is_err());
    assert!(Transfer::from_modifiers(&["red", "32x32b", "x4"], 0).is_err());
    let transfer = Transfer::from_modifiers(&["16x32bx2", "x128"], u32::MAX).unwrap();
    let mut memory = TensorMemory::default();
    let nothing = transfer.load(&memory, u32::MAX);
    transfer.store(&mut memory, u32::MAX, &nothing);
    assert!(transfer.touched(u32::MAX).iter().all(|cell| !cell.exists()));
}

fn descriptor(start: u32, leading: u32, stride: u32, mode: u64) -> u64 {
    let field = |value: u32| u64::from(value >> 4 & 0x3fff);
    field(start) | field(leading) << 16 | field(stride) << 32 | 1 << 46 | mode << 61
}

/// The modes of a descriptor.
const MODES: [(u64, Swizzle); 5] =
    [(0, Swizzle::None), (1, Swizzle::B128Atom32), (2, Swizzle::B128), (4, Swizzle::B64), (6, Swizzle::B32)];

/// For each lane, the row of shared memory that it gets, according to the text of section 9.7.16.9.2.
#[test]
fn copies_put_rows_into_the_lanes_of_their_warps() {
    type Form = (&'static [&'static str], usize, fn(usize) -> Option<usize>);
    #[rustfmt::skip]
    let forms: [Form; 6] = [
        (&["cp", "cta_group::1", "128x256b"], 32, Some),
        (&["cp", "cta_group::1", "128x128b"], 16, Some),
        (&["cp", "cta_group::1", "4x256b"], 32, |lane| lane.is_multiple_of(32).then_some(lane / 32)),
        // Warps 0 and 2 get the same rows.
        (&["cp", "cta_group::1", "64x128b", "warpx2::02_13"], 16, |lane| Some(lane % 64)),
        (&["cp", "cta_group::1", "64x128b", "warpx2::01_23"], 16, |lane| Some(lane / 64 * 32 + lane % 32)),
        (&["cp", "cta_group::1", "32x128b", "warpx4"], 16, |lane| Some(lane % 32)),
    ];
    let mut random = Random(8);
    let shared: Vec<u8> = (0..0x8000).map(|_| random.next(256) as u8).collect();
    for (words, bytes, row) in forms {
        for (mode, swizzle) in MODES {
            let width = swizzle.width();
            let copy = Copy::from_modifiers(words).unwrap();
            let source = copy.source(descriptor(0x400, 0x2000, width * 8, mode)).unwrap();
            let mut memory = numbered();
            copy.copy(&mut memory, 40, &source, &|address| shared[address as usize..][..16].try_into().unwrap());
            let mut written = BTreeSet::new();
            for (lane, word) in (0..LANES).flat_map(|lane| (0..bytes / 4).map(move |word| (lane, word))) {
                let cell = Cell { lane, column: 40 + word };
                let Some(row) = row(lane) else {
                    assert_eq!(memory.get(cell), (lane << 16 | cell.column) as u32, "{words:?}: not written");
                    continue;
                };
                written.insert(cell);
                let (row, byte) = (row as u32, word as u32 * 4);
                let along = if mode == 0 { byte / 16 * 0x2000 + byte % 16 } else { byte };
                let at = swizzle.apply(0x400 + row / 8 * width * 8 + row % 8 * width + along, 0) as usize;
                assert_eq!(memory.get(cell).to_le_bytes(), shared[at..][..4], "{words:?} {swizzle:?} lane {lane}");
            }
            let touched = copy.touched(40, &source);
            assert_eq!(touched.len(), written.len());
            assert_eq!(touched.into_iter().collect::<BTreeSet<_>>(), written);
        }
    }
    assert!(Copy::from_modifiers(&["cp", "64x128b"]).is_err());
    assert!(Copy::from_modifiers(&["cp", "128x128b", "b8x16", "b6x16_p32"]).is_err());
}

#[test]
fn a_shift_moves_eight_columns_of_a_warp_by_a_lane() {
    let mut memory = numbered();
    shift(&mut memory, 32 << 16 | 8);
    for (lane, column) in (0..LANES).flat_map(|lane| (0..COLUMNS).map(move |column| (lane, column))) {
        let moved = (32..63).contains(&lane) && (8..16).contains(&column);
        let expected = (lane + usize::from(moved)) << 16 | column;
        assert_eq!(memory.get(Cell { lane, column }) as usize, expected);
    }
}

struct Case {
    kind: &'static str,
    /// The element types, with their numbers in the instruction descriptor.
    types: [(Element, u32); 3],
    ctas: usize,
    weight_stationary: bool,
    m: usize,
    n: usize,
}

/// The CTA, lane and column of an element of D: the figures of section 9.7.16.10.5.
fn d_place(case: &Case, row: usize, column: usize) -> (usize, usize, usize) {
    let n = case.n;
    match (case.m, case.ctas, case.weight_stationary) {
        (256, 2, _) => (row / 128, row % 128, column),
        (128, 2, _) => (row / 64, row % 64 + if column < n / 2 { 0 } else { 64 }, column % (n / 2)),
        (64, 1, false) => (0, row / 16 * 32 + row % 16, column),
        (64, 1, true) => (0, row + if column < n / 2 { 0 } else { 64 }, column % (n / 2)),
        (32, 1, true) => (0, row + column / (n / 4) * 32, column % (n / 4)),
        _ => (0, row, column),
    }
}

fn instruction(case: &Case, negate: [bool; 2], transpose: [bool; 2]) -> u32 {
    let [d, a, b] = case.types.map(|(_, number)| number);
    let bits = [negate[0], negate[1], transpose[0], transpose[1]].map(u32::from);
    d << 4
        | a << 7
        | b << 10
        | bits[0] << 13
        | bits[1] << 14
        | bits[2] << 15
        | bits[3] << 16
        | (case.n as u32 >> 3) << 17
        | (case.m as u32 >> 4) << 24
}

/// Writes a matrix in the canonical layout, with tiles one after the other.
fn store(memory: &mut [u8], matrix: &SharedMatrix, elements: &[u64]) {
    let bytes = matrix.bits / 8;
    let width = if matrix.swizzle == Swizzle::None { 16 } else { matrix.swizzle.width() as usize };
    let lines = if matrix.across && matrix.swizzle == Swizzle::B128Atom32 { 4 } else { 8 };
    for (i, element) in elements.iter().enumerate() {
        let (row, column) = (i / matrix.columns, i % matrix.columns);
        let (along, line) = if matrix.across { (row * bytes, column) } else { (column * bytes, row) };
        let (by_tile, by_group) = if matrix.swizzle == Swizzle::None && matrix.across {
            (matrix.stride, matrix.leading)
        } else {
            (matrix.leading, matrix.stride)
        };
        let plain = matrix.start as usize
            + along / width * by_tile as usize
            + line / lines * by_group as usize
            + line % lines * width
            + along % width;
        memory[matrix.swizzle.apply(plain as u32, 0) as usize..][..bytes]
            .copy_from_slice(&element.to_le_bytes()[..bytes]);
    }
}

fn check(case: &Case, mode: (u64, Swizzle), transpose: [bool; 2], random: &mut Random) {
    let [d_type, a_type, b_type] = case.types.map(|(element, _)| element);
    let integer = d_type == Element::S32;
    let negate = [!integer && random.next(2) == 1, !integer && random.next(2) == 1];
    let mut words = vec!["mma", if case.ctas == 2 { "cta_group::2" } else { "cta_group::1" }, case.kind];
    words.extend(case.weight_stationary.then_some("ws"));
    let mma = TensorMma::from_modifiers(&words, instruction(case, negate, transpose))
        .unwrap_or_else(|error| panic!("{error}"));
    let (m, n, k, ctas) = (case.m, case.n, 256 / a_type.bits(), case.ctas);
    assert_eq!((mma.shape().m, mma.shape().n, mma.shape().k, mma.ctas()), (m, n, k, ctas));
    // Groups of lines are separated by gaps of the same size.
    let layout = |start: u32, rows: usize, across: bool| {
        let width = if mode.1 == Swizzle::None { 16 } else { mode.1.width() };
        let lines = if across && mode.1 == Swizzle::B128Atom32 { 4 } else { 8 };
        let group = width * lines * 2;
        let tile = (if across { k } else { rows } as u32).div_ceil(lines) * group;
        if mode.0 == 0 && across { descriptor(start, group, tile, 0) } else { descriptor(start, tile, group, mode.0) }
    };
    let mut fill = |element: Element, count: usize| -> (Vec<u64>, Vec<f64>) {
        (0..count).map(|_| random.element(element)).unzip()
    };
    let ((a_bits, a), (b_bits, b), (c_bits, c)) = (fill(a_type, m * k), fill(b_type, n * k), fill(d_type, m * n));
    // Each CTA has a separate part, at the same addresses.
    let (mut a_loaded, mut b_loaded) = (Vec::new(), Vec::new());
    let a_matrix = mma.a(layout(0x400, m / ctas, transpose[0])).unwrap();
    let b_matrix = mma.b(layout(0x1_0000, n / ctas, transpose[1])).unwrap();
    assert_eq!([a_matrix.across, b_matrix.across], transpose);
    for cta in 0..ctas {
        let mut shared = vec![0x5a; 0x2_0000];
        store(&mut shared, &a_matrix, &a_bits[cta * m / ctas * k..][..m / ctas * k]);
        store(&mut shared, &b_matrix, &b_bits[cta * n / ctas * k..][..n / ctas * k]);
        let read = |address: u32| shared[address as usize..][..16].try_into().unwrap();
        a_loaded.extend(a_matrix.load(&read));
        b_loaded.extend(b_matrix.load(&read));
    }
    assert_eq!((&a_loaded, &b_loaded), (&a_bits, &b_bits), "{words:?} {mode:?} {transpose:?}");
    // A in tensor memory: in the layout of D, packed along K, and in every part.
    let mut memories = [numbered(), numbered()];
    for (i, element) in a_bits.iter().enumerate() {
        let (cta, lane, _) = d_place(case, i / k, 0);
        let at = i % k * a_type.bits();
        for copy in [0, 32, 64, 96] {
            let whole = d_place(case, 0, n - 1).1;
            if copy <= whole && (copy.is_multiple_of(64) || case.m == 32) {
                let cell = Cell { lane: lane + copy, column: 300 + at / 32 };
                let old = if at % 32 == 0 { 0 } else { memories[cta].get(cell) };
                memories[cta].set(cell, old | (*element as u32) << (at % 32));
            }
        }
    }
    assert_eq!(mma.a_of_tensor(&[&memories[0], &memories[1]], 300), a_bits, "{words:?}");
    // D, with data of another matrix in the upper half of elements of 16 bits.
    let column = 16;
    for (i, bits) in c_bits.iter().enumerate() {
        let (cta, lane, at) = d_place(case, i / n, i % n);
        memories[cta].set(
            Cell { lane, column: column + at },
            *bits as u32 | if d_type == Element::F16 { 0xabcd_0000 } else { 0 },
        );
    }
    let accumulate = random.next(2) == 1;
    let scale = if integer { 0 } else { random.next(3) as u32 };
    let disabled = [random.next(1 << 32) as u32, 0, 0xf0, 0, 0, random.next(1 << 32) as u32, 0, 1];
    let output = Output { accumulate, scale, disabled };
    let before = memories.clone();
    let [first, second] = &mut memories;
    mma.compute(&a_loaded, &b_loaded, &mut [first, second], column as u32, &output);
    let sign = |negate: bool| if negate { -1.0 } else { 1.0 };
    let input = |i, j| if accumulate { c[i * n + j] / f64::from(1 << scale) } else { 0.0 };
    let expected = naive(m, n, k, |i, l| sign(negate[0]) * a[i * k + l], |l, j| sign(negate[1]) * b[j * k + l], input);
    let mut written = BTreeSet::new();
    for (i, expected) in expected.into_iter().enumerate() {
        let (cta, lane, at) = d_place(case, i / n, i % n);
        let cell = Cell { lane, column: column + at };
        if disabled[cta * 4 + lane / 32] >> (lane % 32) & 1 == 1 {
            assert_eq!(memories[cta].get(cell), before[cta].get(cell), "a lane that is disabled");
            continue;
        }
        assert_eq!(value(d_type, memories[cta].get(cell).into()), rounded(d_type, expected), "{words:?} {i}");
        assert!(written.insert((cta, cell)), "{words:?}: a cell twice");
    }
    assert_eq!(mma.d_touched(column as u32, &output).into_iter().collect::<BTreeSet<_>>(), written);
    for (cta, lane, column) in
        (0..2).flat_map(|cta| (0..LANES).flat_map(move |lane| (0..COLUMNS).map(move |column| (cta, lane, column))))
    {
        let cell = Cell { lane, column };
        assert!(
            written.contains(&(cta, cell)) || memories[cta].get(cell) == before[cta].get(cell),
            "{cell:?} is not of D"
        );
    }
    let touched = mma.a_touched(300);
    assert_eq!(touched.len(), touched.iter().collect::<BTreeSet<_>>().len());
    assert!(touched.iter().all(|(_, cell)| (300..308).contains(&cell.column)));
}

const TYPES: [(&str, [(Element, u32); 3]); 6] = [
    ("kind::f16", [(Element::F32, 1), (Element::F16, 0), (Element::F16, 0)]),
    ("kind::f16", [(Element::F16, 0), (Element::F16, 0), (Element::F16, 0)]),
    ("kind::f16", [(Element::F32, 1), (Element::Bf16, 1), (Element::F16, 0)]),
    ("kind::tf32", [(Element::F32, 1), (Element::Tf32, 2), (Element::Tf32, 2)]),
    ("kind::f8f6f4", [(Element::F32, 1), (Element::E5m2, 1), (Element::E4m3, 0)]),
    ("kind::i8", [(Element::S32, 2), (Element::S8, 1), (Element::U8, 0)]),
];

/// M, N, CTAs and `.ws`.
const SIZES: [(usize, usize, usize, bool); 7] = [
    (64, 24, 1, false),
    (128, 256, 1, false),
    (128, 64, 1, true),
    (64, 128, 1, true),
    (32, 64, 1, true),
    (128, 96, 2, false),
    (256, 64, 2, false),
];

#[test]
fn every_layout_of_d_gets_the_naive_product() {
    let mut random = Random(6);
    for (kind, types) in TYPES {
        for (i, (m, n, ctas, weight_stationary)) in SIZES.into_iter().enumerate() {
            let case = Case { kind, types, ctas, weight_stationary, m, n };
            check(&case, MODES[[0, 2, 3, 4][i % 4]], [false; 2], &mut random);
            let transposed = if kind == "kind::tf32" { MODES[1] } else { MODES[[4, 3, 2, 0][i % 4]] };
            if kind != "kind::f8f6f4" || n % 32 == 0 {
                check(&case, transposed, [true, i % 2 == 0], &mut random);
            }
        }
    }
}

#[test]
fn wrong_products_are_refused() {
    let case = Case { kind: "kind::f16", types: TYPES[0].1, ctas: 1, weight_stationary: false, m: 128, n: 64 };
    let good = instruction(&case, [false; 2], [false; 2]);
    let words = ["mma", "cta_group::1", "kind::f16"];
    let mma = TensorMma::from_modifiers(&words, good).unwrap();
    for bad in [0, u32::MAX, good | 4, good | 3 << 4, good | 2 << 7, good ^ 128 >> 4 << 24] {
        assert!(TensorMma::from_modifiers(&words, bad).is_err(), "{bad:#x}");
    }
    for words in [["mma", "cta_group::1", "kind::mxf4"], ["mma", "sp", "kind::f16"], ["mma", "ashift", "kind::f16"]] {
        assert!(TensorMma::from_modifiers(&words, good).is_err(), "{words:?}");
    }
    for bad in [0, 3 << 61 | 1 << 46, 1 << 52 | 1 << 46, u64::MAX] {
        assert!(mma.a(bad).is_err(), "{bad:#x}");
    }
    mma.compute(&[], &[], &mut [], u32::MAX, &Output { scale: u32::MAX, ..Output::default() });
    assert_eq!(mma.a_of_tensor(&[], u32::MAX), vec![0; 128 * 16]);
}

/// A tile of 128×128×64, which `tcgen05.mma` computes in four steps. The limit leaves room for a busy machine.
#[test]
fn a_tile_is_fast() {
    let case = Case { kind: "kind::f16", types: TYPES[0].1, ctas: 1, weight_stationary: false, m: 128, n: 128 };
    let mma =
        TensorMma::from_modifiers(&["cta_group::1", "kind::f16"], instruction(&case, [false; 2], [false; 2])).unwrap();
    let (a, b) = (mma.a(descriptor(0, 16, 1024, 2)).unwrap(), mma.b(descriptor(0x4000, 16, 1024, 2)).unwrap());
    let mut memory = TensorMemory::default();
    let start = Instant::now();
    for _ in 0..4 {
        let read = |address: u32| [address as u8; 16];
        let output = Output { accumulate: true, ..Output::default() };
        mma.compute(&a.load(&read), &b.load(&read), &mut [&mut memory], 0, &output);
    }
    let elapsed = start.elapsed();
    println!("128×128×64: {elapsed:?}");
    assert!(cfg!(debug_assertions) || elapsed.as_millis() < 100, "{elapsed:?}");
}
