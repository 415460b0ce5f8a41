//! The driver's entry points, as C sees them.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::memory::{self, Kind, Work};
use crate::state::{
    Answer, CURRENT, INVALID_DEVICE, INVALID_HANDLE, INVALID_VALUE, NO_DEVICE, NOT_READY,
    NOT_SUPPORTED, Pool, SUCCESS, current, device_count, enter, setting, state,
};
use crate::stream::{Event, Stream, event, stream, synchronize_device};

/// Writes a result where the caller asked for it.
fn put<T>(target: *mut T, value: T) -> Answer {
    if target.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the driver's API asks callers for room for a result of this type.
    unsafe { target.write_unaligned(value) };
    Ok(())
}

/// Copies bytes between places that were found to be in order.
fn copy(from: usize, to: usize, size: usize) {
    // SAFETY: both were checked to have that many bytes, or are the caller's, who says so.
    unsafe { std::ptr::copy(from as *const u8, to as *mut u8, size) };
}

/// Defines entry points: each is counted and can be told to fail.
macro_rules! entry_points {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $body:block)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $type),*) -> u32 {
            let body = || -> Answer { $body };
            match enter(stringify!($name)).and_then(|()| body()) {
                Ok(()) => SUCCESS,
                Err(code) => code,
            }
        }
    )*};
}

