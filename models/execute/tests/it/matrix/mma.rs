//! `mma`, `mma.sp`, `ldmatrix` and `movmatrix`.

use std::collections::BTreeSet;

use ptx_execute::matrix::{
    element::{Element, Values},
    ldmatrix::{LdMatrix, Row, movmatrix},
    mma::{Mma, Role},
};

use super::random::{Random, naive, rounded, value};

type Lanes = [u64; 32];

/// Forms, and the number of registers of D, A, B and C.
#[rustfmt::skip]
const FORMS: &[(&str, [usize; 4])] = &[
    ("m8n8k4.row.col.f16.f16.f16.f16",   [4, 2, 2, 4]),
    ("m8n8k4.col.row.f32.f16.f16.f32",   [8, 2, 2, 8]),
    ("m8n8k4.row.row.f32.f16.f16.f16",   [8, 2, 2, 4]),
    ("m8n8k4.row.col.f64.f64.f64.f64",   [2, 1, 1, 2]),
    ("m16n8k4.row.col.f64.f64.f64.f64",  [4, 2, 1, 4]),
    ("m16n8k8.row.col.f64.f64.f64.f64",  [4, 4, 2, 4]),
    ("m16n8k16.row.col.f64.f64.f64.f64", [4, 8, 4, 4]),
    ("m16n8k8.row.col.f32.f16.f16.f32",  [4, 2, 1, 4]),
    ("m16n8k16.row.col.f16.f16.f16.f16", [2, 4, 2, 2]),
    ("m16n8k16.row.col.f32.bf16.bf16.f32", [4, 4, 2, 4]),
    ("m16n8k8.row.col.f32.bf16.bf16.f32", [4, 2, 1, 4]),
    ("m16n8k4.row.col.f32.tf32.tf32.f32", [4, 2, 1, 4]),
    ("m16n8k8.row.col.f32.tf32.tf32.f32", [4, 4, 2, 4]),
    ("m8n8k16.row.col.s32.s8.u8.s32",    [2, 1, 1, 2]),
    ("m16n8k16.row.col.s32.u8.s8.s32",   [4, 2, 1, 4]),
    ("m16n8k32.row.col.s32.s8.s8.s32",   [4, 4, 2, 4]),
    ("m8n8k32.row.col.s32.s4.u4.s32",    [2, 1, 1, 2]),
    ("m16n8k32.row.col.s32.u4.s4.s32",   [4, 2, 1, 4]),
    ("m16n8k64.row.col.s32.s4.s4.s32",   [4, 4, 2, 4]),
    ("m16n8k16.row.col.f32.e4m3.e5m2.f32", [4, 2, 1, 4]),
    ("m16n8k32.row.col.f16.e5m2.e4m3.f16", [2, 4, 2, 2]),
    ("m16n8k32.row.col.kind::f8f6f4.f32.e2m3.e3m2.f32", [4, 4, 2, 4]),
    ("m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e4m3.f32", [4, 4, 2, 4]),
    ("m8n8k128.row.col.s32.b1.b1.s32.and.popc", [2, 1, 1, 2]),
    ("m16n8k128.row.col.s32.b1.b1.s32.xor.popc", [4, 2, 1, 4]),
    ("m16n8k256.row.col.s32.b1.b1.s32.and.popc", [4, 4, 2, 4]),
];

fn read(form: &str) -> Option<Mma> {
    Mma::from_form(&super::form(&format!("mma.sync.aligned.{form}"))?)
}

fn mma(form: &str) -> Mma {
    read(form).unwrap_or_else(|| panic!("{form}"))
}

