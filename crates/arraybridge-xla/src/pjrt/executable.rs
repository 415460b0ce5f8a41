//! Executables: compiled programs.

use super::api::call;
use super::buffer::Buffer;
use super::client::{Client, PjrtDevice};
use super::error::PjrtError;
use super::in_flight;
use super::sys;

/// A compiled program, for any device of its client.
pub(crate) struct Executable {
    client: Client,
    pointer: *mut sys::LoadedExecutable,
    outputs: usize,
}

// SAFETY: PJRT executables may be run and destroyed from any thread.
unsafe impl Send for Executable {}
// SAFETY: as above.
unsafe impl Sync for Executable {}

impl Executable {
    pub(super) fn new(
        client: Client,
        pointer: *mut sys::LoadedExecutable,
    ) -> Result<Executable, PjrtError> {
        let mut executable = Executable { client, pointer, outputs: 0 };
        executable.outputs = executable.count_outputs()?;
        Ok(executable)
    }

    fn count_outputs(&self) -> Result<usize, PjrtError> {
        let api = self.client.api();
        let inner = call!(
            api,
            loaded_executable_get_executable,
            sys::LoadedExecutableGetExecutableArgs { loaded: self.pointer, ..Default::default() }
        )?;
        let executable = inner.executable;
        let told = call!(
            api,
            executable_num_outputs,
            sys::ExecutableNumOutputsArgs { executable, ..Default::default() }
        );
        call!(
            api,
            executable_destroy,
            sys::ExecutableDestroyArgs { executable, ..Default::default() }
        )?;
        Ok(told?.num_outputs)
    }

    /// Queues the program on a device and returns its outputs, which are ready later. No input is
    /// given up to it.
    ///
    /// # Safety
    /// There are as many inputs as the program has parameters, each of the parameter's element type
    /// and dimensions and on `device`: plugins do not check what has the right number of bytes. The
    /// program does not call out of XLA.
    pub(crate) unsafe fn run(
        &self,
        inputs: &[&Buffer],
        device: &PjrtDevice,
    ) -> Result<Vec<Buffer>, PjrtError> {
        let arguments: Vec<*mut sys::Buffer> =
            inputs.iter().map(|buffer| buffer.pointer()).collect();
        let argument_lists = [arguments.as_ptr()];
        let mut outputs: Vec<*mut sys::Buffer> = vec![std::ptr::null_mut(); self.outputs];
        let output_lists = [outputs.as_mut_ptr()];
        // Inputs may be other owners' memory or used elsewhere: none may be overwritten.
        let kept: Vec<i64> = (0..inputs.len() as i64).collect();
        let mut options = sys::ExecuteOptions {
            non_donatable_input_indices: kept.as_ptr(),
            num_non_donatable_input_indices: kept.len(),
            ..Default::default()
        };
        let mut events = [std::ptr::null_mut()];
        // All lists live until the call returns, after which the plugin holds the inputs itself.
        call!(
            self.client.api(),
            loaded_executable_execute,
            sys::LoadedExecutableExecuteArgs {
                executable: self.pointer,
                options: &raw mut options,
                argument_lists: argument_lists.as_ptr(),
                num_devices: 1,
                num_args: arguments.len(),
                output_lists: output_lists.as_ptr(),
                device_complete_events: events.as_mut_ptr(),
                execute_device: device.pointer(),
                ..Default::default()
            }
        )?;
        let outputs =
            outputs.into_iter().map(|pointer| Buffer::new(self.client.clone(), pointer)).collect();
        // SAFETY: the call returned the event of its one device, and nobody else has it.
        unsafe { in_flight::count(&self.client, events[0]) }?;
        Ok(outputs)
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        // The last use of the pointer. A failure has nowhere to go.
        let _ = call!(
            self.client.api(),
            loaded_executable_destroy,
            sys::LoadedExecutableDestroyArgs { executable: self.pointer, ..Default::default() }
        );
    }
}
