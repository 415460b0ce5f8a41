//! The order of commands on a buffer: whoever reads waits for the writer, whoever writes waits for
//! the readers too, on whichever queues those were put.

use std::sync::Arc;

use crate::cl::{Event, OpenClError};
use crate::place::Stream;

/// From how many readers on those that are over are forgotten.
const READERS: usize = 8;

/// A queued command.
pub(crate) struct Command {
    pub(crate) event: Event,
    stream: Arc<Stream>,
}

impl Command {
    pub(crate) fn new(event: Event, stream: &Arc<Stream>) -> Arc<Command> {
        Arc::new(Command { event, stream: Arc::clone(stream) })
    }

    /// Returns whether a command that is put on `stream` now has to be told to wait for this one.
    fn concerns(&self, stream: &Arc<Stream>) -> bool {
        let follows = Arc::ptr_eq(&self.stream, stream) && stream.in_order;
        !follows && !self.event.is_over()
    }
}

/// The commands on a buffer that later ones may have to wait for.
#[derive(Default)]
pub(crate) struct Uses {
    written: Option<Arc<Command>>,
    read: Vec<Arc<Command>>,
}

impl Uses {
    /// Adds what a command that reads the buffer waits for.
    ///
    /// # Errors
    /// The failure of the command that wrote the buffer, if it failed already.
    pub(crate) fn before_reading(
        &self,
        stream: &Arc<Stream>,
        waits: &mut Vec<Arc<Command>>,
    ) -> Result<(), OpenClError> {
        self.check()?;
        waits.extend(self.written.iter().filter(|command| command.concerns(stream)).cloned());
        Ok(())
    }

    /// Returns the failure of the command that wrote the buffer last, if it failed already.
    pub(crate) fn check(&self) -> Result<(), OpenClError> {
        let status = self.written.as_ref().and_then(|command| command.event.status());
        match status.filter(|status| *status < 0) {
            Some(status) => Err(OpenClError::new("the work that made the elements", status)),
            None => Ok(()),
        }
    }

    /// Adds what a command that writes the buffer waits for.
    pub(crate) fn before_writing(&self, stream: &Arc<Stream>, waits: &mut Vec<Arc<Command>>) {
        let uses = self.written.iter().chain(&self.read);
        waits.extend(uses.filter(|command| command.concerns(stream)).cloned());
    }

    /// Notes a command that reads the buffer.
    pub(crate) fn reads(&mut self, command: Arc<Command>) {
        if self.read.len() >= READERS {
            self.read.retain(|command| !command.event.is_over());
        }
        self.read.push(command);
    }

    /// Notes a command that writes the buffer, after all that read it.
    pub(crate) fn writes(&mut self, command: Arc<Command>) {
        self.read.clear();
        self.written = Some(command);
    }

    /// Returns the command that wrote the buffer last.
    pub(crate) fn written(&self) -> Option<Arc<Command>> {
        self.written.clone()
    }
}

/// Returns the events of commands, as OpenCL wants them; they are valid as long as the commands live.
pub(crate) fn events(commands: &[Arc<Command>]) -> Vec<*mut std::ffi::c_void> {
    commands.iter().map(|command| command.event.raw()).collect()
}
