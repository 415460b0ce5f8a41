//! Memory: addresses that mean nothing to the host, bounds, frees and order checked.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;

use crate::clock::{Clock, Moment};
use crate::state::{Answer, INVALID_VALUE, OUT_OF_MEMORY, State, setting, state};

/// The first device address. No host address has this bit: a program that takes a device address for
/// one of its own faults.
pub(crate) const TAG: u64 = 1 << 62;
/// What allocations are aligned to, and the least gap between two, in bytes.
const ALIGNMENT: usize = 512;

/// Where memory lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Plain,
    Pool(usize),
    Pinned,
    Managed,
}

/// A run of memory: live, or freed and remembered.
pub(crate) struct Allocation {
    pub(crate) size: usize,
    pub(crate) device: usize,
    pub(crate) kind: Kind,
    pub(crate) freed: bool,
    /// Where the bytes really are.
    host: usize,
    written: Option<Moment>,
    read: Vec<Moment>,
}

/// An operation that accesses memory: when it was queued, and what it knows to be done.
#[derive(Clone)]
pub(crate) struct Work {
    pub(crate) moment: Moment,
    pub(crate) clock: Clock,
    pub(crate) name: &'static str,
    pub(crate) device: usize,
}

fn layout(size: usize) -> Answer<Layout> {
    Layout::from_size_align(size, ALIGNMENT).map_err(|_| INVALID_VALUE)
}

/// Takes memory of a device, or pinned main memory, filled with a byte that is no sensible number.
pub(crate) fn take(state: &mut State, size: usize, device: usize, kind: Kind) -> Answer<u64> {
    if size == 0 {
        return Err(INVALID_VALUE);
    }
    if kind != Kind::Pinned {
        let pool = match kind {
            Kind::Pool(handle) => Some(state.pools.get_mut(&handle).ok_or(INVALID_VALUE)?),
            _ => None,
        };
        let reused = pool.as_ref().map_or(0, |pool| pool.cached.min(size));
        if state.taken[device].saturating_add(size - reused) > setting("MEMORY", 1 << 30) {
            return Err(OUT_OF_MEMORY);
        }
        if let Some(pool) = pool {
            pool.cached -= reused;
            pool.used += size;
        }
        state.taken[device] += size - reused;
    }
    // SAFETY: the size is not zero.
    let host = unsafe { alloc(layout(size)?) };
    if host.is_null() {
        return Err(OUT_OF_MEMORY);
    }
    // SAFETY: as many bytes as were just allocated.
    unsafe { host.write_bytes(0xCD, size) };
    let address = match kind {
        Kind::Pinned | Kind::Managed => host as u64,
        _ => {
            let address = state.next_address;
            state.next_address += (size.next_multiple_of(ALIGNMENT) + ALIGNMENT) as u64;
            address
        }
    };
    let host = host as usize;
    let allocation =
        Allocation { size, device, kind, freed: false, host, written: None, read: Vec::new() };
    state.allocations.insert(address, allocation);
    Ok(address)
}

/// Frees memory. `work` is the operation that frees it in a stream's order.
pub(crate) fn give(state: &mut State, address: u64, work: Option<&Work>) -> Answer {
    let live = state.allocations.get(&address).is_some_and(|allocation| !allocation.freed);
    if !live {
        state.violate(format!("{address:#x} is freed, and is not the start of live memory"));
        return Err(INVALID_VALUE);
    }
    if let Some(work) = work {
        // A free conflicts with every earlier use.
        access(state, address, 1, true, work);
    }
    let Some(allocation) = state.allocations.get_mut(&address) else { return Err(INVALID_VALUE) };
    let (size, device, kind) = (allocation.size, allocation.device, allocation.kind);
    allocation.freed = true;
    let host = allocation.host as *mut u8;
    if matches!(kind, Kind::Pinned | Kind::Managed) {
        // Addresses of the host may come again.
        state.allocations.remove(&address);
    }
    // SAFETY: taken above with this size, and freed once: it was live.
    unsafe { host.write_bytes(0xDD, size) };
    // SAFETY: as above, with the same layout.
    unsafe { dealloc(host, layout(size)?) };
    match kind {
        Kind::Pool(handle) => {
            if let Some(pool) = state.pools.get_mut(&handle) {
                pool.cached += size;
                pool.used -= size;
            }
        }
        Kind::Pinned => {}
        _ => state.taken[device] -= size,
    }
    FREES.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    Ok(())
}

/// Gives back what a pool keeps beyond `keep` bytes.
pub(crate) fn trim(state: &mut State, handle: usize, keep: usize) -> Answer {
    let pool = state.pools.get_mut(&handle).ok_or(INVALID_VALUE)?;
    let freed = pool.cached - pool.cached.min(keep.saturating_sub(pool.used));
    pool.cached -= freed;
    let device = pool.device;
    state.taken[device] -= freed;
    Ok(())
}

