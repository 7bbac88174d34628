//! `wmma` through memory, as programs observe it.

use std::collections::BTreeSet;

use ptx_execute::matrix::{
    element::{Element, Values},
    wmma::{Wmma, WmmaFragment},
};
use ptx_isa::matrix::MatrixOp;

use super::random::{Random, naive, rounded, value};

type Lanes = [u64; 32];

/// Forms, and the registers of D, A, B and C by the tables of section 9.7.14.4.1.
#[rustfmt::skip]
const FORMS: &[(&str, &str, [Element; 4], [usize; 4])] = {
    use Element::*;
    &[
        ("m16n16k16", "f32.f32", [F32, F16, F16, F32], [8, 8, 8, 8]),
        ("m16n16k16", "f16.f32", [F16, F16, F16, F32], [4, 8, 8, 8]),
        ("m32n8k16",  "f32.f16", [F32, F16, F16, F16], [8, 8, 8, 4]),
        ("m8n32k16",  "f16.f16", [F16, F16, F16, F16], [4, 8, 8, 4]),
        ("m16n16k16", "f32.bf16.bf16.f32", [F32, Bf16, Bf16, F32], [8, 4, 4, 8]),
        ("m32n8k16",  "f32.bf16.bf16.f32", [F32, Bf16, Bf16, F32], [8, 8, 2, 8]),
        ("m8n32k16",  "f32.bf16.bf16.f32", [F32, Bf16, Bf16, F32], [8, 2, 8, 8]),
        ("m16n16k8",  "f32.tf32.tf32.f32", [F32, Tf32, Tf32, F32], [8, 4, 4, 8]),
        ("m8n8k4",    "f64.f64.f64.f64", [F64, F64, F64, F64], [2, 1, 1, 2]),
        ("m16n16k16", "s32.s8.s8.s32", [S32, S8, S8, S32], [8, 2, 2, 8]),
        ("m32n8k16",  "s32.u8.u8.s32", [S32, U8, U8, S32], [8, 4, 1, 8]),
        ("m8n32k16",  "s32.s8.s8.s32", [S32, S8, S8, S32], [8, 1, 4, 8]),
        ("m8n8k32",   "s32.s4.s4.s32", [S32, S4, S4, S32], [2, 1, 1, 2]),
        ("m8n8k128",  "s32.b1.b1.s32", [S32, B1, B1, S32], [2, 1, 1, 2]),
    ]
};

fn size(shape: &str, role: &str) -> (usize, usize) {
    let numbers: Vec<usize> = shape[1..].split(['n', 'k']).map(|number| number.parse().unwrap()).collect();
    match role {
        "a" => (numbers[0], numbers[2]),
        "b" => (numbers[2], numbers[1]),
        _ => (numbers[0], numbers[1]),
    }
}

/// The offset of an element in memory, in bits.
fn at(by_rows: bool, stride: usize, bits: usize, row: usize, column: usize) -> usize {
    (if by_rows { row * stride + column } else { column * stride + row }) * bits
}

fn fragment(words: &str) -> Option<WmmaFragment> {
    let form = super::form(&format!("wmma.{words}"))?;
    match form.op {
        MatrixOp::WmmaLoad(of) | MatrixOp::WmmaStore(of) => WmmaFragment::from_form(&form, of),
        _ => None,
    }
}

fn wmma(words: &str) -> Option<Wmma> {
    Wmma::from_form(&super::form(&format!("wmma.{words}"))?)
}

/// Loads a random matrix from memory. Returns the registers and the values.
fn load(shape: &str, role: &str, element: Element, by_rows: bool, random: &mut Random) -> (Vec<Lanes>, Vec<Vec<f64>>) {
    let (rows, columns) = size(shape, role);
    let name = element.to_string();
    let layout = if by_rows { "row" } else { "col" };
    let fragment = fragment(&format!("load.{role}.sync.aligned.{layout}.{shape}.{name}")).unwrap();
    let bits = element.bits();
    let stride = if by_rows { columns } else { rows } + if bits < 8 { 32 } else { 8 };
    let mut memory = vec![0u8; 0x8000];
    let mut values = vec![vec![0.0; columns]; rows];
    let mut expected = BTreeSet::new();
    for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
        let (element, value) = random.element(element);
        values[row][column] = value;
        let bit = at(by_rows, stride, bits, row, column);
        for (i, byte) in (element << (bit % 8)).to_le_bytes().into_iter().enumerate().take(bits.div_ceil(8)) {
            memory[bit / 8 + i] |= byte;
            expected.insert((bit / 8 + i) as u64);
        }
    }
    let mut registers = vec![[0; 32]; fragment.registers()];
    let mut touched = BTreeSet::new();
    for access in fragment.accesses(0x100, Some(stride as u64), by_rows) {
        let start = (access.address - 0x100) as usize;
        let mut word = [0; 8];
        word[..access.bytes].copy_from_slice(&memory[start..][..access.bytes]);
        registers[access.register][access.lane] |= u64::from_le_bytes(word) << access.bit;
        touched.extend((start..start + access.bytes).map(|byte| byte as u64));
    }
    assert_eq!(touched, expected, "{shape} {role} {element}: exactly the matrix is touched");
    (registers, values)
}

