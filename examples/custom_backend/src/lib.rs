//! A third-party array library and its backend, in one file.
//!
//! The library: [`Raster`], dense pixels of three dtypes in main memory, which its methods change
//! in place. The backend: [`Rasters`], one type that implements one trait, and one line that
//! registers it. After that, rasters convert to and from every other library:
//!
//! ```
//! use arraybridge::prelude::*;
//! use raster_backend::{Raster, Rasters};
//!
//! let mut raster = Raster::new(vec![7u16, 9, 11, 8], &[2, 2])?;
//! raster.subtract_background()?;
//! let array = raster.convert_to::<Ndarray>(HOST)?; // no copy
//! assert_eq!(array.host().as_slice::<u16>()?, [0, 2, 4, 1]);
//! let raster = array.convert_with::<Rasters>(HOST, CopyPolicy::Never)?; // and back
//! assert_eq!(raster.pixels::<u16>()?, [0, 2, 4, 1]);
//! # Ok::<(), arraybridge::Error>(())
//! ```

use arraybridge_core::roles::{Duplicate, HostOffer, HostShare, HostVisible};
use arraybridge_core::{
    Access, ArrayLibrary, Availability, DType, Decline, DeclineReason, Description, Device,
    DeviceKinds, Element, Error, HOST, HostArray, HostView, Obstacle, register_library,
    require_device,
};

// ---- The library: what its users see. ----------------------------------------------------------

/// Pixels of `u8`, `u16` or `f32` in row-major order, in memory that nobody else reaches.
///
/// A real library would have a type of its own here. This one keeps a [`HostArray`], which is what
/// lets it use memory that others allocated.
#[derive(Debug)]
pub struct Raster(HostArray);

impl Raster {
    /// Makes a raster of pixels, without copying them.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] if the shape has another number of pixels,
    /// [`Error::DtypeUnsupported`].
    pub fn new<T: Element>(pixels: Vec<T>, shape: &[usize]) -> Result<Raster, Error> {
        require_dtype(T::DTYPE, "making a raster")?;
        Ok(Raster(HostArray::from_vec(pixels, shape)?))
    }

    /// Borrows the pixels.
    ///
    /// # Errors
    /// [`Error::DtypeMismatch`].
    pub fn pixels<T: Element>(&self) -> Result<&[T], Error> {
        self.0.as_slice()
    }

    /// Subtracts the darkest pixel from all, in place.
    ///
    /// # Errors
    /// None for a raster that was made here or converted: its memory is its own.
    pub fn subtract_background(&mut self) -> Result<(), Error> {
        match self.0.dtype() {
            DType::U8 => subtract_smallest(self.0.as_slice_mut::<u8>()?),
            DType::U16 => subtract_smallest(self.0.as_slice_mut::<u16>()?),
            _ => subtract_smallest(self.0.as_slice_mut::<f32>()?),
        }
        Ok(())
    }
}

fn subtract_smallest<T: Copy + PartialOrd + std::ops::SubAssign>(pixels: &mut [T]) {
    let smaller = |least: T, pixel: T| if pixel < least { pixel } else { least };
    if let Some(least) = pixels.iter().copied().reduce(smaller) {
        pixels.iter_mut().for_each(|pixel| *pixel -= least);
    }
}

// ---- The backend: one type, one trait, one line. -----------------------------------------------

/// The library `raster`.
#[derive(Clone, Copy, Debug)]
pub struct Rasters;

register_library!(Rasters);

impl ArrayLibrary for Rasters {
    type Array = Raster;

    const INSTANCE: &'static Self = &Rasters;
    const NAME: &'static str = "raster";
    const KINDS: DeviceKinds = DeviceKinds::HOST;

    fn availability(&self) -> Availability {
        Availability::Available
    }

    fn devices(&self) -> Result<Vec<Device>, Error> {
        Ok(vec![HOST])
    }

    fn describe(&self, raster: &Raster) -> Result<Description, Error> {
        let array = &raster.0;
        Ok(Description::new(array.dtype(), array.layout().clone(), HOST, array.address()))
    }

    /// Copies: the raster's owner may change its pixels afterwards.
    fn download(&self, raster: &Raster) -> Result<HostArray, Error> {
        raster.0.gather()
    }

    /// Copies, for the same reason; any layout becomes row-major.
    fn upload(&self, array: &HostArray, device: Device) -> Result<Raster, Error> {
        require_device::<Rasters>(device)?;
        require_dtype(array.dtype(), "arrays")?;
        Ok(Raster(array.gather()?))
    }

    // The required part ends here. Each role makes more possible.

    /// Without a copy to and from every library that shares main memory too.
    fn host_share(&self) -> Option<&dyn HostShare<Self>> {
        Some(self)
    }

    /// Readable under a borrow: `raster.host_view()`.
    fn host_visible(&self) -> Option<&dyn HostVisible<Self>> {
        Some(self)
    }

    /// Convertible by reference, the raster staying as it is.
    fn duplicate(&self) -> Option<&dyn Duplicate<Self>> {
        Some(self)
    }
}

impl HostShare<Rasters> for Rasters {
    fn kinds(&self) -> DeviceKinds {
        DeviceKinds::HOST
    }

    fn lend(&self, slot: &mut Option<Raster>) -> Result<HostArray, Obstacle> {
        let raster = slot.take().ok_or_else(|| Error::already_taken("lending a raster"))?;
        Ok(raster.0)
    }

    /// Declines what a raster cannot be: the array then comes through [`Rasters::upload`].
    fn adopt(&self, offer: HostOffer, _: Device) -> Result<Raster, Obstacle> {
        if offer.access() != Access::Exclusive {
            let note = "a raster writes its pixels in place";
            return Err(Decline::new(DeclineReason::Shared).note(note).into());
        }
        let array = offer.into_array();
        if !holds(array.dtype()) {
            return Err(DeclineReason::Dtype.into());
        }
        if !array.layout().is_row_major() {
            let note = "a raster is row-major";
            return Err(Decline::new(DeclineReason::Layout).note(note).into());
        }
        if !array.is_aligned() {
            return Err(DeclineReason::Alignment.into());
        }
        Ok(Raster(array))
    }

    fn reclaim(&self, array: HostArray) -> Result<Raster, arraybridge_core::Owner> {
        Ok(Raster(array))
    }
}

impl HostVisible<Rasters> for Rasters {
    fn view<'a>(&self, raster: &'a Raster) -> Result<HostView<'a>, Error> {
        Ok(raster.0.view())
    }
}

impl Duplicate<Rasters> for Rasters {
    fn shares(&self) -> bool {
        false
    }

    fn duplicate(&self, raster: &Raster) -> Result<Raster, Error> {
        Ok(Raster(raster.0.gather()?))
    }
}

fn holds(dtype: DType) -> bool {
    matches!(dtype, DType::U8 | DType::U16 | DType::F32)
}

fn require_dtype(dtype: DType, operation: &'static str) -> Result<(), Error> {
    if holds(dtype) {
        return Ok(());
    }
    Err(Error::DtypeUnsupported { library: Rasters::NAME, operation, dtype })
}
