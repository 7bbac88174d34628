//! The forms of the synchronous matrix instructions (sections 9.7.14.4 to 9.7.14.6).

use strum::EnumString;

use crate::word::{MatrixElement, Space};

/// A matrix of a product, as `wmma` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum Fragment {
    /// The first factor.
    A,
    /// The second factor.
    B,
    /// The summand.
    C,
    /// The result.
    D,
}

/// The instruction of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatrixOp {
    /// `mma`
    Mma,
    /// `wmma.mma`
    WmmaMma,
    /// `wmma.load`
    WmmaLoad(Fragment),
    /// `wmma.store`
    WmmaStore(Fragment),
    /// `ldmatrix`
    Ldmatrix,
    /// `stmatrix`
    Stmatrix,
    /// `movmatrix`
    Movmatrix,
}

/// `m16n8k16`; a single matrix, such as `m8n8`, has no K.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "named as the manual names them")]
pub struct MatrixShape {
    pub m: u16,
    pub n: u16,
    pub k: Option<u16>,
}

impl MatrixShape {
    /// The shape that a word spells. No dimension is 0 or above 256.
    pub fn from_word(word: &str) -> Option<Self> {
        let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k').map_or((rest, None), |(n, k)| (n, Some(k)));
        let number = |text: &str| text.parse().ok().filter(|n| (1..=256).contains(n));
        Some(Self { m: number(m)?, n: number(n)?, k: k.map(number).map_or(Some(None), |k| k.map(Some))? })
    }
}

/// A matrix instruction, with the modifiers that its values depend on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MatrixForm {
    /// The instruction.
    pub op: MatrixOp,
    /// The shape of the product, or of a matrix.
    pub shape: Option<MatrixShape>,
    /// The types of the elements, in the order of the instruction.
    pub elements: Vec<MatrixElement>,
    /// For each layout that the instruction names, in order: whether rows (`.row`) or columns (`.col`) are contiguous.
    pub by_rows: Vec<bool>,
    /// The number of matrices: `.x4`.
    pub count: Option<u8>,
    /// The state space of the address; `None` is the generic space.
    pub space: Option<Space>,
    /// `.trans`
    pub transposes: bool,
    /// `.satfinite`
    pub saturates: bool,
    /// `.sp`: A is stored without half of its elements.
    pub is_sparse: bool,
    /// `.block_scale`, and the kinds that imply it: groups of elements share scale factors.
    pub is_scaled: bool,
    /// `.xor.popc`: bits are combined by exclusive or, instead of and.
    pub combines_by_xor: bool,
}

impl MatrixForm {
    /// The form that the words of an instruction spell.
    pub fn from_words(words: &[&str]) -> Option<Self> {
        let has = |word: &str| words.contains(&word);
        let begins = |start: &str| words.iter().any(|word| word.starts_with(start));
        let fragment = || words.get(2)?.parse().ok();
        let op = match words {
            ["mma", ..] => MatrixOp::Mma,
            ["wmma", "mma", ..] => MatrixOp::WmmaMma,
            ["wmma", "load", ..] => MatrixOp::WmmaLoad(fragment()?),
            ["wmma", "store", ..] => MatrixOp::WmmaStore(fragment()?),
            ["ldmatrix", ..] => MatrixOp::Ldmatrix,
            ["stmatrix", ..] => MatrixOp::Stmatrix,
            ["movmatrix", ..] => MatrixOp::Movmatrix,
            _ => return None,
        };
        let layout = |word: &&str| match *word {
            "row" => Some(true),
            "col" => Some(false),
            _ => None,
        };
        Some(Self {
            op,
            shape: words.iter().find_map(|word| MatrixShape::from_word(word)),
            elements: words.iter().filter_map(|word| word.parse().ok()).collect(),
            by_rows: words.iter().filter_map(layout).collect(),
            count: words.iter().find_map(|word| word.strip_prefix('x')?.parse().ok()),
            space: words.iter().find_map(|word| word.parse().ok()),
            transposes: has("trans"),
            saturates: has("satfinite"),
            is_sparse: has("sp") || begins("sp::"),
            is_scaled: begins("block_scale") || begins("kind::mx"),
            combines_by_xor: has("xor"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mnemonic: &str, expected: &str) {
        let form = MatrixForm::from_words(&mnemonic.split('.').collect::<Vec<_>>()).expect("a form");
        let elements: Vec<String> = form.elements.iter().map(MatrixElement::to_string).collect();
        let shape = form.shape.map(|MatrixShape { m, n, k }| format!("{m}x{n}x{}", k.unwrap_or(0)));
        let flags = [form.transposes, form.saturates, form.is_sparse, form.is_scaled, form.combines_by_xor];
        let flags: String = flags.iter().zip("tsp*x".chars()).filter(|(is, _)| **is).map(|(_, flag)| flag).collect();
        let rows: String = form.by_rows.iter().map(|is| if *is { 'r' } else { 'c' }).collect();
        let space = form.space.map_or(String::new(), |space| space.to_string());
        let found = format!(
            "{:?} {} {} {rows} {} {space} {flags}",
            form.op,
            shape.unwrap_or_default(),
            elements.join(","),
            form.count.unwrap_or(0)
        );
        assert_eq!(found.split_whitespace().collect::<Vec<_>>().join(" "), expected);
    }

    #[test]
    fn modifiers_become_the_parts_of_a_form() {
        check("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "Mma 16x8x16 f32,f16,f16,f32 rc 0");
        check(
            "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32",
            "Mma 16x8x32 s32,s8,u8,s32 rc 0 p",
        );
        check(
            "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
            "Mma 16x8x64 f32,e2m1,e2m1,f32 rc 0 *",
        );
        check("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", "Mma 8x8x128 s32,b1,b1,s32 rc 0 x");
        check(
            "wmma.mma.sync.aligned.row.col.m16n16k16.s32.u8.u8.s32.satfinite",
            "WmmaMma 16x16x16 s32,u8,u8,s32 rc 0 s",
        );
        check("wmma.load.b.sync.aligned.col.m16n16k16.global.f16", "WmmaLoad(B) 16x16x16 f16 c 0 global");
        check("wmma.store.d.sync.aligned.row.m8n8k4.shared.f64", "WmmaStore(D) 8x8x4 f64 r 0 shared");
        check("ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16", "Ldmatrix 8x8x0 b16 4 shared::cta t");
        check("stmatrix.sync.aligned.m8n8.x2.b16", "Stmatrix 8x8x0 b16 2");
        check("movmatrix.sync.aligned.m8n8.trans.b16", "Movmatrix 8x8x0 b16 0 t");
    }

    #[test]
    fn instructions_of_other_kinds_have_no_form() {
        for words in [&["wgmma", "mma_async"][..], &["wmma"], &["wmma", "load", "e"], &["ld", "global"], &[]] {
            assert_eq!(MatrixForm::from_words(words), None, "{words:?}");
        }
        for shape in ["m0n8k4", "m16n8k512", "m16", "n8k4", "m8n8k", "maxnreg"] {
            assert_eq!(MatrixShape::from_word(shape), None, "{shape}");
        }
    }
}
