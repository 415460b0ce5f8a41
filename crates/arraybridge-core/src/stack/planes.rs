//! Cutting and joining arrays of one library: by its own operations, or through main memory for a
//! library that has none.

use std::any::Any;

use crate::library::DynArrayLibrary;
use crate::library::roles::HostOffer;
use crate::ops::Operation;
use crate::{Access, AxisSlice, DType, Device, Error, HostArray, Obstacle};

/// Cuts an array into the planes of its first axis, on its device.
pub(crate) struct Cutter<'a> {
    library: &'static dyn DynArrayLibrary,
    array: &'a dyn Any,
    /// The array in main memory, once it was found that the library cuts none itself.
    host: Option<HostArray>,
}

impl<'a> Cutter<'a> {
    /// Cuts `array`, a slot or a bare array of the library.
    pub(crate) fn new(library: &'static dyn DynArrayLibrary, array: &'a dyn Any) -> Cutter<'a> {
        Cutter { library, array, host: None }
    }

    /// Fills `out` with the plane at an index.
    pub(crate) fn plane(&mut self, index: usize, out: &mut dyn Any) -> Result<(), Error> {
        if self.host.is_none() {
            match self.library.operate(Operation::Plane(index), &[self.array], out) {
                Err(Error::Unsupported { .. }) => {}
                done => return done,
            }
            self.host = Some(self.library.download(self.array)?);
        }
        let device = self.library.device_of(self.array)?;
        match &self.host {
            Some(host) => self.library.upload(&host.index_axis(0, index)?, device, out),
            None => Ok(()),
        }
    }
}

/// Fills `out` with arrays of one library, shape, dtype and device (at least one), joined on a new
/// leading axis.
pub(crate) fn join(
    library: &'static dyn DynArrayLibrary,
    arrays: &[&dyn Any],
    out: &mut dyn Any,
) -> Result<(), Error> {
    match library.operate(Operation::Stack, arrays, out) {
        Err(Error::Unsupported { .. }) => {}
        done => return done,
    }
    let first = arrays.first().map(|first| library.describe(*first)).transpose()?;
    let Some(first) = first else { return Ok(()) };
    let mut whole = whole(arrays.len(), first.layout.shape(), first.dtype)?;
    for (index, array) in arrays.iter().enumerate() {
        whole.assign(&[at(index)], &library.download(*array)?)?;
    }
    place(whole, library, first.device, out)
}

/// Makes the host array that planes are copied into.
pub(super) fn whole(count: usize, plane: &[usize], dtype: DType) -> Result<HostArray, Error> {
    let mut shape = vec![count];
    shape.extend_from_slice(plane);
    HostArray::scratch(dtype, &shape)
}

/// Selects one index of an axis.
pub(super) fn at(index: usize) -> AxisSlice {
    // Indices of planes are below a length, so both fit in isize.
    let start = index as isize;
    AxisSlice::from(start..start + 1)
}

/// Fills `out` with an array of a library made of a host array that nobody else holds: without a
/// copy where the library takes the memory.
pub(super) fn place(
    host: HostArray,
    library: &'static dyn DynArrayLibrary,
    device: Device,
    out: &mut dyn Any,
) -> Result<(), Error> {
    if library.declaration().host_share.contains(device.kind()) {
        // `host` keeps the memory in case that the offer is declined.
        let offer = HostOffer::new(host.clone(), Access::Exclusive);
        match library.adopt(offer, device, out) {
            Ok(()) => return Ok(()),
            Err(Obstacle::Failed(error)) => return Err(error),
            Err(Obstacle::Declined(_)) => {}
        }
    }
    library.upload(&host, device, out)
}
