//! A library, written in safe code, that breaks every promise of its trait. Core may refuse or lose
//! its arrays, but not panic, hang, or write what an honest library still holds.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex};

use arraybridge::ndarray::{NdArray, Ndarray};
use arraybridge::roles::{Duplicate, HostOffer, HostShare};
use arraybridge::{
    AnyArray, ArrayLibrary, Availability, ConversionRecord, Convert, CopyPolicy, DType,
    DeclineReason, Description, Device, DeviceKinds, Error, HOST, HostArray, Layout, Library,
    Obstacle, Owner, install, libraries, library, register, register_library, to,
};
use arraybridge_tests::{Frozen, Writer};

#[derive(Clone, Copy, PartialEq, Debug)]
enum Lie {
    None,
    Address,
    HugeLayout,
    EmptyLayout,
    OtherDevice,
    OtherDtype,
    FailingDescription,
    LendsAndKeeps,
    TakesAndDeclines,
    LendsAnother,
    AdoptsAnother,
    StealsAndDeclines,
    StealsAndAdopts,
    ReclaimsAnother,
    UploadsAnother,
    DuplicatesAnother,
    ReentersTheRegistry,
}

const LIES: [Lie; 17] = [
    Lie::None,
    Lie::Address,
    Lie::HugeLayout,
    Lie::EmptyLayout,
    Lie::OtherDevice,
    Lie::OtherDtype,
    Lie::FailingDescription,
    Lie::LendsAndKeeps,
    Lie::TakesAndDeclines,
    Lie::LendsAnother,
    Lie::AdoptsAnother,
    Lie::StealsAndDeclines,
    Lie::StealsAndAdopts,
    Lie::ReclaimsAnother,
    Lie::UploadsAnother,
    Lie::DuplicatesAnother,
    Lie::ReentersTheRegistry,
];

thread_local! {
    static LIE: Cell<Lie> = const { Cell::new(Lie::None) };
    /// What the library stole.
    static STOLEN: RefCell<Vec<HostArray>> = const { RefCell::new(Vec::new()) };
}

fn lies(lie: Lie) -> bool {
    LIE.get() == lie
}

fn steal(array: &HostArray) {
    STOLEN.with_borrow_mut(|stolen| stolen.push(array.clone()));
}

fn another() -> HostArray {
    HostArray::from_vec(vec![9u8; 3], &[3, 1]).unwrap()
}

fn reenter() {
    if lies(Lie::ReentersTheRegistry) {
        register::<Liar>();
        assert!(library("liar").is_ok() && !libraries().is_empty());
    }
}

#[derive(Clone, Copy, Debug)]
struct Liar;

register_library!(Liar);

impl ArrayLibrary for Liar {
    type Array = HostArray;

    const INSTANCE: &'static Self = &Liar;
    const NAME: &'static str = "liar";
    const ALIASES: &'static [&'static str] = &["honest"];
    const KINDS: DeviceKinds = DeviceKinds::ALL;

    fn availability(&self) -> Availability {
        reenter();
        Availability::Available
    }

    fn devices(&self) -> Result<Vec<Device>, Error> {
        reenter();
        Ok(vec![HOST, Device::Accelerator(0)])
    }

    fn describe(&self, array: &HostArray) -> Result<Description, Error> {
        reenter();
        let (mut dtype, mut layout) = (array.dtype(), array.layout().clone());
        let (mut device, mut address) = (HOST, array.address());
        match LIE.get() {
            Lie::Address => address = address.wrapping_add(usize::MAX / 3),
            Lie::HugeLayout => layout = Layout::new(&[isize::MAX as usize], &[1])?,
            Lie::EmptyLayout => layout = Layout::new(&[0, 1 << 60], &[isize::MIN, 7])?,
            Lie::OtherDevice => device = Device::Accelerator(u32::MAX),
            Lie::OtherDtype => dtype = DType::Complex128,
            Lie::FailingDescription => {
                return Err(Error::foreign("liar", "describing", "it will not say"));
            }
            _ => {}
        }
        Ok(Description::new(dtype, layout, device, address))
    }

    fn download(&self, array: &HostArray) -> Result<HostArray, Error> {
        Ok(array.clone())
    }

    fn upload(&self, array: &HostArray, _: Device) -> Result<HostArray, Error> {
        Ok(if lies(Lie::UploadsAnother) { another() } else { array.clone() })
    }

    fn host_share(&self) -> Option<&dyn HostShare<Self>> {
        reenter();
        Some(self)
    }

    fn duplicate(&self) -> Option<&dyn Duplicate<Self>> {
        Some(self)
    }
}

impl HostShare<Liar> for Liar {
    fn kinds(&self) -> DeviceKinds {
        reenter();
        DeviceKinds::ALL
    }

    fn lend(&self, slot: &mut Option<HostArray>) -> Result<HostArray, Obstacle> {
        let gone = || Obstacle::from(DeclineReason::Shared);
        match LIE.get() {
            Lie::LendsAndKeeps => slot.clone().ok_or_else(gone),
            Lie::TakesAndDeclines => {
                *slot = None;
                Err(gone())
            }
            Lie::LendsAnother => Ok(another()),
            _ => slot.take().ok_or_else(gone),
        }
    }

