//! Fake libraries whose accelerators are main memory, and a log of what was asked of them.
// Each test binary uses a part, and a fake may panic where a backend must not.
#![allow(dead_code, missing_docs, missing_debug_implementations, unreachable_pub)]
#![allow(clippy::unwrap_used)]

use std::cell::{Cell, RefCell};
use std::error::Error as StdError;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};

use arraybridge_core::ops::ArrayOps;
use arraybridge_core::roles::{
    Accelerator, DeviceMove, Duplicate, HostOffer, HostShare, HostVisible,
};
use arraybridge_core::{
    ArrayLibrary, Availability, ConversionObserver, ConversionRecord, DType, Description, Device,
    DeviceKind, DeviceKinds, DeviceScope, Error, HOST, HostArray, HostView, ObserverGuard,
    Obstacle, Owner, causes, install, register_library,
};
use arraybridge_testkit::{numbers, of_numbers};

pub const ACC0: Device = Device::Accelerator(0);
pub const ACC1: Device = Device::Accelerator(1);

thread_local! {
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static CURRENT: Cell<Device> = const { Cell::new(ACC0) };
    static UPLOADS_LEFT: Cell<Option<usize>> = const { Cell::new(None) };
    static RELEASE_FAILS: Cell<bool> = const { Cell::new(false) };
}

fn log(line: String) {
    LOG.with_borrow_mut(|log| log.push(line));
}

/// Returns what the fake libraries were asked on this thread since the last call.
pub fn taken() -> Vec<String> {
    LOG.take()
}

/// Makes releases of the fake libraries fail on this thread, or work again.
pub fn release_fails(fails: bool) {
    RELEASE_FAILS.set(fails);
}

/// Makes the fakes run out of memory after so many uploads on this thread, or never.
pub fn uploads_left(left: Option<usize>) {
    UPLOADS_LEFT.set(left);
}

/// Returns the device that new arrays land on, on this thread.
pub fn current() -> Device {
    CURRENT.get()
}

/// The fakes' own out-of-memory error.
#[derive(Debug)]
pub struct FakeOom;

impl fmt::Display for FakeOom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fake device memory exhausted")
    }
}

impl StdError for FakeOom {}

/// What tells one fake library from another.
pub trait Spec: Sized + Send + Sync + 'static {
    const NAME: &'static str;
    const KINDS: DeviceKinds;
    const ACCELERATORS: u32 = 2;
    const SHARES: bool = false;
    const OPS: bool = true;
}

/// Main memory alone; takes and gives host buffers.
pub struct HostSpec;
impl Spec for HostSpec {
    const NAME: &'static str = "fakehost";
    const KINDS: DeviceKinds = DeviceKinds::HOST;
    const SHARES: bool = true;
}

/// Main memory and two accelerators.
pub struct DeviceSpec;
impl Spec for DeviceSpec {
    const NAME: &'static str = "fakedevice";
    const KINDS: DeviceKinds = DeviceKinds::HOST.and(DeviceKinds::ACCELERATOR);
}

/// Two accelerators and no main memory.
pub struct OnlySpec;
impl Spec for OnlySpec {
    const NAME: &'static str = "fakeonly";
    const KINDS: DeviceKinds = DeviceKinds::ACCELERATOR;
}

/// No main memory, and no accelerator on this machine.
pub struct NoneSpec;
impl Spec for NoneSpec {
    const NAME: &'static str = "fakenone";
    const KINDS: DeviceKinds = DeviceKinds::ACCELERATOR;
    const ACCELERATORS: u32 = 0;
}

/// The least that a library can be: main memory and one accelerator, no roles for arrays.
pub struct BareSpec;
impl Spec for BareSpec {
    const NAME: &'static str = "fakebare";
    const KINDS: DeviceKinds = DeviceKinds::HOST.and(DeviceKinds::ACCELERATOR);
    const ACCELERATORS: u32 = 1;
    const OPS: bool = false;
}

pub type BareLib = Fake<BareSpec>;
pub type HostLib = Fake<HostSpec>;
pub type DeviceLib = Fake<DeviceSpec>;
pub type OnlyLib = Fake<OnlySpec>;
pub type NoneLib = Fake<NoneSpec>;

register_library!(BareLib);
register_library!(HostLib);
register_library!(DeviceLib);
register_library!(OnlyLib);
register_library!(NoneLib);

pub struct Fake<S>(PhantomData<fn() -> S>);

pub struct FakeArray<S> {
    pub host: HostArray,
    pub device: Device,
    /// Whether the library can describe it.
    pub opaque: bool,
    spec: PhantomData<fn() -> S>,
}

