//! Records as events of `tracing`.

#![cfg(feature = "tracing")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod records_mock;

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use arraybridge_core::{Convert, HOST, TracingObserver, install};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use records_mock::{Writable, convert, frozen};

/// Keeps events as lines of text.
struct Lines(Arc<Mutex<Vec<String>>>);

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::DEBUG
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        struct Text(String);

        impl Visit for Text {
            fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
                if field.name() == "seconds" {
                    self.0 += " seconds";
                } else {
                    write!(self.0, " {}={value:?}", field.name()).unwrap();
                }
            }
        }

        let metadata = event.metadata();
        let mut text = Text(format!("{} {}:", metadata.level(), metadata.target()));
        event.record(&mut text);
        self.0.lock().unwrap().push(text.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn every_conversion_is_an_event_with_the_fields_of_its_record() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    tracing::subscriber::with_default(Lines(Arc::clone(&lines)), || {
        let _watch = install(Arc::new(TracingObserver::new()));
        convert(4);
        let array = frozen(8);
        let _ = array.alias().convert_to::<Writable>(HOST).unwrap();
    });
    let start = r#"DEBUG arraybridge: message=conversion source_library="frozen" source_device=host target_library="writable" target_device=host"#;
    let expected = [
        format!(r#"{start} mechanism="shared host buffer" copied=false nbytes=16 seconds"#),
        format!(
            r#"{start} mechanism="host copy" copied=true nbytes=32 seconds declined=shared host buffer: read-only (the mock would write it)"#
        ),
    ];
    assert_eq!(*lines.lock().unwrap(), expected);
}