/// The manual's formulae, by the number of a lane and of an element.
fn manual(mma: &Mma, form: &str, role: Role, lane: usize, i: usize) -> (usize, usize) {
    let (g, t) = (lane >> 2, lane % 4);
    let low = lane < 16;
    let bits = mma.element(role).bits();
    let shape = form.split('.').next().unwrap();
    let (per, m16) = (32 / bits.min(32), shape.starts_with("m16"));
    match (shape, mma.element(Role::A), role) {
        ("m8n8k4", Element::F16, Role::A) if form.contains("k4.row") => (if low { lane % 4 } else { lane % 4 + 4 }, i),
        ("m8n8k4", Element::F16, Role::A) => (if low { i % 4 } else { i % 4 + 4 }, lane % 4),
        ("m8n8k4", Element::F16, Role::B) if form.contains("row.f") => (lane % 4, if low { i } else { i + 4 }),
        ("m8n8k4", Element::F16, Role::B) => (i, if low { lane % 4 } else { lane % 4 + 4 }),
        ("m8n8k4", Element::F16, _) if mma.element(role) == Element::F16 => {
            (if low { lane % 4 } else { lane % 4 + 4 }, i)
        }
        ("m8n8k4", Element::F16, _) => {
            let x = (lane & 1) + (i & 2);
            (if low { x } else { x + 4 }, (i & 4) + (lane & 2) + (i & 1))
        }
        ("m8n8k4", _, Role::A) => (g, t),
        ("m8n8k4", _, Role::B) => (t, g),
        ("m16n8k16", Element::F64, Role::A) => {
            (g + 8 * (i % 2), if i.is_multiple_of(2) { i * 2 + t } else { i * 2 - 2 + t })
        }
        (_, Element::F64, Role::B) => (t + i * 4, g),
        (_, Element::F64 | Element::Tf32, Role::A) => {
            (if i.is_multiple_of(2) { g } else { g + 8 }, if i < 2 { t } else { t + 4 })
        }
        (_, Element::Tf32, Role::B) => (if i == 0 { t } else { t + 4 }, g),
        (_, _, Role::C | Role::D) => (if i < 2 { g } else { g + 8 }, t * 2 + (i & 1)),
        // One register for eight rows, then the same for the elements further along K.
        (_, _, Role::A) if m16 => (
            if (i / per).is_multiple_of(2) { g } else { g + 8 },
            t * per + i % per + if i >= 2 * per { 4 * per } else { 0 },
        ),
        (_, _, Role::A) => (g, t * per + i),
        (_, _, Role::B) => (t * per + i % per + if i >= per { 4 * per } else { 0 }, g),
    }
}

/// The quarter of the warp that computes a product.
fn quarter(mma: &Mma, lane: usize) -> usize {
    if mma.products() == 4 { lane % 16 / 4 } else { 0 }
}

#[test]
fn every_element_has_the_place_that_the_manual_says_and_no_other_element_has_it() {
    for (form, registers) in FORMS {
        let mma = mma(form);
        assert_eq!(mma.registers(), *registers, "{form}");
        let shape = mma.shape();
        for (role, count) in [
            (Role::A, shape.m * shape.k),
            (Role::B, shape.k * shape.n),
            (Role::C, shape.m * shape.n),
            (Role::D, shape.m * shape.n),
        ] {
            let mut seen = BTreeSet::new();
            for (lane, i) in (0..32).flat_map(|lane| (0..mma.elements(role)).map(move |i| (lane, i))) {
                let place = mma.place(role, lane, i);
                let expected = manual(&mma, form, role, lane, i);
                assert_eq!((place.row, place.column), expected, "{form} {role:?} lane {lane} element {i}");
                assert_eq!(place.product, quarter(&mma, lane), "{form}");
                assert!(seen.insert(place), "{form} {role:?} {place:?} twice");
            }
            assert_eq!(seen.len(), count * mma.products(), "{form} {role:?}");
        }
    }
}

/// Registers full of random elements, and the matrices that they represent, by product.
fn fill(mma: &Mma, form: &str, role: Role, random: &mut Random) -> (Vec<Lanes>, Vec<Vec<Vec<f64>>>) {
    let bits = mma.element(role).bits();
    let each = 32 / bits.min(32);
    let mut registers = vec![[0; 32]; mma.elements(role).div_ceil(each)];
    let mut matrices = vec![vec![vec![0.0; 256]; 256]; mma.products()];
    for (lane, i) in (0..32).flat_map(|lane| (0..mma.elements(role)).map(move |i| (lane, i))) {
        let (element, value) = random.element(mma.element(role));
        registers[i / each][lane] |= element << (i % each * bits);
        let (row, column) = manual(mma, form, role, lane, i);
        matrices[quarter(mma, lane)][row][column] = value;
    }
    (registers, matrices)
}

fn check_result(mma: &Mma, form: &str, d: &[Lanes], product: usize, expected: &[f64]) {
    let bits = mma.element(Role::D).bits();
    let each = 32 / bits.min(32);
    for (lane, i) in (0..32).flat_map(|lane| (0..mma.elements(Role::D)).map(move |i| (lane, i))) {
        if quarter(mma, lane) == product {
            let (row, column) = manual(mma, form, Role::D, lane, i);
            let element = d[i / each][lane] >> (i % each * bits);
            let found = value(mma.element(Role::D), element);
            assert_eq!(
                found,
                rounded(mma.element(Role::D), expected[row * mma.shape().n + column]),
                "{form} row {row} column {column}"
            );
        }
    }
}

