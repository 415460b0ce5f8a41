//! Functions that belong to a library: what they take and return, and how a call runs.

mod arguments;
mod device;
mod output;
mod slices;

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::{ArrayLibrary, BoxError, Error, Library};

pub use arguments::{FunctionArguments, FunctionInput};
pub use output::{FunctionOutput, OutputDtype, Outputs};
pub use slices::{BySlice, SliceMode, Whole, process_slices};

/// A function on arrays of a library, with what a call of it promises.
///
/// It converts nothing and chooses no device: the caller converts. What it adds to the closure:
/// - the main output's dtype ([`ArrayFunction::output_dtype`]), by default the input's;
/// - runs plane by plane ([`ArrayFunction::by_slice`], [`ArrayFunction::call_slices`]);
/// - an output contract ([`ArrayFunction::output_contract`]);
/// - on an accelerator, that device's scope and this thread's own stream for it, and two more
///   attempts after out-of-memory errors ([`ArrayFunction::oom_recovery`]). In main memory nothing
///   of an accelerator is touched.
///
/// `L` is the library that the function runs in; `I` and `O`, by default the same, are those of its
/// input and main output; `M` says whether [`ArrayFunction::call`] cuts 3-D inputs into planes.
/// Closures borrow their arrays, so that a retry sees the same input, and may return any error that
/// turns into a [`BoxError`].
///
/// ```
/// # use arraybridge_core::{ArrayLibrary, ops::Ops};
/// use arraybridge_core::{ArrayFunction, Error, OutputDtype};
///
/// fn background<L: ArrayLibrary>(volume: &L::Array) -> Result<L::Array, Error> {
///     let mean = ArrayFunction::<L, _>::new("background", |image: &L::Array| {
///         let mean = L::mean(image, [0, 1])?;
///         L::broadcast_to(&mean, L::INSTANCE.describe(image)?.layout.shape())
///     });
///     // Every plane has its own mean, and the volume's dtype is kept.
///     let own = mean.call_slices(volume)?;
///     // For this call alone: whatever dtype the mean has.
///     let _ = mean.by_ref().output_dtype(OutputDtype::Native).call_slices(volume)?;
///     Ok(own)
/// }
/// ```
pub struct ArrayFunction<L, F, I: ArrayLibrary = L, O: ArrayLibrary = L, M = Whole> {
    body: F,
    name: Arc<str>,
    output_dtype: OutputDtype,
    oom_recovery: bool,
    output_contract: Option<OutputContract<O>>,
    declared_contract: Option<Arc<dyn Any + Send + Sync>>,
    marker: PhantomData<Marker<L, I, O, M>>,
}

/// Owns none of them, so the function is `Send` and `Sync` if its body is.
type Marker<L, I, O, M> = fn() -> (L, I, O, M);

type Predicate<A> = dyn Fn(&A) -> bool + Send + Sync;

/// A predicate on raw outputs, and what it demands in words.
struct OutputContract<O: ArrayLibrary> {
    description: Arc<str>,
    holds: Arc<Predicate<O::Array>>,
}

impl<O: ArrayLibrary> Clone for OutputContract<O> {
    fn clone(&self) -> Self {
        let description = Arc::clone(&self.description);
        OutputContract { description, holds: Arc::clone(&self.holds) }
    }
}

impl<L: ArrayLibrary, F> ArrayFunction<L, F, L, L, Whole> {
    /// Makes a function of one array of library `L`, whose closure returns an array of `L`, alone
    /// or in [`Outputs`].
    ///
    /// Where the closure's error type is open, name it: `Ok::<_, Error>(image.clone())`.
    pub fn new<R, E>(name: impl Into<Arc<str>>, body: F) -> Self
    where
        F: Fn(&L::Array) -> Result<R, E>,
    {
        Self::declare(name, body)
    }

    /// Makes a function of an array of library `L` and further arguments, to be called by
    /// [`ArrayFunction::call_with`].
    ///
    /// ```
    /// use arraybridge_core::{ArrayFunction, ArrayLibrary, Error, ops::Ops};
    ///
    /// fn masked<L: ArrayLibrary>(image: &L::Array, mask: &L::Array) -> Result<L::Array, Error> {
    ///     let both = ArrayFunction::<L, _>::with_arguments(
    ///         "both",
    ///         |image: &L::Array, mask: &L::Array| L::logical_and(image, mask),
    ///     );
    ///     both.call_with(image, mask)
    /// }
    /// ```
    pub fn with_arguments(name: impl Into<Arc<str>>, body: F) -> Self {
        Self::declare(name, body)
    }
}

