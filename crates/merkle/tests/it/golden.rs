//! The reference vectors of Certificate Transparency, which every implementation of the RFC knows.

use seriatim_merkle::{
    Frontier, consistency_proof, empty_root, inclusion_proof, leaf_hash, node_hash, root_at,
    verify_consistency, verify_inclusion,
};
use seriatim_types::Hash;

use crate::world::Store;

const EVENTS: [&[u8]; 8] = [
    b"",
    b"\x00",
    b"\x10",
    b"\x20\x21",
    b"\x30\x31",
    b"\x40\x41\x42\x43",
    b"\x50\x51\x52\x53\x54\x55\x56\x57",
    b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
];

/// By the number of leaves, from none.
const ROOTS: [&str; 9] = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

/// Complete nodes that paths are made of, by the leaves that they cover.
const NODE_0: &str = ROOTS[1];
const NODE_1: &str = "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7";
const NODE_4: &str = "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b";
const NODE_0_1: &str = ROOTS[2];
const NODE_2_3: &str = "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e";
const NODE_4_5: &str = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a";
const NODE_6_7: &str = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0";
const NODE_0_3: &str = ROOTS[4];
const NODE_4_7: &str = "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4";

/// Size, index, path.
const INCLUSION: [(u64, u64, &[&str]); 7] = [
    (1, 0, &[]),
    (2, 0, &[NODE_1]),
    (2, 1, &[NODE_0]),
    (3, 2, &[NODE_0_1]),
    (5, 1, &[NODE_0, NODE_2_3, NODE_4]),
    (8, 0, &[NODE_1, NODE_2_3, NODE_4_7]),
    (8, 5, &[NODE_4, NODE_6_7, NODE_0_3]),
];

/// From, to, path.
const CONSISTENCY: [(u64, u64, &[&str]); 4] = [
    (1, 1, &[]),
    (1, 8, &[NODE_1, NODE_2_3, NODE_4_7]),
    (2, 5, &[NODE_2_3, NODE_4]),
    (6, 8, &[NODE_4_5, NODE_6_7, NODE_0_3]),
];

#[test]
fn roots_are_those_of_the_reference() {
    let mut store = store();
    let mut frontier = Frontier::default();
    for (size, root) in (0..).zip(ROOTS) {
        assert_eq!(frontier.root().to_string(), root, "{size} leaves");
        assert_eq!(root_at(size, &mut store).unwrap().to_string(), root, "{size} leaves");
        if let Some(event) = EVENTS.get(usize::try_from(size).unwrap()) {
            frontier.push(leaf_hash(event), &mut |node, _| panic!("{node:?} is complete"));
        }
    }
    assert_eq!(empty_root().to_string(), ROOTS[0]);
    let leaves = [leaf_hash(EVENTS[0]), leaf_hash(EVENTS[1])];
    assert_eq!(node_hash(&leaves[0], &leaves[1]).to_string(), NODE_0_1);
}

#[test]
fn inclusion_proofs_are_those_of_the_reference() {
    for (size, index, expected) in INCLUSION {
        let path = inclusion_proof(size, index, &mut store()).unwrap();
        assert_eq!(strings(&path), expected, "leaf {index} of {size}");
        let leaf = leaf_hash(EVENTS[usize::try_from(index).unwrap()]);
        assert_eq!(verify_inclusion(&leaf, index, size, &path, &root(size)), Ok(()));
    }
}

#[test]
fn consistency_proofs_are_those_of_the_reference() {
    for (from, to, expected) in CONSISTENCY {
        let path = consistency_proof(from, to, &mut store()).unwrap();
        assert_eq!(strings(&path), expected, "{from} to {to} leaves");
        assert_eq!(verify_consistency(from, to, &root(from), &root(to), &path), Ok(()));
    }
}

fn store() -> Store {
    Store::of(&EVENTS.map(<[u8]>::to_vec))
}

fn root(size: u64) -> Hash {
    root_at(size, &mut store()).unwrap()
}

fn strings(path: &[Hash]) -> Vec<String> {
    path.iter().map(Hash::to_string).collect()
}
