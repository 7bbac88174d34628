//! On the host, every method of every type has the same results as `core`'s method, and threads work with it.
// The new name, `try_update`, is in `core` only since Rust 1.95.
#![allow(deprecated)]

use std::{
    cell::UnsafeCell,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
    sync::atomic::{
        AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16, AtomicU32,
        AtomicU64, AtomicUsize,
        Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst},
    },
    thread,
};

use ptx_atomics_scope::{Block, Cluster, Device, Scope, Scoped, System, fence};

const ALL: [Ordering; 5] = [Relaxed, Acquire, Release, AcqRel, SeqCst];

/// The result, or the message of the panic, and the value afterwards.
fn outcome<T>(operation: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(operation)).map_err(|panic| {
        panic
            .downcast_ref::<&str>()
            .map(|text| text.to_string())
            .or(panic.downcast_ref::<String>().cloned())
            .expect("text")
    })
}

/// Applies an operation to an atomic of `core` and to ours, with the same value, and compares the results and the final
/// values.
macro_rules! check {
    ($atomic:ident $scope:ident $from:expr => $method:ident($($argument:expr),*)) => {
        let (core, ours) = ($atomic::new($from), Scoped::<$atomic, $scope>::new($from));
        let context = concat!(stringify!($atomic), "::", stringify!($method));
        let arguments = ($($argument,)*);
        assert_eq!(
            outcome(|| core.$method($($argument),*)),
            outcome(|| ours.$method($($argument),*)),
            "{context}{arguments:?} of {:?}", $from
        );
        assert_eq!(core.into_inner(), ours.into_inner(), "{context}{arguments:?} of {:?}", $from);
    };
    // Methods of a value and an ordering.
    ($atomic:ident $scope:ident $values:ident: $($method:ident)*) => {$(
        for (from, value, order) in cross($values) {
            check!($atomic $scope from => $method(value, order));
        }
    )*};
}

/// The methods of every type.
macro_rules! common {
    ($atomic:ident $scope:ident $values:ident) => {
        for (from, value, order) in cross($values) {
            check!($atomic $scope from => load(order));
            check!($atomic $scope from => store(value, order));
            for failure in ALL {
                check!($atomic $scope from => compare_exchange(value, from, order, failure));
                check!($atomic $scope from => compare_exchange(from, value, order, failure));
            }
            // Weak exchanges of `core` may fail spuriously.
            let ours = Scoped::<$atomic, $scope>::new(from);
            assert_eq!(ours.compare_exchange_weak(from, value, order, Relaxed), Ok(from));
            assert_eq!(ours.load(Relaxed), value);

            let step = |old| (old != value).then_some(value);
            let ours = Scoped::<$atomic, $scope>::new;
            let (core, fetch, try_, always) = ($atomic::new(from), ours(from), ours(from), ours(from));
            let found = core.fetch_update(order, Relaxed, step);
            assert_eq!(found, fetch.fetch_update(order, Relaxed, step));
            assert_eq!(found, try_.try_update(order, Relaxed, step));
            assert_eq!(found.unwrap_or(from), always.update(order, Relaxed, |old| step(old).unwrap_or(old)));
            assert_eq!([fetch, try_, always].map(Scoped::into_inner), [core.into_inner(); 3]);

            let mut ours = ours(from);
            assert_eq!(*ours.get_mut(), from);
            *ours.get_mut() = value;
            assert_eq!(ours.load(Relaxed), value);
            *ours.get_mut() = from;
            assert_eq!(format!("{ours:?}"), format!("{from:?}"));
        }
        check!($atomic $scope $values: swap);

        let mut value = $values[0];
        let address: *mut _ = &mut value;
        let ours = unsafe { Scoped::<$atomic, $scope>::from_ptr(address) };
        assert_eq!((ours.as_ptr(), size_of_val(ours)), (address, size_of::<$atomic>()));
        ours.store($values[1], Relaxed);
        assert_eq!(value, $values[1]);
        let core = $atomic::new($values[0]);
        Scoped::<$atomic, $scope>::from_ref(&core).store($values[1], Relaxed);
        assert_eq!(core.into_inner(), $values[1]);
        fn is_sync<T: Sync + Send>() {}
        is_sync::<Scoped<$atomic, $scope>>();
    };
}

fn cross<T: Copy>(values: &[T]) -> impl Iterator<Item = (T, T, Ordering)> {
    values.iter().flat_map(|from| values.iter().flat_map(|value| ALL.map(|order| (*from, *value, order))))
}

/// One test for each type, in which `S` is every scope.
macro_rules! tests {
    ($($name:ident $scope:ident $body:block)*) => {$(
        #[test]
        fn $name() {
            fn in_scope<$scope: Scope>() $body
            in_scope::<Block>();
            in_scope::<Cluster>();
            in_scope::<Device>();
            in_scope::<System>();
        }
    )*};
}

