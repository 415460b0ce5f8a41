//! Programs: compiled StableHLO, in a bounded cache, and the public door to it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use arraybridge_core::{DType, Device, Error};

use crate::library::{NAME, foreign};
use crate::pjrt::Executable;
use crate::runtime::{self, KnownDevice};
use crate::{XlaArray, dtype};

/// The dtype and shape of a program's parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorSpec {
    /// The element type.
    pub dtype: DType,
    /// The length of each axis.
    pub shape: Vec<usize>,
}

/// A program in StableHLO, such as JAX exports, that runs on arrays of any device of its plugin.
///
/// ```no_run
/// use arraybridge_core::{DType, HOST, HostArray, ops::HostExchange};
/// use arraybridge_xla::{Program, Xla};
///
/// let text = "module @m { func.func public @main(%a: tensor<2xf32>) -> tensor<2xf32> {
///     %0 = stablehlo.add %a, %a : tensor<2xf32>
///     return %0 : tensor<2xf32> } }";
/// // SAFETY: the program is the text above, which calls nothing outside of XLA.
/// let double = unsafe { Program::compile(text, HOST) }?;
/// let array = Xla::from_host(&HostArray::from_vec(vec![1.0f32, 2.0], &[2])?, HOST)?;
/// let doubled = double.run(&[&array])?;
/// # Ok::<(), arraybridge_core::Error>(())
/// ```
pub struct Program {
    executable: Executable,
    parameters: Vec<TensorSpec>,
    home: &'static KnownDevice,
}

impl Program {
    /// Compiles StableHLO text for the plugin of a device; dtypes and shapes of the parameters are
    /// those of its function `@main`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `@main` cannot be read, [`Error::DeviceUnavailable`], and the
    /// compiler's failures.
    ///
    /// # Safety
    /// The program calls nothing outside of XLA (`custom_call`), or only what keeps Rust's rules:
    /// such calls run native code with the arrays' addresses.
    pub unsafe fn compile(text: &str, device: Device) -> Result<Program, Error> {
        let parameters = read_parameters(text)?;
        // SAFETY: the parameters are the program's own; the rest is the caller's word.
        unsafe { Program::compile_bytecode(text.as_bytes(), parameters, device) }
    }

    /// Compiles a program in MLIR bytecode, whose parameters the caller states.
    ///
    /// # Errors
    /// As [`Program::compile`].
    ///
    /// # Safety
    /// As [`Program::compile`], and `parameters` are those of the program's function `@main`, in the
    /// default layout: the runtime does not check what has the right number of bytes.
    pub unsafe fn compile_bytecode(
        code: &[u8],
        parameters: Vec<TensorSpec>,
        device: Device,
    ) -> Result<Program, Error> {
        let home = runtime::device(device)?;
        let executable = home
            .pjrt
            .client()
            .compile(code)
            .map_err(|error| foreign("compiling a program", error))?;
        Ok(Program { executable, parameters, home })
    }

    /// Returns the dtypes and shapes of the parameters.
    pub fn parameters(&self) -> &[TensorSpec] {
        &self.parameters
    }

    /// Queues the program on the device of its arguments (of a program without parameters: the one
    /// it was compiled for) and returns its results, which may be waited for. Arguments stay as
    /// they are: none is given up to the program.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another number of arguments or arguments on several devices,
    /// [`Error::DtypeMismatch`], [`Error::ShapeMismatch`]; the runtime's failures.
    pub fn run(&self, arguments: &[&XlaArray]) -> Result<Vec<XlaArray>, Error> {
        let known = arguments.first().map_or(Ok(self.home), |first| first.known_device())?;
        self.run_on(known, arguments)
    }

