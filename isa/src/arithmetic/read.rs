//! The table of computing mnemonics and their modifiers: the syntax of the manual's sections 9.7.1 to 9.7.9 and 9.7.18.

use super::{
    bits::Limit,
    compare::{Compare, Select},
    computation::Computation,
    convert::{Conversion, Kind, Pack, Side},
    exact::{Format, Overflow, Rounding},
    extended::Extended,
    float::{Float, Op, format},
    video::{Video, VideoOp},
};
use strum::IntoEnumIterator;

use crate::word::{AluOp, Cmp, Type};

/// Instructions with the same modifiers.
struct Row {
    mnemonics: &'static str,
    /// The modifiers, in any order; a `?` marks an optional one.
    modifiers: &'static str,
    /// The types, in this order.
    types: &'static str,
    build: fn(&Words) -> Option<Computation>,
}

/// Abbreviations for parts that several rows share.
const SHORT: &[(&str, &str)] = &[
    ("RND", "rn|rz|rm|rp"),
    ("IRND", "rni|rzi|rmi|rpi"),
    ("BOOL", "and|or|xor"),
    ("FCMP", "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"),
    ("SCMP", "eq|ne|lt|le|gt|ge"),
    ("UCMP", "eq|ne|lt|le|gt|ge|lo|ls|hi|hs"),
    ("BITS", "b16|b32|b64"),
    ("UNSIGNED", "u16|u32|u64"),
    ("SIGNED", "s16|s32|s64"),
    ("INT", "u8|u16|u32|u64|s8|s16|s32|s64"),
    ("WIDE", "u16|u32|u64|s16|s32|s64"),
    ("CARRY", "u32|s32|u64|s64"),
];

macro_rules! rows {
    ($($mnemonics:literal, $modifiers:literal, $types:literal => $build:path;)*) => {
        &[$(Row { mnemonics: $mnemonics, modifiers: $modifiers, types: $types, build: $build }),*]
    };
}

