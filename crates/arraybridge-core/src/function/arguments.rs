//! What an array function is called with: an input array or payload, and further arguments.

use std::any::Any;

use crate::{AnyArray, ArrayLibrary, ArrayPayload, DType, Device, Error};

/// The input of an array function: an array `A`, or a payload around one, whose context then
/// stays around the output.
#[diagnostic::on_unimplemented(
    message = "the input of this array function is `&{A}` or a payload around one, not `&{Self}`",
    note = "make the library's array of a native one first: `NativeArray::into_library`"
)]
pub trait FunctionInput<A> {
    /// The same container around another array.
    type With<B>;

    /// Borrows the array.
    fn array(&self) -> &A;

    /// Puts the context around another array.
    fn with_array<B>(&self, array: B) -> Self::With<B>;
}

impl<A> FunctionInput<A> for A {
    type With<B> = B;

    fn array(&self) -> &A {
        self
    }

    fn with_array<B>(&self, array: B) -> B {
        array
    }
}

impl<A, C: Clone> FunctionInput<A> for ArrayPayload<A, C> {
    type With<B> = ArrayPayload<B, C>;

    fn array(&self) -> &A {
        self.array()
    }

    fn with_array<B>(&self, array: B) -> ArrayPayload<B, C> {
        ArrayPayload::new(array, self.context().clone())
    }
}

/// Arguments of an array function besides its input: handed over again for every plane and every
/// retry, so arrays go by reference.
///
/// Implemented for references, slices of values, numbers, texts, and for `Vec`s, arrays, options
/// and tuples of those. Arrays among them take part in the rule that a call's arrays are on one
/// device: as `&A`, and one level inside `&[A]`, `&Vec<A>`, `Vec<&A>`, `[&A; N]` and tuples;
/// [`AnyArray`]s likewise. Any other type has only to say that it holds no arrays:
///
/// ```
/// use arraybridge_core::FunctionArguments;
///
/// #[derive(Clone)]
/// struct Kernel { radius: usize }
///
/// impl FunctionArguments for Kernel {}
/// ```
pub trait FunctionArguments: Clone {
    /// Shows every value that may be an array.
    fn visit(&self, visitor: &mut dyn FnMut(&dyn Any)) {
        let _ = visitor;
    }
}

impl<T: Any> FunctionArguments for &T {
    fn visit(&self, visitor: &mut dyn FnMut(&dyn Any)) {
        visitor(*self);
    }
}

impl<T: Any> FunctionArguments for &[T] {
    fn visit(&self, visitor: &mut dyn FnMut(&dyn Any)) {
        self.iter().for_each(|value| visitor(value));
    }
}

impl<T: FunctionArguments> FunctionArguments for Vec<T> {
    fn visit(&self, visitor: &mut dyn FnMut(&dyn Any)) {
        self.iter().for_each(|value| value.visit(visitor));
    }
}

impl<T: FunctionArguments, const N: usize> FunctionArguments for [T; N] {
    fn visit(&self, visitor: &mut dyn FnMut(&dyn Any)) {
        self.iter().for_each(|value| value.visit(visitor));
    }
}

impl<T: FunctionArguments> FunctionArguments for Option<T> {
    fn visit(&self, visitor: &mut dyn FnMut(&dyn Any)) {
        self.iter().for_each(|value| value.visit(visitor));
    }
}

macro_rules! no_arrays {
    ($($type:ty),+ $(,)?) => {$(
        impl FunctionArguments for $type {}
    )+};
}

no_arrays! {
    (), bool, char, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64,
    &str, String, DType, Device,
}

macro_rules! tuples {
    ($($name:ident)+) => {
        impl<$($name: FunctionArguments),+> FunctionArguments for ($($name,)+) {
            fn visit(&self, visitor: &mut dyn FnMut(&dyn Any)) {
                #[allow(non_snake_case)]
                let ($($name,)+) = self;
                $($name.visit(visitor);)+
            }
        }
    };
}

tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);

/// Collects the devices of `L`'s arrays among values, each once.
#[derive(Default)]
pub(super) struct Devices {
    pub(super) seen: Vec<Device>,
    failure: Option<Error>,
}

impl Devices {
    /// Looks at a value: an array of `L`, or a list of them.
    pub(super) fn look<L: ArrayLibrary>(&mut self, value: &dyn Any) {
        if let Some(array) = value.downcast_ref::<L::Array>() {
            self.add::<L>(array);
        } else if let Some(arrays) = value.downcast_ref::<Vec<L::Array>>() {
            arrays.iter().for_each(|array| self.add::<L>(array));
        } else if let Some(any) = value.downcast_ref::<AnyArray>() {
            any.as_array_of::<L>().into_iter().for_each(|array| self.add::<L>(array));
        } else if let Some(arrays) = value.downcast_ref::<Vec<AnyArray>>() {
            let own = arrays.iter().filter_map(|any| any.as_array_of::<L>());
            own.for_each(|array| self.add::<L>(array));
        }
    }

    fn add<L: ArrayLibrary>(&mut self, array: &L::Array) {
        match L::INSTANCE.device_of(array) {
            Ok(device) if self.seen.contains(&device) => {}
            Ok(device) => self.seen.push(device),
            Err(error) => self.failure = Some(self.failure.take().unwrap_or(error)),
        }
    }

    /// Returns the devices in order, or why an array's could not be told.
    pub(super) fn finish(self) -> Result<Vec<Device>, Error> {
        let Devices { mut seen, failure } = self;
        seen.sort_unstable();
        failure.map_or(Ok(seen), Err)
    }
}