macro_rules! integers {
    ($($name:ident $atomic:ident $value:ident)*) => {
        tests! {$($name S {
            let values = &[0, 1, 5, $value::MAX, $value::MIN, $value::MAX ^ 0x55, !1];
            common!($atomic S values);
            check!($atomic S values: fetch_add fetch_sub fetch_and fetch_nand fetch_or fetch_xor fetch_max fetch_min);
            assert_eq!(Scoped::<$atomic, S>::default().into_inner(), $value::default());
        })*}
    };
}

integers! {
    i8s AtomicI8 i8
    u8s AtomicU8 u8
    i16s AtomicI16 i16
    u16s AtomicU16 u16
    i32s AtomicI32 i32
    u32s AtomicU32 u32
    i64s AtomicI64 i64
    u64s AtomicU64 u64
    isizes AtomicIsize isize
    usizes AtomicUsize usize
}

tests! {
    booleans S {
        let values = &[false, true];
        common!(AtomicBool S values);
        check!(AtomicBool S values: fetch_and fetch_nand fetch_or fetch_xor);
        for (from, _, order) in cross(values) {
            check!(AtomicBool S from => fetch_not(order));
        }
        for (from, value, order) in cross(values) {
            let ours = Scoped::<AtomicBool, S>::new(from);
            ours.fetch_nand(value, order);
            assert_eq!(unsafe { ours.as_ptr().cast::<u8>().read() }, !(from & value) as u8, "a byte that is a boolean");
        }
    }

    pointers S {
        type Pointer = AtomicPtr<u32>;
        let mut array = [0u32; 4];
        let values: &[*mut u32] = &[ptr::null_mut(), &raw mut array[1], &raw mut array[3]];
        common!(Pointer S values);
        // `core` has these methods only since Rust 1.91.
        for (from, n, order) in values.iter().flat_map(|from| [0usize, 1, 2, 7].map(|n| (*from, n, SeqCst))) {
            let check = |to: *mut u32, method: &dyn Fn(&Scoped<Pointer, S>) -> *mut u32| {
                let ours = Scoped::<Pointer, S>::new(from);
                assert_eq!((method(&ours), ours.into_inner()), (from, to));
            };
            check(from.wrapping_add(n), &|p| p.fetch_ptr_add(n, order));
            check(from.wrapping_sub(n), &|p| p.fetch_ptr_sub(n, order));
            check(from.wrapping_byte_add(n), &|p| p.fetch_byte_add(n, order));
            check(from.wrapping_byte_sub(n), &|p| p.fetch_byte_sub(n, order));
            check(from.map_addr(|a| a | n), &|p| p.fetch_or(n, order));
            check(from.map_addr(|a| a & n), &|p| p.fetch_and(n, order));
            check(from.map_addr(|a| a ^ n), &|p| p.fetch_xor(n, order));
        }
    }

    fences S {
        for order in ALL {
            assert_eq!(outcome(|| std::sync::atomic::fence(order)), outcome(|| fence::<S>(order)));
        }
    }

    counter S {
        let (counter, peak) = (Scoped::<AtomicU32, S>::new(0), Scoped::<AtomicI16, S>::new(-1));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| {
                    let old = counter.fetch_add(1, Relaxed);
                    peak.fetch_max((old % 30_000) as i16, Relaxed);
                }));
            }
        });
        assert_eq!((counter.into_inner(), peak.into_inner()), (40_000, 29_999));
    }

    lock S {
        let (locked, counter) = (Scoped::<AtomicBool, S>::new(false), Plain(0.into()));
        let increment = || {
            while locked.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {
                thread::yield_now();
            }
            unsafe { *counter.get() += 1 };
            locked.store(false, Release);
        };
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1_000).for_each(|_| increment()));
            }
        });
        assert_eq!(unsafe { *counter.get() }, 4_000);
    }

    messages S {
        for sent in 0..200 {
            let (message, published) = (Plain(0.into()), Scoped::<AtomicPtr<u64>, S>::new(ptr::null_mut()));
            thread::scope(|scope| {
                scope.spawn(|| {
                    while published.load(Relaxed).is_null() {
                        thread::yield_now();
                    }
                    fence::<S>(Acquire);
                    assert_eq!(unsafe { *published.load(Relaxed) }, sent);
                });
                unsafe { *message.get() = sent };
                fence::<S>(Release);
                published.store(message.get(), Relaxed);
            });
        }
    }
}

/// Data that an atomic guards.
struct Plain(UnsafeCell<u64>);

unsafe impl Sync for Plain {}

impl Plain {
    fn get(&self) -> *mut u64 {
        self.0.get()
    }
}

/// Objects in constants and statics.
#[test]
fn statics() {
    static COUNTER: Scoped<AtomicU64, Device> = Scoped::new(7);
    const TAKEN: u64 = Scoped::<AtomicU64, Device>::new(9).into_inner();
    assert_eq!((COUNTER.fetch_add(TAKEN, AcqRel), COUNTER.load(Acquire)), (7, 16));
}
