//! `ptx-atomics verify-mapping --mix`.

use std::time::Instant;

use ptx_atomics::mapping::{
    Mapping, NoProgram,
    mix::{self, Cell, Report, Unit, pairs},
    programs::Set,
    verify::BrokenProgram,
};
use ptx_atomics::memory_model::source::Rules;
use ptx_atomics::pass::{Diagnostic, Errors};
use serde::Serialize;

use crate::{
    cli::{Format, VerifyMappingArgs},
    format::{columns, json, markdown_table},
    litmus,
};

/// Two mappings, or one alone, with the field names of JSON.
#[derive(Serialize)]
struct Pair<'m> {
    mappings: Vec<&'m str>,
    rule: String,
    races: String,
    /// Defined programs with operations of both mappings.
    programs: u64,
    /// Choices of one of the two mappings for each thread, or for each operation.
    mixtures: u64,
    not_kept: u64,
    /// Mixtures that are not kept although each of the two mappings alone keeps the program.
    not_kept_only_together: u64,
    unknown: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    example: Option<MixtureExample>,
}

/// A smallest mixture that is not kept.
#[derive(Serialize)]
struct MixtureExample {
    /// The mapping of each thread, or of each operation.
    by: String,
    program: String,
    ptx: String,
}

impl MixtureExample {
    fn new(found: &BrokenProgram) -> Self {
        Self { by: found.mapping.clone(), program: found.source.to_string(), ptx: found.litmus().to_string() }
    }
}

/// The names of the mappings; `all` stands for all names.
pub fn names(list: &[String]) -> Vec<String> {
    let all = || mix::names().into_iter().map(ToOwned::to_owned);
    list.iter().flat_map(|name| if name == "all" { all().collect() } else { vec![name.clone()] }).collect()
}

/// The output, whether every mixture is kept, and the counterexamples.
pub fn work(
    args: &VerifyMappingArgs,
    sets: &[Set],
    shard: impl Fn(Set) -> (usize, usize),
) -> Result<(String, bool, Vec<BrokenProgram>), Errors> {
    let names = names(&args.mix);
    let mappings: Vec<Mapping<'_>> = names.iter().filter_map(|name| mix::mapping(name)).collect();
    let unit = if args.within_threads { Unit::Operation } else { Unit::Thread };
    let rules = Rules { sequences: args.rule, races: args.races };
    let (start, mut whole) = (Instant::now(), Report::default());
    let failed = |error: NoProgram| Diagnostic::new(error.to_string());
    for path in &args.files {
        whole.add(mix::mix_these(&mappings, unit, &litmus::read_sources(path)?, rules).map_err(failed)?);
    }
    for &set in sets.iter().filter(|_| args.files.is_empty()) {
        whole.add(mix::mix(&mappings, unit, set, rules, shard(set)).map_err(failed)?);
    }
    let seconds = start.elapsed().as_secs_f64();
    let cells: Vec<_> =
        pairs(mappings.len()).map(|pair| (pair, whole.cells.remove(&pair).unwrap_or_default())).collect();
    let kept = cells.iter().all(|(_, cell)| cell.not_kept == 0 && cell.unknown == 0);
    let all = Cells { names: &names, cells };
    let text = match args.format {
        Format::Json => {
            json(&all.cells.iter().map(|(pair, cell)| make_pair(args, &names, *pair, cell)).collect::<Vec<_>>())
        }
        Format::Markdown => {
            let [header, lines @ ..] = &all.matrix()[..] else { return Ok((String::new(), kept, Vec::new())) };
            markdown_table(&header.iter().map(String::as_str).collect::<Vec<_>>(), lines.iter().cloned())
        }
        Format::Text => {
            let counts = format!(
                "release sequences of {}, races of {}: {} programs, {} of them undefined; {} different PTX programs, {} \
                 candidates, {seconds:.1} s\n",
                args.rule, args.races, whole.programs, whole.undefined, whole.lowered, whole.candidates
            );
            counts + &columns(all.matrix().into_iter()) + &all.examples()
        }
    };
    Ok((text, kept, all.cells.into_iter().filter_map(|(_, cell)| Some(cell.example?.found)).collect()))
}

fn make_pair<'m>(args: &VerifyMappingArgs, names: &'m [String], (a, b): (usize, usize), cell: &Cell) -> Pair<'m> {
    let mappings = if a == b { vec![&*names[a]] } else { vec![&*names[a], &*names[b]] };
    Pair {
        mappings,
        rule: args.rule.to_string(),
        races: args.races.to_string(),
        programs: cell.programs,
        mixtures: cell.mixtures,
        not_kept: cell.not_kept,
        not_kept_only_together: cell.together,
        unknown: cell.unknown,
        example: cell.example.as_ref().map(|example| MixtureExample::new(&example.found)),
    }
}

/// The results for each pair of mappings.
struct Cells<'n> {
    names: &'n [String],
    cells: Vec<((usize, usize), Cell)>,
}

impl Cells<'_> {
    fn find_cell(&self, a: usize, b: usize) -> Option<&Cell> {
        let pair = (a.min(b), a.max(b));
        self.cells.iter().find(|(other, _)| *other == pair).map(|(_, cell)| cell)
    }

    /// Whether a mapping alone is kept.
    fn is_right(&self, mapping: usize) -> bool {
        self.find_cell(mapping, mapping).is_none_or(|cell| cell.not_kept == 0)
    }

    /// Whether two mappings may be linked, in a word.
    fn word(&self, a: usize, b: usize) -> &'static str {
        match self.find_cell(a, b) {
            None | Some(Cell { mixtures: 0, .. }) => "-",
            Some(Cell { not_kept: 1.., .. }) if a != b && self.is_right(a) && self.is_right(b) => "only apart",
            Some(Cell { not_kept: 1.., .. }) => "no",
            Some(Cell { unknown: 1.., .. }) => "unknown",
            Some(_) => "yes",
        }
    }

    /// A row and a column for each mapping. The diagonal has the mappings alone.
    fn matrix(&self) -> Vec<Vec<String>> {
        let header = [String::new()].into_iter().chain(self.names.iter().cloned()).collect();
        let all = 0..self.names.len();
        let line = |a: usize| {
            [self.names[a].clone()].into_iter().chain(all.clone().map(|b| self.word(a, b).to_owned())).collect()
        };
        [header].into_iter().chain(all.clone().map(line)).collect()
    }

    /// An example for each mapping that is wrong alone, and for each pair that is wrong only together.
    fn examples(&self) -> String {
        let says_more = |((a, b), cell): &&((usize, usize), Cell)| {
            a == b || self.is_right(*a) && self.is_right(*b) && cell.not_kept > 0
        };
        let shown = self.cells.iter().filter(says_more).filter_map(|(_, cell)| cell.example.as_ref());
        shown.map(|example| format!("\nnot kept, by {}:\n{}", example.found.mapping, example.found.source)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::mapping;

    #[test]
    fn every_name_is_a_mapping() {
        for known in mix::names() {
            assert_eq!(mapping(known).ok().as_deref(), Some(known));
            assert!(mix::mapping(known).is_some_and(|mapping| mapping.name == known), "{known}");
        }
        assert!(mapping("all").is_ok() && mapping("abi").is_err());
    }
}
