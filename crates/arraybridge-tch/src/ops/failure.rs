//! What an operation fails with.

use arraybridge_core::Error;
use tch::{TchError, Tensor};

use crate::exchange::failed;
use crate::torch::{Seen, TorchError};

/// A failure of torch's, or an error of core's that is passed on as it is.
pub(super) enum Failure {
    Torch(TorchError),
    Core(Error),
}

impl From<TorchError> for Failure {
    fn from(error: TorchError) -> Failure {
        Failure::Torch(error)
    }
}

impl From<TchError> for Failure {
    fn from(error: TchError) -> Failure {
        Failure::Torch(error.into())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Core(error)
    }
}

/// Runs an operation on a tensor's device, and names what it fails with.
pub(super) fn run(
    operation: &'static str,
    seen: &Seen,
    steps: impl FnOnce() -> Result<Tensor, Failure>,
) -> Result<Tensor, Error> {
    steps().map_err(|failure| match failure {
        Failure::Torch(error) => failed(operation, seen.device, None, error),
        Failure::Core(error) => error,
    })
}
