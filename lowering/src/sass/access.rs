//! Loads, stores and atomics. `.E` marks a 64-bit address; `LDS`, `STS` and `ATOMS` address the window of shared
//! memory.

use super::{barriers, family::Family};
use crate::ptx::{
    Atom, AtomOp, AtomSem, Instruction, Ld, LdSem, Red, RedSem, Scope, Space, St, StSem, Type, VectorSize,
};

/// Whether a later instruction reads the result of a load or `atom`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultUse {
    /// A later instruction reads the result.
    Read,
    /// No later instruction reads the result, so ptxas may drop it.
    Unread,
}

/// The consistency of a load or store, as in its opcode.
enum Consistency {
    Weak,
    Strong(Scope),
    Volatile,
    Mmio,
}

pub(super) fn ld(ld: &Ld, result: ResultUse, family: Family) -> Option<Vec<String>> {
    let scope = ld.scope.unwrap_or(Scope::Sys);
    let (consistency, acquires) = match ld.sem {
        LdSem::Plain | LdSem::Weak => (Consistency::Weak, false),
        LdSem::Relaxed => (Consistency::Strong(scope), false),
        LdSem::Acquire => (Consistency::Strong(scope), true),
        LdSem::Volatile => (Consistency::Volatile, false),
        LdSem::MmioRelaxed => (Consistency::Mmio, false),
        LdSem::MmioAcquire => (Consistency::Mmio, true),
    };
    // A weak or relaxed load whose result is unread is dropped.
    let stays = result == ResultUse::Read || matches!(consistency, Consistency::Volatile | Consistency::Mmio);
    let measured = ld.cache.is_none() && !ld.unified;
    let opcode = measured.then(|| plain("LD", ld.space, bits(ld.ty, ld.vec)?, &consistency, family))??;
    let acquire = acquires.then(|| barriers::acquire(scope, ld.space, family));
    Some(stays.then_some(opcode).into_iter().chain(acquire.into_iter().flatten()).collect())
}

pub(super) fn st(st: &St, family: Family) -> Option<Vec<String>> {
    let scope = st.scope.unwrap_or(Scope::Sys);
    let (consistency, releases) = match st.sem {
        StSem::Plain | StSem::Weak => (Consistency::Weak, false),
        StSem::Relaxed => (Consistency::Strong(scope), false),
        StSem::Release => (Consistency::Strong(scope), true),
        StSem::Volatile => (Consistency::Volatile, false),
        StSem::MmioRelaxed => (Consistency::Mmio, false),
        StSem::MmioRelease => (Consistency::Mmio, true),
    };
    let opcode = st.cache.is_none().then(|| plain("ST", st.space, bits(st.ty, st.vec)?, &consistency, family))??;
    let mut opcodes = Vec::new();
    if releases {
        // The measurements show one barrier more than a release needs.
        let extra = matches!(consistency, Consistency::Mmio) && family >= Family::Sm90;
        opcodes.extend(extra.then(|| barriers::release(Scope::Cta, family)).into_iter().flatten());
        opcodes.extend(barriers::release(scope, family));
    }
    opcodes.push(opcode);
    Some(opcodes)
}

pub(super) fn atom(atom: &Atom, result: ResultUse, family: Family) -> Option<Vec<String>> {
    if atom.cache.is_some() || atom.vec.is_some() {
        return None;
    }
    let form = AtomicForm { op: atom.op, noftz: atom.noftz, ty: atom.ty, space: atom.space };
    form.opcodes(atom.sem.unwrap_or(AtomSem::Relaxed), atom.scope.unwrap_or(Scope::Gpu), result, family)
}

/// A `red` is equivalent to an `atom` whose result is unread.
pub(super) fn red(red: &Red, family: Family) -> Option<Vec<String>> {
    if red.cache.is_some() || red.vec.is_some() {
        return None;
    }
    let sem = match red.sem {
        Some(RedSem::Release) => AtomSem::Release,
        Some(RedSem::Relaxed) | None => AtomSem::Relaxed,
    };
    let form = AtomicForm { op: red.op, noftz: red.noftz, ty: red.ty, space: red.space };
    form.opcodes(sem, red.scope.unwrap_or(Scope::Gpu), ResultUse::Unread, family)
}

/// Whether ptxas drops the barriers of an `atom` or `red`, and with them its acquire and release. From sm_90 on, 12.9
/// and 13.5 drop them if they expand it to a loop of `CAST.SPIN` in shared memory. Fences around it are kept.
pub fn loses_ordering(instruction: &Instruction, family: Family) -> bool {
    AtomicForm::of_ordered(instruction).is_some_and(|form| form.loses_ordering(family))
}

/// Whether ptxas may place some barrier inside the expansion of an `atom` or `red` with acquire or release, instead of
/// around it. This occurs from sm_90 on, if ptxas expands it to a loop. In shared memory ptxas drops the barriers; for
/// 16 bits, the release is between the first load and the swap; at a generic address, the acquire precedes the loop for
/// shared memory. Forms outside the table are unknown and count as misplaced.
pub fn misplaces_ordering(instruction: &Instruction, family: Family) -> bool {
    AtomicForm::of_ordered(instruction).is_some_and(|form| {
        let loops = match form.class() {
            Some((Class::Native | Class::Exchange, _)) => false,
            Some((Class::Loop | Class::Float, _)) => form.space != Space::Global,
            Some((Class::Narrow, _)) | None => true,
        };
        family >= Family::Sm90 && loops
    })
}