#[test]
fn the_results_are_those_of_a_naive_product() {
    let mut random = Random(7);
    for (form, registers) in FORMS {
        let mma = mma(form);
        let shape = mma.shape();
        let (a, a_values) = fill(&mma, form, Role::A, &mut random);
        let (b, b_values) = fill(&mma, form, Role::B, &mut random);
        let (c, c_values) = fill(&mma, form, Role::C, &mut random);
        let mut d = vec![[0xdead_beef; 32]; registers[0]];
        mma.compute(&a, &b, &c, &mut d);
        for product in 0..mma.products() {
            let xor = |a: f64, b: f64| if form.contains("xor") { f64::from(u8::from(a != b)) } else { a * b };
            let expected: Vec<f64> = (0..shape.m * shape.n)
                .map(|i| {
                    let (row, column) = (i / shape.n, i % shape.n);
                    let terms = (0..shape.k).map(|k| xor(a_values[product][row][k], b_values[product][k][column]));
                    c_values[product][row][column] + terms.sum::<f64>()
                })
                .collect();
            check_result(&mma, form, &d, product, &expected);
        }
    }
}

#[test]
fn a_sum_that_does_not_fit_wraps_or_is_clamped() {
    let (a, b, c) = ([[0x7f7f_7f7f; 32]; 4], [[0x7f7f_7f7f; 32]; 2], [[0x7fff_ff00; 32]; 4]);
    for (form, expected) in [
        ("m16n8k32.row.col.s32.s8.s8.s32", 0x7fff_ff00 + 32 * 127 * 127),
        ("m16n8k32.row.col.satfinite.s32.s8.s8.s32", 0x7fff_ffff),
    ] {
        let mut d = [[0; 32]; 4];
        mma(form).compute(&a, &b, &c, &mut d);
        assert_eq!(d, [[expected; 32]; 4], "{form}");
    }
}

#[test]
fn wrong_forms_and_missing_registers_are_errors() {
    for form in [
        "m16n8k16.row.col.f32.f16.bf16.f32",
        "m16n8k32.row.col.f32.f16.f16.f32",
        "m16n8k16.row.col.f64.f16.f16.f64",
        "m0n8k16.f32.f16.f16.f32",
        "m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32",
        "m16n8k8.f32.tf32.tf32",
        "m16n8k16.row.col.f32.s8.s8.f32",
        "",
    ] {
        assert!(read(form).is_none(), "{form}");
    }
    for (form, _) in FORMS {
        mma(form).compute(&[], &[], &[], &mut []);
    }
}

/// A sparse A with random metadata. The naive product uses the positions that the metadata gives.
#[test]
fn a_sparse_product_is_that_of_the_matrix_with_its_zeros() {
    let mut random = Random(11);
    let forms = [
        ("m16n8k8.row.col.f32.tf32.tf32.f32", 4, 4, 1),
        ("m16n8k16.row.col.f32.tf32.tf32.f32", 2, 4, 1),
        ("m16n8k16.row.col.f32.f16.f16.f32", 4, 2, 1),
        ("m16n8k32.row.col.f32.bf16.bf16.f32", 2, 2, 1),
        ("m16n8k32.row.col.s32.s8.u8.s32", 2, 2, 1),
        ("m16n8k64.row.col.s32.u8.u8.s32", 1, 2, 1),
        ("m16n8k64.row.col.s32.u4.s4.s32", 2, 2, 2),
        ("m16n8k128.row.col.s32.u4.s4.s32", 1, 2, 2),
    ];
    for (form, selectors, width, unit) in forms {
        let name = format!("sp::ordered_metadata.{form}");
        let mma = mma(&name);
        let shape = mma.shape();
        for selector in 0..selectors {
            let bits = mma.element(Role::A).bits();
            let (per, stored) = (32 / bits, shape.k / 2);
            let mut a = vec![[0; 32]; 16 * stored / 32 / per];
            let mut metadata = [0; 32];
            let mut whole = vec![vec![0.0; shape.k]; 16];
            let threads = 4 / selectors;
            for row in 0..16 {
                for pair in 0..stored / unit / if width == 4 { 1 } else { 2 } {
                    // The elements of two of four units, or of one of two units.
                    let chosen: Vec<usize> = if width == 4 {
                        vec![random.next(2) as usize]
                    } else {
                        [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]][random.next(6) as usize].to_vec()
                    };
                    for (which, index) in chosen.iter().enumerate() {
                        let at = pair * chosen.len() + which;
                        let code = if width == 4 { [0b0100, 0b1110][*index] } else { *index as u64 };
                        let lane = row % 8 * 4 + selector * threads + at / (16 / width);
                        metadata[lane] |= code << (row / 8 * 16 + at % (16 / width) * width);
                        for part in 0..unit {
                            let (element, value) = random.element(mma.element(Role::A));
                            let column = at * unit + part;
                            whole[row][(pair * if width == 4 { 2 } else { 4 } + index) * unit + part] = value;
                            // The fragment of the dense matrix with half of the columns.
                            let lane = row % 8 * 4 + column / per % 4;
                            a[row / 8 + column / per / 4 * 2][lane] |= element << (column % per * bits);
                        }
                    }
                }
            }
            let each = 32 / mma.element(Role::B).bits();
            let mut b = vec![[0; 32]; shape.k / each / 4];
            let mut b_values = vec![[0.0; 8]; shape.k];
            for (row, column) in (0..shape.k).flat_map(|row| (0..8).map(move |column| (row, column))) {
                let (element, value) = random.element(mma.element(Role::B));
                b_values[row][column] = value;
                b[row / each / 4][column * 4 + row / each % 4] |= element << (row % each * mma.element(Role::B).bits());
            }
            let mut d = vec![[0; 32]; 4];
            mma.compute_sparse(&a, &metadata, selector as u32, &b, &[], &mut d);
            let expected = naive(16, 8, shape.k, |i, k| whole[i][k], |k, j| b_values[k][j], |_, _| 0.0);
            for (row, column) in (0..16).flat_map(|row| (0..8).map(move |column| (row, column))) {
                let found = value(mma.element(Role::D), d[row / 8 * 2 + column % 2][row % 8 * 4 + column / 2]);
                assert_eq!(found, expected[row * 8 + column], "{form} selector {selector} row {row} column {column}");
            }
        }
    }
}

