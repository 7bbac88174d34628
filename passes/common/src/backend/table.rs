//! The tables of LLVM's backend as text: one line for all operations that are printed in the same form.
//!
//! A line has six parts: GPUs and versions of PTX; operations; types; orderings, each with the semantics and fences
//! that are printed for it; scopes; state spaces. It covers every combination of one element of each part.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use ptx_lowering::{AtomicOp, Operation, Ordering, PtxVersion, RmwOp, SyncScope, Target, Type};

/// The properties of an operation, in the words of a table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OperationKey {
    operation: String,
    ty: &'static str,
    ordering: String,
    scope: &'static str,
    space: &'static str,
}

impl OperationKey {
    /// `None` for an operation that is never in a table.
    pub fn from_op(op: &AtomicOp) -> Option<Self> {
        let SyncScope::Threads(scope) = op.scope else { return None };
        let word = match op.operation {
            Operation::Fence => "fence",
            Operation::Load(_) => "load",
            Operation::Store(_) => "store",
            Operation::CmpXchg { .. } => "cmpxchg",
            Operation::Rmw(RmwOp::FAdd | RmwOp::FSub, access) if access.ty == Type::F32 => return None,
            Operation::Rmw(op, _) => op.into(),
        };
        let access = op.operation.access();
        // LLVM may omit an unordered access.
        let is_unordered = op.ordering == Ordering::Unordered;
        // For 128 bits, LLVM's registers are `dst`, `amt`, `cmp` and `swap`; they hide a variable of the program that
        // has such a name.
        let is_wide = access.is_some_and(|access| access.ty == Type::I128);
        if is_unordered || is_wide || access.is_some_and(|access| access.may_be_local || access.may_skip_write) {
            return None;
        }
        let volatile = if access.is_some_and(|access| access.volatile) { "-volatile" } else { "" };
        let ordering = match op.operation {
            Operation::CmpXchg { failure, .. } => format!("{}/{failure}", op.ordering),
            _ => op.ordering.to_string(),
        };
        Some(Self {
            operation: format!("{word}{volatile}"),
            ty: access.map_or(NOTHING, |access| access.ty.into()),
            ordering,
            scope: scope.into(),
            space: access.map_or(NOTHING, |access| access.space.into()),
        })
    }
}

/// The mark for a type or a state space that an operation does not have.
const NOTHING: &str = "-";

/// The sequences that one version of LLVM prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backend {
    /// The version of LLVM: major, minor, patch.
    pub version: [u32; 3],
    rows: Vec<Row>,
}

/// The sequence that LLVM printed for each operation on each target; `None` if the sequence was not plain.
pub type Measured = BTreeMap<OperationKey, BTreeMap<(u32, PtxVersion), Option<String>>>;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    span: Span,
    operations: Words,
    types: Words,
    /// The orderings, each with the text that is printed for it, as in [`super::StraightLine::order`].
    orderings: Vec<(Word, Word)>,
    scopes: Words,
    spaces: Words,
}

/// A word of a table: borrowed from the text of the table, or owned after a measurement.
type Word = Cow<'static, str>;
/// Sorted words.
type Words = Vec<Word>;

/// A range of GPUs by number, and a range of PTX versions; both ends are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    sm: (u32, u32),
    ptx: (PtxVersion, PtxVersion),
}

impl Span {
    fn has(&self, (sm, ptx): (u32, PtxVersion)) -> bool {
        (self.sm.0..=self.sm.1).contains(&sm) && (self.ptx.0..=self.ptx.1).contains(&ptx)
    }
}

impl Backend {
    /// Builds a table from measurements.
    pub fn new(version: [u32; 3], measured: &Measured) -> Self {
        let of = |word: &str| vec![Word::from(word.to_owned())];
        let mut rows: Vec<Row> = Vec::new();
        for (asked, by_target) in measured {
            rows.extend(spans(by_target).into_iter().map(|(span, order)| Row {
                span,
                operations: of(&asked.operation),
                types: of(asked.ty),
                orderings: vec![(asked.ordering.clone().into(), order.into())],
                scopes: of(asked.scope),
                spaces: of(asked.space),
            }));
        }
        join(&mut rows, |row| &mut row.scopes);
        join(&mut rows, |row| &mut row.spaces);
        join(&mut rows, |row| &mut row.orderings);
        join(&mut rows, |row| &mut row.types);
        join(&mut rows, |row| &mut row.operations);
        Self { version, rows }
    }

