//! The instruction that can carry an ordering.

/// The instruction that can carry the ordering of an access, if the access has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// The access itself.
    Access,
    /// The access itself, but ptxas may then have one lane of a warp order for all lanes ([`crate::sass::leader_orders`]).
    Leader,
    /// The compare-and-swap of a loop may acquire, but not release: every iteration would fence. One-sided fences outside of
    /// the loop cost less than a compare-and-swap that acquires; full fences cost more.
    Loop,
    /// Fences only: the access is volatile, or the target has no memory model.
    Fences,
}
