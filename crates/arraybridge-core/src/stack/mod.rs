//! Planes into a stack, and a stack into its planes.

mod planes;

use std::time::Instant;

use crate::record::{self, ConversionRecord};
use crate::{AnyArray, ArrayLibrary, ConversionError, DType, Device, Error, Library, Mechanism};

pub(crate) use planes::{Cutter, join};

/// Stacks 2-D arrays of any libraries into one 3-D array of `target` on `device`.
///
/// The planes are consumed, and come back with an error. Planes of another library are converted,
/// with a record each. Where all planes are in main memory they are put into one new host array,
/// which then goes to the target as a whole: an accelerator gets one allocation and one upload, and
/// each plane's record says "host copy", with an equal share of the time.
///
/// # Errors
/// [`Error::InvalidArgument`] for no planes, for one that is not 2-D, and for planes of several
/// shapes or dtypes, which it lists; [`Error::DeviceUnavailable`]; the errors of the conversions.
/// Nothing was converted then, unless a conversion itself failed: planes that had been converted
/// before it come back as arrays of the target.
///
/// ```
/// use arraybridge_core::{AnyArray, HOST, Library, stack_slices};
///
/// fn volume(target: Library, slices: Vec<AnyArray>) -> Option<AnyArray> {
///     match stack_slices(slices, target, HOST) {
///         Ok(volume) => Some(volume),
///         Err(error) => {
///             eprintln!("{error}");
///             let slices: Option<Vec<AnyArray>> = error.into_array();
///             None
///         }
///     }
/// }
/// ```
pub fn stack_slices(
    planes: Vec<AnyArray>,
    target: Library,
    device: Device,
) -> Result<AnyArray, ConversionError<Vec<AnyArray>>> {
    let mut planes = planes;
    match stack(&mut planes, target, device) {
        Ok(stacked) => Ok(stacked),
        Err(error) => Err(ConversionError::new(error, Some(planes))),
    }
}

/// Stacks 2-D arrays of any libraries into one 3-D array of library `L` on `device`, as
/// [`stack_slices`] does.
///
/// # Errors
/// As there.
pub fn stack_slices_to<L: ArrayLibrary>(
    planes: Vec<AnyArray>,
    device: Device,
) -> Result<L::Array, ConversionError<Vec<AnyArray>>> {
    stack_slices(planes, Library::of::<L>(), device)?
        .into_array_of::<L>()
        .map_err(|error| error.map_array(|stacked| Some(vec![stacked])))
}

/// Cuts a 3-D array into its planes, as 2-D arrays of `target` on `device`.
///
/// The array is converted first, as a whole, and then cut where it is. The planes share its memory
/// where neither they nor the array are ever written while both live. An array without planes gives
/// an empty list.
///
/// # Errors
/// [`Error::InvalidArgument`] for an array that is not 3-D; the errors of the conversion. The array
/// comes back, converted if only cutting it failed.
///
/// ```
/// use arraybridge_core::{AnyArray, ConversionError, HOST, Library, unstack_slices};
///
/// fn planes(
///     volume: AnyArray,
///     target: Library,
/// ) -> Result<Vec<AnyArray>, ConversionError<AnyArray>> {
///     unstack_slices(volume, target, HOST)
/// }
/// ```
pub fn unstack_slices(
    array: AnyArray,
    target: Library,
    device: Device,
) -> Result<Vec<AnyArray>, ConversionError<AnyArray>> {
    let count = match planes_of(&array).and_then(|count| {
        target.require_device(device)?;
        Ok(count)
    }) {
        Ok(count) => count,
        Err(error) => return Err(ConversionError::new(error, Some(array))),
    };
    let array = bring(array, target, device)?;
    match array.planes(count) {
        Ok(planes) => Ok(planes),
        Err(error) => Err(ConversionError::new(error, Some(array))),
    }
}

/// Cuts a 3-D array into its planes, as arrays of library `L` on `device`, as [`unstack_slices`]
/// does.
///
/// # Errors
/// As there.
pub fn unstack_slices_to<L: ArrayLibrary>(
    array: AnyArray,
    device: Device,
) -> Result<Vec<L::Array>, ConversionError<AnyArray>> {
    let planes = unstack_slices(array, Library::of::<L>(), device)?;
    planes.into_iter().map(AnyArray::into_array_of::<L>).collect()
}

fn planes_of(array: &AnyArray) -> Result<usize, Error> {
    let seen = array.describe()?;
    match seen.layout.shape() {
        &[count, _, _] => Ok(count),
        shape => Err(Error::InvalidArgument {
            operation: "unstack_slices",
            message: format!("needs a 3-D array, found shape {shape:?}"),
        }),
    }
}