/// The opcode `LDG.E.64.STRONG.GPU`, from the direction (`LD`, `ST`) and the access.
fn plain(direction: &str, space: Space, bits: u32, consistency: &Consistency, family: Family) -> Option<String> {
    let size = match bits {
        8 => ".U8",
        16 => ".U16",
        32 => "",
        64 => ".64",
        128 => ".128",
        _ => return None,
    };
    let generic = match space {
        Space::Global => "G",
        Space::Generic | Space::SharedCluster => "",
        Space::Shared | Space::SharedCta => {
            let zero_extends = match (direction, family) {
                ("LD", Family::Sm50) if bits == 32 => ".U.32",
                ("LD", Family::Sm50 | Family::Sm70) => ".U",
                _ => "",
            };
            return Some(format!("{direction}S{zero_extends}{size}"));
        }
        Space::Local | Space::Const => return None,
    };
    let consistency = match consistency {
        // Cache operators, on GPUs without a memory model.
        Consistency::Volatile if family < Family::Sm70 => {
            let operator = if direction == "LD" { "CV" } else { "WT" };
            return Some(format!("{direction}{generic}.E.{operator}{size}"));
        }
        Consistency::Weak if family == Family::Sm70 => ".SYS".into(),
        Consistency::Weak => String::new(),
        Consistency::Strong(scope) => strong(*scope, family),
        Consistency::Volatile => strong(Scope::Sys, family),
        Consistency::Mmio => ".MMIO.SYS".into(),
    };
    Some(format!("{direction}{generic}.E{size}{consistency}"))
}

/// The width of an access; `None` for sign extension, which was not measured.
fn bits(ty: Type, vec: Option<VectorSize>) -> Option<u32> {
    let elements = u32::try_from(vec.map_or(1, VectorSize::elements)).expect("at most 8");
    (!matches!(ty, Type::S8 | Type::S16)).then_some(ty.bits() * elements)
}

fn strong(scope: Scope, family: Family) -> String {
    let word = match scope {
        Scope::Cta if family < Family::Sm80 => "CTA",
        Scope::Cta => "SM",
        Scope::Cluster | Scope::Gpu => "GPU",
        Scope::Sys => "SYS",
    };
    format!(".STRONG.{word}")
}

/// The operation, type and space of an `atom`.
struct AtomicForm {
    op: AtomOp,
    noftz: bool,
    ty: Type,
    space: Space,
}

/// Classes of operations and types that ptxas treats alike.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Operations that are native in every space: on 32-bit integers, and 128-bit exchanges.
    Native,
    /// exch and cas of 64 bits.
    Exchange,
    /// Operations on 64-bit integers and pairs of halves, which shared memory lacks.
    Loop,
    /// Operations on float and double, which shared memory lacks even across a cluster.
    Float,
    /// Operations on 16 bits, which are a part of a word.
    Narrow,
}

/// The opcodes of a class from a family on, in global, shared, and generic memory (shared::cluster is like generic).
/// The last row that applies is used.
///
/// Bare `LDG`, `LDS`, `LD` and `ST` are weak accesses of the type's size, or of the word's size if the type is narrow.
/// `QSPC` tests the state space of a generic address; the code for shared memory follows it, then the code for local
/// memory.
#[rustfmt::skip]
const OPCODES: &[(Family, &[Class], [&str; 3])] = {
    use Class::*;
    use Family::*;
    &[
        (Sm50, &[Native, Exchange], ["ATOM.E.{op}",               "ATOMS.{op}",              "ATOM.E.{op} ATOMS.{op}"]),
        (Sm50, &[Loop, Float],      ["ATOM.E.{op}",               "LDS ATOMS.CAS{size}",     "ATOM.E.{op} LDS ATOMS.CAS{size}"]),
        (Sm70, &[Native],           ["ATOMG.E.{op}{strong}",      "ATOMS.{op}",              "ATOM.E.{op}{strong}"]),
        (Sm70, &[Exchange],         ["ATOMG.E.{op}{strong}",      "ATOMS.{op}",              "ATOM.E.{op}{strong} LD ST"]),
        (Sm70, &[Loop, Float],      ["ATOMG.E.{op}{strong}",      "LDS ATOMS.CAST.SPIN{size}",
                                     "ATOM.E.{op}{strong} QSPC.E.S LDS ATOMS.CAST.SPIN{size} LD ST"]),
        (Sm70, &[Narrow],           ["LDG ATOMG.E.CAS{strong}",   "LDS ATOMS.CAS",           "LD ATOM.E.CAS{strong}"]),
        (Sm90, &[Float],            ["ATOMG.E.{op}{strong}",      "LDS ATOMS.CAST.SPIN{size}",
                                     "ATOM.E.{op}{strong} QSPC.E.S LDS ATOMS.CAST.SPIN{size} \
                                      QSPC.E.D LD ATOM.E.CAST.SPIN{size}.STRONG.SM LD ST"]),
    ]
};