#[unsafe(no_mangle)]
extern "C" fn cuInit(_: c_uint) -> u32 {
    let told = setting("INIT", 0) as u32;
    if told != SUCCESS {
        return told;
    }
    if device_count() == 0 {
        return NO_DEVICE;
    }
    let mut state = state();
    state.initialized = true;
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuDriverGetVersion(version: *mut c_int) -> u32 {
    put(version, setting("VERSION", 12000) as c_int).err().unwrap_or(SUCCESS)
}

fn device(ordinal: c_int) -> Answer<usize> {
    usize::try_from(ordinal).ok().filter(|device| *device < device_count()).ok_or(INVALID_DEVICE)
}

entry_points! {
    fn cuDeviceGetCount(count: *mut c_int) { put(count, device_count() as c_int) }
    fn cuDeviceGet(out: *mut c_int, ordinal: c_int) { device(ordinal)?; put(out, ordinal) }
    fn cuDeviceGetName(name: *mut c_char, length: c_int, ordinal: c_int) {
        device(ordinal)?;
        let text = c"Stand-in";
        if (length as usize) < text.count_bytes() + 1 { return Err(INVALID_VALUE); }
        copy(text.as_ptr() as usize, name as usize, text.count_bytes() + 1);
        Ok(())
    }
    fn cuDeviceTotalMem_v2(bytes: *mut usize, ordinal: c_int) {
        device(ordinal)?;
        put(bytes, setting("MEMORY", 1 << 30))
    }
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, ordinal: c_int) {
        device(ordinal)?;
        put(value, match attribute {
            75 => 7,
            76 => 5,
            // CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED
            115 => setting("POOLS", 1) as c_int,
            _ => 1,
        })
    }
    fn cuDeviceCanAccessPeer(can: *mut c_int, one: c_int, other: c_int) {
        device(one)?;
        device(other)?;
        put(can, c_int::from(one != other && setting("PEER", 1) == 1))
    }
    fn cuDevicePrimaryCtxRetain(context: *mut usize, ordinal: c_int) {
        put(context, device(ordinal)? + 1)
    }
    fn cuDevicePrimaryCtxRelease_v2(ordinal: c_int) { device(ordinal).map(drop) }
    fn cuCtxCreate_v2(context: *mut usize, _flags: c_uint, ordinal: c_int) {
        let device = device(ordinal)?;
        let handle = {
            let mut state = state();
            let handle = state.handle();
            state.contexts.insert(handle, device);
            handle
        };
        CURRENT.set(handle);
        put(context, handle)
    }
    fn cuCtxCreate_v3(context: *mut usize, _affinity: usize, _count: c_int, flags: c_uint, ordinal: c_int) {
        match cuCtxCreate_v2(context, flags, ordinal) { SUCCESS => Ok(()), code => Err(code) }
    }
    fn cuCtxDestroy_v2(context: usize) {
        if CURRENT.get() == context { CURRENT.set(0); }
        state().contexts.remove(&context).map(drop).ok_or(INVALID_HANDLE)
    }
    fn cuCtxGetCurrent(context: *mut usize) { put(context, CURRENT.get()) }
    fn cuCtxSetCurrent(context: usize) { CURRENT.set(context); Ok(()) }
    fn cuCtxSynchronize() { synchronize_device(current()?); Ok(()) }

    fn cuMemAlloc_v2(address: *mut u64, size: usize) {
        let device = current()?;
        let taken = memory::take(&mut state(), size, device, Kind::Plain)?;
        put(address, taken)
    }
    fn cuMemAllocManaged(address: *mut u64, size: usize, _flags: c_uint) {
        let device = current()?;
        let taken = memory::take(&mut state(), size, device, Kind::Managed)?;
        put(address, taken)
    }
    fn cuMemFree_v2(address: u64) {
        if address == 0 { return Ok(()); }
        synchronize_device(current()?);
        memory::give(&mut state(), address, None)
    }
    fn cuMemHostAlloc(address: *mut u64, size: usize, _flags: c_uint) {
        let device = current()?;
        let taken = memory::take(&mut state(), size, device, Kind::Pinned)?;
        put(address, taken)
    }
    fn cuMemFreeHost(address: u64) { memory::give(&mut state(), address, None) }
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        let device = current()?;
        let limit = setting("MEMORY", 1 << 30);
        let taken = state().taken[device];
        put(free, limit.saturating_sub(taken))?;
        put(total, limit)
    }
    fn cuMemPoolCreate(pool: *mut usize, properties: *const c_int) {
        if setting("POOLS", 1) == 0 { return Err(NOT_SUPPORTED); }
        // Of `CUmemPoolProps`: allocation type, handle types, location type, location id.
        let id = properties.wrapping_add(3);
        // SAFETY: the caller gives the whole structure.
        let device = device(unsafe { id.read() })?;
        let mut state = state();
        let handle = state.handle();
        state.pools.insert(handle, Pool { device, threshold: 0, cached: 0, used: 0 });
        put(pool, handle)
    }
    fn cuMemPoolDestroy(pool: usize) {
        let mut state = state();
        memory::trim(&mut state, pool, 0)?;
        state.pools.remove(&pool);
        Ok(())
    }
    fn cuDeviceGetDefaultMemPool(pool: *mut usize, ordinal: c_int) {
        let device = device(ordinal)?;
        state().pools.entry(device + 1).or_insert(Pool { device, threshold: 0, cached: 0, used: 0 });
        put(pool, device + 1)
    }
    fn cuMemPoolTrimTo(pool: usize, keep: usize) { memory::trim(&mut state(), pool, keep) }
    fn cuMemPoolSetAttribute(pool: usize, attribute: c_int, value: *const u64) {
        // SAFETY: the caller gives a value of the attribute's type.
        let value = unsafe { value.read() };
        let mut state = state();
        let pool = state.pools.get_mut(&pool).ok_or(INVALID_VALUE)?;
        if attribute == 4 { pool.threshold = value; }
        Ok(())
    }
    fn cuMemPoolGetAttribute(pool: usize, attribute: c_int, value: *mut u64) {
        let state = state();
        let pool = state.pools.get(&pool).ok_or(INVALID_VALUE)?;
        put(value, match attribute {
            4 => pool.threshold,
            5 => (pool.used + pool.cached) as u64,
            7 => pool.used as u64,
            _ => return Err(INVALID_VALUE),
        })
    }
    fn cuMemAllocAsync(address: *mut u64, size: usize, queue: usize) {
        let device = stream(queue)?.device;
        let mut pool = 0;
        cuDeviceGetDefaultMemPool(&mut pool, device as c_int);
        let taken = memory::take(&mut state(), size, device, Kind::Pool(pool))?;
        put(address, taken)
    }
    fn cuMemAllocFromPoolAsync(address: *mut u64, size: usize, pool: usize, queue: usize) {
        let device = stream(queue)?.device;
        let taken = memory::take(&mut state(), size, device, Kind::Pool(pool))?;
        put(address, taken)
    }
    fn cuMemFreeAsync(address: u64, queue: usize) {
        if !memory::is_live(&state(), address, 1) {
            return memory::give(&mut state(), address, None);
        }
        stream(queue)?.queue("a free", move |work| {
            let _ = memory::give(&mut state(), address, Some(work));
        });
        Ok(())
    }
    fn cuPointerGetAttribute(value: *mut c_void, attribute: c_int, address: u64) {
        let state = state();
        let (start, found) = memory::find(&state, address).ok_or(INVALID_VALUE)?;
        if found.freed { return Err(INVALID_VALUE); }
        let is_host = found.kind == Kind::Pinned;
        match attribute {
            // The memory type: host or device.
            2 => put(value.cast::<c_uint>(), if is_host { 1 } else { 2 }),
            8 => put(value.cast::<c_uint>(), u32::from(found.kind == Kind::Managed)),
            9 => put(value.cast::<c_int>(), found.device as c_int),
            11 => put(value.cast::<u64>(), start),
            12 => put(value.cast::<usize>(), found.size),
            _ => Err(INVALID_VALUE),
        }
    }
    fn cuMemcpyHtoDAsync_v2(to: u64, from: usize, size: usize, queue: usize) {
        bounds(to, size)?;
        let pinned = memory::is_live(&state(), from as u64, size);
        // What is not pinned is taken at once, as a real driver stages it.
        let staged: Vec<u8> = if pinned { Vec::new() } else { bytes(from, size).to_vec() };
        stream(queue)?.queue("an upload", move |work| {
            let source = if pinned { checked(from as u64, size, false, work) } else { Some(staged.as_ptr() as usize) };
            if let (Some(source), Some(target)) = (source, checked(to, size, true, work)) {
                copy(source, target, size);
            }
        });
        Ok(())
    }
    fn cuMemcpyDtoHAsync_v2(to: usize, from: u64, size: usize, queue: usize) {
        bounds(from, size)?;
        let pinned = memory::is_live(&state(), to as u64, size);
        let queue = stream(queue)?;
        queue.queue("a download", move |work| {
            let target = if pinned { checked(to as u64, size, true, work) } else { Some(to) };
            if let (Some(source), Some(target)) = (checked(from, size, false, work), target) {
                copy(source, target, size);
            }
        });
        if !pinned { queue.synchronize(); }
        Ok(())
    }
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, size: usize, queue: usize) {
        bounds(from, size)?;
        bounds(to, size)?;
        stream(queue)?.queue("a copy", move |work| on_device(to, from, size, work));
        Ok(())
    }
    fn cuMemcpyPeerAsync(to: u64, _there: usize, from: u64, _here: usize, size: usize, queue: usize) {
        bounds(from, size)?;
        bounds(to, size)?;
        stream(queue)?.queue("a peer copy", move |work| on_device(to, from, size, work));
        Ok(())
    }
    fn cuMemsetD8Async(to: u64, value: u8, size: usize, queue: usize) {
        bounds(to, size)?;
        stream(queue)?.queue("a fill", move |work| {
            if let Some(target) = checked(to, size, true, work) {
                // SAFETY: `checked` found that many bytes.
                unsafe { (target as *mut u8).write_bytes(value, size) };
            }
        });
        Ok(())
    }

    fn cuStreamCreate(out: *mut usize, flags: c_uint) {
        put(out, crate::stream::create(current()?, flags & 1 == 0))
    }
    fn cuStreamCreateWithPriority(out: *mut usize, flags: c_uint, _priority: c_int) {
        put(out, crate::stream::create(current()?, flags & 1 == 0))
    }
    fn cuStreamDestroy_v2(queue: usize) {
        state().streams.remove(&queue).map(drop).ok_or(INVALID_HANDLE)
    }
    fn cuStreamSynchronize(queue: usize) { stream(queue)?.synchronize(); Ok(()) }
    fn cuStreamWaitEvent(queue: usize, point: usize, _flags: c_uint) {
        stream(queue)?.wait(&event(point)?);
        Ok(())
    }
    fn cuEventCreate(out: *mut usize, _flags: c_uint) {
        let device = current()?;
        let mut state = state();
        let handle = state.handle();
        state.events.insert(handle, Event::new(device));
        put(out, handle)
    }
    fn cuEventDestroy_v2(point: usize) {
        state().events.remove(&point).map(drop).ok_or(INVALID_HANDLE)
    }
    fn cuEventRecord(point: usize, queue: usize) {
        let (event, stream) = (event(point)?, stream(queue)?);
        same_device("an event", event.device, &stream)?;
        event.record(&stream);
        Ok(())
    }
    fn cuEventSynchronize(point: usize) { event(point)?.synchronize(); Ok(()) }
    fn cuEventQuery(point: usize) {
        if event(point)?.is_done() { Ok(()) } else { Err(NOT_READY) }
    }
    fn cuEventElapsedTime(milliseconds: *mut f32, start: usize, end: usize) {
        let (start, end) = (event(start)?.time(), event(end)?.time());
        let (start, end) = start.zip(end).ok_or(NOT_READY)?;
        put(milliseconds, end.saturating_duration_since(start).as_secs_f32() * 1e3)
    }

    fn cuModuleLoadData(out: *mut usize, image: *const c_char) {
        let module = crate::module::load(image, current()?)?;
        let mut state = state();
        let handle = state.handle();
        state.modules.insert(handle, module);
        put(out, handle)
    }
    fn cuModuleUnload(module: usize) {
        state().modules.remove(&module).map(drop).ok_or(INVALID_HANDLE)
    }
    fn cuModuleGetFunction(out: *mut usize, module: usize, name: *const c_char) {
        put(out, crate::module::function(module, name)?)
    }
    fn cuFuncGetAttribute(value: *mut c_int, _attribute: c_int, _function: usize) {
        put(value, 1024)
    }
    fn cuLaunchKernel(
        function: usize, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint,
        _shared: c_uint, queue: usize, parameters: *const *const u8, _extra: usize
    ) {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        crate::module::launch(function, grid, block, &*stream(queue)?, parameters)
    }
}