    /// As [`Program::run`], on a device of the plugin that it was compiled for, on which all
    /// arguments must be.
    pub(crate) fn run_on(
        &self,
        known: &'static KnownDevice,
        arguments: &[&XlaArray],
    ) -> Result<Vec<XlaArray>, Error> {
        let refuse = |message| Error::InvalidArgument { operation: "running a program", message };
        if arguments.len() != self.parameters.len() {
            let (given, wanted) = (arguments.len(), self.parameters.len());
            return Err(refuse(format!("{given} arguments for {wanted} parameters")));
        }
        for (argument, parameter) in arguments.iter().zip(&self.parameters) {
            if argument.dtype() != parameter.dtype {
                let (expected, found) = (parameter.dtype, argument.dtype());
                return Err(Error::DtypeMismatch { expected, found });
            }
            if argument.shape() != parameter.shape {
                return Err(Error::ShapeMismatch {
                    operation: "running a program",
                    expected: parameter.shape.clone(),
                    found: argument.shape().to_vec(),
                });
            }
        }
        if let Some(stray) = arguments.iter().find(|array| array.device() != known.device) {
            let message = format!("arguments on `{}` and `{}`", known.device, stray.device());
            return Err(refuse(message));
        }
        if !known.pjrt.client().is(self.home.pjrt.client()) {
            let message = format!(
                "the program was compiled for the plugin of `{}`, the arguments are on `{}`",
                self.home.device, known.device
            );
            return Err(refuse(message));
        }
        let buffers: Vec<_> = arguments.iter().map(|array| array.buffer()).collect();
        // SAFETY: number, element types and dimensions are the parameters' (checked above), all on
        // this device of the program's client; that it calls nothing outside is what `compile`
        // demanded.
        let outputs = unsafe { self.executable.run(&buffers, &known.pjrt) }.map_err(|error| {
            crate::exchange::failed("running a program", known.device, 0, error)
        })?;
        outputs.into_iter().map(|buffer| XlaArray::new(buffer, known.device)).collect()
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("parameters", &self.parameters).finish_non_exhaustive()
    }
}

/// Reads the parameters of the function `@main` in StableHLO text.
///
/// What it reads is what arguments are checked against, so it refuses whatever it is not sure of.
fn read_parameters(text: &str) -> Result<Vec<TensorSpec>, Error> {
    let refuse = |message: String| Error::InvalidArgument { operation: "reading @main", message };
    let code = without_comments(text);
    let mut lists = code.match_indices("@main").filter_map(|(place, name)| {
        let list = code[place + name.len()..].trim_start().strip_prefix('(')?;
        defines_function(&code[..place]).then_some(list)
    });
    let list = lists
        .next()
        .ok_or_else(|| refuse("the program has no function `func.func @main(...)`".into()))?;
    if lists.next().is_some() {
        return Err(refuse("the program has several functions `@main`; it may have one".into()));
    }
    // Attributes of parameters may hold parentheses.
    let mut depth = 1usize;
    let end = list.char_indices().find_map(|(place, letter)| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(place)
    });
    let end = end.ok_or_else(|| refuse("the parameter list has no end".into()))?;
    if !has_default_layouts(&list[..end]) || code.contains("computation_parameter_layouts") {
        let message = "it asks for a layout of its parameters; only the default is served";
        return Err(refuse(message.into()));
    }
    let mut parameters = Vec::new();
    for piece in list[..end].split('%').skip(1) {
        let kind = piece.split_once(':').map(|(_, kind)| kind.trim_start());
        let tensor = kind
            .and_then(|kind| kind.strip_prefix("tensor<"))
            .ok_or_else(|| refuse(format!("`%{}` is not a tensor", piece.trim())))?;
        parameters.push(read_tensor(tensor).ok_or_else(|| {
            refuse(format!("`%{}` has no static shape or no dtype known here", piece.trim()))
        })?);
    }
    Ok(parameters)
}

