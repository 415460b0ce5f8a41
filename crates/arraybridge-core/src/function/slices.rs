//! Running a function plane by plane.

use std::any::Any;

use crate::convert::lost;
use crate::stack::{Cutter, join};
use crate::{
    AnyArray, ArrayLibrary, BoxError, DType, Description, Device, Error, FunctionOutput,
    stack_slices,
};

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Whole {}
    impl Sealed for super::BySlice {}
}

/// Whether an [`ArrayFunction`](crate::ArrayFunction) sees its input as a whole ([`Whole`]) or plane
/// by plane ([`BySlice`]).
pub trait SliceMode: sealed::Sealed + 'static {
    /// What a call returns of each run's extras.
    type Extra<X>;

    /// Whether 3-D inputs are cut.
    const BY_SLICE: bool;

    /// Runs a body on the input or on its planes.
    #[doc(hidden)]
    fn run<I: ArrayLibrary, O: ArrayLibrary, X>(
        function: &str,
        input: &I::Array,
        body: impl FnMut(&I::Array, Option<usize>) -> Result<(O::Array, X), Error>,
    ) -> Result<(O::Array, Self::Extra<X>), Error>;
}

/// One run on the whole input.
#[derive(Clone, Copy, Debug)]
pub struct Whole;

/// One run on each plane of a 3-D input; other inputs as a whole.
#[derive(Clone, Copy, Debug)]
pub struct BySlice;

impl SliceMode for Whole {
    type Extra<X> = X;
    const BY_SLICE: bool = false;

    fn run<I: ArrayLibrary, O: ArrayLibrary, X>(
        _: &str,
        input: &I::Array,
        mut body: impl FnMut(&I::Array, Option<usize>) -> Result<(O::Array, X), Error>,
    ) -> Result<(O::Array, X), Error> {
        body(input, None)
    }
}

impl SliceMode for BySlice {
    type Extra<X> = Vec<X>;
    const BY_SLICE: bool = true;

    fn run<I: ArrayLibrary, O: ArrayLibrary, X>(
        function: &str,
        input: &I::Array,
        mut body: impl FnMut(&I::Array, Option<usize>) -> Result<(O::Array, X), Error>,
    ) -> Result<(O::Array, Vec<X>), Error> {
        let seen = I::INSTANCE.describe(input)?;
        let &[planes, _, _] = seen.layout.shape() else {
            return body(input, None).map(|(main, extra)| (main, vec![extra]));
        };
        let mut cutter = Cutter::new(I::INSTANCE, input);
        let (mains, extras) = each_plane(
            function,
            planes,
            |index| {
                let mut plane = None::<I::Array>;
                cutter.plane(index, &mut plane)?;
                body(&plane.ok_or_else(lost::<I>)?, Some(index))
            },
            |main: &O::Array| O::INSTANCE.describe(main).map(|seen| Seen::of(seen, true)),
        )?;
        let slots: Vec<&dyn Any> = mains.iter().map(|main| main as &dyn Any).collect();
        let mut stacked = None::<O::Array>;
        join(O::INSTANCE, &slots, &mut stacked)?;
        Ok((stacked.ok_or_else(lost::<O>)?, extras))
    }
}

/// What planes have to agree in.
#[derive(Clone, PartialEq)]
struct Seen {
    shape: Vec<usize>,
    dtype: DType,
    /// `None` where planes are brought to one device afterwards.
    device: Option<Device>,
}

impl Seen {
    fn of(seen: Description, with_device: bool) -> Seen {
        let device = with_device.then_some(seen.device);
        Seen { shape: seen.layout.shape().to_vec(), dtype: seen.dtype, device }
    }

    fn text(&self) -> String {
        let place = self.device.map_or_else(String::new, |device| format!(" on `{device}`"));
        format!("{} of shape {:?}{place}", self.dtype, self.shape)
    }
}

/// Runs `step` for every plane and checks that what comes back can be stacked.
fn each_plane<B, X>(
    function: &str,
    planes: usize,
    mut step: impl FnMut(usize) -> Result<(B, X), Error>,
    seen: impl Fn(&B) -> Result<Seen, Error>,
) -> Result<(Vec<B>, Vec<X>), Error> {
    let usage = |plane: Option<usize>, message: String| Error::FunctionUsage {
        function: function.to_owned(),
        plane,
        message,
    };
    if planes == 0 {
        return Err(usage(None, "the input has no planes, so there is nothing to stack".into()));
    }
    let (mut mains, mut extras) = (Vec::with_capacity(planes), Vec::with_capacity(planes));
    let mut first = None::<Seen>;
    for plane in 0..planes {
        let (main, extra) = step(plane)?;
        let here = seen(&main)?;
        if here.shape.len() != 2 {
            let message = format!("returned {}, and planes are stacked as 2-D", here.text());
            return Err(usage(Some(plane), message));
        }
        let first = first.get_or_insert_with(|| here.clone());
        if *first != here {
            let message =
                format!("returned {}, while plane 0 returned {}", here.text(), first.text());
            return Err(usage(Some(plane), message));
        }
        mains.push(main);
        extras.push(extra);
    }
    Ok((mains, extras))
}

/// Runs a closure on every plane of a 3-D array, on `device`, and stacks what comes back: the slice
/// loop on its own.
///
/// The planes are the array's own library's; a closure may return arrays of another one, and the
/// result is then of that library, on the device of the first. A closure that returns [`Outputs`]
/// has its extras collected in order.
///
/// ```
/// use arraybridge_core::{AnyArray, BoxError, Error, process_slices};
///
/// fn projections(volume: &AnyArray) -> Result<AnyArray, Error> {
///     process_slices(volume, volume.device()?, |plane| plane.max(0)?.prepend_axis())
/// }
/// ```
///
/// # Errors
/// [`Error::FunctionUsage`] if the array is not 3-D or has no planes, and, naming the plane, if
/// results disagree in shape or dtype; [`Error::Function`] with the plane around the closure's
/// error.
///
/// [`Outputs`]: crate::Outputs
pub fn process_slices<R, E>(
    array: &AnyArray,
    device: Device,
    mut body: impl FnMut(&AnyArray) -> Result<R, E>,
) -> Result<R::Of<AnyArray, Vec<R::Extra>>, Error>
where
    R: FunctionOutput<AnyArray>,
    E: Into<BoxError>,
{
    let name = "process_slices";
    let seen = array.describe()?;
    let &[planes, _, _] = seen.layout.shape() else {
        return Err(Error::FunctionUsage {
            function: name.into(),
            plane: None,
            message: format!("needs a 3-D array, found shape {:?}", seen.layout.shape()),
        });
    };
    let moved = if seen.device == device { None } else { Some(array.move_to_device(device)?) };
    let array = moved.as_ref().unwrap_or(array);
    let mut cutter = array.cutter();
    let (mains, extras) = each_plane(
        name,
        planes,
        |plane| {
            let cut = AnyArray::made_by(array.library().inner(), |out| cutter.plane(plane, out))?;
            let result = body(&cut).map_err(|error| Error::Function {
                function: name.into(),
                plane: Some(plane),
                source: error.into(),
            });
            Ok(result?.into_main_and_extra())
        },
        |main: &AnyArray| main.describe().map(|seen| Seen::of(seen, false)),
    )?;
    let first = mains.first().map(|main| Ok::<_, Error>((main.library(), main.device()?)));
    let (library, device) = first.unwrap_or_else(|| Ok((array.library(), device)))?;
    Ok(R::join(stack_slices(mains, library, device)?, extras))
}