/// Refuses an address range that is not live memory, as a driver does when it is asked to copy.
fn bounds(address: u64, size: usize) -> Answer {
    let mut state = state();
    if memory::is_live(&state, address, size) {
        return Ok(());
    }
    state.violate(format!("a copy of {size} bytes at {address:#x}, which is not all live memory"));
    Err(INVALID_VALUE)
}

/// Refuses what was made in another device's context than the stream's, as a driver does.
pub(crate) fn same_device(what: &str, device: usize, stream: &Stream) -> Answer {
    if device == stream.device {
        return Ok(());
    }
    state().violate(format!("{what} of device {device} on a stream of device {}", stream.device));
    Err(INVALID_HANDLE)
}

fn bytes<'a>(address: usize, size: usize) -> &'a [u8] {
    // SAFETY: the caller of the copy says that there are so many bytes; they are copied at once.
    unsafe { std::slice::from_raw_parts(address as *const u8, size) }
}

fn checked(address: u64, size: usize, write: bool, work: &Work) -> Option<usize> {
    memory::access(&mut state(), address, size, write, work).map(|host| host as usize)
}

fn on_device(to: u64, from: u64, size: usize, work: &Work) {
    if let (Some(source), Some(target)) =
        (checked(from, size, false, work), checked(to, size, true, work))
    {
        copy(source, target, size);
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuGetErrorName(_: c_uint, name: *mut *const c_char) -> u32 {
    put(name, c"an error of the stand-in".as_ptr()).err().unwrap_or(SUCCESS)
}

#[unsafe(no_mangle)]
extern "C" fn cuGetErrorString(_: c_uint, text: *mut *const c_char) -> u32 {
    put(text, c"an error of the stand-in".as_ptr()).err().unwrap_or(SUCCESS)
}
