//! The declarations of the official libraries: what plans they lead to, and that they are true.

#![allow(clippy::unwrap_used, clippy::panic)]

use arraybridge::declarations::ALL;
use arraybridge::{Device, DeviceKind, HOST, Mechanism, known_libraries, plan};

const GPU: Device = Device::Accelerator(0);
const OTHER_GPU: Device = Device::Accelerator(1);

fn cpu() -> Device {
    Device::named("cpu").unwrap()
}

/// The planned mechanism, with whether a move follows.
fn planned(source: &str, from: Device, target: &str, to: Device) -> (Mechanism, bool) {
    let plan = plan(source, from, target, to)
        .unwrap_or_else(|error| panic!("{source} on {from} to {target} on {to}: {error}"));
    (plan.mechanism(), plan.then_moves())
}

#[track_caller]
fn expect(mechanism: Mechanism, then_moves: bool, source: (&str, Device), target: (&str, Device)) {
    let found = planned(source.0, source.1, target.0, target.1);
    assert_eq!(found, (mechanism, then_moves), "{source:?} to {target:?}");
}

#[test]
fn a_library_on_its_device_stays_in_place_and_moves_between_its_devices() {
    for library in ALL.iter().map(|known| known.declaration) {
        for kind in library.devices.iter() {
            let device = match kind {
                DeviceKind::Host => HOST,
                DeviceKind::Accelerator => GPU,
                _ => cpu(),
            };
            expect(Mechanism::StaysInPlace, false, (library.name, device), (library.name, device));
        }
    }
    for name in ["tch", "xla", "cuda", "opencl"] {
        expect(Mechanism::DeviceMove, false, (name, GPU), (name, OTHER_GPU));
    }
    for name in ["tch", "xla"] {
        expect(Mechanism::DeviceMove, false, (name, HOST), (name, GPU));
        expect(Mechanism::DeviceMove, false, (name, GPU), (name, HOST));
    }
    expect(Mechanism::DeviceMove, false, ("xla", HOST), ("xla", cpu()));
}

#[test]
fn torch_xla_and_cuda_exchange_accelerator_arrays_through_dlpack() {
    let three = ["tch", "xla", "cuda"];
    for source in three {
        for target in three.into_iter().filter(|target| *target != source) {
            for to in [GPU, OTHER_GPU] {
                expect(Mechanism::Dlpack, false, (source, GPU), (target, to));
                let plan = plan(source, GPU, target, to).unwrap();
                assert_eq!(plan.fallbacks().collect::<Vec<_>>(), [Mechanism::HostCopy], "{plan}");
            }
        }
    }
    // To the host of the other: imported where it is, then moved.
    for (source, target) in [("tch", "xla"), ("xla", "tch"), ("cuda", "tch"), ("cuda", "xla")] {
        expect(Mechanism::Dlpack, true, (source, GPU), (target, HOST));
        let plan = plan(source, GPU, target, HOST).unwrap();
        assert!(
            plan.copies() && plan.to_string().ends_with(": dlpack, then device move"),
            "{plan}"
        );
    }
}

#[test]
fn torch_and_xla_exchange_host_arrays_through_dlpack() {
    for (source, target) in [("tch", "xla"), ("xla", "tch")] {
        expect(Mechanism::Dlpack, false, (source, HOST), (target, HOST));
        expect(Mechanism::Dlpack, true, (source, HOST), (target, GPU));
        let plan = plan(source, HOST, target, HOST).unwrap();
        let fallbacks: Vec<_> = plan.fallbacks().collect();
        assert_eq!(fallbacks, [Mechanism::SharedHostBuffer, Mechanism::HostCopy], "{plan}");
    }
}

#[test]
fn cuda_cannot_wrap_a_host_array() {
    for source in ["tch", "xla", "ndarray"] {
        expect(Mechanism::HostCopy, false, (source, HOST), ("cuda", GPU));
    }
    expect(Mechanism::HostCopy, false, ("cuda", GPU), ("ndarray", HOST));
}

#[test]
fn host_arrays_share_their_buffers() {
    for other in ["tch", "xla"] {
        expect(Mechanism::SharedHostBuffer, false, ("ndarray", HOST), (other, HOST));
        expect(Mechanism::SharedHostBuffer, false, (other, HOST), ("ndarray", HOST));
        expect(Mechanism::HostCopy, false, ("ndarray", HOST), (other, GPU));
        expect(Mechanism::HostCopy, false, (other, GPU), ("ndarray", HOST));
    }
    for other in ["ndarray", "tch", "xla"] {
        expect(Mechanism::SharedHostBuffer, false, (other, HOST), ("opencl", cpu()));
        expect(Mechanism::SharedHostBuffer, false, ("opencl", cpu()), (other, HOST));
    }
    // XLA's further CPU devices share host buffers too.
    expect(Mechanism::SharedHostBuffer, false, ("xla", cpu()), ("ndarray", HOST));
    expect(Mechanism::SharedHostBuffer, false, ("ndarray", HOST), ("xla", cpu()));
}

#[test]
fn opencl_accelerators_take_copies() {
    for other in ["ndarray", "tch", "xla"] {
        expect(Mechanism::HostCopy, false, (other, HOST), ("opencl", GPU));
        expect(Mechanism::HostCopy, false, ("opencl", GPU), (other, HOST));
    }
    for other in ["tch", "xla", "cuda"] {
        expect(Mechanism::HostCopy, false, (other, GPU), ("opencl", GPU));
        expect(Mechanism::HostCopy, false, ("opencl", GPU), (other, GPU));
    }
}