/// Returns the allocation, dead or alive, that an address lies in, and its start.
pub(crate) fn find(state: &State, address: u64) -> Option<(u64, &Allocation)> {
    let (&start, allocation) = state.allocations.range(..=address).next_back()?;
    (address - start < allocation.size as u64).then_some((start, allocation))
}

/// Returns whether these bytes are live memory that the driver gave.
pub(crate) fn is_live(state: &State, address: u64, size: usize) -> bool {
    find(state, address).is_some_and(|(start, allocation)| {
        let offset = (address - start) as usize;
        !allocation.freed && size <= allocation.size - offset
    })
}

/// Checks an access and returns where the bytes really are; `None` after a violation.
pub(crate) fn access(
    state: &mut State,
    address: u64,
    size: usize,
    write: bool,
    work: &Work,
) -> Option<*mut u8> {
    let verb = if write { "writes" } else { "reads" };
    let name = work.name;
    let Some((start, allocation)) = find(state, address) else {
        state.violate(format!("{name} {verb} {size} bytes at {address:#x}, outside of all memory"));
        return None;
    };
    let offset = (address - start) as usize;
    if allocation.freed {
        state.violate(format!("{name} {verb} {size} bytes at {address:#x}, which was freed"));
        return None;
    }
    if size > allocation.size - offset {
        let end = allocation.size;
        state.violate(format!(
            "{name} {verb} {size} bytes at offset {offset} of memory of {end}: out of bounds"
        ));
        return None;
    }
    if allocation.kind != Kind::Managed
        && allocation.kind != Kind::Pinned
        && allocation.device != work.device
        && name != "a peer copy"
    {
        let there = allocation.device;
        state.violate(format!("{name} on device {} {verb} memory of device {there}", work.device));
        return None;
    }
    let unordered = |moment: &Moment| !work.clock.covers(*moment);
    let early = allocation.written.filter(unordered);
    let overtaken = if write { allocation.read.iter().copied().find(unordered) } else { None };
    for (moment, what) in [(early, "written"), (overtaken, "read")] {
        if let Some(moment) = moment {
            state.violate(format!(
                "{name} on stream {} {verb} memory that stream {} {what}, without waiting for it",
                work.moment.stream, moment.stream
            ));
        }
    }
    let allocation = state.allocations.get_mut(&start)?;
    if write {
        allocation.written = Some(work.moment);
        allocation.read.clear();
    } else if !allocation.read.contains(&work.moment) {
        allocation.read.retain(|moment| moment.stream != work.moment.stream);
        allocation.read.push(work.moment);
    }
    Some((allocation.host + offset) as *mut u8)
}

/// How often memory was freed: what a kernel remembered of memory is forgotten then.
static FREES: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// Memory that a kernel found to be in order.
#[derive(Clone, Copy, Default)]
struct Known {
    start: u64,
    end: u64,
    host: usize,
    write: bool,
}

thread_local! {
    static EPOCH: Cell<u64> = const { Cell::new(0) };
    static KNOWN: Cell<[Known; 4]> = const { Cell::new([Known { start: 0, end: 0, host: 0, write: false }; 4]) };
    static NEXT: Cell<usize> = const { Cell::new(0) };
    static WORK: std::cell::RefCell<Option<Work>> = const { std::cell::RefCell::new(None) };
    /// Where a kernel reads and writes after a violation.
    static NOWHERE: std::cell::UnsafeCell<[u64; 4]> = const { std::cell::UnsafeCell::new([0; 4]) };
}

/// Runs a kernel as this operation: its accesses are checked against it.
pub(crate) fn as_work(work: &Work, run: impl FnOnce()) {
    KNOWN.set([Known::default(); 4]);
    WORK.set(Some(work.clone()));
    run();
    WORK.set(None);
}

/// Where the bytes of a kernel's access really are.
pub(crate) fn kernel_access(address: u64, size: usize, write: bool) -> *mut u8 {
    let frees = FREES.load(std::sync::atomic::Ordering::SeqCst);
    if EPOCH.replace(frees) != frees {
        KNOWN.set([Known::default(); 4]);
    }
    let end = address.wrapping_add(size as u64);
    let known = KNOWN.get();
    let inside =
        |known: &&Known| known.start <= address && end <= known.end && (known.write || !write);
    if let Some(known) = known.iter().find(inside) {
        return (known.host + (address - known.start) as usize) as *mut u8;
    }
    let found = WORK.with_borrow(|work| {
        let work = work.as_ref()?;
        let mut state = state();
        let host = access(&mut state, address, size, write, work)?;
        let (start, allocation) = find(&state, address)?;
        let whole =
            Known { start, end: start + allocation.size as u64, host: allocation.host, write };
        let place = NEXT.get();
        let mut known = KNOWN.get();
        known[place % 4] = whole;
        KNOWN.set(known);
        NEXT.set(place + 1);
        Some(host)
    });
    found.unwrap_or_else(|| NOWHERE.with(|nowhere| nowhere.get().cast()))
}
