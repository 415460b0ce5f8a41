//! Compiled programs in a folder, for later processes. Only where the user asks for it.
//!
//! A file is trusted only if it says itself what it was made of, down to the driver's version, and is
//! whole: drivers do not check what they load.

use std::env;
use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use cl3::error_codes::CL_INVALID_VALUE;

use crate::cl::{OpenClError, Program};
use crate::place::Place;

/// Names the folder from the start.
const FOLDER_VARIABLE: &str = "ARRAYBRIDGE_OPENCL_PROGRAMS";
/// What a file begins with.
const MAGIC: &[u8] = b"arraybridge opencl program 1\n";

enum Folder {
    Unset,
    Set(Option<PathBuf>),
}

static FOLDER: Mutex<Folder> = Mutex::new(Folder::Unset);

/// Keeps compiled programs in a folder from now on, or no longer.
///
/// Compiling takes a tenth of a second and more, loading about a millisecond. The folder must be
/// yours alone: drivers run what they find in a program's file. The variable
/// `ARRAYBRIDGE_OPENCL_PROGRAMS` names it from the start. A folder that cannot be used is as none.
pub fn set_program_folder(folder: Option<PathBuf>) {
    *FOLDER.lock().unwrap_or_else(PoisonError::into_inner) = Folder::Set(folder);
}

fn folder() -> Option<PathBuf> {
    match &*FOLDER.lock().unwrap_or_else(PoisonError::into_inner) {
        Folder::Set(folder) => folder.clone(),
        Folder::Unset => {
            env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from)
        }
    }
}

/// Compiles a program, or loads what an earlier process compiled.
pub(super) fn load_or_compile(
    place: &Place,
    source: &str,
    options: &str,
) -> Result<Program, OpenClError> {
    let (context, device) = (&place.context, place.known.id);
    let flags =
        CString::new(options).map_err(|_| refused("the options have a NUL character in them"))?;
    if source.contains('\0') {
        return Err(refused("the source has a NUL character in it"));
    }
    let Some(folder) = folder() else {
        return Program::from_source(context, device, source, &flags);
    };
    let key = key(place, source, options);
    let file = folder.join(format!("{:016x}.bin", hash(&key)));
    if let Some(binary) = read(&file, &key) {
        // SAFETY: the file says that this driver made it for this device, and is whole.
        if let Ok(program) = unsafe { Program::from_binary(context, device, &binary, &flags) } {
            return Ok(program);
        }
    }
    let program = Program::from_source(context, device, source, &flags)?;
    if let Ok(binary) = program.binary() {
        write(&folder, &file, &key, &binary);
    }
    Ok(program)
}

fn refused(detail: &str) -> OpenClError {
    OpenClError::new("clBuildProgram", CL_INVALID_VALUE).with_detail(detail.to_owned())
}

/// Everything that decides what a binary is.
fn key(place: &Place, source: &str, options: &str) -> Vec<u8> {
    let facts = &place.known.facts;
    let parts = [&facts.platform, &facts.name, &facts.version, &facts.driver, options, source];
    let mut key = Vec::new();
    for part in parts {
        key.extend_from_slice(&(part.len() as u64).to_le_bytes());
        key.extend_from_slice(part.as_bytes());
    }
    key
}

/// FNV-1a: names files and finds broken ones; what is trusted is the key itself.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Returns the binary in a file that is whole and of this key.
fn read(file: &Path, key: &[u8]) -> Option<Vec<u8>> {
    let content = fs::read(file).ok()?;
    let rest = content.strip_prefix(MAGIC)?.strip_prefix(key)?;
    let (sum, binary) = rest.split_first_chunk::<8>()?;
    (u64::from_le_bytes(*sum) == hash(binary)).then(|| binary.to_vec())
}

/// Writes a file whole or not at all; a failure only means that the next process compiles again.
fn write(folder: &Path, file: &Path, key: &[u8], binary: &[u8]) {
    let content = [MAGIC, key, &hash(binary).to_le_bytes(), binary].concat();
    let fresh = file.with_extension(format!("{}", std::process::id()));
    let written = fs::create_dir_all(folder)
        .and_then(|()| fs::write(&fresh, content))
        .and_then(|()| fs::rename(&fresh, file));
    if written.is_err() {
        let _ = fs::remove_file(&fresh);
    }
}