#[test]
fn every_plan_ends_with_a_host_copy() {
    let on_host = ["ndarray", "tch", "xla", "python"].map(|name| (name, HOST));
    let on_gpu = ["tch", "xla", "cuda", "opencl", "python"].map(|name| (name, GPU));
    let on_cpu = ["xla", "opencl"].map(|name| (name, cpu()));
    let ends = [&on_host[..], &on_gpu, &on_cpu].concat();
    for (source, from) in &ends {
        for (target, to) in &ends {
            let plan = plan(source, *from, target, *to).unwrap();
            let last = plan.fallbacks().last().unwrap_or(plan.mechanism());
            assert_eq!(last, Mechanism::HostCopy, "{plan}");
        }
    }
}

#[test]
fn ndarray_and_opencl_take_part_in_no_dlpack_route() {
    for known in ALL.iter().filter(|known| ["ndarray", "opencl"].contains(&known.declaration.name))
    {
        assert_eq!(known.declaration.dlpack_export.iter().count(), 0);
        assert_eq!(known.declaration.dlpack_import.iter().count(), 0);
    }
}

#[test]
fn aliases_name_the_same_library() {
    let canonical = [
        ("numpy", HOST, "ndarray"),
        ("torch", HOST, "tch"),
        ("pytorch", HOST, "tch"),
        ("cupy", GPU, "cuda"),
        ("pyclesperanto", GPU, "opencl"),
        ("jax", HOST, "xla"),
        ("tensorflow", HOST, "xla"),
    ];
    for (alias, device, name) in canonical {
        assert_eq!(plan(alias, device, name, device).unwrap().mechanism(), Mechanism::StaysInPlace);
        assert_eq!(plan(alias, device, alias, device).unwrap().source_library(), name);
    }
}

#[test]
fn known_libraries_are_listed_once_in_order() {
    arraybridge::register_all();
    arraybridge::register_all();
    let names: Vec<&str> = known_libraries().iter().map(|known| known.declaration.name).collect();
    assert_eq!(names, ["cuda", "ndarray", "opencl", "python", "tch", "xla"]);
    assert!(ALL.is_sorted_by_key(|known| known.declaration.name));
}

#[test]
fn a_device_that_a_library_never_has_is_refused() {
    assert!(ALL.iter().all(|known| known.feature.is_some()), "each has its feature");
    let error = plan("cupy", HOST, "numpy", HOST).unwrap_err().to_string();
    assert_eq!(error, "cuda has no arrays on `host`; it keeps arrays on: accelerator");
}

#[cfg(feature = "ndarray")]
#[test]
fn ndarray_is_what_it_declares() {
    use arraybridge::prelude::Ndarray;
    use arraybridge::{Declaration, declarations};

    assert_eq!(Declaration::of::<Ndarray>(), declarations::NDARRAY.declaration);
    assert_eq!(arraybridge::library("numpy").unwrap().name(), "ndarray");
}

#[cfg(feature = "tch")]
#[test]
fn tch_is_what_it_declares() {
    use arraybridge::prelude::Tch;
    use arraybridge::{Declaration, declarations};

    assert_eq!(Declaration::of::<Tch>(), declarations::TCH.declaration);
    assert_eq!(arraybridge::library("torch").unwrap().name(), "tch");
    assert_eq!(arraybridge::library("pytorch").unwrap().name(), "tch");
}

#[cfg(not(feature = "tch"))]
#[test]
fn the_feature_that_adds_tch_is_named() {
    let error = arraybridge::library("torch").unwrap_err().to_string();
    let remedy = "; enable it with the feature `tch` of the crate `arraybridge`";
    assert!(error.ends_with(remedy), "{error}");
}

#[cfg(feature = "opencl")]
#[test]
fn opencl_is_what_it_declares() {
    use arraybridge::prelude::OpenCl;
    use arraybridge::{Declaration, declarations};

    assert_eq!(Declaration::of::<OpenCl>(), declarations::OPENCL.declaration);
    assert_eq!(arraybridge::library("pyclesperanto").unwrap().name(), "opencl");
}

#[cfg(feature = "cuda")]
#[test]
fn cuda_is_what_it_declares() {
    use arraybridge::prelude::Cuda;
    use arraybridge::{Declaration, declarations};

    assert_eq!(Declaration::of::<Cuda>(), declarations::CUDA.declaration);
    assert_eq!(arraybridge::library("cupy").unwrap().name(), "cuda");
}

#[cfg(feature = "xla")]
#[test]
fn xla_is_what_it_declares() {
    use arraybridge::prelude::Xla;
    use arraybridge::{Declaration, declarations};

    assert_eq!(Declaration::of::<Xla>(), declarations::XLA.declaration);
    assert_eq!(arraybridge::library("jax").unwrap().name(), "xla");
}

#[cfg(feature = "python")]
#[test]
fn python_is_what_it_declares() {
    use arraybridge::prelude::PyLibrary;
    use arraybridge::{Declaration, declarations};

    assert_eq!(Declaration::of::<PyLibrary>(), declarations::PYTHON.declaration);
    assert_eq!(arraybridge::library("python").unwrap().name(), "python");
}

#[cfg(not(any(
    feature = "cuda",
    feature = "ndarray",
    feature = "ndarray-0_16",
    feature = "opencl",
    feature = "python",
    feature = "tch",
    feature = "xla"
)))]
#[test]
fn a_feature_that_is_off_is_named() {
    let error = arraybridge::library("numpy").unwrap_err().to_string();
    assert_eq!(
        error,
        "no library `numpy` is registered; registered: none; enable it with the feature \
         `ndarray` of the crate `arraybridge`"
    );
}
