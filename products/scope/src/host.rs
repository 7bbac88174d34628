//! The implementation for all targets except the GPU: `core`'s atomics, which synchronize with all threads.

use core::sync::atomic::{self, Ordering};

use crate::{
    Scope,
    bits::{Bits, IntegerBits},
};

#[allow(clippy::extra_unused_type_parameters, reason = "a host has no scopes")]
pub fn fence<S: Scope>(order: Ordering) {
    atomic::fence(order);
}

macro_rules! bits {
    ($bits:ty, $atomic:ty) => {
        impl Bits for $bits {
            unsafe fn load<S: Scope>(ptr: *mut Self, order: Ordering) -> Self {
                unsafe { <$atomic>::from_ptr(ptr) }.load(order)
            }

            unsafe fn store<S: Scope>(ptr: *mut Self, value: Self, order: Ordering) {
                unsafe { <$atomic>::from_ptr(ptr) }.store(value, order);
            }

            unsafe fn xchg<S: Scope>(ptr: *mut Self, value: Self, order: Ordering) -> Self {
                unsafe { <$atomic>::from_ptr(ptr) }.swap(value, order)
            }

            unsafe fn cmpxchg<S: Scope>(
                ptr: *mut Self,
                expected: Self,
                new: Self,
                success: Ordering,
                failure: Ordering,
            ) -> Self {
                let (Ok(old) | Err(old)) =
                    unsafe { <$atomic>::from_ptr(ptr) }.compare_exchange(expected, new, success, failure);
                old
            }
        }
    };
}

macro_rules! rmw {
    ($atomic:ident: $($rmw:ident $method:ident)*) => {$(
        unsafe fn $rmw<S: Scope>(ptr: *mut Self, value: Self, order: Ordering) -> Self {
            unsafe { atomic::$atomic::from_ptr(ptr.cast()) }.$method(value as _, order) as Self
        }
    )*};
}

macro_rules! integers {
    ($($bits:ident $unsigned:ident $signed:ident)*) => {$(
        bits!($bits, atomic::$unsigned);

        impl IntegerBits for $bits {
            rmw! { $unsigned: add fetch_add sub fetch_sub and fetch_and nand fetch_nand or fetch_or xor fetch_xor }
            rmw! { $unsigned: umax fetch_max umin fetch_min }
            rmw! { $signed: max fetch_max min fetch_min }
        }
    )*};
}

bits!(*mut (), atomic::AtomicPtr<()>);
integers! { u8 AtomicU8 AtomicI8 u16 AtomicU16 AtomicI16 u32 AtomicU32 AtomicI32 u64 AtomicU64 AtomicI64 }
