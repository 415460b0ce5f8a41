//! PoCL, the OpenCL driver for CPUs, from Debian's packages.

use std::path::PathBuf;

use anyhow::{Result, bail};

use super::Setup;
use crate::task::Task;

pub(crate) const SETUP: Setup = Setup {
    name: "opencl",
    what: "PoCL, an OpenCL driver for CPUs, which the backend `opencl` loads when it runs",
    download: "about 50 MB of the system's packages (270 MB installed; as root, with apt-get)",
    small: true,
    is_of_the_system: true,
    only_by_name: false,
    found: |_| driver(),
    install: |_| install(),
};

const PACKAGES: &str = "ocl-icd-libopencl1 pocl-opencl-icd";
/// Where drivers say that they are there, if the variable `OCL_ICD_VENDORS` names no other place.
const DRIVERS: &str = "/etc/OpenCL/vendors";

/// Returns where a driver is registered, any, if the loader is there too.
fn driver() -> Option<PathBuf> {
    let folder = std::env::var_os("OCL_ICD_VENDORS").map_or(DRIVERS.into(), PathBuf::from);
    let is_driver = |file: std::io::Result<std::fs::DirEntry>| {
        file.is_ok_and(|file| file.path().extension().is_some_and(|end| end == "icd"))
    };
    let registered = std::fs::read_dir(&folder).ok()?.any(is_driver);
    let libraries = Task::new("ldconfig").args(["-p"]).output().ok()?;
    (registered && libraries.contains("libOpenCL.so.1")).then_some(folder)
}

/// Returns whether there is a driver.
pub(crate) fn is_there() -> bool {
    driver().is_some()
}

fn install() -> Result<()> {
    let line = format!("apt-get install -y --no-install-recommends {PACKAGES}");
    let is_root = Task::new("id").args(["-u"]).output().is_ok_and(|user| user.trim() == "0");
    let has_apt = Task::new("apt-get").args(["--version"]).succeeds();
    if !has_apt {
        bail!("install the OpenCL driver of your device, or PoCL, with your system's packages");
    }
    if !is_root {
        bail!("that takes root; run `sudo {line}`, or install the driver of your device");
    }
    let apt = || {
        let task = Task::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive");
        task.args(line.split_whitespace().skip(1)).output()
    };
    if apt().is_err() {
        // Fresh machines have no lists of packages yet.
        Task::new("apt-get").args(["update", "-qq"]).output()?;
        apt()?;
    }
    if driver().is_none() {
        bail!("the packages are installed, but no driver is registered in {DRIVERS}");
    }
    Ok(())
}
