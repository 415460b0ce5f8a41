//! The demo as a person runs it: a picture, or one clear line.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use arraybridge_examples::sample;
use tiff::encoder::{TiffEncoder, colortype::Gray8};
use tiff::tags::Tag;

fn temporary(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn demo(file: &Path, picture: &Path) -> Output {
    let mut demo = Command::new(env!("CARGO_BIN_EXE_demo"));
    demo.arg(file).arg("--output").arg(picture).output().unwrap()
}

/// Runs the demo on a file that it cannot use, and returns its line without the file's name.
fn refused(file: &Path) -> String {
    let output = demo(file, &temporary("never.png"));
    assert_eq!(output.status.code(), Some(1));
    let line = String::from_utf8(output.stderr).unwrap();
    assert_eq!(line.lines().count(), 1, "{line}");
    let start = format!("error: cannot use {}: ", file.display());
    line.trim_end().strip_prefix(&start).unwrap_or_else(|| panic!("{line}")).to_owned()
}

/// Writes a TIFF of one 4 x 3 plane with a description.
fn described(name: &str, description: &str) -> PathBuf {
    let path = temporary(name);
    let mut encoder = TiffEncoder::new(File::create(&path).unwrap()).unwrap();
    let mut image = encoder.new_image::<Gray8>(4, 3).unwrap();
    image.encoder().write_tag(Tag::ImageDescription, description).unwrap();
    image.write_data(&[7u8; 12]).unwrap();
    path
}

#[test]
fn the_sample_stack_becomes_a_picture() {
    let picture = temporary("nuclei.png");
    let output = demo(&sample("nuclei3d.tif"), &picture);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("A stack of uint16, [31, 61, 57] (planes, rows, columns)"), "{text}");
    // The third-party library takes part, and the stack reaches it without a copy.
    let step = text.lines().find(|line| line.contains(") to raster (host)")).unwrap();
    let cells: Vec<&str> = step.split('┆').map(str::trim).collect();
    assert_eq!(cells[1..4], ["shared host buffer", "shared host buffer", "no"]);
    assert_eq!(cells[4], (31 * 61 * 57 * 2).to_string());
    // Here, with steps, or not, with the reason.
    for library in ["cuda", "opencl", "tch", "python"] {
        assert!(text.lines().any(|line| line.starts_with(&format!("│ {library} "))), "{library}");
    }
    if cfg!(feature = "python") && std::env::var_os("CI").is_some() {
        assert!(text.contains("python:numpy on host"), "{text}");
    }
    let picture = image::open(picture).unwrap().to_luma8();
    assert!(picture.width() >= 512 && picture.height() > picture.width());
    let (least, most) = picture
        .pixels()
        .fold((255, 0), |(least, most), pixel| (pixel.0[0].min(least), pixel.0[0].max(most)));
    assert!(least < 30 && most > 225, "the picture has no contrast: {least} to {most}");
}

#[test]
fn a_single_plane_is_a_stack_too() {
    let output = demo(&sample("cell.png"), &temporary("cell.png"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_constant_plane_has_nothing_to_normalize_and_is_still_a_picture() {
    let flat = described("flat.tif", "flat");
    let output = demo(&flat, &temporary("flat.png"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_stack_of_single_columns_is_still_a_picture() {
    let path = temporary("narrow.tif");
    let mut encoder = TiffEncoder::new(File::create(&path).unwrap()).unwrap();
    for plane in 0..8u8 {
        let pixels: Vec<u8> = (0..200).map(|row| row + plane).collect();
        encoder.write_image::<Gray8>(1, 200, &pixels).unwrap();
    }
    let output = demo(&path, &temporary("narrow.png"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_missing_file_is_one_line() {
    assert_eq!(refused(&temporary("missing.tif")), "No such file or directory (os error 2)");
}

#[test]
fn a_broken_file_is_one_line() {
    let whole = fs::read(sample("nuclei3d.tif")).unwrap();
    for length in [0, 3, 7, 100, whole.len() / 2, whole.len() - 10] {
        let path = temporary(&format!("broken-{length}.tif"));
        fs::write(&path, &whole[..length]).unwrap();
        assert!(!refused(&path).is_empty());
    }
    let path = temporary("text.tif");
    fs::write(&path, "this is not an image").unwrap();
    assert_eq!(refused(&path), "it is neither a TIFF nor a PNG file");
}

#[test]
fn five_axes_are_refused() {
    let hyperstack = "ImageJ=1.54f\nimages=24\nchannels=2\nslices=4\nframes=3\n";
    assert_eq!(
        refused(&described("hyperstack.tif", hyperstack)),
        "it has 5 axes (2 channels, 4 slices, 3 frames of 2-D images); a stack has 3 (planes, \
         rows, columns)"
    );
    assert_eq!(
        refused(&described("shaped.tif", r#"{"shape": [2, 3, 4, 4, 3]}"#)),
        "it has 5 axes of shape [2, 3, 4, 4, 3]; a stack has 3 (planes, rows, columns)"
    );
}

#[test]
fn no_planes_are_refused() {
    let path = temporary("empty.tif");
    fs::write(&path, b"II\x2a\0\0\0\0\0").unwrap();
    assert_eq!(refused(&path), "it has no planes");
    let shaped = described("zero.tif", r#"{"shape": [0, 4, 3]}"#);
    assert_eq!(refused(&shaped), "it has no planes: its shape is [0, 4, 3]");
}
