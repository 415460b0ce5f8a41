//! Who the library is and where its arrays can live.

use arraybridge_core::{
    AnyArray, Convert, Declaration, Device, DeviceKinds, Error, HOST, HostArray, Library,
    libraries, library, register, require_device,
};

use super::{OtherEnd, Subject, bits_of_any, devices, other_end, skip};

/// The name is lower case and differs from the aliases, which differ from each other.
pub fn the_name_and_aliases_are_well_formed<L: Subject>() {
    let mut names = vec![L::NAME];
    names.extend(L::ALIASES);
    for name in &names {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.:".contains(c);
        assert!(!name.is_empty() && name.chars().all(plain), "`{name}` is no name for a library");
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "a name is given twice");
}

/// It is found by its name, by each alias that is no other library's name, and by its type.
pub fn it_is_found_by_its_name_and_its_type<L: Subject>() {
    register::<L>();
    assert!(library(L::NAME).unwrap().is::<L>());
    let taken: Vec<&str> = libraries().iter().map(|library| library.name()).collect();
    for alias in L::ALIASES {
        if !taken.contains(alias) {
            assert!(library(alias).unwrap().is::<L>(), "alias {alias}");
        }
    }
    assert!(Library::of::<L>().is::<L>());
    assert_eq!(Library::of::<L>().name(), L::NAME);
}

/// The declaration is derived from the roles: no kind of device in a role that the library has no
/// arrays on.
pub fn the_declaration_is_derived_from_the_roles<L: Subject>() {
    let declared = Library::of::<L>().declaration();
    assert_eq!(declared, Declaration::of::<L>());
    assert_ne!(declared.devices, DeviceKinds::NONE, "a library has arrays somewhere");
    for kinds in [declared.dlpack_export, declared.dlpack_import, declared.host_share] {
        for kind in kinds.iter() {
            assert!(declared.devices.contains(kind), "a role on {kind}, where it has no arrays");
        }
    }
    if devices::<L>().iter().any(|device| matches!(device, Device::Accelerator(_))) {
        assert!(
            L::INSTANCE.accelerator().is_some(),
            "a library with accelerators has the role `Accelerator`"
        );
    }
}

/// Every device that is there is of a declared kind, listed once, and required without an error.
pub fn every_device_is_of_a_declared_kind<L: Subject>() {
    let devices = devices::<L>();
    for (place, device) in devices.iter().enumerate() {
        assert!(L::KINDS.contains(device.kind()), "{device} is not of {}", L::KINDS);
        assert!(!devices[..place].contains(device), "{device} is listed twice");
        assert!(L::INSTANCE.has_device(*device).unwrap(), "{device}");
        require_device::<L>(*device).unwrap();
    }
    assert_eq!(Library::of::<L>().available_devices().unwrap_or_default(), devices);
}

/// A device that is not there is an error that lists those that are; nothing is placed elsewhere,
/// and a conversion gives its array back.
pub fn an_unknown_device_is_refused_with_those_that_are_there<L: Subject>() {
    let devices = devices::<L>();
    if devices.is_empty() {
        return;
    }
    let host = HostArray::from_vec(vec![1u8, 2, 3], &[3]).unwrap();
    let unknown = [Device::Accelerator(u32::MAX), Device::named("no such device").unwrap(), HOST];
    for device in unknown.into_iter().filter(|device| !devices.contains(device)) {
        let refused = |error: &Error| match error {
            Error::DeviceUnavailable { library, device: asked, available } => {
                (*library, *asked) == (L::NAME, device) && *available == devices
            }
            Error::DeviceKindUnsupported { library, device: asked, kinds } => {
                (*library, *asked, *kinds) == (L::NAME, device, L::KINDS)
            }
            _ => false,
        };
        let error = require_device::<L>(device).unwrap_err();
        assert!(refused(&error), "require {device}: {error}");
        assert!(error.to_string().contains(&device.to_string()), "{error}");
        assert!(L::INSTANCE.upload(&host, device).is_err(), "upload placed {device} elsewhere");

        let mock = other_end(host.gather().unwrap());
        let error = mock.convert_to::<L>(device).err().expect("it has no such device");
        assert!(refused(error.error()), "typed: {error}");
        let back = AnyArray::of::<OtherEnd>(error.into_array().expect("the array comes back"));
        let error = back.convert_to(Library::of::<L>(), device).unwrap_err();
        assert!(refused(error.error()), "erased: {error}");
        assert_eq!(bits_of_any(&error.into_array().unwrap()), [1, 2, 3]);
    }
}

/// A device scope puts new arrays on its device on this thread, and the previous one comes back.
pub fn a_device_scope_ends_where_it_began<L: Subject>() {
    let library = Library::of::<L>();
    if L::INSTANCE.accelerator().is_none() {
        skip::<L>("device scopes", &"it has no role `Accelerator`");
        return;
    }
    let devices = devices::<L>();
    if devices.is_empty() {
        return;
    }
    let before = library.current_device().unwrap();
    for device in &devices {
        let scope = library.device_scope(*device).unwrap();
        assert_eq!(library.current_device().unwrap(), *device);
        let inner = library.device_scope(devices[0]).unwrap();
        assert_eq!(library.current_device().unwrap(), devices[0]);
        drop(inner);
        assert_eq!(library.current_device().unwrap(), *device);
        drop(scope);
        assert_eq!(library.current_device().unwrap(), before);
    }
    let last = devices[devices.len() - 1];
    let outer = library.device_scope(devices[0]).unwrap();
    let inner = library.device_scope(last).unwrap();
    drop(outer);
    assert_eq!(library.current_device().unwrap(), last, "the inner scope outlives the outer one");
    drop(inner);
    assert_eq!(library.current_device().unwrap(), before, "scopes ended in the order they began");
}

/// An error that is not about memory is not taken for one that is; core's own is.
pub fn an_unrelated_error_is_not_out_of_memory<L: Subject>() {
    let library = Library::of::<L>();
    let unrelated = Error::foreign(L::NAME, "test", "something else");
    assert!(!library.is_out_of_memory(&unrelated));
    let full =
        Error::OutOfMemory { library: L::NAME, device: HOST, requested: None, available: None };
    assert!(library.is_out_of_memory(&full));
    assert!(library.is_out_of_memory(&Error::foreign(L::NAME, "test", full)), "in the chain");
}
