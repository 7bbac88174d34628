//! Integers and bits (sections 9.7.1 and 9.7.8).

use std::cmp::Ordering;

use super::bits::{SOURCES, mask, sign_extend};
use crate::word::{AluOp, Type};

/// The results of integer instructions. They wrap, so that most are the same for signed and unsigned operands.
pub(super) fn integer(op: AluOp, ty: Type, [a, b, c, d]: [u128; SOURCES]) -> Option<u128> {
    use AluOp::*;
    let bits = ty.bits();
    // The operands as numbers, with their signs.
    let number = |value: u128| if ty.is_signed() { sign_extend(value as u64, bits).into() } else { value as i128 };
    let (x, y) = (number(a), number(b));
    // Only integer types of PTX, not plain bits, have an order and a product that does not wrap.
    let numeric = matches!(bits, 16 | 32 | 64).then_some(());
    let word = (bits == 32).then_some(());
    Some(match op {
        Mov => a,
        Neg => a.wrapping_neg(),
        Not => !a,
        Abs => numeric.map(|()| x.unsigned_abs())?,
        Cnot => (a == 0).into(),
        Add => a.wrapping_add(b),
        Sub => a.wrapping_sub(b),
        And => a & b,
        Or => a | b,
        Xor => a ^ b,
        Min => {
            if order(ty, a, b).is_le() {
                a
            } else {
                b
            }
        }
        Max => {
            if order(ty, a, b).is_ge() {
                a
            } else {
                b
            }
        }
        // A shift by the width or more yields 0, or the sign in every bit.
        Shl => a.checked_shl(b as u32).unwrap_or(0),
        Shr if ty.is_signed() => (sign_extend(a as u64, bits) >> (b as u32).min(63)) as u128,
        Shr => a.checked_shr(b as u32).unwrap_or(0),
        Div => numeric.and_then(|()| x.checked_div(y))? as u128,
        Rem => numeric.and_then(|()| x.checked_rem(y))? as u128,
        Sad => numeric.map(|()| c.wrapping_add((x - y).unsigned_abs()))?,
        MulLo => a.wrapping_mul(b),
        MulHi => numeric.map(|()| (x.wrapping_mul(y) as u128) >> bits)?,
        MulWide if bits < 64 => numeric.map(|()| (x * y) as u128)?,
        MadLo => a.wrapping_mul(b).wrapping_add(c),
        MadHi => numeric.map(|()| ((x.wrapping_mul(y) as u128) >> bits).wrapping_add(c))?,
        MadWide if bits < 64 => numeric.map(|()| ((x * y) as u128).wrapping_add(c))?,
        Mul24Lo | Mul24Hi | Mad24Lo | Mad24Hi => {
            word?;
            let low = |value: u128| match ty.is_signed() {
                true => sign_extend(value as u64, 24).into(),
                false => (value & mask(24)) as i128,
            };
            let product = (low(a) * low(b)) as u128;
            match op {
                Mul24Lo => product,
                Mul24Hi => product >> 16,
                Mad24Lo => product.wrapping_add(c),
                _ => (product >> 16).wrapping_add(c),
            }
        }
        Selp => {
            if c != 0 {
                a
            } else {
                b
            }
        }
        _ => return bits_of(op, ty, [a, b, c, d]),
    })
}

/// The results of instructions on bits (section 9.7.8, and parts of 9.7.1). Returns `None` for other instructions.
fn bits_of(op: AluOp, ty: Type, [a, b, c, d]: [u128; SOURCES]) -> Option<u128> {
    use AluOp::*;
    let bits = ty.bits();
    let word = (bits == 32).then_some(());
    let word_or_two = matches!(bits, 32 | 64).then_some(());
    let is_negative = ty.is_signed() && a >> (bits - 1) & 1 == 1;
    Some(match op {
        Popc => word_or_two.map(|()| a.count_ones())?.into(),
        Clz => word_or_two.map(|()| a.leading_zeros() - (128 - bits))?.into(),
        Brev => word_or_two.map(|()| a.reverse_bits() >> (128 - bits))?,
        Bfind | BfindShiftamt => {
            word_or_two?;
            let magnitude = if is_negative { !a & mask(bits) } else { a };
            match 127u32.checked_sub(magnitude.leading_zeros()) {
                None => mask(32),
                Some(found) if op == Bfind => found.into(),
                Some(found) => (bits - 1 - found).into(),
            }
        }
        Bfe => word_or_two.map(|()| bit_field(ty, a, b, c))?,
        Bfi => {
            word_or_two?;
            let (at, length) = ((c & 0xFF) as u32, (d & 0xFF) as u32);
            let place = mask(length).checked_shl(at).unwrap_or(0) & mask(bits);
            a.checked_shl(at).unwrap_or(0) & place | b & !place
        }
        BmskClamp | BmskWrap => {
            word?;
            let limit = |value: u128| if op == BmskWrap { value & 31 } else { value.min(32) };
            mask(limit(b) as u32).checked_shl(limit(a) as u32).unwrap_or(0)
        }
        SzextClamp | SzextWrap => {
            word?;
            let length = if op == SzextWrap { b & 31 } else { b.min(32) };
            bit_field(ty, a, 0, length)
        }
        Lop3 => {
            word?;
            let of = |row: u32| {
                let input = |value: u128, bit: u32| if row >> bit & 1 == 1 { value } else { !value };
                if d >> row & 1 == 1 { input(a, 2) & input(b, 1) & input(c, 0) } else { 0 }
            };
            (0..8).fold(0, |all, row| all | of(row))
        }
        ShfLeftClamp | ShfLeftWrap | ShfRightClamp | ShfRightWrap => {
            word?;
            let amount = if matches!(op, ShfLeftWrap | ShfRightWrap) { c & 31 } else { c.min(32) } as u32;
            let both = b << 32 | a;
            if matches!(op, ShfLeftClamp | ShfLeftWrap) { (both << amount) >> 32 } else { both >> amount }
        }
        Prmt => word.map(|()| permuted(a as u32, b as u32, c as u32))?.into(),
        _ => return None,
    })
}

/// `bfe`: bits of `a` from a position on. The position and the length are the low 8 bits of their operands. Bits above
/// the highest bit of a signed type are copies of that bit, and the result is sign-extended.
fn bit_field(ty: Type, a: u128, position: u128, length: u128) -> u128 {
    let (position, length) = ((position & 0xFF) as u32, (length & 0xFF) as u32);
    if !ty.is_signed() {
        return a.checked_shr(position).unwrap_or(0) & mask(length);
    }
    let shifted = sign_extend(a as u64, ty.bits()) >> position.min(63);
    sign_extend(shifted as u64, length) as u128
}

/// The order of two integers.
pub(super) fn order(ty: Type, a: u128, b: u128) -> Ordering {
    let signed = |value: u128| sign_extend(value as u64, ty.bits());
    if ty.is_signed() { signed(a).cmp(&signed(b)) } else { a.cmp(&b) }
}

/// `prmt.b32` in its default mode.
fn permuted(a: u32, b: u32, picks: u32) -> u32 {
    let bytes = [a.to_le_bytes(), b.to_le_bytes()].concat();
    let pick = |index: u32| {
        let nibble = picks >> (4 * index);
        let byte = bytes[(nibble & 7) as usize];
        match nibble & 8 {
            0 => byte,
            _ if byte & 0x80 != 0 => 0xFF,
            _ => 0,
        }
    };
    u32::from_le_bytes([pick(0), pick(1), pick(2), pick(3)])
}