/// Returns MLIR text without its comments, and of what its strings hold only letters that mean
/// nothing outside of them.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '/' if letters.peek() == Some(&'/') => {
                while letters.next_if(|letter| *letter != '\n').is_some() {}
            }
            '"' => {
                kept.push('"');
                while let Some(inner) = letters.next_if(|letter| *letter != '"') {
                    match inner {
                        '\\' => _ = letters.next(),
                        '_' | '.' => kept.push(inner),
                        _ if inner.is_alphanumeric() => kept.push(inner),
                        _ => {}
                    }
                }
                letters.next();
                kept.push('"');
            }
            other => kept.push(other),
        }
    }
    kept
}

/// Returns whether the name behind this text is that of a function that it defines.
fn defines_function(before: &str) -> bool {
    let mut words = before.split_whitespace().rev();
    match words.next() {
        Some("public" | "private" | "nested") => words.next() == Some("func.func"),
        word => word == Some("func.func"),
    }
}

/// Returns whether every attribute that asks for a parameter's layout asks for the default: the
/// runtime reads arguments in the order asked for, whatever theirs is.
fn has_default_layouts(parameters: &str) -> bool {
    parameters.split("layout_mode").skip(1).all(|rest| {
        let value = rest.trim_start().strip_prefix('=').map(str::trim_start);
        value.is_some_and(|value| value.starts_with("\"default\""))
    })
}

/// Reads `2x3xf32>...`, what follows `tensor<`.
fn read_tensor(text: &str) -> Option<TensorSpec> {
    let mut shape = Vec::new();
    let mut rest = text;
    while rest.starts_with(|letter: char| letter.is_ascii_digit()) {
        let (length, after) = rest.split_once('x')?;
        shape.push(length.parse().ok()?);
        rest = after;
    }
    // `complex<f32>` has a bracket of its own. An encoding behind the dtype is none known here.
    let end = match rest.strip_prefix("complex<") {
        Some(inner) => "complex<".len() + inner.find('>')? + 1,
        None => rest.find('>')?,
    };
    let closed = rest[end..].trim_start().starts_with('>');
    let dtype = dtype::from_name(rest[..end].trim()).filter(|_| closed)?;
    Some(TensorSpec { dtype, shape })
}

/// What the cache of compiled operations has done.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct CacheStatistics {
    /// How often a compiled program was found.
    pub hits: u64,
    /// How often one had to be compiled.
    pub misses: u64,
    /// How many programs are kept.
    pub entries: usize,
    /// How many are kept at most.
    pub limit: usize,
}

struct Cached {
    program: Arc<Program>,
    last_use: u64,
}

struct Cache {
    /// By text and the first device of the plugin: a program runs on every device of its plugin.
    programs: HashMap<(Device, String), Cached>,
    statistics: CacheStatistics,
    clock: u64,
}

static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(|| {
    Mutex::new(Cache {
        programs: HashMap::new(),
        statistics: CacheStatistics { limit: 256, ..Default::default() },
        clock: 0,
    })
});

fn cache() -> MutexGuard<'static, Cache> {
    CACHE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cache {
    fn find(&mut self, key: &(Device, String)) -> Option<Arc<Program>> {
        self.clock += 1;
        let cached = self.programs.get_mut(key)?;
        cached.last_use = self.clock;
        Some(Arc::clone(&cached.program))
    }

    /// Forgets the programs that were not used for longest, down to a number.
    fn shrink(&mut self, limit: usize) {
        while self.programs.len() > limit {
            let oldest = self.programs.iter().min_by_key(|(_, cached)| cached.last_use);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else { return };
            self.programs.remove(&key);
        }
    }
}

/// Returns what the cache of compiled operations has done since the process began.
pub fn cache_statistics() -> CacheStatistics {
    let cache = cache();
    CacheStatistics { entries: cache.programs.len(), ..cache.statistics }
}

/// Sets how many compiled operations are kept; 0 keeps none.
pub fn set_cache_limit(limit: usize) {
    let mut cache = cache();
    cache.statistics.limit = limit;
    cache.shrink(limit);
}