const ROWS: &[Row] = rows! {
    // Floating point.
    "add sub mul", "?RND ?ftz ?sat", "f32" => float;
    "add sub mul", "?RND", "f64" => float;
    "add sub mul", "?RND ?ftz", "f32x2" => float;
    "add sub mul", "?rn ?ftz ?sat", "f16|f16x2" => float;
    "add sub mul", "?rn", "bf16|bf16x2" => float;
    "add sub", "?RND ?sat", "f32 f16|bf16" => float;
    "fma mad", "RND ?ftz ?sat", "f32" => float;
    "fma mad", "RND", "f64" => float;
    "fma", "RND ?ftz", "f32x2" => float;
    "fma", "RND ?sat", "f32 f16|bf16" => float;
    "fma", "rn ?ftz ?sat|relu", "f16|f16x2" => float;
    "fma", "rn oob ?sat|relu", "f16|f16x2" => float;
    "fma", "RND ?oob ?relu", "bf16|bf16x2" => float;
    "div", "RND|approx|full ?ftz", "f32" => float;
    "div rcp sqrt", "RND", "f64" => float;
    "rcp sqrt", "RND|approx ?ftz", "f32" => float;
    "rsqrt ex2 lg2 sin cos", "approx ?ftz", "f32" => float;
    "rsqrt", "approx", "f64" => float;
    "rcp rsqrt", "approx ftz", "f64" => float;
    "ex2", "approx", "f16|f16x2" => float;
    "ex2", "approx ftz", "bf16|bf16x2" => float;
    "tanh", "approx", "f32|f16|f16x2|bf16|bf16x2" => float;
    "abs neg", "?ftz", "f32|f16|f16x2" => float;
    "abs neg", "", "f64|bf16|bf16x2" => float;
    "min max", "?ftz ?NaN ?xorsign ?abs", "f32" => float;
    "min max", "", "f64" => float;
    "min max", "?ftz ?NaN", "f16|f16x2" => float;
    "min max", "?ftz ?NaN xorsign abs", "f16|f16x2" => float;
    "min max", "?NaN", "bf16|bf16x2" => float;
    "min max", "?NaN xorsign abs", "bf16|bf16x2" => float;
    "copysign", "", "f32|f64" => float;
    "testp", "finite|infinite|number|notanumber|normal|subnormal", "f32|f64" => testp;
    // Comparisons and selections.
    "setp", "FCMP ?BOOL ?ftz", "f32|f16|f16x2" => setp;
    "setp", "FCMP ?BOOL", "f64|bf16|bf16x2" => setp;
    "setp", "eq|ne BOOL", "BITS" => setp;
    "setp", "UCMP BOOL", "UNSIGNED" => setp;
    "setp", "SCMP BOOL", "SIGNED" => setp;
    "set", "eq|ne ?BOOL", "u32|s32|f32|f16|bf16 BITS" => set;
    "set", "UCMP ?BOOL", "u32|s32|f32|f16|bf16 UNSIGNED" => set;
    "set", "SCMP ?BOOL", "u32|s32|f32|f16|bf16 SIGNED" => set;
    "set", "FCMP ?BOOL ?ftz", "u32|s32|f32|f16 f32" => set;
    "set", "FCMP ?BOOL", "bf16 f32" => set;
    "set", "FCMP ?BOOL", "u32|s32|f32|f16|bf16 f64" => set;
    "set", "FCMP ?BOOL ?ftz", "u16|s16|u32|s32|f16 f16" => set;
    "set", "FCMP ?BOOL ?ftz", "u32|s32|f16x2 f16x2" => set;
    "set", "FCMP ?BOOL", "u16|s16|u32|s32|bf16 bf16" => set;
    "set", "FCMP ?BOOL", "u32|s32|bf16x2 bf16x2" => set;
    "slct", "", "b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64 s32" => slct;
    "slct", "?ftz", "b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64 f32" => slct;
    // Integers.
    "add sub", "cc", "CARRY" => carry;
    "addc subc", "?cc", "CARRY" => carry;
    "mad", "lo|hi cc", "CARRY" => carry;
    "madc", "lo|hi ?cc", "CARRY" => carry;
    "add", "sat", "s32|u32|u16x2|s16x2|u8x4|s8x4" => elements;
    "sub", "sat", "s32|u8x4|s8x4" => elements;
    "add min max", "", "u16x2|s16x2|u8x4|s8x4" => elements;
    "sub", "", "u8x4|s8x4" => elements;
    "neg", "", "s8x4" => elements;
    "min max", "relu", "s32|s16x2|s8x4" => elements;
    "mad mad24", "hi sat", "s32" => elements;
    "lop3", "and|or", "b32" => lop3;
    "prmt", "f4e|b4e|rc8|ecl|ecr|rc16", "b32" => prmt;
    "dp4a", "", "u32|s32 u32|s32" => dot;
    "dp2a", "lo|hi", "u32|s32 u32|s32" => dot;
    "fns", "", "b32" => fns;
    // Halves and bytes of words.
    "vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2", "?sat|add", "u32|s32 u32|s32 u32|s32" => video;
    "vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4", "?sat|add", "u32|s32 u32|s32 u32|s32" => video;
    "vset2 vset4", "UCMP ?add", "u32|s32 u32" => video;
    "vset2 vset4", "SCMP ?add", "u32|s32 s32" => video;
    // Conversions.
    "cvt", "sat", "u8 u16|u32|u64|s8|SIGNED" => cvt;
    "cvt", "sat", "u16 u32|u64|s8|SIGNED" => cvt;
    "cvt", "sat", "u32 u64|s8|SIGNED" => cvt;
    "cvt", "sat", "u64 s8|SIGNED" => cvt;
    "cvt", "sat", "s8 u8|UNSIGNED|SIGNED" => cvt;
    "cvt", "sat", "s16 UNSIGNED|s32|s64" => cvt;
    "cvt", "sat", "s32 u32|u64|s64" => cvt;
    "cvt", "sat", "s64 u64" => cvt;
    "cvt", "IRND ?ftz ?sat", "INT f32" => cvt;
    "cvt", "IRND ?sat", "INT f16|f64" => cvt;
    "cvt", "IRND", "INT bf16" => cvt;
    "cvt", "RND ?ftz ?sat", "f32 INT" => cvt;
    "cvt", "RND ?sat", "f16|f64 INT" => cvt;
    "cvt", "RND", "bf16 WIDE" => cvt;
    "cvt", "?IRND ?ftz ?sat", "f32 f32" => cvt;
    "cvt", "?IRND ?sat", "f16 f16" => cvt;
    "cvt", "?IRND ?sat", "f64 f64" => cvt;
    "cvt", "?IRND", "bf16 bf16" => cvt;
    "cvt", "?ftz ?sat", "f32 f16" => cvt;
    "cvt", "?ftz ?sat", "f64 f32" => cvt;
    "cvt", "?sat", "f64 f16" => cvt;
    "cvt", "?RND ?ftz", "f32 bf16" => cvt;
    "cvt", "?RND", "f64 bf16" => cvt;
    "cvt", "RND ?ftz ?sat", "f32 f64" => cvt;
    "cvt", "RND ?ftz ?sat", "f16 f32" => cvt;
    "cvt", "RND ?sat", "f16 f64" => cvt;
    "cvt", "RND ?ftz", "bf16 f32" => cvt;
    "cvt", "RND", "bf16 f64" => cvt;
    "cvt", "?RND", "bf16 f16" => cvt;
    "cvt", "?RND", "f16 bf16" => cvt;
    "cvt", "rn|rz ?relu ?satfinite", "f16|f16x2|bf16|bf16x2|tf32 f32" => cvt;
    "cvt", "rna ?satfinite", "tf32 f32" => cvt;
    "cvt", "rs ?relu ?satfinite", "f16x2|bf16x2 f32" => cvt;
    "cvt", "rn satfinite ?relu", "e4m3x2|e5m2x2|e3m2x2|e2m3x2|e2m1x2 f32|f16x2|bf16x2" => cvt;
    "cvt", "rn ?relu", "f16x2 e4m3x2|e5m2x2|e3m2x2|e2m3x2|e2m1x2" => cvt;
    "cvt", "rz|rp ?satfinite", "ue8m0x2 f32|bf16x2" => cvt;
    "cvt", "rn", "bf16x2 ue8m0x2" => cvt;
    "cvt", "pack sat", "u16|s16 s32" => pack;
    "cvt", "pack sat", "u2|s2|u4|s4|u8|s8 s32 b32" => pack;
};

