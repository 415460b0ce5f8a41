//! The table of planned mechanisms, row by row, by declarations alone.
#![allow(clippy::unwrap_used, clippy::panic)]

use arraybridge_core::{Declaration, Device, DeviceKinds, Error, HOST, Mechanism, Plan};

const HOST_AND_ACCELERATOR: DeviceKinds = DeviceKinds::HOST.and(DeviceKinds::ACCELERATOR);
const NOTHING: Declaration = Declaration {
    name: "nothing",
    aliases: &[],
    devices: DeviceKinds::NONE,
    dlpack_export: DeviceKinds::NONE,
    dlpack_import: DeviceKinds::NONE,
    host_share: DeviceKinds::NONE,
    device_move: false,
};
const NDARRAY: Declaration = Declaration {
    name: "ndarray",
    devices: DeviceKinds::HOST,
    host_share: DeviceKinds::HOST,
    ..NOTHING
};
const TCH: Declaration = Declaration {
    name: "tch",
    devices: HOST_AND_ACCELERATOR,
    dlpack_export: HOST_AND_ACCELERATOR,
    dlpack_import: HOST_AND_ACCELERATOR,
    host_share: DeviceKinds::HOST,
    device_move: true,
    ..NOTHING
};
const XLA: Declaration = Declaration {
    name: "xla",
    devices: DeviceKinds::ALL,
    host_share: DeviceKinds::HOST.and(DeviceKinds::NAMED),
    ..TCH
};
const CUDA: Declaration = Declaration {
    name: "cuda",
    devices: DeviceKinds::ACCELERATOR,
    dlpack_export: DeviceKinds::ACCELERATOR,
    dlpack_import: DeviceKinds::ACCELERATOR,
    device_move: true,
    ..NOTHING
};
const OPENCL: Declaration = Declaration {
    name: "opencl",
    devices: DeviceKinds::ACCELERATOR.and(DeviceKinds::NAMED),
    host_share: DeviceKinds::NAMED,
    device_move: true,
    ..NOTHING
};

const GPU: Device = Device::Accelerator(0);
const GPU_1: Device = Device::Accelerator(1);

fn cpu() -> Device {
    Device::named("cpu").unwrap()
}

fn planned(source: Declaration, from: Device, target: Declaration, to: Device) -> Mechanism {
    Plan::between(source, from, target, to).unwrap().mechanism()
}

#[test]
fn a_library_on_its_own_device_stays_in_place() {
    for (library, device) in [(NDARRAY, HOST), (TCH, HOST), (TCH, GPU_1), (CUDA, GPU), (XLA, cpu())]
    {
        assert_eq!(planned(library, device, library, device), Mechanism::StaysInPlace);
    }
}

#[test]
fn a_library_moves_between_its_own_devices() {
    for (library, from, to) in
        [(TCH, HOST, GPU), (TCH, GPU, HOST), (CUDA, GPU, GPU_1), (XLA, cpu(), HOST)]
    {
        assert_eq!(planned(library, from, library, to), Mechanism::DeviceMove);
    }
}

#[test]
fn accelerators_exchange_through_dlpack() {
    for source in [TCH, XLA, CUDA] {
        for target in [TCH, XLA, CUDA] {
            for to in [GPU, GPU_1] {
                if source.name != target.name {
                    let plan = Plan::between(source, GPU, target, to).unwrap();
                    assert_eq!(plan.mechanism(), Mechanism::Dlpack, "{plan}");
                    assert_eq!(plan.fallbacks().collect::<Vec<_>>(), [Mechanism::HostCopy]);
                }
            }
        }
    }
}

#[test]
fn an_accelerator_to_the_other_librarys_host_is_dlpack_then_a_move() {
    for (source, target) in [(TCH, XLA), (XLA, TCH), (CUDA, TCH), (CUDA, XLA)] {
        let plan = Plan::between(source, GPU, target, HOST).unwrap();
        assert_eq!((plan.mechanism(), plan.then_moves()), (Mechanism::Dlpack, true), "{plan}");
        assert!(plan.copies());
        assert!(plan.to_string().ends_with("dlpack, then device move"), "{plan}");
    }
}

#[test]
fn host_tensors_exchange_through_dlpack_both_ways() {
    for (source, target) in [(TCH, XLA), (XLA, TCH)] {
        let plan = Plan::between(source, HOST, target, HOST).unwrap();
        assert_eq!((plan.mechanism(), plan.then_moves()), (Mechanism::Dlpack, false), "{plan}");
        let fallbacks: Vec<_> = plan.fallbacks().collect();
        assert_eq!(fallbacks, [Mechanism::SharedHostBuffer, Mechanism::HostCopy], "{plan}");
        let plan = Plan::between(source, HOST, target, GPU).unwrap();
        assert_eq!((plan.mechanism(), plan.then_moves()), (Mechanism::Dlpack, true), "{plan}");
    }
}

#[test]
fn cuda_has_no_main_memory_to_wrap() {
    for source in [TCH, XLA] {
        assert_eq!(planned(source, HOST, CUDA, GPU), Mechanism::HostCopy);
    }
    let error = Plan::between(CUDA, HOST, TCH, HOST).unwrap_err();
    assert!(matches!(error, Error::DeviceKindUnsupported { library: "cuda", .. }));
    let text = "cuda has no arrays on `host`; it keeps arrays on: accelerator";
    assert_eq!(error.to_string(), text);
}

#[test]
fn ndarray_shares_main_memory_both_ways() {
    for other in [TCH, XLA] {
        assert_eq!(planned(NDARRAY, HOST, other, HOST), Mechanism::SharedHostBuffer);
        assert_eq!(planned(other, HOST, NDARRAY, HOST), Mechanism::SharedHostBuffer);
        assert_eq!(planned(NDARRAY, HOST, other, GPU), Mechanism::HostCopy);
        assert_eq!(planned(other, GPU, NDARRAY, HOST), Mechanism::HostCopy);
    }
}

#[test]
fn a_named_device_shares_main_memory_both_ways() {
    for other in [NDARRAY, TCH, XLA] {
        assert_eq!(planned(other, HOST, OPENCL, cpu()), Mechanism::SharedHostBuffer);
        assert_eq!(planned(OPENCL, cpu(), other, HOST), Mechanism::SharedHostBuffer);
    }
}

#[test]
fn an_opencl_accelerator_is_a_host_copy_from_and_to_everywhere() {
    for (other, device) in [(NDARRAY, HOST), (TCH, HOST), (TCH, GPU), (XLA, GPU), (CUDA, GPU)] {
        assert_eq!(planned(other, device, OPENCL, GPU), Mechanism::HostCopy);
        assert_eq!(planned(OPENCL, GPU, other, device), Mechanism::HostCopy);
    }
}

#[test]
fn a_host_copy_is_always_last() {
    let ends = [(NDARRAY, HOST), (TCH, HOST), (TCH, GPU), (XLA, cpu()), (CUDA, GPU), (OPENCL, GPU)];
    for (source, from) in ends {
        for (target, to) in ends {
            let plan = Plan::between(source, from, target, to).unwrap();
            let last = plan.fallbacks().last().unwrap_or(plan.mechanism());
            assert_eq!(last, Mechanism::HostCopy, "{plan}");
        }
    }
}