impl<S: Spec> fmt::Debug for FakeArray<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} on {}", S::NAME, self.host, self.device)
    }
}

impl<S: Spec> FakeArray<S> {
    pub fn new(host: HostArray, device: Device) -> Self {
        FakeArray { host, device, opaque: false, spec: PhantomData }
    }

    /// An array of `f32` counting from `start`.
    pub fn counting(start: usize, shape: &[usize], device: Device) -> Self {
        let len: usize = shape.iter().product();
        let values: Vec<f32> = (start..start + len).map(|value| value as f32).collect();
        FakeArray::new(HostArray::from_slice(&values, shape).unwrap(), device)
    }

    pub fn values(&self) -> Vec<f64> {
        numbers(&self.host)
    }

    pub fn shape(&self) -> &[usize] {
        self.host.shape()
    }

    pub fn dtype(&self) -> DType {
        self.host.dtype()
    }
}

impl<S: Spec> ArrayLibrary for Fake<S> {
    type Array = FakeArray<S>;

    const INSTANCE: &'static Self = &Fake(PhantomData);
    const NAME: &'static str = S::NAME;
    const KINDS: DeviceKinds = S::KINDS;

    fn availability(&self) -> Availability {
        Availability::Available
    }

    fn devices(&self) -> Result<Vec<Device>, Error> {
        let host = S::KINDS.contains(DeviceKind::Host).then_some(HOST);
        let accelerators = (0..S::ACCELERATORS).map(Device::Accelerator);
        let has = S::KINDS.contains(DeviceKind::Accelerator);
        Ok(host.into_iter().chain(accelerators.filter(|_| has)).collect())
    }

    fn describe(&self, array: &FakeArray<S>) -> Result<Description, Error> {
        if array.opaque {
            return Err(Error::Unsupported {
                library: S::NAME,
                operation: "describing a sparse array",
                remedy: "make it dense",
            });
        }
        let host = &array.host;
        Ok(Description::new(host.dtype(), host.layout().clone(), array.device, host.address()))
    }

    fn download(&self, array: &FakeArray<S>) -> Result<HostArray, Error> {
        log(format!("{} download {:?}", S::NAME, array.shape()));
        array.host.gather()
    }

    fn upload(&self, array: &HostArray, device: Device) -> Result<FakeArray<S>, Error> {
        log(format!("{} upload {:?} to {device}", S::NAME, array.shape()));
        match UPLOADS_LEFT.get() {
            Some(0) => {
                let library = S::NAME;
                Err(Error::OutOfMemory { library, device, requested: None, available: None })
            }
            left => {
                UPLOADS_LEFT.set(left.map(|left| left - 1));
                Ok(FakeArray::new(array.gather()?, device))
            }
        }
    }

    fn host_share(&self) -> Option<&dyn HostShare<Self>> {
        S::SHARES.then_some(self as _)
    }

    fn host_visible(&self) -> Option<&dyn HostVisible<Self>> {
        Some(self)
    }

    fn device_move(&self) -> Option<&dyn DeviceMove<Self>> {
        S::KINDS.contains(DeviceKind::Accelerator).then_some(self as _)
    }

    fn duplicate(&self) -> Option<&dyn Duplicate<Self>> {
        Some(self)
    }

    fn accelerator(&self) -> Option<&dyn Accelerator> {
        S::KINDS.contains(DeviceKind::Accelerator).then_some(self as _)
    }

    fn ops(&self) -> Option<&dyn ArrayOps<Self>> {
        S::OPS.then_some(self as _)
    }

    fn child_environment(&self) -> Vec<(String, String)> {
        vec![(format!("{}_HOME", S::NAME.to_uppercase()), "/opt/fake".into())]
    }
}

impl<S: Spec> HostShare<Fake<S>> for Fake<S> {
    fn kinds(&self) -> DeviceKinds {
        DeviceKinds::HOST
    }

    fn lend(&self, slot: &mut Option<FakeArray<S>>) -> Result<HostArray, Obstacle> {
        Ok(slot.take().map(|array| array.host).unwrap())
    }

    fn adopt(&self, offer: HostOffer, device: Device) -> Result<FakeArray<S>, Obstacle> {
        log(format!("{} adopt {:?}", S::NAME, offer.array().shape()));
        Ok(FakeArray::new(offer.into_array(), device))
    }

    fn reclaim(&self, array: HostArray) -> Result<FakeArray<S>, Owner> {
        Ok(FakeArray::new(array, HOST))
    }
}

