//! Generates the gRPC service of the pipeline from its description in Rust, without `protoc`.

use tonic_build::manual::{Builder, Method, Service};

fn main() {
    let submit = Method::builder()
        .name("submit")
        .route_name("Submit")
        .input_type("crate::pipeline::wire::Message")
        .output_type("crate::pipeline::wire::Accepted")
        .codec_path("tonic_prost::ProstCodec")
        .client_streaming()
        .server_streaming()
        .build();
    let signing =
        Service::builder().name("Signing").package("touchstone.pipeline").method(submit).build();
    Builder::new().compile(&[signing]);
    println!("cargo::rerun-if-changed=build.rs");
}
