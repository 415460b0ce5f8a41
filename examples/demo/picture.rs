//! The picture: the projection, large, with planes of the stack beneath it.

use std::path::Path;

use anyhow::{Context, Result};
use arraybridge::prelude::*;
use image::imageops::{FilterType, overlay, resize};
use image::{GrayImage, Luma};

/// The side that the projection is enlarged to, if it is smaller.
const SIDE: u32 = 640;
/// Planes shown beneath the projection.
const PLANES: usize = 6;
const GAP: u32 = 8;
const PAPER: Luma<u8> = Luma([24]);

/// Writes a PNG of `[rows, columns]` bytes, with the input's planes beneath.
pub(crate) fn write(
    path: &Path,
    mut thumbnails: Vec<GrayImage>,
    projection: &NdArray,
) -> Result<()> {
    let projection = enlarged(grey(projection)?);
    let (width, height) = projection.dimensions();
    // Few planes stay small beside the projection, and a narrow one still has planes to see.
    let places = u32::try_from(thumbnails.len())?.max(4);
    let side = (width.saturating_sub(GAP * (places - 1)) / places).max(8);
    for thumbnail in &mut thumbnails {
        let rows = (u64::from(side) * u64::from(thumbnail.height())) / u64::from(thumbnail.width());
        *thumbnail = resize(thumbnail, side, u32::try_from(rows.max(1))?, FilterType::CatmullRom);
    }
    let strip = thumbnails.iter().map(GrayImage::height).max().unwrap_or(0);
    let widest = width.max(places * (side + GAP) - GAP);
    let mut sheet = GrayImage::from_pixel(widest + 2 * GAP, height + strip + 3 * GAP, PAPER);
    overlay(&mut sheet, &projection, GAP.into(), GAP.into());
    for (index, thumbnail) in (0i64..).zip(&thumbnails) {
        let left = i64::from(GAP) + index * i64::from(side + GAP);
        overlay(&mut sheet, thumbnail, left, i64::from(height + 2 * GAP));
    }
    sheet.save(path).with_context(|| format!("cannot write {}", path.display()))
}

/// Returns planes of a `[planes, rows, columns]` stack at equal distances, with one grey scale for
/// all.
pub(crate) fn planes(stack: &NdArray) -> Result<Vec<GrayImage>> {
    let bytes = Ndarray::scale_dtype(&Ndarray::astype(stack, DType::F32)?, DType::U8)?;
    let count = bytes.host().shape().first().copied().unwrap_or(0);
    let shown = count.min(PLANES);
    (0..shown)
        .map(|index| {
            let plane = if shown == 1 { 0 } else { index * (count - 1) / (shown - 1) };
            grey(&Ndarray::plane(&bytes, plane)?)
        })
        .collect()
}

fn grey(plane: &NdArray) -> Result<GrayImage> {
    let host = plane.host().to_contiguous()?;
    let &[rows, columns] = host.shape() else {
        anyhow::bail!("a picture has 2 axes, not the shape {:?}", host.shape());
    };
    let pixels = host.as_slice::<u8>()?.to_vec();
    GrayImage::from_raw(u32::try_from(columns)?, u32::try_from(rows)?, pixels)
        .context("the pixels do not fill the picture")
}

fn enlarged(image: GrayImage) -> GrayImage {
    let (width, height) = image.dimensions();
    let factor = SIDE.div_ceil(width.max(height).max(1));
    if factor <= 1 {
        return image;
    }
    resize(&image, width * factor, height * factor, FilterType::CatmullRom)
}
