//! The devices that there are, and their contexts, each opened when it is first used.

use std::sync::{Arc, Mutex, Weak};

use arraybridge_core::{Availability, Device, Error};
use cudarc::driver::CudaContext;

use crate::context::{Context, lock};
use crate::driver::{self, Bound, Missing};
use crate::library::{NAME, foreign};

/// The contexts in use: the devices' primary ones are kept for the process, a caller's own as long
/// as an array is in it.
#[derive(Default)]
struct Contexts {
    primary: Vec<(u32, Arc<Context>)>,
    others: Vec<Weak<Context>>,
}

static CONTEXTS: Mutex<Contexts> = Mutex::new(Contexts { primary: Vec::new(), others: Vec::new() });

fn reason(missing: &Missing) -> String {
    match missing {
        Missing::Library => "no NVIDIA driver was found (libcuda.so.1; nvcuda.dll on Windows); \
                             install the one for your GPU, nothing else of CUDA is needed"
            .into(),
        Missing::TooOld(how) => {
            format!("the NVIDIA driver is too old: {how}; update it to one for CUDA 11.2 or later")
        }
        Missing::NoGpu => {
            "the NVIDIA driver finds no GPU (CUDA_VISIBLE_DEVICES may hide it)".into()
        }
        Missing::Broken(error) => format!("the NVIDIA driver does not start: {error}"),
    }
}

/// Tells whether there is a driver with a GPU, loading it.
pub(crate) fn availability() -> Availability {
    match driver::device_count() {
        Ok(_) => Availability::Available,
        Err(missing @ (Missing::Library | Missing::NoGpu)) => {
            Availability::Absent { remedy: reason(missing) }
        }
        Err(missing) => Availability::Broken { cause: reason(missing) },
    }
}

/// Returns the devices: none without a driver, with one that is too old, or without a GPU.
pub(crate) fn devices() -> Result<Vec<Device>, Error> {
    match driver::device_count() {
        Ok(count) => Ok((0..count).map(Device::Accelerator).collect()),
        Err(missing @ Missing::Broken(_)) => Err(unavailable(missing)),
        Err(_) => Ok(Vec::new()),
    }
}

fn unavailable(missing: &Missing) -> Error {
    Error::LibraryUnavailable { library: NAME, cause: reason(missing) }
}

/// Returns the error of there being no device to work on.
pub(crate) fn no_device() -> Error {
    match driver::device_count() {
        Err(missing) => unavailable(missing),
        Ok(_) => Error::LibraryUnavailable { library: NAME, cause: "it has no device".into() },
    }
}

/// Returns the primary context of a device.
pub(crate) fn context(device: Device) -> Result<Arc<Context>, Error> {
    let count = driver::device_count().map_err(unavailable)?;
    match device {
        Device::Accelerator(ordinal) if ordinal < count => primary(ordinal),
        _ => Err(Error::DeviceUnavailable { library: NAME, device, available: devices()? }),
    }
}

/// Returns the primary context of the device of this number, as the driver counts; `None` if there
/// is none.
pub(crate) fn of_ordinal(ordinal: i32) -> Result<Option<Arc<Context>>, Error> {
    let count = driver::device_count().map_err(unavailable)?;
    match u32::try_from(ordinal) {
        Ok(ordinal) if ordinal < count => primary(ordinal).map(Some),
        _ => Ok(None),
    }
}

fn primary(ordinal: u32) -> Result<Arc<Context>, Error> {
    let mut contexts = lock(&CONTEXTS);
    if let Some((_, context)) = contexts.primary.iter().find(|(known, _)| *known == ordinal) {
        return Ok(Arc::clone(context));
    }
    let failed = |error| foreign("opening a device", error);
    let _thread = Bound::preserve().map_err(failed)?;
    let cuda = CudaContext::new(ordinal as usize).map_err(|error| failed(error.into()))?;
    let context = Arc::new(Context::open(cuda).map_err(failed)?);
    contexts.primary.push((ordinal, Arc::clone(&context)));
    Ok(context)
}

/// Returns what belongs to a caller's own context.
pub(crate) fn of_cuda(cuda: &Arc<CudaContext>) -> Result<Arc<Context>, Error> {
    if cuda.is_primary() {
        return primary(cuda.ordinal() as u32);
    }
    let mut contexts = lock(&CONTEXTS);
    contexts.others.retain(|known| known.strong_count() > 0);
    let mut known = contexts.others.iter().filter_map(Weak::upgrade);
    if let Some(context) = known.find(|known| known.cuda.cu_ctx() == cuda.cu_ctx()) {
        return Ok(context);
    }
    let context = Context::open(Arc::clone(cuda));
    let context = Arc::new(context.map_err(|error| foreign("using a context", error))?);
    contexts.others.push(Arc::downgrade(&context));
    Ok(context)
}

/// Returns the contexts in use, of a device or of all, without opening any.
pub(crate) fn opened(device: Option<Device>) -> Vec<Arc<Context>> {
    if !driver::is_loaded() {
        return Vec::new();
    }
    let contexts = lock(&CONTEXTS);
    let primary = contexts.primary.iter().map(|(_, context)| Arc::clone(context));
    let all = primary.chain(contexts.others.iter().filter_map(Weak::upgrade));
    all.filter(|context| device.is_none_or(|device| context.device() == device)).collect()
}