/// Brings an array to a library and device: a move within its library writes no record.
fn bring(
    array: AnyArray,
    target: Library,
    device: Device,
) -> Result<AnyArray, ConversionError<AnyArray>> {
    let moves = array.library() == target && target.declaration().device_move;
    match array.device() {
        Ok(place) if moves && place != device => {
            array.move_to_device(device).map_err(|error| ConversionError::new(error, Some(array)))
        }
        Ok(_) => array.convert_to(target, device),
        Err(error) => Err(ConversionError::new(error, Some(array))),
    }
}

/// Stacks the planes that are in the list; they are left there on an error.
fn stack(planes: &mut Vec<AnyArray>, target: Library, device: Device) -> Result<AnyArray, Error> {
    let (shape, dtype, places) = check(planes)?;
    target.require_device(device)?;
    let all_on = |place: Device| places.iter().all(|seen| *seen == place);
    let own = planes.iter().all(|plane| plane.library() == target);
    if own && places.first().is_some_and(|place| all_on(*place)) {
        // One stack where they are, one move of the whole.
        let stacked = AnyArray::joined(planes)?;
        return Ok(bring(stacked, target, device)?);
    }
    if all_on(Device::Host) {
        return stack_on_host(planes, shape, dtype, target, device);
    }
    let mut converted = Vec::with_capacity(planes.len());
    let mut left = std::mem::take(planes).into_iter();
    for plane in left.by_ref() {
        match bring(plane, target, device) {
            Ok(plane) => converted.push(plane),
            Err(error) => {
                let (error, plane) = error.into_parts();
                planes.extend(converted);
                planes.extend(plane);
                planes.extend(left);
                return Err(error);
            }
        }
    }
    *planes = converted;
    AnyArray::joined(planes)
}

/// Checks that planes can be stacked, and returns their shape, dtype and places.
fn check(planes: &[AnyArray]) -> Result<([usize; 2], DType, Vec<Device>), Error> {
    let refuse = |message: String| Error::InvalidArgument { operation: "stack_slices", message };
    let mut first = None;
    let mut places = Vec::with_capacity(planes.len());
    for (index, plane) in planes.iter().enumerate() {
        let seen = plane.describe()?;
        let &[height, width] = seen.layout.shape() else {
            return Err(refuse(format!(
                "plane {index} has shape {:?}; every plane must be 2-D",
                seen.layout.shape()
            )));
        };
        let ([rows, columns], dtype) = *first.get_or_insert(([height, width], seen.dtype));
        if [rows, columns] != [height, width] {
            return Err(refuse(format!(
                "planes must have one shape; plane 0 has [{rows}, {columns}], plane {index} has [{height}, {width}]"
            )));
        }
        if dtype != seen.dtype {
            return Err(refuse(format!(
                "planes must have one dtype; plane 0 has {dtype}, plane {index} has {}; cast with `astype` first",
                seen.dtype
            )));
        }
        places.push(seen.device);
    }
    let (shape, dtype) = first.ok_or_else(|| refuse("no planes were given".into()))?;
    Ok((shape, dtype, places))
}

/// Copies planes in main memory into one host array and hands that to the target.
fn stack_on_host(
    planes: &mut [AnyArray],
    shape: [usize; 2],
    dtype: DType,
    target: Library,
    device: Device,
) -> Result<AnyArray, Error> {
    let started = record::is_observed().then(Instant::now);
    let mut whole = planes::whole(planes.len(), &shape, dtype)?;
    for (index, plane) in planes.iter_mut().enumerate() {
        let view = plane.host_view_exclusive().ok();
        let place = [planes::at(index)];
        let seen = view.map(|view| view.assign_to(&mut whole, &place)).transpose()?;
        if seen.is_none() {
            // Others may write it, or it lends no views: its library reads it.
            whole.assign(&place, &plane.download()?)?;
        }
    }
    let nbytes = whole.nbytes() / planes.len();
    let library = target.inner();
    let stacked = AnyArray::made_by(library, |out| planes::place(whole, library, device, out))?;
    if let Some(started) = started {
        let seconds = started.elapsed().as_secs_f64() / planes.len() as f64;
        for plane in planes.iter().filter(|plane| plane.library() != target) {
            let label = plane.describe().ok().and_then(|seen| seen.label);
            record::emit(&ConversionRecord {
                source_library: label.unwrap_or(plane.library().name()),
                source_device: Device::Host,
                target_library: target.name(),
                target_device: device,
                mechanism: Mechanism::HostCopy,
                copied: nbytes > 0,
                nbytes,
                seconds,
                declined: &[],
            });
        }
    }
    Ok(stacked)
}
