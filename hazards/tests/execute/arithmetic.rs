//! What integer instructions compute.

/// The width of the operands, whether they are signed, and the width of the result.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub bits: u32,
    pub signed: bool,
    pub result: u32,
    /// An operand may decide the result alone, as a zero of `and`.
    pub absorbs: bool,
}

/// One result from three operands, of which some are unused; `None` where it is undefined.
pub type Compute = fn(Shape, [u64; 3]) -> Option<u64>;

pub fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// The operand as a number, with or without its sign.
fn wide(shape: Shape, value: u64) -> i128 {
    let value = value & mask(shape.bits);
    let negative = shape.signed && value >> (shape.bits - 1) & 1 == 1;
    i128::from(value) - if negative { 1 << shape.bits } else { 0 }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "results wrap")]
fn wrapped(value: i128) -> Option<u64> {
    Some(value as u64)
}

#[rustfmt::skip]
const TABLE: [(&str, Compute); 34] = [
    ("mov", |_, [a, _, _]| Some(a)),
    ("cvta", |_, [a, _, _]| Some(a)),
    ("mapa", |_, [a, _, _]| Some(a)),
    ("cvt", |s, [a, _, _]| wrapped(wide(s, a))),
    ("add", |_, [a, b, _]| Some(a.wrapping_add(b))),
    ("sub", |_, [a, b, _]| Some(a.wrapping_sub(b))),
    ("mul.lo", |_, [a, b, _]| Some(a.wrapping_mul(b))),
    ("mul.wide", |s, [a, b, _]| wrapped(wide(s, a) * wide(s, b))),
    ("mul.hi", |s, [a, b, _]| wrapped((wide(s, a) * wide(s, b)) >> s.bits)),
    ("mad.lo", |_, [a, b, c]| Some(a.wrapping_mul(b).wrapping_add(c))),
    ("mad.wide", |s, [a, b, c]| wrapped(wide(s, a) * wide(s, b) + i128::from(c))),
    ("mad.hi", |s, [a, b, c]| wrapped(((wide(s, a) * wide(s, b)) >> s.bits) + i128::from(c))),
    ("div", |s, [a, b, _]| wide(s, a).checked_div(wide(s, b)).and_then(wrapped)),
    ("rem", |s, [a, b, _]| wide(s, a).checked_rem(wide(s, b)).and_then(wrapped)),
    ("min", |s, [a, b, _]| wrapped(wide(s, a).min(wide(s, b)))),
    ("max", |s, [a, b, _]| wrapped(wide(s, a).max(wide(s, b)))),
    ("abs", |s, [a, _, _]| wrapped(wide(s, a).abs())),
    ("neg", |_, [a, _, _]| Some(a.wrapping_neg())),
    ("not", |_, [a, _, _]| Some(!a)),
    ("and", |_, [a, b, _]| Some(a & b)),
    ("or", |_, [a, b, _]| Some(a | b)),
    ("xor", |_, [a, b, _]| Some(a ^ b)),
    ("shl", |s, [a, b, _]| Some(if b & mask(32) >= u64::from(s.bits) { 0 } else { a << (b & 63) })),
    ("shr", |s, [a, b, _]| wrapped(wide(s, a) >> (b & mask(32)).min(u64::from(s.bits)))),
    ("bfe", bfe),
    ("selp", |_, [a, b, p]| Some(if p & 1 == 1 { a } else { b })),
    ("prmt", |_, [a, b, c]| Some(prmt(a, b, c))),
    ("popc", |s, [a, _, _]| Some(u64::from((a & mask(s.bits)).count_ones()))),
    ("eq", |s, [a, b, _]| Some(u64::from(wide(s, a) == wide(s, b)))),
    ("ne", |s, [a, b, _]| Some(u64::from(wide(s, a) != wide(s, b)))),
    ("lt", |s, [a, b, _]| Some(u64::from(wide(s, a) < wide(s, b)))),
    ("le", |s, [a, b, _]| Some(u64::from(wide(s, a) <= wide(s, b)))),
    ("gt", |s, [a, b, _]| Some(u64::from(wide(s, a) > wide(s, b)))),
    ("ge", |s, [a, b, _]| Some(u64::from(wide(s, a) >= wide(s, b)))),
];

fn bfe(shape: Shape, [a, position, length]: [u64; 3]) -> Option<u64> {
    let (position, length) = (position & 255, length & 255);
    let value = if position >= u64::from(shape.bits) { 0 } else { (a & mask(shape.bits)) >> position };
    let length = u32::try_from(length).ok()?.min(shape.bits);
    if length == 0 {
        return Some(0);
    }
    wrapped(wide(Shape { bits: length, ..shape }, value))
}

fn prmt(a: u64, b: u64, selectors: u64) -> u64 {
    let bytes = a & mask(32) | b << 32;
    let byte = |at: u64| {
        let selector = selectors >> (at * 4) & 15;
        let byte = bytes >> ((selector & 7) * 8) & 255;
        let sign = if byte >> 7 == 1 { 255 } else { 0 };
        (if selector & 8 == 0 { byte } else { sign }) << (at * 8)
    };
    (0..4).map(byte).sum()
}

/// What an operation computes; comparisons by their names.
pub fn compute(operation: &str) -> Option<Compute> {
    TABLE.iter().find(|(name, _)| *name == operation).map(|(_, compute)| *compute)
}

/// The width of a type, and whether it is signed; nothing for those of floating point.
pub fn integer(ty: &str) -> Option<(u32, bool)> {
    if ty == "pred" {
        return Some((1, false));
    }
    let bits = ty.get(1..)?.parse().ok().filter(|bits| matches!(bits, 8 | 16 | 32 | 64))?;
    match ty.as_bytes()[0] {
        b'b' | b'u' => Some((bits, false)),
        b's' => Some((bits, true)),
        _ => None,
    }
}
