//! The C declarations of PJRT that are used here, from `pjrt_c_api.h` of API version 0.81.
//!
//! The table's order has not changed between 0.54 and 0.115; later versions append. Structures
//! carry their size, so that a plugin of another version reads only what both know. Names are
//! those of the header without its `PJRT_` prefix.

use std::ffi::{c_char, c_int, c_void};

/// Opaque objects of the plugin.
macro_rules! opaque {
    ($($name:ident)+) => {$(
        #[repr(C)]
        pub(super) struct $name {
            _private: [u8; 0],
        }
    )+};
}

opaque! { Error Event Client Device Memory Buffer Executable LoadedExecutable }

/// Structures that start with their size and an extension pointer. The number is the size that the
/// header states (`..._STRUCT_SIZE`): the end of the last field, before padding.
macro_rules! structures {
    ($($name:ident $size:literal { $($field:ident: $type:ty,)* })+) => {$(
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub(super) struct $name {
            pub(super) struct_size: usize,
            pub(super) extension_start: *mut c_void,
            $(pub(super) $field: $type,)*
        }

        const _: () = assert!(size_of::<$name>() == ($size as usize).next_multiple_of(8));

        impl Default for $name {
            fn default() -> Self {
                // SAFETY: pointers, numbers, bools, unions of them and optional function pointers,
                // for all of which zero is a value.
                let zeroed: Self = unsafe { std::mem::zeroed() };
                $name { struct_size: $size, ..zeroed }
            }
        }
    )+};
}

structures! {
    ErrorDestroyArgs 24 { error: *mut Error, }
    ErrorMessageArgs 40 { error: *const Error, message: *const c_char, message_size: usize, }
    ErrorGetCodeArgs 28 { error: *const Error, code: u32, }
    PluginInitializeArgs 16 {}
    EventDestroyArgs 24 { event: *mut Event, }
    EventAwaitArgs 24 { event: *mut Event, }
    EventOnReadyArgs 40 {
        event: *mut Event,
        callback: Option<unsafe extern "C" fn(*mut Error, *mut c_void)>,
        user_arg: *mut c_void,
    }
    NamedValue 56 {
        name: *const c_char,
        name_size: usize,
        kind: u32,
        value: NamedValueUnion,
        value_size: usize,
    }
    ClientCreateArgs 88 {
        create_options: *const NamedValue,
        num_options: usize,
        kv_get_callback: *const c_void,
        kv_get_user_arg: *mut c_void,
        kv_put_callback: *const c_void,
        kv_put_user_arg: *mut c_void,
        client: *mut Client,
        kv_try_get_callback: *const c_void,
        kv_try_get_user_arg: *mut c_void,
    }
    ClientDestroyArgs 24 { client: *mut Client, }
    ClientPlatformNameArgs 40 {
        client: *mut Client,
        platform_name: *const c_char,
        platform_name_size: usize,
    }
    ClientAddressableDevicesArgs 40 {
        client: *mut Client,
        devices: *const *mut Device,
        num_devices: usize,
    }
    Program 48 {
        code: *mut c_char,
        code_size: usize,
        format: *const c_char,
        format_size: usize,
    }
    ClientCompileArgs 56 {
        client: *mut Client,
        program: *const Program,
        compile_options: *const c_char,
        compile_options_size: usize,
        executable: *mut LoadedExecutable,
    }
    ClientBufferFromHostBufferArgs 120 {
        client: *mut Client,
        data: *const c_void,
        element_type: u32,
        dims: *const i64,
        num_dims: usize,
        byte_strides: *const i64,
        num_byte_strides: usize,
        host_buffer_semantics: u32,
        device: *mut Device,
        memory: *mut Memory,
        device_layout: *mut MemoryLayout,
        done_with_host_buffer: *mut Event,
        buffer: *mut Buffer,
    }
    ClientCreateViewOfDeviceBufferArgs 112 {
        client: *mut Client,
        device_buffer_ptr: *mut c_void,
        dims: *const i64,
        num_dims: usize,
        element_type: u32,
        layout: *mut MemoryLayout,
        device: *mut Device,
        on_delete_callback: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
        on_delete_callback_arg: *mut c_void,
        stream: isize,
        buffer: *mut Buffer,
        memory: *mut Memory,
    }
    MemoryLayoutTiled 56 {
        minor_to_major: *const i64,
        minor_to_major_size: usize,
        tile_dims: *const i64,
        tile_dim_sizes: *const usize,
        num_tiles: usize,
    }
    // The union of the tiled and the strided form is as large as the tiled one.
    MemoryLayout 76 { tiled: MemoryLayoutTiled, kind: u32, }
    DeviceLocalHardwareIdArgs 28 { device: *mut Device, local_hardware_id: c_int, }
    BufferElementTypeArgs 28 { buffer: *mut Buffer, element_type: u32, }
    BufferDimensionsArgs 40 { buffer: *mut Buffer, dims: *const i64, num_dims: usize, }
    BufferGetMemoryLayoutArgs 104 { buffer: *mut Buffer, layout: MemoryLayout, }
    BufferUnsafePointerArgs 32 { buffer: *mut Buffer, pointer: usize, }
    BufferOpaqueDeviceMemoryDataPointerArgs 32 { buffer: *mut Buffer, pointer: *mut c_void, }
    BufferIncreaseExternalReferenceCountArgs 24 { buffer: *mut Buffer, }
    BufferDecreaseExternalReferenceCountArgs 24 { buffer: *mut Buffer, }
    BufferReadyEventArgs 32 { buffer: *mut Buffer, event: *mut Event, }
    BufferToHostBufferArgs 56 {
        buffer: *mut Buffer,
        host_layout: *mut MemoryLayout,
        target: *mut c_void,
        target_size: usize,
        event: *mut Event,
    }
    BufferCopyToDeviceArgs 40 { buffer: *mut Buffer, device: *mut Device, copy: *mut Buffer, }
    BufferDestroyArgs 24 { buffer: *mut Buffer, }
    LoadedExecutableGetExecutableArgs 32 {
        loaded: *mut LoadedExecutable,
        executable: *mut Executable,
    }
    ExecutableNumOutputsArgs 32 { executable: *mut Executable, num_outputs: usize, }
    ExecutableDestroyArgs 24 { executable: *mut Executable, }
    LoadedExecutableDestroyArgs 24 { executable: *mut LoadedExecutable, }
    ExecuteOptions 112 {
        send_callbacks: *mut c_void,
        recv_callbacks: *mut c_void,
        num_send_ops: usize,
        num_recv_ops: usize,
        launch_id: c_int,
        non_donatable_input_indices: *const i64,
        num_non_donatable_input_indices: usize,
        context: *mut c_void,
        call_location: *const c_char,
        num_tasks: usize,
        task_ids: *mut c_int,
        incarnation_ids: *mut i64,
    }
    LoadedExecutableExecuteArgs 80 {
        executable: *mut LoadedExecutable,
        options: *mut ExecuteOptions,
        argument_lists: *const *const *mut Buffer,
        num_devices: usize,
        num_args: usize,
        output_lists: *const *mut *mut Buffer,
        device_complete_events: *mut *mut Event,
        execute_device: *mut Device,
    }
}

