//! The matrix instructions, compared with naive products and with the formulae of the manual.

mod mma;
mod random;
mod tensor;
mod tile;
mod wgmma;
mod wmma;

use ptx_isa::matrix::MatrixForm;

fn form(mnemonic: &str) -> Option<MatrixForm> {
    MatrixForm::from_words(&mnemonic.split('.').collect::<Vec<_>>())
}
