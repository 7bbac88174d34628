//! The instruction that can carry an ordering.

/// The instruction that can carry the ordering of an access, if the access has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// The access itself.
    Access,
    /// The access itself, but ptxas may then have one lane of a warp order for all lanes
    /// ([`crate::sass::leader_orders`]).
    Leader,
    /// The compare-and-swap of a loop, or the two accesses between which an operand decides, may acquire, but not
    /// release: each would fence. One-sided fences around all of it cost less than accesses that acquire; full fences
    /// cost more.
    Repeated,
    /// Fences only: the access is volatile, or the target has no memory model.
    Fences,
}
