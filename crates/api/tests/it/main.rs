//! The page about gRPC names every method that there is, and no other.

use std::collections::BTreeSet;

use prost::Message;
use prost_types::FileDescriptorSet;

#[test]
fn the_reference_has_every_method_and_no_other() {
    let described = FileDescriptorSet::decode(seriatim_api::DESCRIPTION).unwrap();
    let services = described.file.iter().flat_map(|file| &file.service);
    let methods: BTreeSet<String> = services
        .flat_map(|service| {
            service.method.iter().map(|method| format!("{}.{}", service.name(), method.name()))
        })
        .collect();
    assert!(methods.len() > 20, "{methods:?}");
    let page = include_str!("../../../../docs/reference/grpc.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    assert_eq!(rows.map(str::to_owned).collect::<BTreeSet<_>>(), methods);
}
