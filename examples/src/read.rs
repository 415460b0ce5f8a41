//! Image files as arrays: multi-page TIFF, PNG.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use arraybridge::Element;
use arraybridge::prelude::*;
use tiff::decoder::{Decoder, DecodingResult};
use tiff::tags::Tag;

use crate::dimensions;

/// Returns the path of a sample image of `examples/data`.
pub fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name)
}

/// Reads a TIFF stack or a PNG image into an array of `[planes, rows, columns]` of the file's own
/// dtype.
///
/// # Errors
/// One line that names the file: it is missing or broken, is not grey, or has other axes than
/// planes, rows and columns.
pub fn read_stack(path: &Path) -> Result<NdArray> {
    let read = || {
        let mut start = Vec::new();
        File::open(path)?.take(8).read_to_end(&mut start)?;
        match &*start {
            [0x89, b'P', b'N', b'G', ..] => read_png(path),
            [b'I', b'I', ..] | [b'M', b'M', ..] => read_tiff(path, &start),
            _ => bail!("it is neither a TIFF nor a PNG file"),
        }
    };
    read().with_context(|| format!("cannot use {}", path.display()))
}

fn read_png(path: &Path) -> Result<NdArray> {
    let image = image::open(path)?;
    let (rows, columns) = (image.height() as usize, image.width() as usize);
    let array = match image {
        image::DynamicImage::ImageLuma8(plane) => plane_of(plane.into_raw(), rows, columns),
        image::DynamicImage::ImageLuma16(plane) => plane_of(plane.into_raw(), rows, columns),
        other => bail!("it is not grey: its pixels are {:?}", other.color()),
    }?;
    Ok(Ndarray::prepend_axis(&array)?)
}

fn read_tiff(path: &Path, start: &[u8]) -> Result<NdArray> {
    // In the classic format the offset of the first plane follows the magic number.
    ensure!(start.len() == 8, "it ends after {} bytes", start.len());
    ensure!(start[4..] != [0; 4] || matches!(start[2..4], [43, 0] | [0, 43]), "it has no planes");
    let mut decoder = Decoder::new(BufReader::new(File::open(path)?))?;
    if let Ok(description) = decoder.get_tag_ascii_string(Tag::ImageDescription) {
        dimensions::require_stack(&description)?;
    }
    let mut planes = Vec::new();
    loop {
        planes.push(read_plane(&mut decoder).with_context(|| format!("plane {}", planes.len()))?);
        if !decoder.more_images() {
            break;
        }
        decoder.next_image()?;
    }
    Ok(Ndarray::stack(&planes.iter().collect::<Vec<_>>())?)
}

fn read_plane(decoder: &mut Decoder<BufReader<File>>) -> Result<NdArray> {
    let colour = decoder.colortype()?;
    ensure!(
        matches!(colour, tiff::ColorType::Gray(_)),
        "it is not grey: its pixels are {colour:?}"
    );
    let (columns, rows) = decoder.dimensions()?;
    let (rows, columns) = (rows as usize, columns as usize);
    match decoder.read_image()? {
        DecodingResult::U8(pixels) => plane_of(pixels, rows, columns),
        DecodingResult::U16(pixels) => plane_of(pixels, rows, columns),
        DecodingResult::U32(pixels) => plane_of(pixels, rows, columns),
        DecodingResult::U64(pixels) => plane_of(pixels, rows, columns),
        DecodingResult::I8(pixels) => plane_of(pixels, rows, columns),
        DecodingResult::I16(pixels) => plane_of(pixels, rows, columns),
        DecodingResult::I32(pixels) => plane_of(pixels, rows, columns),
        DecodingResult::I64(pixels) => plane_of(pixels, rows, columns),
        DecodingResult::F32(pixels) => plane_of(pixels, rows, columns),
        DecodingResult::F64(pixels) => plane_of(pixels, rows, columns),
        DecodingResult::F16(_) => bail!("its pixels are 16-bit floats"),
    }
}

/// Wraps the pixels of a plane, without copying them.
fn plane_of<T: Element>(pixels: Vec<T>, rows: usize, columns: usize) -> Result<NdArray> {
    Ok(NdArray::from_host(HostArray::from_vec(pixels, &[rows, columns])?))
}
