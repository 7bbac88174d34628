//! The implementation for the GPU: each operation is one call of an undefined function, whose name encodes the
//! operation. `passes/llvm/src/scoped.rs` replaces the call.
//!
//! The name encodes everything, because an optimizer may merge calls of one function with different arguments, and
//! thereby replaces constants by variables.

use core::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use crate::{
    bits::{Bits, IntegerBits},
    scope::{Name, Scope},
};

/// One call of the marker with this name and type.
macro_rules! call {
    ($name:expr, {($($argument:ident: $ty:ty),*) $(-> $result:ty)?}) => {{
        unsafe extern "C" {
            #[link_name = $name]
            fn marker($(_: $ty),*) $(-> $result)?;
        }
        // SAFETY: the pointer is valid, as the caller of the trait's method promises.
        unsafe { marker($($argument),*) }
    }};
}

/// The call for the scope and the ordering. Only one arm of the outer match becomes code.
macro_rules! choose {
    ($scope:ident, $order:expr, $stem:expr, $words:tt, $type:tt) => {
        match $scope::NAME {
            Name::Block => choose!(@ $order, $stem, "$block", $words, $type),
            Name::Cluster => choose!(@ $order, $stem, "$cluster", $words, $type),
            Name::Device => choose!(@ $order, $stem, "$device", $words, $type),
            Name::System => choose!(@ $order, $stem, "", $words, $type),
        }
    };
    (@ $order:expr, $stem:expr, $scope:literal, [$($ordering:pat => $word:literal),*; else $never:literal], $type:tt) => {
        match $order {
            $($ordering => call!(concat!("ptx_atomics$", $stem, "$", $word, $scope), $type),)*
            _ => panic!($never),
        }
    };
}

macro_rules! rmw {
    ($bits:ty, $name:literal: $($rmw:ident)*) => {$(
        #[inline(always)]
        unsafe fn $rmw<S: Scope>(ptr: *mut Self, value: Self, order: Ordering) -> Self {
            choose!(S, order, concat!("atomicrmw$", stringify!($rmw), "$", $name), [
                Relaxed => "relaxed",
                Acquire => "acquire",
                Release => "release",
                AcqRel => "acq_rel",
                SeqCst => "seq_cst";
                else "unknown memory ordering"
            ], {(ptr: *mut $bits, value: $bits) -> $bits})
        }
    )*};
}

macro_rules! bits {
    ($bits:ty, $name:literal) => {
        impl Bits for $bits {
            #[inline(always)]
            unsafe fn load<S: Scope>(ptr: *mut Self, order: Ordering) -> Self {
                choose!(S, order, concat!("load$", $name), [
                    Relaxed => "relaxed",
                    Acquire => "acquire",
                    SeqCst => "seq_cst";
                    else "there is no such thing as a release or acquire-release load"
                ], {(ptr: *mut $bits) -> $bits})
            }

            #[inline(always)]
            unsafe fn store<S: Scope>(ptr: *mut Self, value: Self, order: Ordering) {
                choose!(S, order, concat!("store$", $name), [
                    Relaxed => "relaxed",
                    Release => "release",
                    SeqCst => "seq_cst";
                    else "there is no such thing as an acquire or acquire-release store"
                ], {(ptr: *mut $bits, value: $bits)});
            }

            rmw! { $bits, $name: xchg }

            #[inline(always)]
            unsafe fn cmpxchg<S: Scope>(
                ptr: *mut Self,
                expected: Self,
                new: Self,
                success: Ordering,
                failure: Ordering,
            ) -> Self {
                choose!(S, (success, failure), concat!("cmpxchg$", $name), [
                    (Relaxed, Relaxed) => "relaxed$relaxed",
                    (Relaxed, Acquire) => "relaxed$acquire",
                    (Relaxed, SeqCst) => "relaxed$seq_cst",
                    (Acquire, Relaxed) => "acquire$relaxed",
                    (Acquire, Acquire) => "acquire$acquire",
                    (Acquire, SeqCst) => "acquire$seq_cst",
                    (Release, Relaxed) => "release$relaxed",
                    (Release, Acquire) => "release$acquire",
                    (Release, SeqCst) => "release$seq_cst",
                    (AcqRel, Relaxed) => "acq_rel$relaxed",
                    (AcqRel, Acquire) => "acq_rel$acquire",
                    (AcqRel, SeqCst) => "acq_rel$seq_cst",
                    (SeqCst, Relaxed) => "seq_cst$relaxed",
                    (SeqCst, Acquire) => "seq_cst$acquire",
                    (SeqCst, SeqCst) => "seq_cst$seq_cst";
                    else "there is no such thing as a release or acquire-release failure ordering"
                ], {(ptr: *mut $bits, expected: $bits, new: $bits) -> $bits})
            }
        }
    };
}

macro_rules! integers {
    ($($bits:ident $name:literal)*) => {$(
        bits!($bits, $name);

        impl IntegerBits for $bits {
            rmw! { $bits, $name: add sub and nand or xor max min umax umin }
        }
    )*};
}

bits!(*mut (), "ptr");
integers! { u8 "i8" u16 "i16" u32 "i32" u64 "i64" }

#[inline(always)]
pub fn fence<S: Scope>(order: Ordering) {
    choose!(S, order, "fence", [
        Acquire => "acquire",
        Release => "release",
        AcqRel => "acq_rel",
        SeqCst => "seq_cst";
        else "there is no such thing as a relaxed fence"
    ], {()});
}
