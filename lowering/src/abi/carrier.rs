//! The kinds of instruction that can carry an ordering.

/// The kind of instruction that can carry the ordering of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// The access itself.
    Access,
    /// The access itself, but ptxas may then let a single lane of a warp order for all lanes
    /// ([`crate::sass::leader_orders`]).
    Leader,
    /// The compare-and-swap of a loop, or the two accesses between which an operand decides. It may acquire, but not
    /// release, because each execution would fence. One-sided fences around the whole cost less than accesses that
    /// acquire; full fences cost more.
    Repeated,
    /// Only fences, because the access is volatile, or the target has no memory model.
    Fences,
}
