//! Counters as JSON, and back with every field checked.

use std::str::FromStr;

use serde_json::Value;

use super::{ConversionCounters, CounterRow};
use crate::{DeclineReason, Error, Mechanism};

/// The version of the format that is written, and the only one that is read.
const VERSION: u64 = 1;

/// What is written.
#[derive(serde::Serialize)]
struct Document {
    version: u64,
    rows: Vec<CounterRow>,
}

impl ConversionCounters {
    /// Writes the counters as JSON: `{"version": 1, "rows": [...]}`, a row being a [`CounterRow`]
    /// with devices, mechanisms and reasons by their labels.
    ///
    /// # Errors
    /// [`Error::CountersFormat`] if the JSON writer fails.
    pub fn to_json(&self) -> Result<String, Error> {
        let document = Document { version: VERSION, rows: self.rows() };
        serde_json::to_string(&document).map_err(|error| wrong("the document", error.to_string()))
    }

    /// Reads counters that [`ConversionCounters::to_json`] wrote. Fields that are not known are
    /// passed over.
    ///
    /// # Errors
    /// [`Error::CountersFormat`] names the field that is missing or wrong, or both versions where
    /// they differ.
    pub fn from_json(text: &str) -> Result<ConversionCounters, Error> {
        let value: Value = serde_json::from_str(text)
            .map_err(|error| wrong("the document", format!("not JSON: {error}")))?;
        let document = Field { value: &value, path: String::new() };
        let version = document.field("version")?.unsigned()?;
        if version != VERSION {
            let problem =
                format!("written as version {version}; this crate reads version {VERSION}");
            return Err(wrong("version", problem));
        }
        let counters = ConversionCounters::new();
        for row in document.field("rows")?.items()? {
            counters.add(row.row()?);
        }
        Ok(counters)
    }
}

/// A value of the document, and where it stands there.
struct Field<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> Field<'a> {
    fn row(&self) -> Result<CounterRow, Error> {
        let declined = self.field("declined")?.items()?;
        Ok(CounterRow {
            source_library: self.field("source_library")?.text()?.to_owned().into(),
            source_device: self.field("source_device")?.label()?,
            target_library: self.field("target_library")?.text()?.to_owned().into(),
            target_device: self.field("target_device")?.label()?,
            mechanism: self.field("mechanism")?.label()?,
            copied: self.field("copied")?.truth()?,
            declined: declined.iter().map(Field::declined).collect::<Result<_, _>>()?,
            conversions: self.field("conversions")?.unsigned()?,
            nbytes: self.field("nbytes")?.unsigned()?,
            seconds: self.field("seconds")?.seconds()?,
        })
    }

    fn declined(&self) -> Result<(Mechanism, DeclineReason), Error> {
        let pair = self.items()?;
        let [mechanism, reason] = &pair[..] else {
            let problem = format!("expected a mechanism and a reason, found {} items", pair.len());
            return Err(wrong(&self.path, problem));
        };
        Ok((mechanism.label()?, reason.label()?))
    }

    /// Returns a field of an object.
    fn field(&self, name: &str) -> Result<Field<'a>, Error> {
        let object = self.value.as_object().ok_or_else(|| self.expected("an object"))?;
        let dot = if self.path.is_empty() { "" } else { "." };
        let path = format!("{}{dot}{name}", self.path);
        match object.get(name) {
            Some(value) => Ok(Field { value, path }),
            None => Err(wrong(&path, "missing".into())),
        }
    }

    /// Returns the items of an array.
    fn items(&self) -> Result<Vec<Field<'a>>, Error> {
        let items = self.value.as_array().ok_or_else(|| self.expected("an array"))?;
        let item = |(index, value)| Field { value, path: format!("{}[{index}]", self.path) };
        Ok(items.iter().enumerate().map(item).collect())
    }

    fn text(&self) -> Result<&'a str, Error> {
        self.value.as_str().ok_or_else(|| self.expected("a string"))
    }

    fn truth(&self) -> Result<bool, Error> {
        self.value.as_bool().ok_or_else(|| self.expected("true or false"))
    }

    fn unsigned(&self) -> Result<u64, Error> {
        self.value.as_u64().ok_or_else(|| self.expected("an unsigned integer"))
    }

    fn seconds(&self) -> Result<f64, Error> {
        let seconds = self.value.as_f64().filter(|seconds| *seconds >= 0.0);
        seconds.ok_or_else(|| self.expected("a number of seconds"))
    }

    fn label<T: FromStr<Err = Error>>(&self) -> Result<T, Error> {
        self.text()?.parse().map_err(|error: Error| wrong(&self.path, error.to_string()))
    }

    fn expected(&self, what: &str) -> Error {
        let found = match self.value {
            Value::Null => "null".into(),
            Value::Bool(value) => value.to_string(),
            Value::Number(number) => number.to_string(),
            Value::String(_) => "a string".into(),
            Value::Array(_) => "an array".into(),
            Value::Object(_) => "an object".into(),
        };
        let path = if self.path.is_empty() { "the document" } else { &self.path };
        wrong(path, format!("expected {what}, found {found}"))
    }
}

fn wrong(field: &str, problem: String) -> Error {
    Error::CountersFormat { field: field.into(), problem }
}
