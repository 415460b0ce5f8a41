//! What an array function returns: a main array, perhaps with extras, in a declared dtype.

use crate::ops::{Ops, scale};
use crate::{ArrayLibrary, DType, Error};

/// Which dtype the main output of an [`ArrayFunction`](crate::ArrayFunction) has.
///
/// A dtype that is not the output's own is reached by the output library's `scale_dtype`: floats
/// are rescaled into integers from their minimum and maximum, everything else is cast
/// ([`Ops::scale_dtype`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[non_exhaustive]
pub enum OutputDtype {
    /// The dtype of the input array.
    #[default]
    PreserveInput,
    /// Whatever the function returns.
    Native,
    /// `u8`.
    U8,
    /// `u16`.
    U16,
    /// `i16`.
    I16,
    /// `i32`.
    I32,
    /// `f32`.
    F32,
    /// `f64`.
    F64,
}

impl OutputDtype {
    /// Returns the dtype that an output is brought to for an input of this dtype; `None` where it
    /// stays as it is.
    pub fn resolve(self, input: DType) -> Option<DType> {
        match self {
            OutputDtype::PreserveInput => Some(input),
            OutputDtype::Native => None,
            OutputDtype::U8 => Some(DType::U8),
            OutputDtype::U16 => Some(DType::U16),
            OutputDtype::I16 => Some(DType::I16),
            OutputDtype::I32 => Some(DType::I32),
            OutputDtype::F32 => Some(DType::F32),
            OutputDtype::F64 => Some(DType::F64),
        }
    }

    /// Brings an output to the dtype that the policy asks for.
    pub(super) fn apply<I: ArrayLibrary, O: ArrayLibrary>(
        self,
        input: &I::Array,
        output: O::Array,
    ) -> Result<O::Array, Error> {
        if self == OutputDtype::Native {
            return Ok(output);
        }
        let wanted = self.resolve(I::INSTANCE.describe(input)?.dtype);
        match wanted {
            Some(dtype) if dtype != O::INSTANCE.describe(&output)?.dtype => {
                rescale::<O>(&output, dtype)
            }
            _ => Ok(output),
        }
    }
}

/// Rescales in the array's library, or in main memory for a library that has no operations.
fn rescale<O: ArrayLibrary>(output: &O::Array, dtype: DType) -> Result<O::Array, Error> {
    match O::scale_dtype(output, dtype) {
        Err(Error::Unsupported { .. }) => {
            let scaled = scale::scale(&O::INSTANCE.download(output)?, dtype)?;
            O::INSTANCE.upload(&scaled, O::INSTANCE.device_of(output)?)
        }
        done => done,
    }
}

/// A main array and what else a function found: what a closure returns, and what the call of its
/// function returns.
///
/// The dtype policy and stacking concern the main array alone. Run slice by slice, `extra` is the
/// list of every plane's extra, in order: every plane has one, as the type says, `Option` if not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outputs<A, X> {
    /// The array.
    pub main: A,
    /// Anything else.
    pub extra: X,
}

impl<A, X> Outputs<A, X> {
    /// Joins a main array and extras.
    pub fn new(main: A, extra: X) -> Outputs<A, X> {
        Outputs { main, extra }
    }
}

/// What an array function's closure may return: an array `A`, or [`Outputs`] with one.
#[diagnostic::on_unimplemented(
    message = "an array function returns `{A}` or `Outputs<{A}, _>`, not `{Self}`",
    note = "declare another output library with `ArrayFunction::declare`"
)]
pub trait FunctionOutput<A> {
    /// What comes besides the array.
    type Extra;

    /// The same form with another array and other extras.
    type Of<B, Y>;

    /// Returns the array and the extras.
    fn into_main_and_extra(self) -> (A, Self::Extra);

    /// Joins an array and extras in this form, which drops extras that it has no place for.
    fn join<B, Y>(main: B, extra: Y) -> Self::Of<B, Y>;
}

impl<A> FunctionOutput<A> for A {
    type Extra = ();
    type Of<B, Y> = B;

    fn into_main_and_extra(self) -> (A, ()) {
        (self, ())
    }

    fn join<B, Y>(main: B, _: Y) -> B {
        main
    }
}

impl<A, X> FunctionOutput<A> for Outputs<A, X> {
    type Extra = X;
    type Of<B, Y> = Outputs<B, Y>;

    fn into_main_and_extra(self) -> (A, X) {
        (self.main, self.extra)
    }

    fn join<B, Y>(main: B, extra: Y) -> Outputs<B, Y> {
        Outputs { main, extra }
    }
}