impl<S: Spec> HostVisible<Fake<S>> for Fake<S> {
    fn view<'a>(&self, array: &'a FakeArray<S>) -> Result<HostView<'a>, Error> {
        // Only the host library lends views, so that both ways of reading are tried.
        if S::SHARES {
            return Ok(array.host.view());
        }
        Err(Error::Unsupported { library: S::NAME, operation: "views", remedy: "convert it" })
    }
}

impl<S: Spec> DeviceMove<Fake<S>> for Fake<S> {
    fn move_to(&self, array: &FakeArray<S>, device: Device) -> Result<FakeArray<S>, Error> {
        log(format!("{} move {:?} to {device}", S::NAME, array.shape()));
        Ok(FakeArray::new(array.host.gather()?, device))
    }
}

impl<S: Spec> Duplicate<Fake<S>> for Fake<S> {
    fn shares(&self) -> bool {
        true
    }

    fn duplicate(&self, array: &FakeArray<S>) -> Result<FakeArray<S>, Error> {
        Ok(FakeArray::new(array.host.clone(), array.device))
    }
}

impl<S: Spec> Accelerator for Fake<S> {
    fn current_device(&self) -> Result<Device, Error> {
        Ok(CURRENT.get())
    }

    fn scope(&self, device: Device) -> Result<DeviceScope, Error> {
        log(format!("{} enters {device}", S::NAME));
        let before = CURRENT.replace(device);
        Ok(DeviceScope::new(move || {
            CURRENT.set(before);
            log(format!("{} leaves {device}", S::NAME));
        }))
    }

    fn stream_scope(&self, device: Device) -> Result<DeviceScope, Error> {
        log(format!("{} streams on {device}", S::NAME));
        Ok(DeviceScope::nothing())
    }

    fn activate(&self, device: Device) -> Result<(), Error> {
        CURRENT.set(device);
        Ok(())
    }

    fn release_cached_memory(&self, device: Option<Device>) -> Result<Option<usize>, Error> {
        let place = device.map_or("all".into(), |device| device.to_string());
        log(format!("{} releases {place}", S::NAME));
        if RELEASE_FAILS.get() && S::NAME == "fakedevice" {
            return Err(Error::foreign(S::NAME, "releasing memory", "driver is gone"));
        }
        Ok((S::NAME != "fakeonly").then_some(4096))
    }

    fn is_out_of_memory(&self, error: &(dyn StdError + 'static)) -> bool {
        causes(error).any(|cause| cause.is::<FakeOom>())
    }
}

impl<S: Spec> ArrayOps<Fake<S>> for Fake<S> {
    fn stack(&self, arrays: &[&FakeArray<S>]) -> Result<FakeArray<S>, Error> {
        let first = arrays[0];
        log(format!("{} stack {} on {}", S::NAME, arrays.len(), first.device));
        let all: Vec<f64> = arrays.iter().flat_map(|array| array.values()).collect();
        let shape = [&[arrays.len()], first.shape()].concat();
        Ok(FakeArray::new(of_numbers(first.dtype(), &all, &shape)?, first.device))
    }

    fn plane(&self, array: &FakeArray<S>, index: usize) -> Result<FakeArray<S>, Error> {
        Ok(FakeArray::new(array.host.index_axis(0, index)?, array.device))
    }

    fn scale_dtype(&self, array: &FakeArray<S>, dtype: DType) -> Result<FakeArray<S>, Error> {
        log(format!("{} scale to {dtype}", S::NAME));
        let mut values = array.values();
        if array.dtype().is_float() && dtype == DType::U8 {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            values.iter_mut().for_each(|x| *x = (*x - low) / (high - low) * 255.0);
        }
        Ok(FakeArray::new(of_numbers(dtype, &values, array.shape())?, array.device))
    }
}

/// Notes every record as one line.
#[derive(Default)]
pub struct Notes(Mutex<Vec<String>>);

impl Notes {
    pub fn new() -> Arc<Notes> {
        Arc::default()
    }

    /// Sees this thread's conversions until the guard is dropped.
    pub fn watch(self: &Arc<Self>) -> ObserverGuard {
        let notes = Arc::clone(self);
        install(notes)
    }

    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl ConversionObserver for Notes {
    fn record(&self, record: &ConversionRecord<'_>) {
        self.0.lock().unwrap().push(format!(
            "{} on {} -> {} on {}: {}, {} bytes{}",
            record.source_library,
            record.source_device,
            record.target_library,
            record.target_device,
            record.mechanism,
            record.nbytes,
            if record.copied { ", copied" } else { "" }
        ));
    }
}
