//! The scopes, as types.

/// The threads that an operation synchronizes with. The scopes are those of the PTX memory model.
pub trait Scope: Named {}

/// What the implementation for the GPU chooses a marker by.
#[allow(dead_code, reason = "a host has no scopes")]
pub enum Name {
    Block,
    Cluster,
    Device,
    System,
}

/// Nobody outside of this crate can implement it, so that there are no other scopes.
pub trait Named {
    const NAME: Name;
}

macro_rules! scopes {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Named for $name {
            const NAME: Name = Name::$name;
        }

        impl Scope for $name {}
    )*};
}

scopes! {
    /// The threads of the same block (PTX: `.cta`).
    Block
    /// The threads of the same cluster of blocks (PTX: `.cluster`). Before sm_90, those of the same device.
    Cluster
    /// The threads of the same device (PTX: `.gpu`).
    Device
    /// All threads, those of the host and of other devices too (PTX: `.sys`). The scope of `core`'s atomics.
    System
}
