//! Many threads that convert, observe, register and name devices at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use arraybridge::ndarray::{NdArray, Ndarray};
use arraybridge::{
    AnyArray, ConversionRecord, Convert, Device, HOST, HostArray, Library, install, libraries,
    library, register,
};
use arraybridge_tests::{Frozen, Writer};

const THREADS: usize = 4;
const ROUNDS: usize = 200;

fn array(elements: Vec<f32>) -> NdArray {
    let shape = [elements.len()];
    NdArray::from_host(HostArray::from_vec(elements, &shape).unwrap())
}

/// Threads that hold the same memory convert it to a library that writes: whoever is not the last
/// holder gets a copy, and nobody sees another's numbers.
#[test]
fn handles_of_one_memory_race_for_it_and_none_is_written_through() {
    for round in 0..ROUNDS {
        let first = array(vec![-1.0; 8]);
        let start = Barrier::new(THREADS);
        let handles: Vec<NdArray> = (1..THREADS).map(|_| first.clone()).collect();
        thread::scope(|scope| {
            for (place, handle) in handles.into_iter().chain([first]).enumerate() {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    let number = (round * THREADS + place) as f32;
                    let mut there = handle.convert_to::<Writer>(HOST).unwrap();
                    assert_eq!(there.elements::<f32>().unwrap(), [-1.0; 8]);
                    there.fill(number).unwrap();
                    let back = there.convert_to::<Ndarray>(HOST).unwrap();
                    assert_eq!(back.host().as_slice::<f32>().unwrap(), [number; 8]);
                });
            }
        });
    }
}

#[test]
fn each_thread_observes_its_own_conversions_alone() {
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    let count = Arc::new(AtomicUsize::new(0));
                    let seen = Arc::clone(&count);
                    let guard = install(Arc::new(move |_: &ConversionRecord<'_>| {
                        seen.fetch_add(1, Ordering::SeqCst);
                    }));
                    let there = array(vec![0.0]).convert_to::<Frozen>(HOST).unwrap();
                    there.convert_to::<Ndarray>(HOST).unwrap();
                    drop(guard);
                    array(vec![0.0]).convert_to::<Frozen>(HOST).unwrap();
                    assert_eq!(count.load(Ordering::SeqCst), 2);
                }
            });
        }
    });
}

#[test]
fn the_registry_answers_while_it_is_registered_to() {
    thread::scope(|scope| {
        for number in 0..THREADS {
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    register::<Writer>();
                    register::<Frozen>();
                    assert_eq!(library("writer").unwrap(), Library::of::<Writer>());
                    assert_eq!(library("numpy").unwrap(), Library::of::<Ndarray>());
                    let names: Vec<&str> = libraries().iter().map(|known| known.name()).collect();
                    let unique = names.windows(2).all(|pair| pair[0] <= pair[1]);
                    assert!(unique && names.contains(&"frozen"), "{names:?}");
                    // The same names from all threads, some of them at the same moment.
                    let name = format!("unit {}", round + number);
                    let device = Device::named(&name).unwrap();
                    assert_eq!(device, Device::named(&name).unwrap());
                    assert_eq!(device.to_string(), format!("device:{name}"));
                }
            });
        }
    });
}

#[test]
fn an_array_of_any_library_travels_between_threads() {
    let mut travelling = AnyArray::of::<Ndarray>(array(vec![0.0; 4]));
    register::<Writer>();
    register::<Frozen>();
    for number in 0..20u8 {
        travelling = thread::spawn(move || {
            let mut there = travelling.convert_by_name("writer", HOST).unwrap();
            there.as_array_of_mut::<Writer>().unwrap().fill(f32::from(number)).unwrap();
            there.convert_by_name("frozen", HOST).unwrap()
        })
        .join()
        .unwrap();
        assert_eq!(
            travelling.as_array_of::<Frozen>().unwrap().elements::<f32>().unwrap(),
            [f32::from(number); 4]
        );
    }
}
