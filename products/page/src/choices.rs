//! The possible values of the pages' fields, for their lists.

use itertools::Itertools;
use ptx_atomics_common::FpChoice;
use ptx_lowering::{
    Ordering, PtxVersion, Sm, Strategy, Type,
    ptx::{Scope, Space},
};
use serde_json::json;
use strum::IntoEnumIterator;

use crate::{explorer::operations, words};

/// The values of the fields, as JSON.
pub fn choices() -> String {
    let names = |names: &mut dyn Iterator<Item = String>| names.collect::<Vec<_>>();
    json!({
        "operation": names(&mut operations()),
        "ordering": names(&mut Ordering::iter().map(|ordering| ordering.to_string())),
        "scope": names(&mut ["singlethread".to_owned()].into_iter().chain(Scope::iter().map(|scope| scope.to_string()))),
        "type": names(&mut Type::iter().map(|ty| ty.to_string())),
        "space": names(&mut Space::iter().map(|space| space.to_string())),
        "mcpu": names(&mut Sm::all().map(|sm| sm.name().to_owned())),
        "mattr": names(&mut PtxVersion::all().map(|version| format!("+{}", version.feature()))),
        "strategy": names(&mut Strategy::iter().map(|strategy| strategy.to_string())),
        "fp-atomics": FpChoice::words(),
        "say": words::words().map(|word| word.name).unique().collect::<Vec<_>>(),
    })
    .to_string()
}
