//! Out-of-memory recovery, cached memory, child environments.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::env::{join_paths, split_paths};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use arraybridge_core::{
    ConversionError, Device, Error, HOST, Library, child_environment, child_environment_in,
    is_out_of_memory, nvidia_library_folders, release_cached_memory_all, run_with_oom_recovery,
};
use common::{ACC0, ACC1, DeviceLib, FakeOom, HostLib, release_fails, taken};

fn full() -> Error {
    Error::OutOfMemory { library: "fakehost", device: HOST, requested: Some(8), available: None }
}

#[test]
fn out_of_memory_is_recognised_whoever_says_it() {
    assert!(is_out_of_memory(&full()));
    assert!(is_out_of_memory(&FakeOom));
    assert!(is_out_of_memory(&Error::foreign("fakedevice", "sorting", FakeOom)));
    assert!(is_out_of_memory(&ConversionError::<()>::new(full(), None)));
    assert!(!is_out_of_memory(&Error::foreign("fakedevice", "sorting", "a bug")));
}

#[test]
fn recovery_releases_the_device_and_gives_up_after_the_retries() {
    let library = Library::of::<DeviceLib>();
    taken();
    let mut runs = 0;
    let result = run_with_oom_recovery(library, 3, Some(ACC1), || {
        runs += 1;
        Err::<(), _>(FakeOom)
    });
    result.unwrap_err();
    assert_eq!(runs, 4);
    assert_eq!(taken(), ["fakedevice releases accelerator:1"; 3]);

    let mut runs = 0;
    let result = run_with_oom_recovery(library, 3, None, || {
        runs += 1;
        if runs == 1 { Err(FakeOom) } else { Ok(runs) }
    });
    assert_eq!(result.unwrap(), 2);
    assert_eq!(taken(), ["fakedevice releases all"]);

    let mut runs = 0;
    run_with_oom_recovery(library, 3, Some(ACC1), || {
        runs += 1;
        Err::<(), _>(Error::foreign("fakedevice", "sorting", "a bug"))
    })
    .unwrap_err();
    assert_eq!((runs, taken().len()), (1, 0));
}

#[test]
fn a_release_that_fails_does_not_hide_the_result_of_the_retry() {
    release_fails(true);
    let mut runs = 0;
    let result = run_with_oom_recovery(Library::of::<DeviceLib>(), 1, Some(ACC0), || {
        runs += 1;
        if runs == 1 { Err(FakeOom) } else { Ok(()) }
    });
    release_fails(false);
    result.unwrap();
}

#[test]
fn every_library_is_asked_to_release_and_the_report_says_what_came_of_it() {
    taken();
    let report = release_cached_memory_all(Some(ACC1));
    assert_eq!(
        taken(),
        [
            "fakebare releases accelerator:1",
            "fakedevice releases accelerator:1",
            "fakenone releases accelerator:1",
            "fakeonly releases accelerator:1"
        ]
    );
    let seen: Vec<_> = report.released.iter().map(|one| (one.library, one.freed)).collect();
    let told = Some(4096);
    assert_eq!(
        seen,
        [("fakebare", told), ("fakedevice", told), ("fakenone", told), ("fakeonly", None)]
    );
    assert_eq!(report.freed(), 3 * 4096);

    release_fails(true);
    let report = release_cached_memory_all(None);
    release_fails(false);
    assert_eq!(
        report.to_string(),
        "host: 0 bytes; fakebare: 4096 bytes; fakenone: 4096 bytes; fakeonly: asked; fakedevice: failed: fakedevice failed in releasing memory"
    );

    taken();
    assert_eq!(release_cached_memory_all(Some(HOST)).to_string(), "host: 0 bytes");
    let named = release_cached_memory_all(Some(Device::named("pocl").unwrap()));
    assert_eq!(named.to_string(), "nothing to release");
    assert!(taken().is_empty());
    assert!(Library::of::<HostLib>().release_cached_memory(None).unwrap().is_none());
}

/// A folder that is removed when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let folder =
            std::env::temp_dir().join(format!("arraybridge-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Scratch(folder)
    }

    fn folder(&self, path: &str) -> PathBuf {
        let folder = self.0.join(path);
        fs::create_dir_all(&folder).unwrap();
        folder
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const SEARCH: &str = if cfg!(windows) { "PATH" } else { "LD_LIBRARY_PATH" };

fn folders(variables: &BTreeMap<OsString, OsString>) -> Vec<PathBuf> {
    split_paths(&variables[&OsString::from(SEARCH)]).collect()
}

#[test]
fn a_child_finds_nvidia_wheels_ahead_of_what_the_caller_set() {
    let scratch = Scratch::new("wheels");
    let packages = scratch.folder("lib/python3.12/site-packages");
    let cublas = scratch.folder("lib/python3.12/site-packages/nvidia/cublas/lib");
    let nvcc = scratch.folder("lib/python3.12/site-packages/nvidia/cuda_nvcc/bin");
    scratch.folder("lib/python3.12/site-packages/nvidia/cublas/include");
    fs::write(packages.join("nvidia/__init__.py"), "").unwrap();
    assert_eq!(nvidia_library_folders(&packages), [cublas.clone(), nvcc.clone()]);

    let own = Path::new("/opt/own");
    let existing = join_paths([own, &cublas, Path::new("")]).unwrap();
    let variables = [
        (OsString::from("VIRTUAL_ENV"), scratch.0.clone().into_os_string()),
        (SEARCH.into(), existing),
    ];
    let child = child_environment(variables);
    assert_eq!(folders(&child), [cublas.clone(), nvcc.clone(), own.to_owned()]);

    let child = child_environment_in(&packages, [("HOME", "/home/user")]);
    assert_eq!(folders(&child), [cublas, nvcc]);
    assert!(!child.contains_key(&OsString::from("HOME")), "only what is to be set");
}

#[test]
fn without_wheels_the_search_path_stays_as_it_is() {
    let scratch = Scratch::new("bare");
    let child = child_environment_in(&scratch.0, [(SEARCH, "/opt/own")]);
    assert!(!child.contains_key(&OsString::from(SEARCH)));
    assert!(nvidia_library_folders(&scratch.0.join("not there")).is_empty());
}

#[test]
fn a_child_shares_the_device_unless_the_caller_says_otherwise() {
    let value = |child: &BTreeMap<OsString, OsString>, name: &str| {
        child.get(&OsString::from(name)).map(|value| value.to_str().unwrap().to_owned())
    };
    let child = child_environment([("HOME", "/home/user")]);
    assert_eq!(value(&child, "XLA_PYTHON_CLIENT_PREALLOCATE").as_deref(), Some("false"));
    assert_eq!(value(&child, "TF_FORCE_GPU_ALLOW_GROWTH").as_deref(), Some("true"));
    assert_eq!(value(&child, "FAKEDEVICE_HOME").as_deref(), Some("/opt/fake"));

    let child = child_environment([
        ("XLA_PYTHON_CLIENT_PREALLOCATE", "true"),
        ("FAKEDEVICE_HOME", "/home/user/fake"),
    ]);
    assert_eq!(value(&child, "XLA_PYTHON_CLIENT_PREALLOCATE"), None);
    assert_eq!(value(&child, "FAKEDEVICE_HOME"), None);
    assert_eq!(value(&child, "FAKEONLY_HOME").as_deref(), Some("/opt/fake"));
}
