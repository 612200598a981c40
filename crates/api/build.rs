//! Compiles `seriatim.v1` without protoc, and keeps its description for reflection.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    #[cfg(feature = "grpc")]
    compile()?;
    Ok(())
}

#[cfg(feature = "grpc")]
fn compile() -> Result<(), Box<dyn std::error::Error>> {
    use std::path::Path;

    let described = protox::compile(["seriatim/v1/seriatim.proto"], ["proto"])?;
    let to = std::env::var("OUT_DIR")?;
    std::fs::write(
        Path::new(&to).join("seriatim.v1.bin"),
        prost::Message::encode_to_vec(&described),
    )?;
    tonic_prost_build::configure().bytes(".").compile_fds(described)?;
    Ok(())
}
