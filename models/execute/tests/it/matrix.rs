//! The matrix instructions against naive products and against the manual's formulae, written down once more.

mod mma;
mod random;
mod tensor;
mod tile;
mod wgmma;
mod wmma;

use ptx_isa::matrix::MatrixForm;

fn form(mnemonic: &str) -> Option<MatrixForm> {
    MatrixForm::of(&mnemonic.split('.').collect::<Vec<_>>())
}
