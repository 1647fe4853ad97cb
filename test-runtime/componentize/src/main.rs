//! Makes a component of a core module, and composes it with another where one is
//! given: `componentize OUTPUT MODULE [PLUG]`.
//!
//! The modules say in a section of their own what world they are for. What the plug
//! exports becomes what the component imports; what it still imports then, the host
//! has to give.

use std::env::args_os;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use wac_graph::{CompositionGraph, EncodeOptions, PackageId, types::Package};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME as PREVIEW1,
    WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER as ADAPTER,
};
use wit_component::ComponentEncoder;

fn main() -> Result<()> {
    let paths: Vec<PathBuf> = args_os().skip(1).map(PathBuf::from).collect();
    let (output, component) = match &paths[..] {
        [output, module] => (output, component(module)?),
        [output, module, plug] => (output, compose(component(module)?, component(plug)?)?),
        _ => bail!("usage: componentize OUTPUT MODULE [PLUG]"),
    };
    std::fs::write(output, component).with_context(|| output.display().to_string())
}

/// The component around a core module.
fn component(module: &Path) -> Result<Vec<u8>> {
    let encode = || {
        let bytes = std::fs::read(module)?;
        let mut encoder = ComponentEncoder::default();
        encoder.validate(true).module(&bytes)?;
        // Programs of WASI preview 1 become ones of preview 2. The adapter needs their `_start`.
        if bytes.windows(PREVIEW1.len()).any(|name| name == PREVIEW1.as_bytes()) {
            encoder.adapter(PREVIEW1, ADAPTER)?;
        }
        encoder.encode()
    };
    encode().with_context(|| module.display().to_string())
}

/// One component that has both, and exports what the first one does.
fn compose(socket: Vec<u8>, plug: Vec<u8>) -> Result<Vec<u8>> {
    let mut graph = CompositionGraph::new();
    let socket = register(&mut graph, "app", socket)?;
    let plug = register(&mut graph, "codec", plug)?;
    wac_graph::plug(&mut graph, vec![plug], socket)?;
    Ok(graph.encode(EncodeOptions::default())?)
}

fn register(graph: &mut CompositionGraph, name: &str, component: Vec<u8>) -> Result<PackageId> {
    let package = Package::from_bytes(name, None, component, graph.types_mut())?;
    Ok(graph.register_package(package)?)
}
