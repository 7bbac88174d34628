//! Forms of arithmetic that PTX does not have (sections 9.7.1 to 9.7.9).

use crate::{arithmetic::Computation, word::Type};

/// Types of an integer instruction. [`Computation`] accepts these instructions with every integer type, signed,
/// unsigned or untyped.
#[derive(Clone, Copy)]
enum Integers {
    /// Untyped bits, and for some instructions predicates.
    Bits,
    /// Numbers, signed or unsigned.
    Numbers,
    /// Signed numbers.
    Signed,
}

#[rustfmt::skip]
const INTEGERS: [(&str, Integers); 20] = {
    use Integers::{Bits, Numbers, Signed};
    [
        ("and", Bits), ("or", Bits), ("xor", Bits), ("not", Bits), ("cnot", Bits), ("shl", Bits), ("brev", Bits), ("popc", Bits),
        ("clz", Bits), ("add", Numbers), ("sub", Numbers), ("mul", Numbers), ("mad", Numbers), ("div", Numbers), ("rem", Numbers),
        ("sad", Numbers), ("min", Numbers), ("max", Numbers), ("abs", Signed), ("neg", Signed),
    ]
};

/// Arithmetic instructions with more forms in ptxas than in the manual. None of their forms is rejected.
const LOOSE: [&str; 2] = ["rcp", "testp"];

/// The expected part of an invalid form of an arithmetic instruction. Returns `None` for valid forms and for other
/// instructions.
pub fn arithmetic(words: &[&str]) -> Option<String> {
    let [base, modifiers @ ..] = words else { return None };
    if LOOSE.contains(base) || !Computation::has_words(base, modifiers) || modifiers.iter().any(|word| is_size(word)) {
        return None;
    }
    let is_type = |word: &&str| word.parse::<Type>().is_ok() || word.bytes().any(|byte| byte.is_ascii_digit());
    let Some(ty) = modifiers.iter().find(|word| is_type(word)) else { return Some("a type, as `.u32`".into()) };
    if Computation::from_mnemonic(base, modifiers).is_none() {
        // A `mov` also accepts predicates.
        return (*base != "mov").then(|| format!("a form of `{base}` that PTX has"));
    }
    let (_, integers) = INTEGERS.iter().find(|(name, _)| name == base)?;
    let ty: Type = ty.parse().ok()?;
    let is_bits = matches!(ty, Type::B8 | Type::B16 | Type::B32 | Type::B64 | Type::B128);
    let is_unsigned = matches!(ty, Type::U8 | Type::U16 | Type::U32 | Type::U64);
    match integers {
        Integers::Bits if !is_bits && ty != Type::Pred => Some(format!("a type of `{base}`, as `.b32`")),
        Integers::Numbers | Integers::Signed if is_bits || ty == Type::Pred => {
            Some(format!("a type of `{base}`, as `.s32`"))
        }
        Integers::Signed if is_unsigned => Some(format!("a type of `{base}`, as `.s32`")),
        _ => None,
    }
}

/// Whether a word is the size of a vector.
pub fn is_size(word: &str) -> bool {
    word.strip_prefix('v').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}
