//! The published mappings from language atomics to PTX, and the choice among them.
//!
//! Each table is in a separate file and follows its source document line by line: operation, ordering, then every
//! sequence that the document allows, the recommended one first.

mod asplos19;
mod auto;
mod barriers;
mod carrier;
mod external;
mod nvidia;
mod one_sided;
mod row;
mod strategy;

pub(crate) use self::one_sided::without_one_sided_fences;
pub use self::{
    asplos19::PROVEN,
    barriers::barriers,
    carrier::Carrier,
    external::{EXTERNAL_MAPPINGS, ExternalMapping},
    nvidia::ABI,
    row::{Row, RowKind, RowName, Step},
    strategy::{Strategies, Strategy, UnknownStrategy},
};
