//! A library that writes its arrays through plain pointers and shares storage behind the scenes, as
//! torch does: whoever lends it memory that others still reach sees it change.

use std::sync::Arc;

use arraybridge_core::roles::{HostOffer, HostShare, HostVisible};
use arraybridge_core::{
    Access, ArrayLibrary, Availability, DType, DeclineReason, Description, Device, DeviceKinds,
    Error, HOST, HostArray, HostView, Layout, Obstacle, Owner, register_library,
};

/// The library `writer`.
#[derive(Clone, Copy, Debug)]
pub struct Writer;

/// A handle on writable memory; others may hold the same ([`WriterArray::alias`]).
#[derive(Debug)]
pub struct WriterArray {
    storage: Arc<Storage>,
    layout: Layout,
    copied_from: Option<usize>,
}

#[derive(Debug)]
struct Storage {
    /// Keeps the memory alive.
    _owner: Owner,
    pointer: *mut u8,
    dtype: DType,
}

// SAFETY: the owner is Send and Sync, and the memory belongs to the handles alone; tests write it
// from one thread at a time.
unsafe impl Send for Storage {}
// SAFETY: see above.
unsafe impl Sync for Storage {}

impl WriterArray {
    /// Takes over memory that nobody else reaches.
    fn over(host: HostArray) -> WriterArray {
        let (pointer, dtype) = (host.as_ptr().cast_mut(), host.dtype());
        let layout = host.layout().clone();
        let storage = Arc::new(Storage { _owner: host.into_owner(), pointer, dtype });
        WriterArray { storage, layout, copied_from: None }
    }

    /// Returns another handle on the same memory, as torch's shallow clones.
    pub fn alias(&self) -> WriterArray {
        let storage = Arc::clone(&self.storage);
        WriterArray { storage, layout: self.layout.clone(), copied_from: self.copied_from }
    }

    /// Returns the address of the first element.
    pub fn address(&self) -> usize {
        self.storage.pointer as usize
    }

    /// Returns the address that the elements were copied from, if the library copied them.
    pub fn copied_from(&self) -> Option<usize> {
        self.copied_from
    }

    /// Writes one number into every element, whoever else holds the memory.
    ///
    /// # Panics
    /// Unless the array is row-major and of dtype f32, which this mock is limited to.
    pub fn fill(&mut self, value: f32) {
        assert!(self.layout.is_row_major() && self.storage.dtype == DType::F32);
        let start = self.storage.pointer.cast::<f32>();
        for index in 0..self.layout.len() {
            // SAFETY: an index of the row-major array, which is aligned: `adopt` checked it.
            let place = unsafe { start.add(index) };
            // SAFETY: the memory was taken over exclusively, and no slice of it exists.
            unsafe { place.write(value) };
        }
    }

    /// Returns a copy of the elements.
    pub fn elements(&self) -> Vec<f32> {
        let copied = Writer.download(self).and_then(|array| Ok(array.as_slice::<f32>()?.to_vec()));
        copied.unwrap_or_default()
    }
}

register_library!(Writer);

impl ArrayLibrary for Writer {
    type Array = WriterArray;

    const INSTANCE: &'static Self = &Writer;
    const NAME: &'static str = "writer";
    const KINDS: DeviceKinds = DeviceKinds::HOST;

    fn availability(&self) -> Availability {
        Availability::Available
    }

    fn devices(&self) -> Result<Vec<Device>, Error> {
        Ok(vec![HOST])
    }

    fn has_device(&self, device: Device) -> Result<bool, Error> {
        Ok(device.is_host())
    }

    fn describe(&self, array: &WriterArray) -> Result<Description, Error> {
        Ok(Description::new(array.storage.dtype, array.layout.clone(), HOST, array.address()))
    }

    fn download(&self, array: &WriterArray) -> Result<HostArray, Error> {
        let (dtype, layout) = (array.storage.dtype, array.layout.clone());
        // SAFETY: the storage is alive and nobody writes it during this call; the view ends in it.
        let view = unsafe { HostView::new(array.storage.pointer, dtype, layout, None) }?;
        view.to_host_array()
    }

    fn upload(&self, array: &HostArray, _: Device) -> Result<WriterArray, Error> {
        let made = WriterArray::over(array.gather()?);
        Ok(WriterArray { copied_from: Some(array.address()), ..made })
    }

    fn host_share(&self) -> Option<&dyn HostShare<Self>> {
        Some(self)
    }

    fn host_visible(&self) -> Option<&dyn HostVisible<Self>> {
        Some(self)
    }
}

fn no_array() -> Error {
    let message = "the array was already taken".into();
    Error::InvalidArgument { operation: "lending an array", message }
}

impl HostShare<Writer> for Writer {
    fn kinds(&self) -> DeviceKinds {
        DeviceKinds::HOST
    }

    fn lend(&self, slot: &mut Option<WriterArray>) -> Result<HostArray, Obstacle> {
        let array = slot.as_mut().ok_or_else(no_array)?;
        if Arc::get_mut(&mut array.storage).is_none() {
            return Err(DeclineReason::Shared.into());
        }
        let (pointer, dtype) = (array.storage.pointer, array.storage.dtype);
        let layout = array.layout.clone();
        let owner = Owner::new(slot.take().ok_or_else(no_array)?);
        // SAFETY: the memory was taken over exclusively, and the storage has one holder, which is
        // the owner now.
        Ok(unsafe { HostArray::from_raw(owner, pointer, dtype, layout, Access::Exclusive) }?)
    }

    fn adopt(&self, offer: HostOffer, _: Device) -> Result<WriterArray, Obstacle> {
        if offer.access() != Access::Exclusive {
            return Err(DeclineReason::ReadOnly.into());
        }
        if !offer.array().is_aligned() {
            return Err(DeclineReason::Alignment.into());
        }
        Ok(WriterArray::over(offer.into_array()))
    }
}

impl HostVisible<Writer> for Writer {
    fn view<'a>(&self, _: &'a WriterArray) -> Result<HostView<'a>, Error> {
        Err(Error::Shared {
            operation: "a view from the host",
            message: "another handle could write under it; borrow the array mutably".into(),
        })
    }

    fn view_exclusive<'a>(&self, array: &'a mut WriterArray) -> Result<HostView<'a>, Error> {
        if Arc::get_mut(&mut array.storage).is_none() {
            return self.view(array);
        }
        let (dtype, layout) = (array.storage.dtype, array.layout.clone());
        // SAFETY: the only handle on the storage is borrowed mutably for as long as the view lives.
        unsafe { HostView::new(array.storage.pointer, dtype, layout, None) }
    }
}