/// Runs a program of this crate's own on a device, compiled now or before, and returns its result.
///
/// # Safety
/// As [`Program::compile`].
pub(crate) unsafe fn run_compiled(
    text: String,
    device: Device,
    arguments: &[&XlaArray],
) -> Result<XlaArray, Error> {
    let known = runtime::device(device)?;
    // SAFETY: the caller's word.
    let program = unsafe { compiled(text, runtime::first_of_client(known)) }?;
    program.run_on(known, arguments)?.into_iter().next().ok_or_else(no_result)
}

/// Compiles a program, or finds it compiled.
///
/// # Safety
/// As [`Program::compile`].
unsafe fn compiled(text: String, device: Device) -> Result<Arc<Program>, Error> {
    let key = (device, text);
    {
        let mut cache = cache();
        if let Some(found) = cache.find(&key) {
            cache.statistics.hits += 1;
            return Ok(found);
        }
        cache.statistics.misses += 1;
    }
    // Not under the lock: other threads go on. Two may compile one program; the later one is kept.
    // SAFETY: the caller's word.
    let program = Arc::new(unsafe { Program::compile(&key.1, device) }?);
    let mut cache = cache();
    let limit = cache.statistics.limit;
    if limit > 0 {
        cache.clock += 1;
        let last_use = cache.clock;
        cache.programs.insert(key, Cached { program: Arc::clone(&program), last_use });
        cache.shrink(limit);
    }
    Ok(program)
}

/// The error of a program that does not return what it was written to return.
fn no_result() -> Error {
    Error::Unsupported {
        library: NAME,
        operation: "a program without a result",
        remedy: "the plugin returned fewer outputs than the program has; use another plugin",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_from_what_jax_exports() {
        let text = "module @jit_f { func.func public @main(%arg0: tensor<2x3xf32> \
            {jax.arg_info = \"x(0)\", mhlo.layout_mode = \"default\"}, %arg1: tensor<complex<f32>>, %arg2: tensor<4xui8>) -> \
            (tensor<2xf32>) { } }";
        let read = read_parameters(text).unwrap();
        let spec = |dtype, shape: &[usize]| TensorSpec { dtype, shape: shape.to_vec() };
        assert_eq!(
            read,
            [spec(DType::F32, &[2, 3]), spec(DType::Complex64, &[]), spec(DType::U8, &[4])]
        );
        assert!(read_parameters("module @m {}").is_err());
        for parameter in ["tensor<?xf32>", "!stablehlo.token", "tensor<2xf32, #layout>"] {
            let error = read_parameters(&format!("func.func @main(%a: {parameter})")).unwrap_err();
            assert!(error.to_string().contains("%a"), "{error}");
        }
    }

    #[test]
    fn what_only_looks_like_the_parameters_is_not_taken_for_them() {
        let wanted = [TensorSpec { dtype: DType::F32, shape: vec![2] }];
        for text in [
            "// func.func @main(%a: tensor<9xi32>)\nfunc.func @main(%a: tensor<2xf32>) {}",
            "module attributes {a = \"func.func @main(%a: tensor<9xi32>)\"} { \
             func.func public @main (%a: tensor<2xf32>) {} }",
            "func.func @f() { call @main(%b) : tensor<9xi32> } func.func @main(%a: tensor<2xf32>)",
            "func.func @main(%a: tensor<2xf32> {a = \"x)\\\"%b: tensor<9xi32>\"}) {}",
        ] {
            assert_eq!(read_parameters(text).unwrap(), wanted, "{text}");
        }
        // A name for a type hides it; an attribute's type is not the parameter's.
        let error =
            read_parameters("func.func @main(%a: !t {b = 1 : tensor<9xi32>}) {}").unwrap_err();
        assert!(error.to_string().contains("is not a tensor"), "{error}");
        let two = "module { func.func @main(%a: tensor<2xf32>) } func.func @main()";
        let error = read_parameters(two).unwrap_err();
        assert!(error.to_string().contains("several functions `@main`"), "{error}");
    }
}