    fn adopt(&self, offer: HostOffer, _: Device) -> Result<HostArray, Obstacle> {
        match LIE.get() {
            Lie::AdoptsAnother => Ok(another()),
            Lie::StealsAndDeclines => {
                steal(offer.array());
                Err(DeclineReason::Layout.into())
            }
            Lie::StealsAndAdopts => {
                steal(offer.array());
                Ok(offer.into_array())
            }
            _ => Ok(offer.into_array()),
        }
    }

    fn reclaim(&self, array: HostArray) -> Result<HostArray, Owner> {
        Ok(if lies(Lie::ReclaimsAnother) { another() } else { array })
    }
}

impl Duplicate<Liar> for Liar {
    fn shares(&self) -> bool {
        true
    }

    fn duplicate(&self, array: &HostArray) -> Result<HostArray, Error> {
        Ok(if lies(Lie::DuplicatesAnother) { another() } else { array.clone() })
    }
}

fn array() -> NdArray {
    NdArray::from_host(HostArray::from_vec(vec![1.0f32, 2.0], &[2]).unwrap())
}

/// Writes to an array of the writer, if there is one.
fn scribble(there: Option<AnyArray>) {
    if let Some(mut there) = there
        && there.describe().is_ok_and(|seen| seen.dtype == DType::F32)
    {
        there.as_array_of_mut::<Writer>().unwrap().fill(99.0f32).unwrap();
    }
}

#[test]
fn no_lie_makes_core_panic_or_write_what_others_hold() {
    let seen = |record: &ConversionRecord<'_>| {
        let _ = format!("{record:?}");
    };
    let _guard = install(Arc::new(seen));
    for lie in LIES {
        LIE.set(lie);
        for policy in [CopyPolicy::Allow, CopyPolicy::Never] {
            let kept = array();
            let [liar, writer] = [Library::of::<Liar>(), Library::of::<Writer>()];
            for device in [HOST, Device::Accelerator(0), Device::Accelerator(7)] {
                let there = kept.clone().convert_with::<Liar>(device, policy);
                let there = there.map(AnyArray::of::<Liar>).map_err(|error| error.into_parts().0);
                if let Ok(there) = there {
                    let _ = format!("{there:?}");
                    let _ = there.duplicate().and_then(|copy| copy.move_to_device(device));
                    scribble(there.to(writer, HOST).ok());
                    scribble(there.convert_with(writer, HOST, policy).ok());
                }
                let _ = to::<Ndarray, Liar>(&kept, device);
            }
            let erased = AnyArray::of::<Ndarray>(kept.clone());
            match erased.convert_with(liar, HOST, policy) {
                Ok(there) => match there.convert_with(Library::of::<Frozen>(), HOST, policy) {
                    Ok(frozen) => drop(frozen.convert_to(liar, HOST)),
                    Err(failed) => drop(failed.into_array().map(|back| back.describe())),
                },
                Err(failed) => drop(failed.into_array().map(|back| format!("{back:?}"))),
            }
            let stolen = STOLEN.take();
            scribble(AnyArray::of::<Ndarray>(kept.clone()).convert_to(writer, HOST).ok());
            assert_eq!(kept.host().as_slice::<f32>().unwrap(), [1.0, 2.0], "{lie:?}");
            for thing in stolen {
                assert_eq!(thing.as_slice::<f32>().unwrap(), [1.0, 2.0], "{lie:?}");
            }
        }
    }
    LIE.set(Lie::None);
}

#[test]
fn what_a_thief_still_holds_is_copied_before_it_is_written() {
    for lie in [Lie::StealsAndDeclines, Lie::StealsAndAdopts] {
        LIE.set(lie);
        let there = array().convert_to::<Liar>(HOST).unwrap();
        LIE.set(Lie::None);
        let mut written = there.convert_to::<Writer>(HOST).unwrap();
        written.fill(99.0f32).unwrap();
    }
    let stolen = STOLEN.take();
    assert_eq!(stolen.len(), 2);
    assert!(stolen.iter().all(|array| array.as_slice::<f32>().unwrap() == [1.0, 2.0]));
}

#[test]
fn a_library_that_lies_about_the_address_is_not_recorded_as_sharing() {
    let records = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&records);
    let _guard = install(Arc::new(move |record: &ConversionRecord<'_>| {
        sink.lock().unwrap().push(record.copied);
    }));
    LIE.set(Lie::Address);
    array().convert_to::<Liar>(HOST).unwrap();
    let refused = array().convert_with::<Liar>(HOST, CopyPolicy::Never).unwrap_err();
    assert!(matches!(refused.error(), Error::WouldCopy { .. }), "{refused}");
    // The array comes back, although the target had it already.
    assert_eq!(refused.into_array().unwrap().host().as_slice::<f32>().unwrap(), [1.0, 2.0]);
    LIE.set(Lie::None);
    assert_eq!(*records.lock().unwrap(), [true]);
}