/// The value of a [`NamedValue`], by its kind.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) union NamedValueUnion {
    pub(super) text: *const c_char,
    pub(super) integer: i64,
    pub(super) boolean: bool,
}

/// `PJRT_NamedValue_Type`.
pub(super) const NAMED_VALUE_INTEGER: u32 = 1;
pub(super) const NAMED_VALUE_BOOLEAN: u32 = 4;

/// `PJRT_HostBufferSemantics_kImmutableOnlyDuringCall`: the data need not outlive the call.
pub(super) const IMMUTABLE_ONLY_DURING_CALL: u32 = 0;

/// `PJRT_Buffer_MemoryLayout_Type_Tiled`: minor-to-major order, which may have no tiles.
pub(super) const LAYOUT_TILED: u32 = 0;

/// The version in the table.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ApiVersion {
    pub(super) struct_size: usize,
    pub(super) extension_start: *mut c_void,
    pub(super) major: c_int,
    pub(super) minor: c_int,
}

/// An entry of the table that is called here.
pub(super) type Entry<Args> = Option<unsafe extern "C" fn(*mut Args) -> *mut Error>;
/// An entry that is not.
type Unused = Option<unsafe extern "C" fn()>;

/// The table of functions. Only the first `struct_size` bytes of it are there.
macro_rules! table {
    ($($entry:ident: $type:ty,)+) => {
        #[repr(C)]
        pub(super) struct Api {
            pub(super) struct_size: usize,
            pub(super) extension_start: *mut c_void,
            pub(super) version: ApiVersion,
            $(pub(super) $entry: $type,)+
        }
    };
}

