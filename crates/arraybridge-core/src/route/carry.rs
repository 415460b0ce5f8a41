//! Carrying one array: the routes in turn, the truth about what was done, the record.

use std::any::Any;
use std::time::Instant;

use smallvec::SmallVec;

use super::{Carry, CopyPolicy, Journey, Mechanism, Passage, Route};
use crate::library::{DynArrayLibrary, Second};
use crate::record::{self, ConversionRecord};
use crate::{Decline, DeclineReason, Description, Device, Error, Obstacle};

type Declined = SmallVec<[(Mechanism, Decline); 2]>;

/// What became of the two slots.
pub(crate) enum Outcome {
    /// The array is already what was asked for and still in the source slot.
    Stays,
    /// The source slot is empty and the target slot filled.
    Carried,
}

/// Carries the array in `slot` to `target` on `to`.
///
/// On an error the array is back in its slot, unless the target's runtime keeps hold of its memory.
pub(crate) fn carry(
    source: &'static dyn DynArrayLibrary,
    slot: &mut dyn Any,
    target: &'static dyn DynArrayLibrary,
    to: Device,
    policy: CopyPolicy,
    out: &mut dyn Any,
) -> Result<Outcome, Error> {
    let started = record::is_observed().then(Instant::now);
    let passage = Passage { source, target, to, policy, started };
    let seen = Seen::of(&passage, &*slot)?;
    if source.library_type() == target.library_type() && seen.device == to {
        return Ok(Outcome::Stays);
    }
    target.require_device(to)?;
    try_routes(&passage, &seen, Source::Slot(slot), false, out).map(|()| Outcome::Carried)
}

/// Fills `out` with `array` on `target` and `to`; the array stays as it was, and shares memory with
/// the result only where neither is ever written.
pub(crate) fn carry_by_reference(
    source: &'static dyn DynArrayLibrary,
    array: &dyn Any,
    target: &'static dyn DynArrayLibrary,
    to: Device,
    policy: CopyPolicy,
    out: &mut dyn Any,
) -> Result<(), Error> {
    let started = record::is_observed().then(Instant::now);
    let passage = Passage { source, target, to, policy, started };
    let seen = Seen::of(&passage, array)?;
    let same = source.library_type() == target.library_type() && seen.device == to;
    if !same {
        target.require_device(to)?;
    }
    let planned = journey(&passage, seen.device).routes().next();
    if !same && planned.is_some_and(|route| matches!(route.carry, Carry::Reading(_))) {
        return try_routes(&passage, &seen, Source::Borrowed(array), false, out);
    }
    if policy == CopyPolicy::Never && !seen.is_empty() && !source.shares() {
        return Err(would_copy(&passage, Mechanism::HostCopy, Declined::new()));
    }
    if same {
        if source.second(array, out)? == Second::Copied {
            let (copied, nbytes) = (!seen.is_empty(), seen.nbytes());
            let made = Made { copied, device: to, nbytes, label: seen.label() };
            emit(&passage, &seen, Mechanism::StaysInPlace, made, &[]);
        }
        return Ok(());
    }
    let mut own = source.empty_slot();
    let copied = source.second(array, &mut *own)? == Second::Copied;
    try_routes(&passage, &seen, Source::Slot(&mut *own), copied, out)
}

/// What is known of the array before it is carried.
struct Seen {
    device: Device,
    /// Only where records or checks need it: it costs as much as a short conversion.
    told: Option<Description>,
}

impl Seen {
    fn of(passage: &Passage, array: &dyn Any) -> Result<Seen, Error> {
        if passage.is_checked() {
            match passage.source.describe(array) {
                Ok(told) => return Ok(Seen { device: told.device, told: Some(told) }),
                // Being observed changes no outcome.
                Err(_) if passage.policy == CopyPolicy::Allow => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Seen { device: passage.source.device_of(array)?, told: None })
    }

    /// Returns whether the array is known to have no elements.
    fn is_empty(&self) -> bool {
        self.told.as_ref().is_some_and(|told| told.layout.is_empty())
    }

    /// Returns the size of the elements in bytes, 0 if it is not known.
    fn nbytes(&self) -> usize {
        self.told.as_ref().map_or(0, Description::nbytes)
    }

    /// Returns the address, 0 if it is not known.
    fn address(&self) -> usize {
        self.told.as_ref().map_or(0, |told| told.address)
    }

    fn label(&self) -> Option<&'static str> {
        self.told.as_ref().and_then(|told| told.label)
    }
}

impl Passage {
    /// Returns whether it matters where the elements lie before and after.
    fn is_checked(&self) -> bool {
        self.started.is_some() || self.policy == CopyPolicy::Never
    }
}

