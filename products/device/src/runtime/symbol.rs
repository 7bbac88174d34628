//! Variables of the program in the memory of the device.

use crate::{
    call::{api, put, with},
    driver::copy,
    error::{Done, Error},
    handle::Handle,
    objects::{Side, Stream},
    runtime::errors::runtime,
};

/// The address in a variable, if it has the bytes.
fn at(symbol: usize, bytes: usize, offset: usize) -> Done<u64> {
    let (address, size) = with(|gpu| gpu.symbol(symbol))?;
    let end = offset.checked_add(bytes).ok_or(Error::InvalidValue)?;
    if end > size { Err(Error::InvalidValue) } else { Ok(address + offset as u64) }
}

use Side::{Any, Device};

api! { runtime:
    cudaGetSymbolAddress(to: *mut u64, symbol: usize) { put(to, with(|gpu| gpu.symbol(symbol))?.0) }
    cudaGetSymbolSize(to: *mut usize, symbol: usize) { put(to, with(|gpu| gpu.symbol(symbol))?.1) }
    cudaMemcpyToSymbol(symbol: usize, from: u64, bytes: usize, offset: usize, _kind: u32) = cudaMemcpyToSymbol_ptds {
        copy::at_once((Device, at(symbol, bytes, offset)?), (Any, from), bytes)
    }
    cudaMemcpyFromSymbol(to: u64, symbol: usize, bytes: usize, offset: usize, _kind: u32) = cudaMemcpyFromSymbol_ptds {
        copy::at_once((Any, to), (Device, at(symbol, bytes, offset)?), bytes)
    }
    cudaMemcpyToSymbolAsync(
        symbol: usize, from: u64, bytes: usize, offset: usize, _kind: u32, stream: Handle<Stream>,
    ) = cudaMemcpyToSymbolAsync_ptsz {
        copy::flat(stream, (Device, at(symbol, bytes, offset)?), (Any, from), bytes)
    }
    cudaMemcpyFromSymbolAsync(
        to: u64, symbol: usize, bytes: usize, offset: usize, _kind: u32, stream: Handle<Stream>,
    ) = cudaMemcpyFromSymbolAsync_ptsz {
        copy::flat(stream, (Any, to), (Device, at(symbol, bytes, offset)?), bytes)
    }
}
