//! The answers that a helper process returns.

use std::io::Read;

use crate::{Diagnostic, Errors};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::helper::{data::ErrorAsData, job::Lowered};

/// A value, and bytes that are transferred outside the JSON text.
pub type Returned<T> = (T, Vec<Vec<u8>>);

/// The answer of a helper process. The bytes of lowered modules are transferred separately.
#[derive(Serialize, Deserialize)]
pub enum Answer {
    /// The result for each module.
    Lowered(Vec<Lowered>),
    /// The judgement of each operation of an IR in PTX.
    Judged(Value),
    /// All errors of the job.
    Errors(Vec<ErrorAsData>),
}

impl Answer {
    /// An answer, and the bytes that accompany it.
    pub fn from_result(result: Result<Vec<Lowered>, Errors>) -> Returned<Self> {
        match result {
            Ok(mut lowered) => {
                let bytes = lowered.iter_mut().map(|lowered| std::mem::take(&mut lowered.bytes)).collect();
                (Self::Lowered(lowered), bytes)
            }
            Err(errors) => (Self::Errors(as_data(errors)), Vec::new()),
        }
    }

    /// The lowered modules of this answer.
    ///
    /// # Errors
    /// The errors of the answer.
    pub fn with(self, bytes: Vec<Vec<u8>>) -> Result<Vec<Lowered>, Errors> {
        match self {
            Self::Lowered(lowered) => {
                Ok(lowered.into_iter().zip(bytes).map(|(lowered, bytes)| Lowered { bytes, ..lowered }).collect())
            }
            Self::Judged(_) => Err(unexpected().into()),
            Self::Errors(errors) => Err(of_data(errors)),
        }
    }

    /// The answer to a request to judge PTX by its IR.
    pub fn of_judged(result: Result<Value, Errors>) -> Self {
        result.map_or_else(|errors| Self::Errors(as_data(errors)), Self::Judged)
    }

    /// The judgements of this answer.
    ///
    /// # Errors
    /// The errors of the answer.
    pub fn judged<T: DeserializeOwned>(self) -> Result<T, Errors> {
        match self {
            Self::Judged(value) => serde_json::from_value(value).map_err(|_| unexpected().into()),
            Self::Lowered(_) => Err(unexpected().into()),
            Self::Errors(errors) => Err(of_data(errors)),
        }
    }
}

fn unexpected() -> Diagnostic {
    Diagnostic::new("the helper has answered another question").help("use a helper of the same version")
}

fn of_data(errors: Vec<ErrorAsData>) -> Errors {
    errors.into_iter().map(|error| error.0).collect()
}

/// Converts errors to data for another process.
pub fn as_data(errors: Errors) -> Vec<ErrorAsData> {
    errors.into_iter().map(ErrorAsData).collect()
}

/// Reads `length` bytes; `None` if there are fewer.
pub fn exactly(from: &mut impl Read, length: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = from.take(length).read_to_end(&mut bytes).ok()?;
    (read as u64 == length).then_some(bytes)
}