    /// The same table with another entry for one operation on one target. Only a test uses it.
    #[doc(hidden)]
    pub fn claiming(&self, asked: &OperationKey, target: &Target, order: &str) -> Self {
        let at = (target.sm.number(), target.ptx);
        let one = Measured::from([(asked.clone(), BTreeMap::from([(at, Some(order.to_owned()))]))]);
        let mut changed = Self::new(self.version, &one);
        changed.rows.extend(self.rows.iter().cloned());
        changed
    }

    /// The text that is printed for an operation on a target, as in [`super::StraightLine::order`].
    pub fn order(&self, asked: &OperationKey, target: &Target) -> Option<&str> {
        let target = (target.sm.number(), target.ptx);
        let has = |words: &Words, word: &str| words.iter().any(|known| known == word);
        let rows = self.rows.iter().filter(|row| {
            row.span.has(target)
                && has(&row.operations, &asked.operation)
                && has(&row.types, asked.ty)
                && has(&row.scopes, asked.scope)
                && has(&row.spaces, asked.space)
        });
        let mut orderings = rows.flat_map(|row| &row.orderings);
        orderings.find(|(known, _)| *known == asked.ordering).map(|(_, order)| &**order)
    }
}

/// Groups the targets with one result into few spans, in the order of the targets. A span contains no target with
/// another result.
fn spans(by_target: &BTreeMap<(u32, PtxVersion), Option<String>>) -> Vec<(Span, String)> {
    let mut spans: Vec<(Span, String)> = Vec::new();
    for (&(sm, ptx), order) in by_target {
        let Some(order) = order else { continue };
        let larger = |span: &Span| Span {
            sm: (span.sm.0.min(sm), span.sm.1.max(sm)),
            ptx: (span.ptx.0.min(ptx), span.ptx.1.max(ptx)),
        };
        let holds = |span: Span| by_target.iter().all(|(at, other)| !span.has(*at) || other.as_ref() == Some(order));
        match spans.iter_mut().find(|(span, other)| other == order && holds(larger(span))) {
            Some((span, _)) => *span = larger(span),
            None => spans.push((Span { sm: (sm, sm), ptx: (ptx, ptx) }, order.clone())),
        }
    }
    spans
}

/// Joins the rows that differ only in one part.
fn join<T: Ord>(rows: &mut Vec<Row>, part: impl Fn(&mut Row) -> &mut Vec<T>) {
    let mut joined: Vec<(Row, Vec<T>)> = Vec::new();
    for mut row in rows.drain(..) {
        let own = std::mem::take(part(&mut row));
        match joined.iter_mut().find(|(other, _)| *other == row) {
            Some((_, all)) => all.extend(own),
            None => joined.push((row, own)),
        }
    }
    rows.extend(joined.into_iter().map(|(mut row, mut all)| {
        all.sort_unstable();
        *part(&mut row) = all;
        row
    }));
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.version;
        writeln!(f, "LLVM {major}.{minor}.{patch}")?;
        self.rows.iter().try_for_each(|row| writeln!(f, "{row}"))
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Span { sm, ptx } = self.span;
        let words = |words: &Words| words.join(" ");
        let orderings: Vec<_> = self.orderings.iter().map(|(asked, printed)| format!("{asked}: {printed}")).collect();
        write!(f, "sm_{}..sm_{} {}..{}", sm.0, sm.1, ptx.0.feature(), ptx.1.feature())?;
        write!(f, " | {} | {} | {}", words(&self.operations), words(&self.types), orderings.join(", "))?;
        write!(f, " | {} | {}", words(&self.scopes), words(&self.spaces))
    }
}

/// An error in the text of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendError {
    /// The line, counted from 1.
    pub line: usize,
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} is not a line of a table", self.line)
    }
}

impl std::error::Error for BackendError {}

impl Backend {
    /// Parses a table.
    ///
    /// # Errors
    /// The first line that does not belong to a table.
    pub fn read(text: &'static str) -> Result<Self, BackendError> {
        let mut lines = text.lines().zip(1..);
        let version = lines.next().and_then(|(line, _)| {
            let numbers: Result<Vec<u32>, _> = line.strip_prefix("LLVM ")?.split('.').map(str::parse).collect();
            numbers.ok()?.try_into().ok()
        });
        let version = version.ok_or(BackendError { line: 1 })?;
        let rows = lines.map(|(text, line)| row(text).ok_or(BackendError { line })).collect::<Result<_, _>>()?;
        Ok(Self { version, rows })
    }
}

