//! The scopes, as types.

/// The threads that an operation synchronizes with. The implementors are the scopes of the PTX memory model.
pub trait Scope: Named {}

/// The name of a scope, by which the implementation for the GPU chooses a marker.
#[allow(dead_code, reason = "a host has no scopes")]
pub enum Name {
    Block,
    Cluster,
    Device,
    System,
}

/// A private trait: code outside of this crate cannot define further scopes.
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
    /// The threads of the same cluster of blocks (PTX: `.cluster`). Before sm_90, the threads of the same device.
    Cluster
    /// The threads of the same device (PTX: `.gpu`).
    Device
    /// All threads, including the threads of the host and of other devices (PTX: `.sys`). The scope of `core`'s
    /// atomics.
    System
}