/// The slots of a row. Each slot has alternatives, and may be optional.
fn slots(spelled: &'static str) -> impl Iterator<Item = (bool, impl Iterator<Item = &'static str> + Clone)> {
    spelled.split_whitespace().map(|slot| {
        let alternatives = slot.trim_start_matches('?').split('|');
        let long = |name| SHORT.iter().find(|(short, _)| *short == name).map_or(name, |(_, long)| *long);
        (slot.starts_with('?'), alternatives.flat_map(move |name| long(name).split('|')))
    })
}

/// A mnemonic and its modifiers, assigned to the slots of a row.
struct Words<'w> {
    mnemonic: &'w str,
    modifiers: Vec<&'w str>,
    types: Vec<&'w str>,
}

impl<'w> Words<'w> {
    fn match_row(row: &Row, mnemonic: &'w str, words: &[&'w str]) -> Option<Self> {
        row.mnemonics.split(' ').find(|name| *name == mnemonic)?;
        let mut found = Self { mnemonic, modifiers: Vec::new(), types: Vec::new() };
        let mut types = slots(row.types).peekable();
        let mut open: Vec<_> = slots(row.modifiers).collect();
        for word in words {
            if let Some((_, alternatives)) = types.peek()
                && alternatives.clone().any(|name| name == *word)
            {
                types.next();
                found.types.push(word);
                continue;
            }
            let slot = open.iter().position(|(_, alternatives)| alternatives.clone().any(|name| name == *word))?;
            drop(open.remove(slot));
            found.modifiers.push(word);
        }
        (types.next().is_none() && open.iter().all(|(is_optional, _)| *is_optional)).then_some(found)
    }

    fn has(&self, word: &str) -> bool {
        self.modifiers.contains(&word)
    }

    /// The first modifier that names a value of this kind.
    fn find<T: std::str::FromStr>(&self) -> Option<T> {
        self.modifiers.iter().find_map(|word| word.parse().ok())
    }

    fn ty(&self, index: usize) -> Option<Type> {
        self.types.get(index)?.parse().ok()
    }

    /// The rounding, to an integer or not; to nearest even if no modifier names a rounding.
    fn rounding(&self) -> Rounding {
        let of = |word: &&str| match word.trim_end_matches('i') {
            "rn" => Some(Rounding::Nearest),
            "rna" => Some(Rounding::Away),
            "rz" => Some(Rounding::Zero),
            "rm" => Some(Rounding::Down),
            "rp" => Some(Rounding::Up),
            _ => None,
        };
        self.modifiers.iter().find_map(of).unwrap_or(Rounding::Nearest)
    }

    fn limit(&self) -> Limit {
        match (self.has("sat"), self.has("relu")) {
            (true, _) => Limit::Unit,
            (_, true) => Limit::Positive,
            _ => Limit::None,
        }
    }
}

/// The instruction that a mnemonic and its modifiers name, if a row matches.
pub(super) fn read(mnemonic: &str, words: &[&str]) -> Option<Computation> {
    ROWS.iter().find_map(|row| (row.build)(&Words::match_row(row, mnemonic, words)?))
}