fn row(text: &'static str) -> Option<Row> {
    let words = |text: &'static str| text.split(' ').map(Word::from).collect();
    let mut parts = text.split(" | ");
    let (sm, ptx) = parts.next()?.split_once(' ')?;
    let ((first, last), (from, to)) = (sm.split_once("..")?, ptx.split_once("..")?);
    let number = |sm: &str| sm.strip_prefix("sm_")?.parse().ok();
    let span = Span { sm: (number(first)?, number(last)?), ptx: (from.parse().ok()?, to.parse().ok()?) };
    let ordering = |item: &'static str| item.split_once(": ").map(|(asked, order)| (asked.into(), order.into()));
    let row = Row {
        span,
        operations: words(parts.next()?),
        types: words(parts.next()?),
        orderings: parts.next()?.split(", ").map(ordering).collect::<Option<_>>()?,
        scopes: words(parts.next()?),
        spaces: words(parts.next()?),
    };
    parts.next().is_none().then_some(row)
}

#[cfg(test)]
mod tests {
    use ptx_lowering::{
        Access,
        ptx::{Scope, Space},
    };

    use super::*;

    #[test]
    fn every_table_reads_as_it_is_written() {
        assert!(Backend::versions().count() > 0);
        for version in Backend::versions() {
            let table = Backend::from_version(version).expect("it is there");
            assert!(!table.rows.is_empty());
            assert_eq!(table.version, version);
            assert_eq!(Backend::read(table.to_string().leak()), Ok(table));
        }
        assert_eq!(Backend::read("LLVM 1.2.3\nx"), Err(BackendError { line: 2 }));
        assert_eq!(Backend::read("x"), Err(BackendError { line: 1 }));
    }

    /// An operation that LLVM prints differently in some programs is in no table, whatever was measured.
    #[test]
    fn operations_that_never_occur() {
        let check = |operation: Operation, ordering: Ordering, is_asked: bool| {
            let op = AtomicOp { operation, ordering, scope: SyncScope::Threads(Scope::Gpu) };
            assert_eq!(OperationKey::from_op(&op).is_some(), is_asked, "{op:?}");
        };
        let access = |ty| Access::new(Space::Global, ty);
        check(Operation::Load(access(Type::I32)), Ordering::Relaxed, true);
        check(Operation::Load(access(Type::I32)), Ordering::Unordered, false);
        check(Operation::Rmw(RmwOp::FAdd, access(Type::F64)), Ordering::Relaxed, true);
        check(Operation::Rmw(RmwOp::FAdd, access(Type::F32)), Ordering::Relaxed, false);
        check(Operation::Rmw(RmwOp::Xchg, access(Type::I128)), Ordering::Relaxed, false);
        let local = Access { may_be_local: true, ..access(Type::I32) };
        check(Operation::Rmw(RmwOp::Add, local), Ordering::Relaxed, false);
    }

    /// Targets with the same result form two spans if a target with another result, or with none, lies between them.
    #[test]
    fn spans_have_measurements() {
        let check = |measured: &[(u32, u8, &str)], expected: &[&str]| {
            let of = |printed: &str| (!printed.is_empty()).then(|| printed.to_owned());
            let by_target =
                measured.iter().map(|(sm, minor, printed)| ((*sm, PtxVersion(8, *minor)), of(printed))).collect();
            let spans = spans(&by_target)
                .into_iter()
                .map(|(Span { sm, ptx }, printed)| format!("{}-{} {}-{} {printed}", sm.0, sm.1, ptx.0, ptx.1));
            assert_eq!(spans.collect::<Vec<_>>(), expected);
        };
        check(&[(70, 0, "a"), (70, 5, "a"), (90, 5, "a")], &["70-90 8.0-8.5 a"]);
        check(&[(70, 0, "a"), (80, 0, "b"), (90, 0, "a")], &["70-70 8.0-8.0 a", "80-80 8.0-8.0 b", "90-90 8.0-8.0 a"]);
        check(&[(70, 0, "a"), (80, 0, ""), (90, 0, "a")], &["70-70 8.0-8.0 a", "90-90 8.0-8.0 a"]);
        check(&[(70, 0, "a"), (70, 6, "b"), (90, 0, "a"), (90, 6, "b")], &["70-90 8.0-8.0 a", "70-90 8.6-8.6 b"]);
    }
}