/// Matrices in memory, loaded as in every kernel: A by four matrices; B, which is stored by columns, by two matrices,
/// or by rows with `.trans`.
fn ldmatrix(form: &str) -> Option<LdMatrix> {
    LdMatrix::from_form(&super::form(&format!("ldmatrix.{form}"))?)
}

#[test]
fn mma_multiplies_the_fragments_of_ldmatrix() {
    let mut random = Random(3);
    let mma = mma("m16n8k16.row.col.f32.f16.f16.f32");
    let mut matrix = |rows: usize, columns: usize| -> (Vec<Vec<u64>>, Vec<Vec<f64>>) {
        (0..rows).map(|_| (0..columns).map(|_| random.element(Element::F16)).unzip()).unzip()
    };
    let ((a, a_values), (b, b_values)) = (matrix(16, 16), matrix(16, 8));
    let row = |elements: &[u64]| -> Row {
        let bytes: Vec<u8> = elements.iter().flat_map(|element| (*element as u16).to_le_bytes()).collect();
        bytes.try_into().unwrap()
    };
    let a_rows: Vec<Row> = (0..32).map(|lane| row(&a[lane % 16][lane / 16 * 8..][..8])).collect();
    let a_registers = ldmatrix("sync.aligned.m8n8.x4.shared.b16").unwrap().load(&a_rows);
    let by_rows: Vec<Row> = b.iter().map(|elements| row(elements)).collect();
    let by_columns: Vec<Row> =
        (0..16).map(|lane| row(&(0..8).map(|k| b[lane / 8 * 8 + k][lane % 8]).collect::<Vec<_>>())).collect();
    let plain = ldmatrix("m8n8.x2.b16").unwrap();
    let transposed = ldmatrix("m8n8.x2.trans.b16").unwrap();
    assert_eq!((plain.rows(), plain.registers()), (16, 2));
    let expected = naive(16, 8, 16, |i, k| a_values[i][k], |k, j| b_values[k][j], |_, _| 0.0);
    for b_registers in [plain.load(&by_columns), transposed.load(&by_rows)] {
        let mut d = vec![[0; 32]; 4];
        mma.compute(&a_registers, &b_registers, &[], &mut d);
        check_result(&mma, "m16n8k16.row.col.f32.f16.f16.f32", &d, 0, &expected);
    }
    assert_eq!(plain.store(&plain.load(&by_columns)), by_columns);
    assert_eq!(transposed.store(&transposed.load(&by_rows)), by_rows);
    assert_eq!(movmatrix(&plain.load(&by_rows)[1]), transposed.load(&by_rows)[1]);
    assert!(ldmatrix("m16n16.x1.trans.b8").is_none());
}
