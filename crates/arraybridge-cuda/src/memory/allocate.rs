//! Allocation, and what is done where memory runs out.

use std::sync::Arc;

use arraybridge_core::Error;
use cudarc::driver::CudaStream;

use super::{Keeper, Memory};
use crate::CudaError;
use crate::context::Context;
use crate::driver;
use crate::library::{NAME, foreign};

/// Allocates memory for work of a stream.
///
/// Where memory runs out, all work is waited for and what is kept for reuse is given back; then it is
/// tried once more.
///
/// # Errors
/// [`Error::OutOfMemory`] with what was asked and what is free; any other failure at once.
pub(crate) fn allocate(
    context: &Arc<Context>,
    nbytes: usize,
    stream: &Arc<CudaStream>,
) -> Result<Memory, Error> {
    if nbytes == 0 {
        return Ok(Memory::new(context, 0, 0, Keeper::Nothing, stream));
    }
    let failed = |error| foreign("allocating memory", error);
    let memory = match attempt(context, nbytes, stream) {
        Err(error) if error.is_out_of_memory() => {
            context.try_release_cached().map_err(failed)?;
            attempt(context, nbytes, stream)
        }
        other => other,
    };
    match memory {
        Err(error) if error.is_out_of_memory() => {
            let available = context.bind().and_then(|bound| driver::free_bytes(&bound)).ok();
            let (device, requested) = (context.device(), Some(nbytes));
            Err(Error::OutOfMemory { library: NAME, device, requested, available })
        }
        other => other.map_err(failed),
    }
}

fn attempt(
    context: &Arc<Context>,
    nbytes: usize,
    stream: &Arc<CudaStream>,
) -> Result<Memory, CudaError> {
    let bound = context.bind()?;
    let (address, keeper) = match &context.pool {
        Some(pool) => (pool.allocate(&bound, nbytes, stream)?, Keeper::Pool),
        None => (driver::allocate(&bound, nbytes)?, Keeper::Driver),
    };
    Ok(Memory::new(context, address, nbytes, keeper, stream))
}
