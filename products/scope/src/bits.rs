//! The values that the hardware moves: unsigned integers, and pointers. The operations have the names of LLVM IR.

use core::sync::atomic::Ordering;

use crate::scope::Scope;

/// The bits of an address.
#[cfg(target_pointer_width = "64")]
pub type Address = u64;
#[cfg(target_pointer_width = "32")]
pub type Address = u32;

/// # Safety of all methods
/// The pointer is valid for atomic accesses, like the pointer of an atomic of `core`.
pub trait Bits: Copy + PartialEq {
    unsafe fn load<S: Scope>(ptr: *mut Self, order: Ordering) -> Self;
    unsafe fn store<S: Scope>(ptr: *mut Self, value: Self, order: Ordering);
    unsafe fn xchg<S: Scope>(ptr: *mut Self, value: Self, order: Ordering) -> Self;
    /// Returns the old value. The values were exchanged if the old value is `expected`. Never fails spuriously.
    unsafe fn cmpxchg<S: Scope>(
        ptr: *mut Self,
        expected: Self,
        new: Self,
        success: Ordering,
        failure: Ordering,
    ) -> Self;
}

macro_rules! declare {
    ($($rmw:ident)*) => {$(
        unsafe fn $rmw<S: Scope>(ptr: *mut Self, value: Self, order: Ordering) -> Self;
    )*};
}

/// # Safety of all methods
/// The same as for [`Bits`].
pub trait IntegerBits: Bits {
    declare! { add sub and nand or xor max min umax umin }
}
