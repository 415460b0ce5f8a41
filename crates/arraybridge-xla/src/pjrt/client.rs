//! Clients: a plugin's devices and what is made on them.

use std::any::Any;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};

use super::api::{Api, Kept, call, drop_kept, empty, to_text};
use super::buffer::{Buffer, check_dims};
use super::element::ElementType;
use super::error::PjrtError;
use super::executable::Executable;
use super::sys;

/// A client of a plugin, shared by everything that it makes.
#[derive(Clone)]
pub(crate) struct Client(Arc<Inner>);

struct Inner {
    api: Api,
    pointer: *mut sys::Client,
}

// SAFETY: PJRT clients may be used and destroyed from any thread.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

/// A device of a client.
#[derive(Clone)]
pub(crate) struct PjrtDevice {
    client: Client,
    pointer: *mut sys::Device,
}

// SAFETY: devices are immutable and live as long as their client, which they hold.
unsafe impl Send for PjrtDevice {}
// SAFETY: as above.
unsafe impl Sync for PjrtDevice {}

/// A setting of a client.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum ClientOption {
    Integer(&'static str, i64),
    Boolean(&'static str, bool),
}

/// A tiled layout without tiles in row-major order.
fn row_major(minor_to_major: &[i64]) -> sys::MemoryLayout {
    let tiled = sys::MemoryLayoutTiled {
        minor_to_major: minor_to_major.as_ptr(),
        minor_to_major_size: minor_to_major.len(),
        ..Default::default()
    };
    sys::MemoryLayout { tiled, kind: sys::LAYOUT_TILED, ..Default::default() }
}

pub(super) fn minor_to_major(rank: usize) -> Vec<i64> {
    (0..rank as i64).rev().collect()
}

impl Client {
    /// Makes a client.
    pub(crate) fn new(api: Api, options: &[ClientOption]) -> Result<Client, PjrtError> {
        let named: Vec<sys::NamedValue> = options
            .iter()
            .map(|option| {
                let (name, kind, value) = match option {
                    ClientOption::Integer(name, integer) => {
                        (name, sys::NAMED_VALUE_INTEGER, sys::NamedValueUnion { integer: *integer })
                    }
                    ClientOption::Boolean(name, boolean) => {
                        (name, sys::NAMED_VALUE_BOOLEAN, sys::NamedValueUnion { boolean: *boolean })
                    }
                };
                sys::NamedValue {
                    name: name.as_ptr().cast(),
                    name_size: name.len(),
                    kind,
                    value,
                    value_size: 1,
                    ..Default::default()
                }
            })
            .collect();
        // The options live until the call returns.
        let made = call!(
            &api,
            client_create,
            sys::ClientCreateArgs {
                create_options: named.as_ptr(),
                num_options: named.len(),
                ..Default::default()
            }
        )?;
        Ok(Client(Arc::new(Inner { api, pointer: made.client })))
    }

    pub(super) fn api(&self) -> &Api {
        &self.0.api
    }

    /// Returns whether both are handles on one client.
    pub(crate) fn is(&self, other: &Client) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the name of the platform, such as `cpu` or `cuda`.
    pub(crate) fn platform(&self) -> Result<String, PjrtError> {
        let told = call!(
            self.api(),
            client_platform_name,
            sys::ClientPlatformNameArgs { client: self.0.pointer, ..Default::default() }
        )?;
        // SAFETY: the name lives as long as the client.
        Ok(unsafe { to_text(told.platform_name, told.platform_name_size) })
    }

    /// Returns the devices of this process.
    pub(crate) fn devices(&self) -> Result<Vec<PjrtDevice>, PjrtError> {
        let told = call!(
            self.api(),
            client_addressable_devices,
            sys::ClientAddressableDevicesArgs { client: self.0.pointer, ..Default::default() }
        )?;
        if told.num_devices == 0 {
            return Ok(Vec::new());
        }
        // SAFETY: the list lives as long as the client and has this many entries.
        let list = unsafe { std::slice::from_raw_parts(told.devices, told.num_devices) };
        Ok(list.iter().map(|&pointer| PjrtDevice { client: self.clone(), pointer }).collect())
    }

    /// Compiles a program in MLIR (text or bytecode).
    pub(crate) fn compile(&self, program: &[u8]) -> Result<Executable, PjrtError> {
        /// `CompileOptionsProto { executable_build_options { num_replicas: 1 num_partitions: 1 }
        /// compile_portable_executable: true }`: one program for any device of the client. Empty
        /// options abort the process.
        const OPTIONS: [u8; 8] = [0x1a, 0x04, 0x20, 0x01, 0x28, 0x01, 0x20, 0x01];
        const FORMAT: &str = "mlir";
        let mut code = program.to_vec();
        let program = sys::Program {
            code: code.as_mut_ptr().cast(),
            code_size: code.len(),
            format: FORMAT.as_ptr().cast(),
            format_size: FORMAT.len(),
            ..Default::default()
        };
        // Code, format and options live until the call returns.
        let made = call!(
            self.api(),
            client_compile,
            sys::ClientCompileArgs {
                client: self.0.pointer,
                program: &raw const program,
                compile_options: OPTIONS.as_ptr().cast(),
                compile_options_size: OPTIONS.len(),
                ..Default::default()
            }
        )?;
        Executable::new(self.clone(), made.executable)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Everything that the client made holds it, so this is its last use. A failure has nowhere
        // to go.
        let _ = call!(
            &self.api,
            client_destroy,
            sys::ClientDestroyArgs { client: self.pointer, ..Default::default() }
        );
    }
}

impl PjrtDevice {
    pub(super) fn pointer(&self) -> *mut sys::Device {
        self.pointer
    }

    /// Returns the client that the device is of.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the number by which the platform's own driver knows the device, or -1.
    pub(crate) fn hardware_id(&self) -> Result<i32, PjrtError> {
        let told = call!(
            self.client.api(),
            device_local_hardware_id,
            sys::DeviceLocalHardwareIdArgs { device: self.pointer, ..Default::default() }
        )?;
        Ok(told.local_hardware_id)
    }

    /// Copies row-major elements to the device.
    ///
    /// # Errors
    /// Also if the slice is not as long as the dimensions say.
    pub(crate) fn upload(
        &self,
        bytes: &[u8],
        element: ElementType,
        dims: &[usize],
    ) -> Result<Buffer, PjrtError> {
        let (dims, nbytes) = check_dims(dims, element)?;
        if bytes.len() != nbytes {
            let message = format!("{} bytes for {nbytes} bytes of {dims:?}", bytes.len());
            return Err(PjrtError::Refused(message));
        }
        // Data and dimensions live until the call returns; with these semantics the plugin reads
        // the data no later. The event says that it is done, which it is.
        let made = call!(
            self.client.api(),
            client_buffer_from_host_buffer,
            sys::ClientBufferFromHostBufferArgs {
                client: self.client.0.pointer,
                data: bytes.as_ptr().cast(),
                element_type: element.code,
                dims: dims.as_ptr(),
                num_dims: dims.len(),
                host_buffer_semantics: sys::IMMUTABLE_ONLY_DURING_CALL,
                device: self.pointer,
                ..Default::default()
            }
        )?;
        let buffer = Buffer::new(self.client.clone(), made.buffer);
        // SAFETY: the call returned the event, and nobody else has it.
        unsafe { self.client.api().wait(made.done_with_host_buffer) }?;
        Ok(buffer)
    }

    /// Wraps row-major memory of the device without copying it; `kept` is dropped, on any thread,
    /// when the runtime has let go of it.
    ///
    /// # Errors
    /// `kept` is dropped then.
    ///
    /// # Safety
    /// Until `kept` is dropped the memory holds that many elements, on this device, readable by it,
    /// and nobody writes them.
    pub(crate) unsafe fn view(
        &self,
        pointer: *mut c_void,
        element: ElementType,
        dims: &[usize],
        kept: Box<dyn Any + Send>,
    ) -> Result<Buffer, PjrtError> {
        let (dims, _) = check_dims(dims, element)?;
        let order = minor_to_major(dims.len());
        let mut layout = row_major(&order);
        // Two handles, one for the callback: whichever comes first empties the cell, so that neither
        // a plugin that calls back after an error nor one that does not frees twice.
        let kept: Kept = Arc::new(Mutex::new(Some(kept)));
        let for_callback = Arc::into_raw(Arc::clone(&kept));
        // Dimensions and layout live until the call returns; the memory outlives `kept`, which the
        // callback drops once.
        let made = call!(
            self.client.api(),
            client_create_view_of_device_buffer,
            sys::ClientCreateViewOfDeviceBufferArgs {
                client: self.client.0.pointer,
                device_buffer_ptr: pointer,
                dims: dims.as_ptr(),
                num_dims: dims.len(),
                element_type: element.code,
                layout: &raw mut layout,
                device: self.pointer,
                on_delete_callback: Some(drop_kept),
                on_delete_callback_arg: for_callback.cast_mut().cast(),
                ..Default::default()
            }
        );
        let made = made.inspect_err(|_| empty(&kept))?;
        Ok(Buffer::new(self.client.clone(), made.buffer))
    }
}