table! {
    error_destroy: Option<unsafe extern "C" fn(*mut ErrorDestroyArgs)>,
    error_message: Option<unsafe extern "C" fn(*mut ErrorMessageArgs)>,
    error_get_code: Entry<ErrorGetCodeArgs>,
    plugin_initialize: Entry<PluginInitializeArgs>,
    plugin_attributes: Unused,
    event_destroy: Entry<EventDestroyArgs>,
    event_is_ready: Unused,
    event_error: Unused,
    event_await: Entry<EventAwaitArgs>,
    event_on_ready: Entry<EventOnReadyArgs>,
    client_create: Entry<ClientCreateArgs>,
    client_destroy: Entry<ClientDestroyArgs>,
    client_platform_name: Entry<ClientPlatformNameArgs>,
    client_process_index: Unused,
    client_platform_version: Unused,
    client_devices: Unused,
    client_addressable_devices: Entry<ClientAddressableDevicesArgs>,
    client_lookup_device: Unused,
    client_lookup_addressable_device: Unused,
    client_addressable_memories: Unused,
    client_compile: Entry<ClientCompileArgs>,
    client_default_device_assignment: Unused,
    client_buffer_from_host_buffer: Entry<ClientBufferFromHostBufferArgs>,
    device_description_id: Unused,
    device_description_process_index: Unused,
    device_description_attributes: Unused,
    device_description_kind: Unused,
    device_description_debug_string: Unused,
    device_description_to_string: Unused,
    device_get_description: Unused,
    device_is_addressable: Unused,
    device_local_hardware_id: Entry<DeviceLocalHardwareIdArgs>,
    device_addressable_memories: Unused,
    device_default_memory: Unused,
    device_memory_stats: Unused,
    memory_id: Unused,
    memory_kind: Unused,
    memory_debug_string: Unused,
    memory_to_string: Unused,
    memory_addressable_by_devices: Unused,
    executable_destroy: Entry<ExecutableDestroyArgs>,
    executable_name: Unused,
    executable_num_replicas: Unused,
    executable_num_partitions: Unused,
    executable_num_outputs: Entry<ExecutableNumOutputsArgs>,
    executable_size_of_generated_code_in_bytes: Unused,
    executable_get_cost_analysis: Unused,
    executable_output_memory_kinds: Unused,
    executable_optimized_program: Unused,
    executable_serialize: Unused,
    loaded_executable_destroy: Entry<LoadedExecutableDestroyArgs>,
    loaded_executable_get_executable: Entry<LoadedExecutableGetExecutableArgs>,
    loaded_executable_addressable_devices: Unused,
    loaded_executable_delete: Unused,
    loaded_executable_is_deleted: Unused,
    loaded_executable_execute: Entry<LoadedExecutableExecuteArgs>,
    executable_deserialize_and_load: Unused,
    loaded_executable_fingerprint: Unused,
    buffer_destroy: Entry<BufferDestroyArgs>,
    buffer_element_type: Entry<BufferElementTypeArgs>,
    buffer_dimensions: Entry<BufferDimensionsArgs>,
    buffer_unpadded_dimensions: Unused,
    buffer_dynamic_dimension_indices: Unused,
    buffer_get_memory_layout: Entry<BufferGetMemoryLayoutArgs>,
    buffer_on_device_size_in_bytes: Unused,
    buffer_device: Unused,
    buffer_memory: Unused,
    buffer_delete: Unused,
    buffer_is_deleted: Unused,
    buffer_copy_to_device: Entry<BufferCopyToDeviceArgs>,
    buffer_to_host_buffer: Entry<BufferToHostBufferArgs>,
    buffer_is_on_cpu: Unused,
    buffer_ready_event: Entry<BufferReadyEventArgs>,
    buffer_unsafe_pointer: Entry<BufferUnsafePointerArgs>,
    buffer_increase_external_reference_count: Entry<BufferIncreaseExternalReferenceCountArgs>,
    buffer_decrease_external_reference_count: Entry<BufferDecreaseExternalReferenceCountArgs>,
    buffer_opaque_device_memory_data_pointer: Entry<BufferOpaqueDeviceMemoryDataPointerArgs>,
    copy_to_device_stream_destroy: Unused,
    copy_to_device_stream_add_chunk: Unused,
    copy_to_device_stream_total_bytes: Unused,
    copy_to_device_stream_granule_size: Unused,
    copy_to_device_stream_current_bytes: Unused,
    topology_description_create: Unused,
    topology_description_destroy: Unused,
    topology_description_platform_name: Unused,
    topology_description_platform_version: Unused,
    topology_description_get_device_descriptions: Unused,
    topology_description_serialize: Unused,
    topology_description_attributes: Unused,
    compile: Unused,
    executable_output_element_types: Unused,
    executable_output_dimensions: Unused,
    buffer_copy_to_memory: Unused,
    client_create_view_of_device_buffer: Entry<ClientCreateViewOfDeviceBufferArgs>,
}
