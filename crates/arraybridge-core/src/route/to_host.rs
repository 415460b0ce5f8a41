//! Reading any array as a host array, and making one of it: the two halves of a host copy, recorded
//! like conversions.

use std::any::Any;
use std::time::Instant;

use super::Mechanism;
use crate::library::DynArrayLibrary;
use crate::record::{self, ConversionRecord};
use crate::{Device, Error, HOST, HostArray, host};

/// Reads an array to the host.
pub(crate) fn to_host(
    source: &'static dyn DynArrayLibrary,
    array: &dyn Any,
) -> Result<HostArray, Error> {
    let started = record::is_observed().then(Instant::now);
    let host = source.download(array)?;
    if let Some(started) = started {
        // Being observed changes no outcome: an array that is not described is recorded as copied.
        let seen = source.describe(array);
        let name = source.name();
        let (library, device, address) = seen.map_or((name, HOST, 0), |seen| {
            (seen.label.unwrap_or(name), seen.device, seen.address)
        });
        let side = Side { library, device };
        emit(side, Side::HOST, address == host.address(), &host, started);
    }
    Ok(host)
}

/// Fills `out` with an array of `target` on `device`.
pub(crate) fn from_host(
    host: &HostArray,
    target: &'static dyn DynArrayLibrary,
    device: Device,
    out: &mut dyn Any,
) -> Result<(), Error> {
    target.require_device(device)?;
    let started = record::is_observed().then(Instant::now);
    target.upload(host, device, out)?;
    if let Some(started) = started {
        let made = target.describe(&*out);
        let name = target.name();
        let (library, device, address) = made.map_or((name, device, 0), |made| {
            (made.label.unwrap_or(name), made.device, made.address)
        });
        let side = Side { library, device };
        emit(Side::HOST, side, address == host.address(), host, started);
    }
    Ok(())
}

struct Side {
    library: &'static str,
    device: Device,
}

impl Side {
    const HOST: Side = Side { library: host::LIBRARY, device: HOST };
}

fn emit(from: Side, to: Side, same_address: bool, host: &HostArray, started: Instant) {
    let shared = same_address && !host.is_empty();
    record::emit(&ConversionRecord {
        source_library: from.library,
        source_device: from.device,
        target_library: to.library,
        target_device: to.device,
        mechanism: if shared { Mechanism::SharedHostBuffer } else { Mechanism::HostCopy },
        copied: !shared && !host.is_empty(),
        nbytes: host.nbytes(),
        seconds: started.elapsed().as_secs_f64(),
        declined: &[],
    });
}