/// The array to carry: in a slot from which it may be taken, or only to be read.
enum Source<'a> {
    Slot(&'a mut dyn Any),
    Borrowed(&'a dyn Any),
}

fn journey(passage: &Passage, from: Device) -> Journey {
    Journey {
        same_library: passage.source.library_type() == passage.target.library_type(),
        source: passage.source.declaration(),
        from,
        target: passage.target.declaration(),
        to: passage.to,
    }
}

/// Tries the routes that apply, in order. `copied` says that elements were copied already.
fn try_routes(
    passage: &Passage,
    seen: &Seen,
    mut source: Source<'_>,
    copied: bool,
    out: &mut dyn Any,
) -> Result<(), Error> {
    let mut declined = Declined::new();
    for route in journey(passage, seen.device).routes() {
        let refused = passage.policy == CopyPolicy::Never && route.mechanism.copies();
        if refused && !seen.is_empty() {
            return Err(would_copy(passage, route.mechanism, declined));
        }
        let carried = match (&route.carry, &mut source) {
            (Carry::Reading(carry), Source::Slot(slot)) => carry(passage, &**slot, out),
            (Carry::Reading(carry), Source::Borrowed(array)) => carry(passage, *array, out),
            (Carry::Taking(carry), Source::Slot(slot)) => carry(passage, &mut **slot, out),
            (Carry::Taking(_), Source::Borrowed(_)) | (Carry::Nothing, _) => continue,
        };
        match carried {
            Ok(carried) => {
                let done = Done { route, copied: copied || carried.copied, declined };
                let checked = finish(passage, seen, done, out);
                if let (Err(_), Source::Slot(slot)) = (&checked, &mut source) {
                    carried.keep.give_back(passage, &mut **slot, out)?;
                }
                return checked;
            }
            Err(Obstacle::Declined(decline)) => {
                declined.push((route.mechanism, decline));
                if let Source::Slot(slot) = &source
                    && !passage.source.is_filled(&**slot)
                {
                    return Err(kept(passage, route.mechanism, decline));
                }
            }
            Err(Obstacle::Failed(error)) => return Err(error),
        }
    }
    // The last route always applies, so only its own decline leads here.
    Err(Error::Unsupported {
        library: passage.target.name(),
        operation: "this conversion",
        remedy: "every route declined; convert to ndarray on the host first",
    })
}

/// The error of an exchange that declined an array and did not let go of its memory, so that no
/// other route has anything to carry.
fn kept(passage: &Passage, mechanism: Mechanism, decline: Decline) -> Error {
    Error::Shared {
        operation: "giving an array back",
        message: format!(
            "{mechanism} from {} to {} declined it ({decline}), and one of them still holds its \
             memory; report this to the author of that backend",
            passage.source.name(),
            passage.target.name()
        ),
    }
}

/// What a route did, before it is checked.
struct Done {
    route: &'static Route,
    copied: bool,
    declined: Declined,
}

fn would_copy(passage: &Passage, mechanism: Mechanism, declined: Declined) -> Error {
    Error::WouldCopy {
        source_library: passage.source.name(),
        target_library: passage.target.name(),
        device: passage.to,
        mechanism,
        declined: declined.into_vec(),
    }
}

/// Compares addresses, so that sharing is claimed only where it is so, and writes the record.
fn finish(passage: &Passage, seen: &Seen, done: Done, out: &mut dyn Any) -> Result<(), Error> {
    let Done { route, copied, mut declined } = done;
    if !passage.is_checked() {
        return Ok(());
    }
    let empty = seen.is_empty();
    let (address, device, nbytes, label) = match passage.target.describe(&*out) {
        Ok(made) => (made.address, made.device, made.nbytes(), made.label),
        // Being observed changes no outcome. What is not proven to be shared counts as copied.
        Err(_) if passage.policy == CopyPolicy::Allow => (0, passage.to, seen.nbytes(), None),
        Err(error) => return Err(error),
    };
    // An address of 0 is one that a library does not tell.
    let shared = address == seen.address() && address != 0 && !empty && !copied;
    let mut mechanism = route.mechanism;
    if shared && mechanism == Mechanism::HostCopy {
        mechanism = Mechanism::SharedHostBuffer;
    } else if !mechanism.copies() && !copied && !shared {
        // The target copied after all. In main memory that is a host copy by its nature.
        if seen.device.is_host() || mechanism == Mechanism::SharedHostBuffer {
            if !empty {
                let note = match address {
                    0 => "the target does not tell its address",
                    _ => "the target copied: addresses differ",
                };
                declined.push((mechanism, Decline::new(DeclineReason::Alignment).note(note)));
            }
            mechanism = Mechanism::HostCopy;
        }
    }
    if passage.policy == CopyPolicy::Never && !shared && !empty {
        return Err(would_copy(passage, mechanism, declined));
    }
    let made = Made { copied: !shared && !empty, device, nbytes, label };
    emit(passage, seen, mechanism, made, &declined);
    Ok(())
}

/// What is known of the array that a conversion made.
struct Made {
    copied: bool,
    device: Device,
    nbytes: usize,
    label: Option<&'static str>,
}

/// Writes the record, if somebody observes.
fn emit(
    passage: &Passage,
    seen: &Seen,
    mechanism: Mechanism,
    made: Made,
    declined: &[(Mechanism, Decline)],
) {
    let Some(started) = passage.started else { return };
    record::emit(&ConversionRecord {
        source_library: seen.label().unwrap_or(passage.source.name()),
        source_device: seen.device,
        target_library: made.label.unwrap_or(passage.target.name()),
        target_device: made.device,
        mechanism,
        copied: made.copied,
        nbytes: made.nbytes,
        seconds: started.elapsed().as_secs_f64(),
        declined,
    });
}