#[test]
fn wmma_computes_the_naive_product() {
    let mut random = Random(21);
    for (shape, types, [d, a, b, c], registers) in FORMS {
        for choice in 0..8 {
            // Elements smaller than a byte have only one layout each.
            let free = a.bits() >= 8;
            let rows = [choice & 1 == 0 || !free, choice & 2 == 0 && free, choice & 4 == 0];
            let (a_registers, a_values) = load(shape, "a", *a, rows[0], &mut random);
            let (b_registers, b_values) = load(shape, "b", *b, rows[1], &mut random);
            let (c_registers, c_values) = load(shape, "c", *c, rows[2], &mut random);
            let bits = if *a == Element::B1 { ".xor.popc" } else { "" };
            let words = format!("mma.sync.aligned.row.col.{shape}.{types}{bits}");
            let wmma = wmma(&words).unwrap();
            assert_eq!(wmma.fragments().map(|fragment| fragment.registers()), *registers, "{words:?}");
            let result = wmma.compute(&a_registers, &b_registers, &c_registers);
            let store = wmma.fragments()[0];
            let (m, n) = size(shape, "d");
            let stride = if rows[2] { n } else { m };
            let mut memory = vec![0u8; 0x8000];
            let accesses = store.accesses(0, None, rows[2]);
            assert_eq!(accesses.len(), m * n, "{words:?}: every element once");
            for access in accesses {
                let word = result[access.register][access.lane] >> access.bit;
                memory[access.address as usize..][..access.bytes].copy_from_slice(&word.to_le_bytes()[..access.bytes]);
            }
            let k = size(shape, "a").1;
            let expected = if *a == Element::B1 {
                let differ = |i: usize, j: usize| (0..k).filter(|k| a_values[i][*k] != b_values[*k][j]).count() as f64;
                (0..m * n).map(|i| c_values[i / n][i % n] + differ(i / n, i % n)).collect()
            } else {
                naive(m, n, k, |i, k| a_values[i][k], |k, j| b_values[k][j], |i, j| c_values[i][j])
            };
            for (i, expected) in expected.into_iter().enumerate() {
                let start = at(rows[2], stride, d.bits(), i / n, i % n) / 8;
                let mut word = [0; 8];
                word[..d.bits() / 8].copy_from_slice(&memory[start..][..d.bits() / 8]);
                assert_eq!(
                    value(*d, u64::from_le_bytes(word)),
                    rounded(*d, expected),
                    "{words:?} {rows:?} element {i}"
                );
            }
        }
    }
}

#[test]
fn fragments_of_one_matrix_have_one_layout() {
    for shape in ["m16n16k16", "m32n8k16", "m8n32k16"] {
        let [f16, f32] = ["f16", "f32"].map(|name| fragment(&format!("store.d.{shape}.{name}")).unwrap());
        for (lane, index) in (0..32).flat_map(|lane| (0..8).map(move |index| (lane, index))) {
            assert_eq!(f16.place(lane, index), f32.place(lane, index));
        }
    }
    for words in ["load.a.m16n16k16.f32", "load.c.m16n16k8.f16", "load.x.m16n16k16.f16", "load.a.m16n8k16.f16"] {
        assert!(fragment(words).is_none(), "{words}");
    }
    assert!(wmma("mma.m16n16k16.f32.bf16.f16.f32").is_none());
    assert!(wmma("mma.m16n16k8.f32.f32").is_none());
    let wmma = wmma("mma.m16n16k16.f32.f32").unwrap();
    assert_eq!(wmma.compute(&[], &[], &[]), vec![[0; 32]; 8]);
    assert!(!wmma.fragments()[1].accesses(u64::MAX, Some(u64::MAX), true).is_empty());
}
