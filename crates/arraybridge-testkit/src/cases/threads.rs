//! Arrays go to other threads.

use std::thread;

use arraybridge_core::{AnyArray, Convert, HOST, Library};

use super::{OtherEnd, Subject, bits_of_any, devices, dtypes_of, other_end, peers};
use crate::samples;

/// An array made here converts on another thread, and its result comes back.
pub fn arrays_convert_on_another_thread<L: Subject>() {
    for device in devices::<L>() {
        let Some(dtype) = dtypes_of::<L>(device).pop() else { return };
        for sample in samples(dtype) {
            let array = L::INSTANCE.upload(&sample.make().unwrap().0, device).unwrap();
            let there = thread::spawn(move || array.convert_to::<OtherEnd>(HOST).unwrap());
            let there = there.join().unwrap();
            assert_eq!(crate::bits(&there.to_host().unwrap()), sample.bits().unwrap());
            let back = thread::spawn(move || there.convert_to::<L>(device).unwrap());
            let back: L::Array = back.join().unwrap();
            assert_eq!(super::bits_of::<L>(&back), sample.bits().unwrap(), "{}", sample.name());
        }
    }
}

/// An array is dropped on another thread than it was made on, and its owner released once.
pub fn arrays_are_dropped_on_another_thread<L: Subject>() {
    for device in devices::<L>() {
        for dtype in dtypes_of::<L>(device) {
            for sample in samples(dtype).take(4) {
                let (host, releases) = sample.make().unwrap();
                let array: L::Array = other_end(host).convert_to::<L>(device).unwrap();
                thread::spawn(move || drop(array)).join().unwrap();
                releases.assert_once(&sample.name());
            }
        }
    }
}

/// Many threads convert at once, each its own arrays, with every library.
pub fn many_threads_convert_at_once<L: Subject>() {
    for device in devices::<L>() {
        let dtypes = dtypes_of::<L>(device);
        thread::scope(|scope| {
            for worker in 0..8 {
                let dtypes = &dtypes;
                scope.spawn(move || {
                    let Some(dtype) = dtypes.get(worker % dtypes.len().max(1)) else { return };
                    for sample in samples(*dtype) {
                        for (peer, place) in peers() {
                            let array =
                                L::INSTANCE.upload(&sample.make().unwrap().0, device).unwrap();
                            let array = AnyArray::of::<L>(array);
                            let Ok(there) = array.convert_to(peer, place) else { continue };
                            let back = there.convert_to(Library::of::<L>(), device).unwrap();
                            assert_eq!(bits_of_any(&back), sample.bits().unwrap());
                        }
                    }
                });
            }
        });
    }
}
