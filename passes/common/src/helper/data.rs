//! Diagnostics as serializable data, for the transfer between processes.

use crate::{Diagnostic, Location};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
pub struct ErrorAsData(#[serde(with = "DiagnosticAsData")] pub Diagnostic);

#[derive(Serialize, Deserialize)]
#[serde(remote = "Diagnostic")]
struct DiagnosticAsData {
    message: String,
    function: Option<String>,
    #[serde(with = "location")]
    location: Option<Location>,
    operation: Option<String>,
    notes: Vec<String>,
    help: Option<String>,
}

pub mod location {
    use super::*;

    pub fn serialize<S: Serializer>(location: &Option<Location>, to: S) -> Result<S::Ok, S::Error> {
        location.as_ref().map(|at| (&at.file, at.line, at.column)).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Location>, D::Error> {
        let place = Option::<(String, u32, u32)>::deserialize(from)?;
        Ok(place.map(|(file, line, column)| Location { file, line, column }))
    }
}

pub mod diagnostics {
    use super::*;

    pub fn serialize<S: Serializer>(diagnostics: &[Diagnostic], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(diagnostics.iter().cloned().map(ErrorAsData))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Diagnostic>, D::Error> {
        Ok(Vec::<ErrorAsData>::deserialize(from)?.into_iter().map(|data| data.0).collect())
    }
}
