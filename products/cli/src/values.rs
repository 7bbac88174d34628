//! Parsers for the values of arguments.

use std::{path::PathBuf, str::FromStr, time::Duration};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use ptx_atomics::{
    check::Rule,
    mapping::mix,
    memory_model::{kernel::source_name, place::Processor},
    pass::settings,
};
use strum::VariantNames;

/// Parses a file that cannot be standard output, to which the PTX is written.
pub fn file(path: &str) -> Result<PathBuf, String> {
    if path == "-" { Err("expected a file, found standard output".to_owned()) } else { Ok(path.into()) }
}

/// `R4`
pub fn rule(name: &str) -> Result<Rule, String> {
    Rule::by_name(name).ok_or_else(|| "expected a rule from R1 to R31".to_owned())
}

/// Whether `--kernel` selects a kernel: by a part of its symbol, or of its name in the source.
pub fn is_asked(part: Option<&str>, symbol: &str) -> bool {
    part.is_none_or(|part| symbol.contains(part) || source_name(symbol).contains(part))
}

/// `out=x.npy`
pub fn named_file(text: &str) -> Result<(String, PathBuf), String> {
    let parts = text.split_once('=').filter(|(name, path)| !name.is_empty() && !path.is_empty());
    parts.map(|(name, path)| (name.into(), path.into())).ok_or_else(|| "expected NAME=FILE".to_owned())
}

/// `n=1024`
pub fn parameter(text: &str) -> Result<(String, u64), String> {
    let (name, number) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or("expected NAME=VALUE")?;
    let digits = number.trim_start_matches('-');
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    let value: u64 = value.map_err(|_| format!("expected an integer, found '{number}'"))?;
    Ok((name.to_owned(), if number.starts_with('-') { value.wrapping_neg() } else { value }))
}

/// `out`, or `out[..8]`
pub fn first_elements(text: &str) -> Result<(String, Option<usize>), String> {
    let Some((name, range)) = text.split_once('[') else { return Ok((text.into(), None)) };
    let count = range.strip_prefix("..").and_then(|range| range.strip_suffix(']')?.parse().ok());
    count.map(|count| (name.into(), Some(count))).ok_or_else(|| "expected NAME or NAME[..N]".to_owned())
}

/// Parses a name of a variant of an enum.
pub fn one_of<T>() -> impl TypedValueParser<Value = T>
where
    T: FromStr + VariantNames + Clone + Send + Sync + 'static,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    PossibleValuesParser::new(T::VARIANTS).try_map(|name| name.parse())
}

pub fn named<T: FromStr>(name: &str) -> Result<T, String> {
    name.parse().map_err(|_| "expected a name that --help lists".to_owned())
}

pub fn shard(text: &str) -> Result<(usize, usize), String> {
    let numbers = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    numbers.filter(|(k, n)| (1..=*n).contains(k)).ok_or_else(|| "expected K/N, with K from 1 to N".to_owned())
}

/// Parses the processor of a host.
pub fn processor(text: &str) -> Result<Processor, String> {
    let known = text.parse().ok().filter(|processor: &Processor| processor.is_host());
    known.ok_or_else(|| "expected x86 or aarch64".to_owned())
}

/// Parses the name of a mapping, or `all`.
pub fn mapping(text: &str) -> Result<String, String> {
    let known = mix::names();
    if text == "all" || known.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(format!("expected a mapping ({}) or all", known.join(", ")))
}

pub fn positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| "expected a number from 1 on".to_owned())
}

pub fn strategies(list: &str) -> Result<String, String> {
    settings::strategies(list).map(|_| list.to_owned())
}

pub fn rewrites(list: &str) -> Result<String, String> {
    settings::rewrites(list).map(|_| list.to_owned())
}

pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=1e9).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or("expected seconds, from 0 to 1000000000".to_owned())
}
