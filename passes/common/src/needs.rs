//! The target requirements of an instruction, including instructions that only variants of some GPUs have.

use std::{fmt, iter, ops::RangeInclusive};

use ptx_lowering::{PtxVersion, Sm, Target};

/// The GPUs and the PTX versions that have an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The GPUs.
    pub gpus: Gpus,
    /// The first PTX version.
    pub ptx: PtxVersion,
}

/// The GPUs that have an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gpus {
    /// All GPUs from this number on, such as 90 for `sm_90`, and all their variants.
    From(u32),
    /// The variants `a` of these numbers: the features specific to one GPU.
    Own(&'static [u32]),
    /// The variants `a` and `f` of these numbers: the features that a family of GPUs shares.
    Family(&'static [u32]),
    /// All variants of the GPUs with these numbers, with PTX versions of this range: an instruction that came to
    /// some GPUs later, or that PTX removed.
    Spans(&'static [Span]),
}

/// Numbers of GPUs, and the PTX versions in which they have an instruction.
pub type Span = (RangeInclusive<u32>, RangeInclusive<PtxVersion>);

/// A GPU that PTX renamed, with the last PTX version in which the variants of the old name have their features: sm_101
/// became sm_110.
const RENAMED: (u32, PtxVersion) = (101, PtxVersion(8, 8));

impl Needs {
    /// The requirement of a GPU with this number or a higher one, and of a PTX version.
    pub const fn since(sm: u32, major: u8, minor: u8) -> Self {
        Self { gpus: Gpus::From(sm), ptx: PtxVersion(major, minor) }
    }

    /// The requirement of an instruction that LLVM's NVPTX backend has for no GPU.
    pub const NEVER: Self = Self::on(Gpus::Spans(&[]), 0, 0);

    /// The requirement of an instruction that LLVM's NVPTX backend has for every GPU.
    pub const ALWAYS: Self = Self::since(0, 0, 0);

    /// The requirement of a GPU and of a PTX version in one of these spans.
    pub const fn in_spans(spans: &'static [Span]) -> Self {
        Self::on(Gpus::Spans(spans), 0, 0)
    }

    /// The requirement of one of these GPUs, and of a PTX version.
    pub const fn on(gpus: Gpus, major: u8, minor: u8) -> Self {
        Self { gpus, ptx: PtxVersion(major, minor) }
    }

    /// Whether a target meets the requirements.
    pub fn met_by(&self, target: &Target) -> bool {
        let (number, name) = (target.sm.number(), target.sm.name());
        let until = |last: Option<PtxVersion>| last.is_none_or(|last| target.ptx <= last);
        let is_one = |numbers: &[u32]| numbers.contains(&number) && until(last(number));
        target.ptx >= self.ptx
            && match self.gpus {
                Gpus::From(lowest) => number >= lowest,
                Gpus::Own(numbers) => name.ends_with('a') && is_one(numbers),
                Gpus::Family(numbers) => name.ends_with(['a', 'f']) && is_one(numbers),
                Gpus::Spans(spans) => {
                    spans.iter().any(|(gpus, versions)| gpus.contains(&number) && versions.contains(&target.ptx))
                }
            }
    }

    /// A message about the requirements of an instruction that the target does not meet; `None` if it meets all of
    /// them.
    pub fn missing_on(&self, target: &Target, instruction: &str) -> Option<String> {
        (!self.met_by(target)).then(|| format!("`{instruction}` requires {self}, and the target is {target}"))
    }

    /// The oldest GPU that meets the requirements, with the lowest PTX version for which it does.
    pub fn lowest(&self) -> Option<Target> {
        let first = |sm: Sm| {
            let versions = PtxVersion::all().filter(move |ptx| *ptx >= sm.lowest_ptx());
            versions.map(move |ptx| Target { sm, ptx }).find(|target| self.met_by(target))
        };
        Sm::all().find_map(first)
    }
}

/// The last PTX version in which the variants of a GPU have their features.
fn last(number: u32) -> Option<PtxVersion> {
    (number == RENAMED.0).then_some(RENAMED.1)
}

/// For example `sm_30 to sm_62 and PTX 3.2`, without the end of a range that continues.
fn span((gpus, versions): &Span) -> String {
    let last_gpu = Sm::all().map(Sm::number).max().filter(|last| last > gpus.end()).map(|_| gpus.end());
    let gpus = format!("sm_{}", gpus.start()) + &last_gpu.map_or(String::new(), |last| format!(" to sm_{last}"));
    let last_ptx = PtxVersion::all().max().filter(|last| last > versions.end()).map(|_| versions.end());
    format!("{gpus} and PTX {}", versions.start()) + &last_ptx.map_or(String::new(), |last| format!(" to PTX {last}"))
}

/// For example `sm_90 and PTX 8.0`, or `one of sm_100a, sm_103a, and PTX 8.6`.
impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (numbers, variants): (_, &[char]) = match &self.gpus {
            Gpus::From(lowest) => return write!(f, "sm_{lowest} and PTX {}", self.ptx),
            Gpus::Own(numbers) => (*numbers, &['a']),
            Gpus::Family(numbers) => (*numbers, &['a', 'f']),
            Gpus::Spans([]) => return f.write_str("an instruction that LLVM's NVPTX backend lacks"),
            Gpus::Spans(spans) => return f.write_str(&spans.iter().map(span).collect::<Vec<_>>().join(", or ")),
        };
        let one = |(number, variant): (u32, &char)| {
            let until = last(number).map_or(String::new(), |last| format!(" up to PTX {last}"));
            let name = format!("sm_{number}{variant}");
            // sm_90 has one variant.
            name.parse::<Sm>().is_ok().then(|| name + &until)
        };
        let all = numbers.iter().flat_map(|number| iter::repeat(*number).zip(variants));
        let names: Vec<_> = all.filter_map(one).collect();
        match &names[..] {
            [name] => write!(f, "{name} and PTX {}", self.ptx),
            names => write!(f, "one of {}, and PTX {}", names.join(", "), self.ptx),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that each target, such as `sm_90a ptx80`, meets or does not meet the requirements.
    fn check(needs: Needs, words: &str, has: &[&str], lacks: &[&str]) {
        assert_eq!(needs.to_string(), words);
        for (name, met) in has.iter().map(|name| (name, true)).chain(lacks.iter().map(|name| (name, false))) {
            let (sm, ptx) = name.split_once(' ').expect("a GPU and a PTX version");
            let target = Target::new(sm.parse().expect(sm), Some(ptx.parse().expect(ptx))).expect("a target");
            assert_eq!(needs.met_by(&target), met, "{words}: {name}");
            assert_eq!(needs.missing_on(&target, "mma").is_none(), met, "{words}: {name}");
        }
        assert!(needs.lowest().is_some_and(|lowest| needs.met_by(&lowest)), "{words}");
    }

    #[test]
    fn targets_that_have_it() {
        let (all, none) = (["sm_90 ptx80", "sm_90a ptx90", "sm_121f ptx94"], ["sm_89 ptx90", "sm_90 ptx78"]);
        check(Needs::since(90, 8, 0), "sm_90 and PTX 8.0", &all, &none);
        let (one, others) = (["sm_90a ptx80"], ["sm_90 ptx80", "sm_100a ptx86"]);
        check(Needs::on(Gpus::Own(&[90]), 8, 0), "sm_90a and PTX 8.0", &one, &others);
        let own = Needs::on(Gpus::Own(&[100, 103]), 8, 7);
        let others = ["sm_100a ptx86", "sm_100f ptx88", "sm_103 ptx88", "sm_90a ptx90"];
        check(own, "one of sm_100a, sm_103a, and PTX 8.7", &["sm_100a ptx87", "sm_103a ptx94"], &others);
    }

    #[test]
    fn spans_of_targets() {
        const SPANS: &[Span] =
            &[(30..=62, PtxVersion(3, 2)..=PtxVersion(9, 9)), (70..=u32::MAX, PtxVersion(6, 0)..=PtxVersion(6, 3))];
        let words = "sm_30 to sm_62 and PTX 3.2, or sm_70 and PTX 6.0 to PTX 6.3";
        let has = ["sm_30 ptx32", "sm_62 ptx90", "sm_75 ptx63"];
        check(Needs::in_spans(SPANS), words, &has, &["sm_20 ptx32", "sm_70 ptx64", "sm_90 ptx90"]);
        let newest = Target::new("sm_121a".parse().expect("a GPU"), None).expect("a target");
        let message = Needs::NEVER.missing_on(&newest, "frem").expect("a message");
        assert!(
            message.starts_with("`frem` requires an instruction that LLVM's NVPTX backend lacks, and"),
            "{message}"
        );
        assert!(Needs::NEVER.lowest().is_none() && Needs::ALWAYS.met_by(&newest));
    }

    #[test]
    fn a_family_ends_where_its_gpu_is_renamed() {
        let words = "one of sm_101a up to PTX 8.8, sm_101f up to PTX 8.8, sm_110a, sm_110f, and PTX 8.6";
        let has = ["sm_101a ptx86", "sm_101f ptx88", "sm_110a ptx90", "sm_110f ptx94"];
        check(Needs::on(Gpus::Family(&[101, 110]), 8, 6), words, &has, &["sm_101a ptx90", "sm_110 ptx90"]);
    }
}
