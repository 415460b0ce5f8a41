//! Compiles the shim against the libtorch that torch-sys found.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    println!("cargo:rerun-if-changed=shim");
    println!("cargo:rerun-if-env-changed=LIBTORCH_INCLUDE");
    println!("cargo:rerun-if-env-changed=LIBTORCH_CXX11_ABI");
    if env::var_os("CARGO_FEATURE_DOC_ONLY").is_some() {
        return ExitCode::SUCCESS;
    }
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            println!(
                "cargo:warning={problem}. arraybridge-tch is built against libtorch 2.11 or newer: \
                 set LIBTORCH to a folder that has its `lib` and `include`, or \
                 LIBTORCH_USE_PYTORCH=1 to take that of the active Python environment; \
                 `cargo xtask setup tch` in a clone of arraybridge brings one"
            );
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), String> {
    // The name is that of torch-sys's `links` key and of what its own build script prints.
    let lib = env::var_os("DEP_TCH_LIBTORCH_LIB")
        .map(PathBuf::from)
        .ok_or("torch-sys did not say where libtorch is")?;
    let include = include_folder(&lib)?;
    let abi = env::var("LIBTORCH_CXX11_ABI").unwrap_or_else(|_| "1".into());
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .define("_GLIBCXX_USE_CXX11_ABI", abi.as_str())
        // Torch's headers warn.
        .warnings(false)
        .include(&include)
        .file("shim/shim.cpp")
        .try_compile("arraybridge_tch_shim")
        .map_err(|error| {
            format!("the shim does not compile against {}: {error}", include.display())
        })?;
    println!("cargo:rustc-link-lib=torch_cpu");
    println!("cargo:rustc-link-lib=c10");
    if env::var("CARGO_CFG_UNIX").is_ok() {
        // So that this crate's own tests find libtorch; dependents' binaries it does not reach.
        println!("cargo:rustc-link-arg=-Wl,-rpath,{}", lib.display());
    }
    Ok(())
}

/// torch-sys hands on the library folder alone; headers are where it looked for them itself, else
/// beside the libraries, as in PyTorch's Python package.
fn include_folder(lib: &Path) -> Result<PathBuf, String> {
    let chosen = env::var_os("LIBTORCH_INCLUDE").map(|folder| Path::new(&folder).join("include"));
    let include = chosen
        .or_else(|| lib.parent().map(|root| root.join("include")))
        .ok_or_else(|| format!("{} has no parent folder", lib.display()))?;
    if include.join("ATen/core/Tensor.h").exists() {
        return Ok(include);
    }
    Err(format!("{} has no headers of libtorch", include.display()))
}