/// Every spelling of every row, with the modifiers in the row's order.
pub(super) fn all_forms() -> impl Iterator<Item = String> {
    ROWS.iter().flat_map(|row| {
        let mut all: Vec<String> = row.mnemonics.split(' ').map(str::to_owned).collect();
        for (is_optional, alternatives) in slots(row.modifiers).chain(slots(row.types)) {
            let with = |form: &String| {
                let longer = alternatives.clone().map(|word| format!("{form}.{word}"));
                is_optional.then(|| form.clone()).into_iter().chain(longer).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(with).collect();
        }
        all
    })
}

fn float(words: &Words) -> Option<Computation> {
    let is_approximate_f64 = words.has("approx") && words.has("ftz") && words.types[0] == "f64";
    let (register, lanes, format) = match (words.types[0], words.ty(0)) {
        ("f32x2", _) => (Type::B64, 2, Format::F32),
        (_, Some(ty)) if is_approximate_f64 => (ty, 1, Format::HIGH),
        (_, Some(ty)) => (ty, 1 + u32::from(ty.element().is_some()), format(ty)?),
        _ => return None,
    };
    let float = Float {
        op: words.mnemonic.parse::<Op>().ok()?,
        register,
        format,
        narrow: words.ty(1),
        lanes,
        rounding: words.rounding(),
        flushes: words.has("ftz"),
        takes_nan: words.has("NaN"),
        absolute: words.has("abs"),
        xor_sign: words.has("xorsign"),
        out_of_bounds: words.has("oob"),
        limit: words.limit(),
        is_plain: words.types == ["f32"] && ["ftz", "sat"].iter().all(|word| !words.has(word)),
    };
    // `.xorsign` is only allowed with `.abs`.
    (float.absolute || !float.xor_sign).then_some(Computation::Float(float))
}

fn testp(words: &Words) -> Option<Computation> {
    Some(Computation::Testp(words.find()?, words.ty(0)?))
}

fn setp(words: &Words) -> Option<Computation> {
    let (cmp, ty, flushes, combined) = (words.find()?, words.ty(0)?, words.has("ftz"), words.find());
    Some(match combined {
        None if !flushes && ty.element().is_none() => Computation::Setp(cmp, ty),
        _ => Computation::Compare(Compare { cmp, ty, flushes, combined, value: None }),
    })
}

fn set(words: &Words) -> Option<Computation> {
    let (cmp, ty, flushes, combined) = (words.find()?, words.ty(1)?, words.has("ftz"), words.find());
    Some(Computation::Compare(Compare { cmp, ty, flushes, combined, value: Some(words.ty(0)?) }))
}

fn slct(words: &Words) -> Option<Computation> {
    Some(Computation::Slct(Select { ty: words.ty(0)?, by: words.ty(1)?, flushes: words.has("ftz") }))
}

fn carry(words: &Words) -> Option<Computation> {
    let op = match words.mnemonic {
        "add" | "addc" => AluOp::Add,
        "sub" | "subc" => AluOp::Sub,
        _ if words.has("lo") => AluOp::MadLo,
        _ => AluOp::MadHi,
    };
    let takes = words.mnemonic.ends_with('c');
    Some(Computation::Extended(Extended::Carry { op, ty: words.ty(0)?, takes, gives: words.has("cc") }))
}

fn elements(words: &Words) -> Option<Computation> {
    let element = words.types[0].split('x').next()?.parse().ok()?;
    let op = AluOp::from_mnemonic(words.mnemonic, &words.modifiers)?;
    Some(Computation::Extended(Extended::Elements {
        op,
        element,
        saturates: words.has("sat"),
        relu: words.has("relu"),
    }))
}

fn lop3(words: &Words) -> Option<Computation> {
    Some(Computation::Extended(Extended::Lop3 { and: words.has("and") }))
}

fn prmt(words: &Words) -> Option<Computation> {
    Some(Computation::Extended(Extended::Prmt(words.find()?)))
}

fn dot(words: &Words) -> Option<Computation> {
    let [a, b] = [0, 1].map(|index| words.types[index] == "s32");
    let pair = (words.mnemonic == "dp2a").then(|| words.has("hi").into());
    Some(Computation::Extended(Extended::Dot { a, b, pair }))
}

fn fns(_: &Words) -> Option<Computation> {
    Some(Computation::Extended(Extended::Fns))
}

fn video(words: &Words) -> Option<Computation> {
    let (name, lanes) = words.mnemonic.split_at(words.mnemonic.len() - 1);
    // The result of a comparison has no type.
    let (op, result, operands) = match words.types[..] {
        [result, a, b] => (name.parse().ok()?, result, [a, b]),
        [a, b] => (VideoOp::Set(words.find()?), "u32", [a, b]),
        _ => return None,
    };
    let is_signed = |word: &str| word == "s32";
    Some(Computation::Video(Video {
        op,
        lanes: lanes.parse().ok()?,
        signed: is_signed(result),
        operands: operands.map(is_signed),
        saturates: words.has("sat"),
        accumulates: words.has("add"),
    }))
}

fn cvt(words: &Words) -> Option<Computation> {
    let (to, from) = (Side::from_modifier(words.types[0])?, Side::from_modifier(words.types[1])?);
    let is_exponent = to.kind == Kind::Power;
    Some(Computation::Convert(Conversion {
        to,
        from,
        operands: to.lanes / from.lanes,
        rounding: words.rounding(),
        is_integral: words.modifiers.iter().any(|word| word.ends_with('i')),
        is_random: words.has("rs"),
        flushes: words.has("ftz"),
        limit: words.limit(),
        overflow: if words.has("satfinite") || is_exponent { Overflow::Finite } else { Overflow::Rounded },
    }))
}

fn pack(words: &Words) -> Option<Computation> {
    // `pack` belongs to the mnemonic.
    words.modifiers.first().filter(|first| **first == "pack")?;
    let (sign, bits) = words.types[0].split_at(1);
    Some(Computation::Pack(Pack { bits: bits.parse().ok()?, signed: sign == "s" }))
}

impl Computation {
    /// The instruction that a mnemonic and all its modifiers name. Returns `None` if PTX has no such instruction, or if
    /// it is not a computation. An integer type may differ in sign from PTX's requirement, or have no sign. As in
    /// ptxas, only the order of types matters.
    pub fn from_mnemonic(mnemonic: &str, modifiers: &[&str]) -> Option<Self> {
        if let Some(found) = read(mnemonic, modifiers) {
            return Some(found);
        }
        let is_number = |ty: &Type| ty.is_float() || ty.element().is_some();
        match (mnemonic, modifiers) {
            ("setp", [cmp, ty]) => {
                let ty = ty.parse().ok().filter(|ty| !is_number(ty))?;
                Some(Self::Setp(cmp.parse().ok()?, ty))
            }
            ("cvt", [to, from]) => {
                let [to, from] = [to, from].map(|ty| ty.parse().ok().filter(|ty| !is_number(ty)));
                Some(Self::Cvt { to: to?, from: from? })
            }
            _ => {
                let op = AluOp::from_mnemonic(mnemonic, modifiers)?;
                let mut rest = modifiers.iter().filter(|word| !op.modifiers().any(|own| own == **word));
                let ty: Type = rest.next()?.parse().ok()?;
                let is_whole = matches!(op, AluOp::Mov | AluOp::Selp) || !is_number(&ty);
                (rest.next().is_none() && is_whole && op.takes(ty)).then_some(Self::Alu(op, ty))
            }
        }
    }

    /// Whether the mnemonic belongs to arithmetic, and each modifier occurs in some form of it. If this holds and
    /// [`Self::from_mnemonic`] returns `None`, PTX has no such form, and the form is not merely newer than this table.
    pub fn has_words(mnemonic: &str, modifiers: &[&str]) -> bool {
        let rows = || ROWS.iter().filter(|row| row.mnemonics.split(' ').any(|name| name == mnemonic));
        let operations = || {
            let spelled = AluOp::iter().map(<&str>::from).filter_map(|op| op.strip_prefix(mnemonic));
            spelled.filter(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let has = |word: &str| {
            let in_rows = || {
                let slots = rows().flat_map(|row| slots(row.modifiers).chain(slots(row.types)));
                slots.flat_map(|(_, alternatives)| alternatives).any(|own| own == word)
            };
            let in_operations = || operations().any(|rest| rest.split('.').any(|own| own == word));
            word.parse::<Type>().is_ok() || word.parse::<Cmp>().is_ok() || in_rows() || in_operations()
        };
        let is_arithmetic = rows().next().is_some() || operations().next().is_some();
        is_arithmetic && modifiers.iter().all(|word| has(word))
    }

    /// The mnemonics with modifiers that `of` accepts in addition to the integer arithmetic of [`AluOp`].
    pub fn forms() -> impl Iterator<Item = String> {
        all_forms()
    }
}
