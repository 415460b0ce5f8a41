//! Modules: PTX text is read for the names and parameters of its kernels.

use std::collections::HashMap;
use std::ffi::{CStr, c_char};

use crate::api::same_device;
use crate::kernels;
use crate::memory::as_work;
use crate::state::{
    Answer, INVALID_HANDLE, INVALID_IMAGE, INVALID_VALUE, NOT_FOUND, NOT_SUPPORTED, state,
};
use crate::stream::Stream;

/// A kernel's parameters, each by its size in bytes.
type Parameters = Vec<usize>;

/// The kernels of a module, which is loaded on a device.
pub(crate) struct Module {
    device: usize,
    kernels: HashMap<String, Parameters>,
}

/// A kernel of a module.
pub(crate) struct Function {
    device: usize,
    name: String,
    parameters: Parameters,
}

pub(crate) fn load(image: *const c_char, device: usize) -> Answer<Module> {
    // SAFETY: a module is a C string here, which is what is shipped.
    let text = unsafe { CStr::from_ptr(image) }.to_str().map_err(|_| INVALID_IMAGE)?;
    let kernels = parse(text).ok_or(INVALID_IMAGE)?;
    Ok(Module { device, kernels })
}

/// Reads `.entry NAME(.param .u64 NAME_param_0, .param .align 8 .b8 NAME_param_1[24])`.
fn parse(text: &str) -> Option<HashMap<String, Parameters>> {
    if !text.contains(".version") || !text.contains(".target") {
        return None;
    }
    let mut kernels = HashMap::new();
    for part in text.split(".entry").skip(1) {
        let (name, rest) = part.split_once('(')?;
        let (signature, _) = rest.split_once(')')?;
        let parameters = signature.split(',').filter(|text| text.contains(".param"));
        let sizes = parameters.map(parameter_size).collect::<Option<_>>()?;
        kernels.insert(name.trim().to_owned(), sizes);
    }
    Some(kernels)
}

fn parameter_size(text: &str) -> Option<usize> {
    let kinds = [".u", ".s", ".b", ".f"];
    let is_type = |word: &&str| {
        kinds.iter().any(|kind| word.starts_with(kind)) && word[2..].parse::<usize>().is_ok()
    };
    let bits: usize = text.split_whitespace().find(is_type)?[2..].parse().ok()?;
    let count = match text.split_once('[') {
        Some((_, rest)) => rest.split_once(']')?.0.trim().parse().ok()?,
        None => 1,
    };
    Some(bits / 8 * count)
}

pub(crate) fn function(module: usize, name: *const c_char) -> Answer<usize> {
    // SAFETY: the API asks for a C string.
    let name = unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| INVALID_VALUE)?;
    let mut state = state();
    let module = state.modules.get(&module).ok_or(INVALID_HANDLE)?;
    let (device, found) = (module.device, module.kernels.get(name));
    let (name, parameters) = (name.to_owned(), found.ok_or(NOT_FOUND)?.clone());
    let handle = state.handle();
    state.functions.insert(handle, Function { device, name, parameters });
    Ok(handle)
}

pub(crate) fn launch(
    function: usize,
    grid: [u32; 3],
    block: [u32; 3],
    stream: &Stream,
    parameters: *const *const u8,
) -> Answer {
    let threads = block.iter().product::<u32>();
    if grid.contains(&0) || threads == 0 || threads > 1024 {
        return Err(INVALID_VALUE);
    }
    let (device, kernel, values) = {
        let state = state();
        let function = state.functions.get(&function).ok_or(INVALID_HANDLE)?;
        let Some(kernel) = kernels::find(&function.name) else {
            eprintln!("fake CUDA driver: no kernel `{}` on the host", function.name);
            return Err(NOT_SUPPORTED);
        };
        (function.device, kernel, read(parameters, &function.parameters))
    };
    same_device("a kernel", device, stream)?;
    stream.queue("a kernel", move |work| {
        as_work(work, || kernel.run(&values, grid, block));
    });
    Ok(())
}

/// Copies the values of parameters, which the caller may reuse once it has launched.
fn read(parameters: *const *const u8, sizes: &[usize]) -> Vec<Vec<u8>> {
    let value = |(place, size): (usize, &usize)| {
        let at = parameters.wrapping_add(place);
        // SAFETY: a launch gives a pointer for each parameter.
        let value = unsafe { at.read() };
        // SAFETY: which points to a value of the parameter's size.
        unsafe { std::slice::from_raw_parts(value, *size) }.to_vec()
    };
    sizes.iter().enumerate().map(value).collect()
}
