//! RFC 6962, section 2.1, word for word: slow, recursive, and sharing nothing with the crate but
//! the type of a hash.

use seriatim_types::Hash;
use sha2::{Digest, Sha256};

/// The Merkle tree hash.
pub(crate) fn mth(d: &[Vec<u8>]) -> Hash {
    match d {
        [] => sha256(&[]),
        [leaf] => sha256(&[&[0x00], leaf]),
        _ => {
            let (left, right) = d.split_at(k(d.len()));
            sha256(&[&[0x01], &mth(left).0, &mth(right).0])
        }
    }
}

/// The Merkle audit path.
pub(crate) fn path(m: usize, d: &[Vec<u8>]) -> Vec<Hash> {
    if d.len() == 1 {
        return vec![];
    }
    let (left, right) = d.split_at(k(d.len()));
    if m < left.len() {
        [path(m, left), vec![mth(right)]].concat()
    } else {
        [path(m - left.len(), right), vec![mth(left)]].concat()
    }
}

/// The Merkle consistency proof.
pub(crate) fn proof(m: usize, d: &[Vec<u8>]) -> Vec<Hash> {
    subproof(m, d, true)
}

fn subproof(m: usize, d: &[Vec<u8>], b: bool) -> Vec<Hash> {
    if m == d.len() {
        return if b { vec![] } else { vec![mth(d)] };
    }
    let (left, right) = d.split_at(k(d.len()));
    if m <= left.len() {
        [subproof(m, left, b), vec![mth(right)]].concat()
    } else {
        [subproof(m - left.len(), right, false), vec![mth(left)]].concat()
    }
}

/// The largest power of two smaller than n.
fn k(n: usize) -> usize {
    let mut k = 1;
    while k * 2 < n {
        k *= 2;
    }
    k
}

fn sha256(parts: &[&[u8]]) -> Hash {
    Hash(Sha256::digest(parts.concat()).into())
}
