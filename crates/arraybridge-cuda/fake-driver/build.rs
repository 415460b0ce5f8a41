//! Names the shared library as the driver's is named, and compiles the kernels for the host.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        // Whoever asks the loader for `libcuda.so` after this library was loaded is given this one.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so");
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(no_kernels)");
    let kernels = "../kernels";
    println!("cargo::rerun-if-changed={kernels}");
    if !std::path::Path::new(kernels).join("host.cpp").exists() {
        println!("cargo::rustc-cfg=no_kernels");
        return;
    }
    let compiled = cc::Build::new()
        .cpp(true)
        .std("c++17")
        // The same arithmetic as the PTX: nothing fused, nothing reordered.
        .flag("-ffp-contract=off")
        .opt_level(2)
        .warnings(false)
        .file(format!("{kernels}/host.cpp"))
        .try_compile("arraybridge_kernels");
    if let Err(error) = compiled {
        println!(
            "cargo::warning=no kernels in the stand-in for CUDA, their tests will say so: {error}"
        );
        println!("cargo::rustc-cfg=no_kernels");
    }
}
