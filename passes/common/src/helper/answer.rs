//! What another process returns.

use std::io::Read;

use crate::{Diagnostic, Errors};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::helper::{data::ErrorAsData, job::Lowered};

/// A value, and bytes that are not to become text.
pub type Returned<T> = (T, Vec<Vec<u8>>);

/// What another process returns. The bytes of what is lowered go beside it.
#[derive(Serialize, Deserialize)]
pub enum Answer {
    /// Of each module.
    Lowered(Vec<Lowered>),
    /// The fate of each operation of an IR in PTX.
    Judged(Value),
    /// All that is wrong.
    Errors(Vec<ErrorAsData>),
}

impl Answer {
    /// An answer, and the bytes beside it.
    pub fn of(result: Result<Vec<Lowered>, Errors>) -> Returned<Self> {
        match result {
            Ok(mut lowered) => {
                let bytes = lowered.iter_mut().map(|lowered| std::mem::take(&mut lowered.bytes)).collect();
                (Self::Lowered(lowered), bytes)
            }
            Err(errors) => (Self::Errors(as_data(errors)), Vec::new()),
        }
    }

    /// What was answered.
    ///
    /// # Errors
    /// Those of the answer.
    pub fn with(self, bytes: Vec<Vec<u8>>) -> Result<Vec<Lowered>, Errors> {
        match self {
            Self::Lowered(lowered) => {
                Ok(lowered.into_iter().zip(bytes).map(|(lowered, bytes)| Lowered { bytes, ..lowered }).collect())
            }
            Self::Judged(_) => Err(unexpected().into()),
            Self::Errors(errors) => Err(of_data(errors)),
        }
    }

    /// An answer about PTX and its IR.
    pub fn of_judged(result: Result<Value, Errors>) -> Self {
        result.map_or_else(|errors| Self::Errors(as_data(errors)), Self::Judged)
    }

    /// The fates that were answered.
    ///
    /// # Errors
    /// Those of the answer.
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

/// Errors for another process.
pub fn as_data(errors: Errors) -> Vec<ErrorAsData> {
    errors.into_iter().map(ErrorAsData).collect()
}

/// The next bytes; nothing if there are fewer.
pub fn exactly(from: &mut impl Read, length: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = from.take(length).read_to_end(&mut bytes).ok()?;
    (read as u64 == length).then_some(bytes)
}
