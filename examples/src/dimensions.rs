//! The axes that a TIFF file's description declares beyond its planes.

use anyhow::{Result, bail};

/// Returns an error if a description declares more axes than planes, rows and columns, or none of
/// the planes.
///
/// ImageJ's hyperstacks state `channels=`, `slices=` and `frames=`; arrays written by tifffile
/// state their `"shape"`.
pub(crate) fn require_stack(description: &str) -> Result<()> {
    if let Some(shape) = shape(description) {
        if shape.contains(&0) {
            bail!("it has no planes: its shape is {shape:?}");
        }
        let axes = shape.iter().filter(|length| **length > 1).count();
        if axes > 3 {
            bail!(
                "it has {} axes of shape {shape:?}; a stack has 3 (planes, rows, columns)",
                shape.len()
            );
        }
    }
    if description.starts_with("ImageJ=") {
        let axes: Vec<String> = ["channels", "slices", "frames"]
            .iter()
            .filter_map(|name| {
                let line = description.lines().find_map(|line| line.strip_prefix(name))?;
                let count: u64 = line.strip_prefix('=')?.trim().parse().ok()?;
                (count > 1).then(|| format!("{count} {name}"))
            })
            .collect();
        if axes.len() > 1 {
            bail!(
                "it has {} axes ({} of 2-D images); a stack has 3 (planes, rows, columns)",
                axes.len() + 2,
                axes.join(", ")
            );
        }
    }
    Ok(())
}

/// Reads `"shape": [31, 61, 57]`.
fn shape(description: &str) -> Option<Vec<u64>> {
    let (_, rest) = description.split_once("\"shape\"")?;
    let (list, _) = rest.split_once('[')?.1.split_once(']')?;
    list.split(',').map(|length| length.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::require_stack;

    #[test]
    fn stacks_pass_and_more_axes_do_not() {
        for description in [
            "",
            "any text",
            r#"{"shape": [31, 61, 57]}"#,
            r#"{"shape": [1, 31, 1, 61, 57], "axes": "TZCYX"}"#,
            "ImageJ=1.54f\nimages=31\nslices=31\n",
        ] {
            require_stack(description).unwrap();
        }
        let error = |description| require_stack(description).unwrap_err().to_string();
        assert_eq!(
            error(r#"{"shape": [2, 3, 4, 61, 57]}"#),
            "it has 5 axes of shape [2, 3, 4, 61, 57]; a stack has 3 (planes, rows, columns)"
        );
        assert_eq!(
            error("ImageJ=1.54f\nimages=24\nchannels=2\nslices=4\nframes=3\n"),
            "it has 5 axes (2 channels, 4 slices, 3 frames of 2-D images); a stack has 3 (planes, \
             rows, columns)"
        );
        assert_eq!(
            error(r#"{"shape": [0, 61, 57]}"#),
            "it has no planes: its shape is [0, 61, 57]"
        );
    }
}
