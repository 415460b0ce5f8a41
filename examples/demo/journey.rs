//! The main job: through the libraries, a function plane by plane, a projection.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use arraybridge::prelude::*;
use arraybridge::{FanOut, ObserverGuard, install};
use comfy_table::Table;
use raster_backend::Rasters;

use crate::report;

/// The steps that were done and the counters over all of them.
pub(crate) struct Journey {
    steps: Table,
    taken: Taken,
    counters: ConversionCounters,
    _watch: ObserverGuard,
}

/// What the conversions of the current step did, in words.
#[derive(Clone, Default)]
struct Taken(Arc<Mutex<Vec<String>>>);

impl ConversionObserver for Taken {
    fn record(&self, record: &ConversionRecord<'_>) {
        let mut words = record.mechanism.to_string();
        for (mechanism, decline) in record.declined {
            words.push_str(&format!("\n{mechanism} declined: {decline}"));
        }
        let copied = if record.copied { "yes" } else { "no" };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{words}|{copied}"));
    }
}

impl Journey {
    /// Begins to watch this thread's conversions.
    pub(crate) fn begin() -> Journey {
        let (taken, counters) = (Taken::default(), ConversionCounters::new());
        let both = FanOut::new().with(Arc::new(taken.clone())).with(Arc::new(counters.clone()));
        let _watch = install(Arc::new(both));
        Journey { steps: report::steps(), taken, counters, _watch }
    }

    pub(crate) fn steps(&self) -> &Table {
        &self.steps
    }

    pub(crate) fn counters(&self) -> String {
        self.counters.table()
    }

    /// Adds a step that converts nothing.
    pub(crate) fn note(&mut self, what: &str, nbytes: usize, time: Duration) {
        self.row(what, "", "", "", nbytes, time);
    }

    /// Takes an array to every library and device that this machine has, one after the other, and
    /// back to ndarray.
    pub(crate) fn through_every_library(&mut self, array: AnyArray) -> Result<AnyArray> {
        let home = Library::of::<Ndarray>();
        let mut array = array;
        for library in libraries().into_iter().filter(|library| *library != home) {
            if !library.availability().is_available() {
                continue;
            }
            for device in library.available_devices()? {
                array = self.convert(array, library, device)?;
                if library.is::<Rasters>() {
                    self.subtract_background(&mut array)?;
                }
            }
        }
        self.convert(array, home, HOST)
    }

    /// Converts, or leaves the array where it is and says why.
    fn convert(&mut self, array: AnyArray, target: Library, device: Device) -> Result<AnyArray> {
        let (source, from) = (array.library(), array.device()?);
        let planned = plan(source.name(), from, target.name(), device)?.mechanism().to_string();
        let nbytes = array.describe()?.nbytes();
        let what = format!("{source} ({from}) to {target} ({device})");
        let started = Instant::now();
        match array.convert_to(target, device) {
            Ok(array) => {
                let time = started.elapsed();
                let (taken, copied) = self.taken();
                self.row(&what, &planned, &taken, &copied, nbytes, time);
                Ok(array)
            }
            Err(error) => {
                let refused = format!("refused: {}", error.error());
                self.row(&what, &planned, &refused, "", nbytes, started.elapsed());
                error.into_array().context("the array was lost")
            }
        }
    }

    /// Lets the third-party library do something of its own, in place.
    fn subtract_background(&mut self, array: &mut AnyArray) -> Result<()> {
        let started = Instant::now();
        if let Some(raster) = array.as_array_of_mut::<Rasters>() {
            raster.subtract_background()?;
            self.row(
                "subtract the background",
                "",
                "in place, in raster",
                "no",
                0,
                started.elapsed(),
            );
        }
        Ok(())
    }

    /// Brings every plane to mean 0 and deviation 1, in ndarray.
    pub(crate) fn normalize(&mut self, array: AnyArray) -> Result<NdArray> {
        let normalize = ArrayFunction::<Ndarray, _>::new("normalize", |plane: &NdArray| {
            let pixels = Ndarray::astype(plane, DType::F32)?;
            let pixels: ndarray::Array2<f32> = pixels.into_array()?;
            let mean = pixels.mean().unwrap_or(0.0);
            let deviation = pixels.std(0.0).max(f32::EPSILON);
            Ok::<_, arraybridge::Error>(NdArray::from((pixels - mean) / deviation))
        })
        .output_dtype(OutputDtype::Native);
        let array = array.into_array_of::<Ndarray>()?;
        self.run("normalize, plane by plane", || normalize.call_slices(&array))
    }

    /// Projects the brightest of all planes and rescales it to bytes.
    pub(crate) fn project(&mut self, stack: &NdArray) -> Result<NdArray> {
        let projected = self.run("maximum over the planes", || Ndarray::max(stack, 0))?;
        self.run("rescale to bytes", || Ndarray::scale_dtype(&projected, DType::U8))
    }

    fn run(
        &mut self,
        what: &str,
        work: impl FnOnce() -> Result<NdArray, arraybridge::Error>,
    ) -> Result<NdArray> {
        let started = Instant::now();
        let array = work()?;
        self.row(what, "", "in ndarray", "", array.host().nbytes(), started.elapsed());
        Ok(array)
    }

    /// Takes the words for the conversion of this step.
    fn taken(&self) -> (String, String) {
        let words = self.taken.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let words = words.unwrap_or_else(|| format!("{}|no", Mechanism::StaysInPlace));
        let (taken, copied) = words.rsplit_once('|').unwrap_or((&words, ""));
        (taken.to_owned(), copied.to_owned())
    }

    fn row(
        &mut self,
        what: &str,
        planned: &str,
        taken: &str,
        copied: &str,
        nbytes: usize,
        time: Duration,
    ) {
        let bytes = if nbytes == 0 { String::new() } else { nbytes.to_string() };
        self.steps.add_row([what, planned, taken, copied, &bytes, &report::duration(time)]);
    }
}