impl AtomicForm {
    /// The form of an `atom` or `red` with acquire or release.
    fn of_ordered(instruction: &Instruction) -> Option<Self> {
        match *instruction {
            Instruction::Atom(Atom { sem, op, noftz, ty, space, .. })
                if !matches!(sem, None | Some(AtomSem::Relaxed)) =>
            {
                Some(Self { op, noftz, ty, space })
            }
            Instruction::Red(Red { sem: Some(RedSem::Release), op, noftz, ty, space, .. }) => {
                Some(Self { op, noftz, ty, space })
            }
            _ => None,
        }
    }

    fn opcodes(&self, sem: AtomSem, scope: Scope, result: ResultUse, family: Family) -> Option<Vec<String>> {
        let (class, suffix) = self.class()?;
        let (.., columns) = OPCODES.iter().rfind(|(from, classes, _)| *from <= family && classes.contains(&class))?;
        let [global, shared, generic] = columns;
        let template = match self.space {
            Space::Global => global,
            Space::Shared | Space::SharedCta => shared,
            Space::Generic | Space::SharedCluster => generic,
            Space::Local | Space::Const => return None,
        };

        let suffix = if family == Family::Sm50 && suffix == ".64" && self.op != AtomOp::Cas { ".U64" } else { suffix };
        let op = format!("{}{suffix}", self.op.to_string().to_uppercase());
        let size = if self.ty.bits() == 64 { ".64" } else { "" };
        let opcode = |word: &str| match word {
            "LDG" => plain("LD", Space::Global, self.ty.bits().max(32), &Consistency::Weak, family),
            "LDS" => plain("LD", Space::Shared, self.ty.bits().max(32), &Consistency::Weak, family),
            "LD" | "ST" => plain(word, Space::Generic, self.ty.bits().max(32), &Consistency::Weak, family),
            word => {
                let word = word.replace("{op}", &op).replace("{size}", size);
                Some(word.replace("{strong}", &strong(scope, family)))
            }
        };
        let mut opcodes = template.split(' ').map(opcode).collect::<Option<Vec<_>>>()?;

        let acquires = matches!(sem, AtomSem::Acquire | AtomSem::AcqRel);
        let releases = matches!(sem, AtomSem::Release | AtomSem::AcqRel);
        let reduces = !matches!(self.op, AtomOp::Exch | AtomOp::Cas) && class != Class::Narrow;
        if result == ResultUse::Unread && reduces && !acquires {
            reduce(&mut opcodes[0], family);
        }
        let at = opcodes.iter().position(|opcode| !opcode.starts_with("LD")).expect("every row has an atomic");
        let (front, after) = if family >= Family::Sm90 { (at, at + 1) } else { (0, opcodes.len()) };
        if !self.loses_ordering(family) {
            let acquire = acquires.then(|| barriers::acquire(scope, self.space, family));
            let release = releases.then(|| barriers::release(scope, family));
            opcodes.splice(after..after, acquire.into_iter().flatten());
            opcodes.splice(front..front, release.into_iter().flatten());
        }
        Some(opcodes)
    }

    fn loses_ordering(&self, family: Family) -> bool {
        let lost = matches!(self.class(), Some((Class::Loop | Class::Float, _)));
        self.space.is_shared_cta() && family >= Family::Sm90 && lost
    }

    /// The class, with the opcode's words for the type. Returns `None` if it was not measured.
    fn class(&self) -> Option<(Class, &'static str)> {
        use Type::*;
        let exchange = matches!(self.op, AtomOp::Exch | AtomOp::Cas);
        Some(match self.ty {
            U32 | B32 => (Class::Native, ""),
            S32 => (Class::Native, ".S32"),
            B128 => (Class::Native, ".128"),
            B64 if exchange => (Class::Exchange, ".64"),
            U64 | B64 => (Class::Loop, ".64"),
            S64 => (Class::Loop, ".S64"),
            F16x2 => (Class::Loop, ".F16x2.RN"),
            Bf16x2 => (Class::Loop, ".BF16x2.RN"),
            F32 if !self.noftz => (Class::Float, ".F32.FTZ.RN"),
            F64 => (Class::Float, ".F64.RN"),
            B16 | F16 | Bf16 => (Class::Narrow, ""),
            _ => return None,
        })
    }
}

/// Turns an `atom` into a reduction, if its result is unread and it does not acquire.
fn reduce(opcode: &mut String, family: Family) {
    let (atom, red) = match family {
        Family::Sm50 => ("ATOM.", "RED."),
        Family::Sm70 | Family::Sm80 => ("ATOMG.", "RED."),
        Family::Sm90 | Family::Sm100a => ("ATOMG.", "REDG."),
    };
    if let Some(rest) = opcode.strip_prefix(atom) {
        *opcode = red.to_owned() + rest;
    }
}
