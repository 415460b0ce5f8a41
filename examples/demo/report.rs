//! The tables that people read.

use std::time::Duration;

use arraybridge::prelude::*;
use arraybridge::{DeviceKind, Error, known_libraries};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets::UTF8_FULL_CONDENSED};

fn table(header: &[&str], numbers_from: usize) -> Table {
    let mut table = Table::new();
    table.load_preset(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header);
    for column in table.column_iter_mut().skip(numbers_from) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// The table of steps, still empty.
pub(crate) fn steps() -> Table {
    table(&["step", "planned", "taken", "copied", "bytes", "time"], 4)
}

/// A time with a unit that suits it.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1e-3 {
        format!("{:.1} µs", seconds * 1e6)
    } else {
        format!("{:.1} ms", seconds * 1e3)
    }
}

/// What a conversion from ndarray would do in the libraries that are not here, and why they are
/// not.
pub(crate) fn absent() -> Result<Table, Error> {
    let mut table = table(&["library", "from ndarray it would be", "why it is not here"], 3);
    for known in known_libraries() {
        let declaration = known.declaration;
        let why = match library(declaration.name).map(|library| library.availability()) {
            Ok(availability) if availability.is_available() => continue,
            Ok(availability) => availability.to_string(),
            Err(_) => known.remedy.to_owned(),
        };
        let mut plans = Vec::new();
        for kind in declaration.devices.iter() {
            let device = match kind {
                DeviceKind::Host => HOST,
                DeviceKind::Accelerator => Device::Accelerator(0),
                _ => Device::named("cpu")?,
            };
            let mechanism = plan("ndarray", HOST, declaration.name, device)?.mechanism();
            plans.push(format!("on {device}: {mechanism}"));
        }
        table.add_row([declaration.name, &plans.join("\n"), &why]);
    }
    Ok(table)
}