impl<L: ArrayLibrary, F, I: ArrayLibrary, O: ArrayLibrary> ArrayFunction<L, F, I, O, Whole> {
    /// Makes a function that runs in library `L`, takes arrays of `I` and returns arrays of `O`:
    /// `ArrayFunction::<Xla, _, Ndarray, Ndarray>::declare("blur", |image: &NdArray| ...)`.
    pub fn declare(name: impl Into<Arc<str>>, body: F) -> Self {
        ArrayFunction {
            body,
            name: name.into(),
            output_dtype: OutputDtype::PreserveInput,
            oom_recovery: true,
            output_contract: None,
            declared_contract: None,
            marker: PhantomData,
        }
    }
}

impl<L, F, I, O, M> ArrayFunction<L, F, I, O, M>
where
    L: ArrayLibrary,
    I: ArrayLibrary,
    O: ArrayLibrary,
    M: SliceMode,
{
    /// Declares the dtype of the main output.
    pub fn output_dtype(self, output_dtype: OutputDtype) -> Self {
        ArrayFunction { output_dtype, ..self }
    }

    /// Declares whether a call on an accelerator is tried again, at most twice, after the library
    /// ran out of memory and released what it caches there. On unless it is switched off.
    pub fn oom_recovery(self, oom_recovery: bool) -> Self {
        ArrayFunction { oom_recovery, ..self }
    }

    /// Declares what every raw main output has to fulfil, before its dtype is changed and, slice by
    /// slice, plane by plane. The description goes into the error.
    pub fn output_contract(
        self,
        description: impl Into<Arc<str>>,
        holds: impl Fn(&O::Array) -> bool + Send + Sync + 'static,
    ) -> Self {
        let contract = OutputContract { description: description.into(), holds: Arc::new(holds) };
        ArrayFunction { output_contract: Some(contract), ..self }
    }

    /// Attaches a contract as plain data, which is not enforced here but read by a runtime
    /// ([`ArrayFunction::declared_contract`]).
    pub fn declare_contract(self, contract: impl Any + Send + Sync) -> Self {
        ArrayFunction { declared_contract: Some(Arc::new(contract)), ..self }
    }

    /// Declares that calls run slice by slice.
    pub fn by_slice(self) -> ArrayFunction<L, F, I, O, BySlice> {
        self.map(|body| body)
    }

    /// Declares that calls see the whole input.
    pub fn whole(self) -> ArrayFunction<L, F, I, O, Whole> {
        self.map(|body| body)
    }

    /// Borrows the function, to change what is declared for a call alone:
    /// `function.by_ref().output_dtype(OutputDtype::F32).call(&image)`.
    pub fn by_ref(&self) -> ArrayFunction<L, &F, I, O, M> {
        self.with_body(&self.body)
    }

    fn map<G, N>(self, form: impl FnOnce(F) -> G) -> ArrayFunction<L, G, I, O, N> {
        ArrayFunction {
            body: form(self.body),
            name: self.name,
            output_dtype: self.output_dtype,
            oom_recovery: self.oom_recovery,
            output_contract: self.output_contract,
            declared_contract: self.declared_contract,
            marker: PhantomData,
        }
    }

    fn with_body<G, N>(&self, body: G) -> ArrayFunction<L, G, I, O, N> {
        ArrayFunction {
            body,
            name: Arc::clone(&self.name),
            output_dtype: self.output_dtype,
            oom_recovery: self.oom_recovery,
            output_contract: self.output_contract.clone(),
            declared_contract: self.declared_contract.clone(),
            marker: PhantomData,
        }
    }

    /// Returns the function's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the library whose arrays the function takes.
    pub fn input_library(&self) -> Library {
        Library::of::<I>()
    }

    /// Returns the library whose arrays the function returns.
    pub fn output_library(&self) -> Library {
        Library::of::<O>()
    }

    /// Returns the library that the function runs in.
    pub fn execution_library(&self) -> Library {
        Library::of::<L>()
    }

    /// Returns the declared dtype of the main output.
    pub fn declared_output_dtype(&self) -> OutputDtype {
        self.output_dtype
    }

    /// Returns whether calls are tried again after out-of-memory errors.
    pub fn recovers_from_oom(&self) -> bool {
        self.oom_recovery
    }

    /// Returns whether calls run slice by slice.
    pub fn is_by_slice(&self) -> bool {
        M::BY_SLICE
    }

    /// Returns the description of the output contract, if there is one.
    pub fn output_contract_description(&self) -> Option<&str> {
        self.output_contract.as_ref().map(|contract| &*contract.description)
    }

    /// Returns the contract that was attached as plain data, if it is a `T`.
    pub fn declared_contract<T: Any>(&self) -> Option<&T> {
        self.declared_contract.as_deref()?.downcast_ref()
    }

    /// Calls the function on an array, or on a payload, whose context stays around the output.
    ///
    /// # Errors
    /// [`Error::Function`] around the closure's own error; [`Error::OutputContract`];
    /// [`Error::FunctionUsage`] for arrays on several devices and, by slice, for planes that cannot
    /// be stacked; failures of the library's operations. Each names the plane, where there is one.
    pub fn call<T, R, E>(&self, input: &T) -> Result<Output<T, R, I, O, M>, Error>
    where
        T: FunctionInput<I::Array>,
        F: Fn(&I::Array) -> Result<R, E>,
        R: FunctionOutput<O::Array>,
        E: Into<BoxError>,
    {
        self.execute(input, (), |image, ()| (self.body)(image).map_err(Into::into))
    }

    /// Calls the function with further arguments, which are cloned for each run.
    ///
    /// # Errors
    /// As [`ArrayFunction::call`].
    pub fn call_with<T, P, R, E>(
        &self,
        input: &T,
        arguments: P,
    ) -> Result<Output<T, R, I, O, M>, Error>
    where
        T: FunctionInput<I::Array>,
        P: FunctionArguments,
        F: Fn(&I::Array, P) -> Result<R, E>,
        R: FunctionOutput<O::Array>,
        E: Into<BoxError>,
    {
        let run =
            |image: &I::Array, arguments: P| (self.body)(image, arguments).map_err(Into::into);
        self.execute(input, arguments, run)
    }

    /// Calls the function slice by slice, whatever is declared: the planes' main outputs are
    /// stacked, their extras collected in order. An input that is not 3-D is one run.
    ///
    /// # Errors
    /// As [`ArrayFunction::call`].
    pub fn call_slices<T, R, E>(&self, input: &T) -> Result<Output<T, R, I, O, BySlice>, Error>
    where
        T: FunctionInput<I::Array>,
        F: Fn(&I::Array) -> Result<R, E>,
        R: FunctionOutput<O::Array>,
        E: Into<BoxError>,
    {
        self.by_ref().by_slice().call(input)
    }

    fn execute<T, P, R>(
        &self,
        input: &T,
        arguments: P,
        run: impl Fn(&I::Array, P) -> Result<R, BoxError>,
    ) -> Result<Output<T, R, I, O, M>, Error>
    where
        T: FunctionInput<I::Array>,
        P: FunctionArguments,
        R: FunctionOutput<O::Array>,
    {
        let image = input.array();
        let device = device::device_of_call::<L>(&self.name, image, &arguments)?;
        let (main, extra) = device::run_on::<L, _>(device, self.oom_recovery, || {
            let (main, extra) = M::run::<I, O, _>(&self.name, image, |image, plane| {
                let result = run(image, arguments.clone());
                let (main, extra) =
                    result.map_err(|error| self.failed(plane, error))?.into_main_and_extra();
                self.check_output(plane, &main)?;
                Ok((main, extra))
            })?;
            Ok((self.output_dtype.apply::<I, O>(image, main)?, extra))
        })?;
        Ok(R::join(input.with_array(main), extra))
    }

    fn failed(&self, plane: Option<usize>, source: BoxError) -> Error {
        Error::Function { function: self.name.to_string(), plane, source }
    }

    fn check_output(&self, plane: Option<usize>, output: &O::Array) -> Result<(), Error> {
        match &self.output_contract {
            Some(contract) if !(contract.holds)(output) => Err(Error::OutputContract {
                function: self.name.to_string(),
                contract: contract.description.to_string(),
                plane,
            }),
            _ => Ok(()),
        }
    }
}

/// What a call returns: the output's form `R` with the input's container around its main array.
type Output<T, R, I, O, M> = <R as FunctionOutput<<O as ArrayLibrary>::Array>>::Of<
    <T as FunctionInput<<I as ArrayLibrary>::Array>>::With<<O as ArrayLibrary>::Array>,
    <M as SliceMode>::Extra<<R as FunctionOutput<<O as ArrayLibrary>::Array>>::Extra>,
>;

impl<L, F, I, O, M> fmt::Debug for ArrayFunction<L, F, I, O, M>
where
    L: ArrayLibrary,
    I: ArrayLibrary,
    O: ArrayLibrary,
    M: SliceMode,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrayFunction")
            .field("name", &self.name)
            .field("input", &I::NAME)
            .field("output", &O::NAME)
            .field("execution", &L::NAME)
            .field("output_dtype", &self.output_dtype)
            .field("by_slice", &M::BY_SLICE)
            .field("oom_recovery", &self.oom_recovery)
            .finish_non_exhaustive()
    }
}
