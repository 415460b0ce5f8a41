// What tch does not offer of libtorch, as C functions that never throw.
//
// A tensor handle is an `at::Tensor *` made by `new`, which is what torch-sys's handles are.
// Every function returns 0, or an `abt_failure` and a message that the caller frees.

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/ones.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Event.h>
#include <c10/core/GradMode.h>
#include <c10/core/ScalarTypeToTypeMeta.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

static_assert(
    TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 11,
    "arraybridge-tch is built against libtorch 2.11 or newer of the 2 series: set LIBTORCH to one");

// Sizes and strides are passed as they are: signed and unsigned integers of one size may be read as
// each other, and sizes are not negative.
static_assert(sizeof(size_t) == sizeof(int64_t) && sizeof(ptrdiff_t) == sizeof(int64_t));

// Drops what keeps wrapped memory alive. Defined in Rust; does not unwind.
extern "C" void arraybridge_tch_release(void* kept);

extern "C" {
enum abt_failure { ABT_TORCH = 1, ABT_OUT_OF_MEMORY = 2 };

// Who else may reach a tensor's memory.
enum abt_reach {
  ABT_EXCLUSIVE = 0,
  // Another handle on the tensor: a shallow clone, a model, an autograd graph.
  ABT_TENSOR_SHARED = 1,
  // Another tensor over the same storage: a view, a detached tensor.
  ABT_STORAGE_SHARED = 2,
  // Memory of unknown origin: a file mapping, a copy-on-write clone, a blob.
  ABT_FOREIGN_MEMORY = 3,
};

// What a tensor is that is not plain strided memory.
enum abt_kind {
  ABT_STRIDED = 0,
  ABT_UNDEFINED = 1,
  ABT_SPARSE = 2,
  ABT_MKLDNN = 3,
  ABT_QUANTIZED = 4,
  ABT_NESTED = 5,
  ABT_ZERO = 6,
  ABT_SYMBOLIC = 7,
  ABT_NO_STORAGE = 8,
  ABT_OUT_OF_BOUNDS = 9,
};

enum { ABT_CONJUGATED = 1, ABT_NEGATED = 2, ABT_REQUIRES_GRAD = 4 };

// Sizes and strides, in elements, belong to the tensor and are valid as long as it is not changed.
typedef struct {
  int32_t kind;
  int32_t scalar_type;
  int32_t device_type;
  int32_t device_index;
  int32_t flags;
  int32_t reach;
  size_t rank;
  const size_t* sizes;
  const ptrdiff_t* strides;
  const void* data;
  // The context of memory that `abt_wrap` wrapped, else null.
  void* kept;
} abt_description;
}

namespace {

template <class F>
int guarded(char** message, F f) noexcept {
  try {
    f();
    return 0;
  } catch (const c10::OutOfMemoryError& e) {
    *message = strdup(e.what_without_backtrace());
    return ABT_OUT_OF_MEMORY;
  } catch (const c10::Error& e) {
    *message = strdup(e.what_without_backtrace());
  } catch (const std::bad_alloc& e) {
    *message = strdup(e.what());
    return ABT_OUT_OF_MEMORY;
  } catch (const std::exception& e) {
    *message = strdup(e.what());
  } catch (...) {
    *message = strdup("an exception of unknown type");
  }
  return ABT_TORCH;
}

c10::Device device_of(int32_t type, int32_t index) {
  return {static_cast<c10::DeviceType>(type), static_cast<c10::DeviceIndex>(index)};
}

c10::Device cuda(int32_t index) {
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

// The deleter of wrapped memory, by whose address it is recognised.
void release(void* kept) {
  arraybridge_tch_release(kept);
}

abt_kind kind_of(const at::Tensor& t) {
  if (!t.defined()) return ABT_UNDEFINED;
  const c10::TensorImpl& impl = *t.unsafeGetTensorImpl();
  if (impl.is_nested()) return ABT_NESTED;
  if (impl.is_quantized()) return ABT_QUANTIZED;
  if (impl.is_mkldnn()) return ABT_MKLDNN;
  if (impl.layout() != c10::kStrided) return ABT_SPARSE;
  if (impl._is_zerotensor()) return ABT_ZERO;
  if (impl.has_symbolic_sizes_strides()) return ABT_SYMBOLIC;
  if (!impl.has_storage()) return ABT_NO_STORAGE;
  return ABT_STRIDED;
}

// Whether the allocator of torch gave this memory, or `abt_wrap` wrapped it.
bool is_known(const c10::DataPtr& data) {
  const c10::DeleterFnPtr deleter = data.get_deleter();
  if (deleter == &release) return true;
  if (deleter == nullptr) return false;
  const c10::DeviceType type = data.device().type();
  if (type != c10::kCPU && type != c10::kCUDA) return false;
  c10::Allocator* const allocator = c10::GetAllocator(type);
  // Null from an allocator that has no single deleter.
  return allocator != nullptr && allocator->raw_deleter() == deleter;
}

// Sees what former holders did before they let go, the making of other holders among it: the counts
// are relaxed loads, and the next one must not be older than this.
void see_former_holders() {
  std::atomic_thread_fence(std::memory_order_acquire);
}

abt_reach reach_of(const at::Tensor& t) {
  if (t.use_count() != 1 || t.weak_use_count() != 1) return ABT_TENSOR_SHARED;
  see_former_holders();
  const c10::Storage& storage = t.storage();
  size_t holders = 1;
  if (t.is_view()) {
    // A view keeps its base alive; where nothing else does, nobody can reach that.
    const at::TensorBase& base = t._base();
    const bool alone = base.use_count() == 1 && base.has_storage() && base.storage().is_alias_of(storage);
    if (alone) holders = 2;
    see_former_holders();
  }
  if (storage.use_count() != holders) return ABT_STORAGE_SHARED;
  see_former_holders();
  const c10::DataPtr& data = storage.data_ptr();
  if (data.get() != nullptr && !is_known(data)) return ABT_FOREIGN_MEMORY;
  return ABT_EXCLUSIVE;
}

// The elements as they are meant, without an autograd graph: lazy conjugation and negation done.
at::Tensor resolved(const at::Tensor& t) {
  return t.detach().resolve_conj().resolve_neg();
}

at::Tensor wrapped(
    void* data,
    size_t nbytes,
    at::IntArrayRef sizes,
    at::IntArrayRef strides,
    int32_t scalar_type,
    c10::Device device,
    void* kept) {
  // From here on `data_ptr` releases `kept`, whatever throws. Without elements the address is
  // arbitrary, but without one torch would not run the deleter.
  c10::DataPtr data_ptr(data, kept, kept == nullptr ? nullptr : &release, device);
  c10::Storage storage(
      c10::Storage::use_byte_size_t{}, nbytes, std::move(data_ptr), nullptr, /*resizable=*/false);
  const auto type = c10::scalarTypeToTypeMeta(static_cast<c10::ScalarType>(scalar_type));
  const auto key = device.is_cpu() ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA;
  at::Tensor t = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(key), type);
  t.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return t;
}

} // namespace

#define ABT_API extern "C" __attribute__((visibility("hidden")))

// Tells what a tensor is and where. Of an undefined one the device is left as it was.
ABT_API int abt_place(
    const at::Tensor* t,
    int32_t* kind,
    int32_t* device_type,
    int32_t* device_index,
    char** message) {
  return guarded(message, [&] {
    *kind = kind_of(*t);
    if (*kind == ABT_UNDEFINED) return;
    const c10::Device device = t->device();
    *device_type = static_cast<int32_t>(device.type());
    *device_index = device.index();
  });
}

// Describes a tensor and finds out who else may reach its memory.
ABT_API int abt_describe(const at::Tensor* t, abt_description* out, char** message) {
  return guarded(message, [&] {
    *out = abt_description{};
    out->kind = kind_of(*t);
    if (out->kind == ABT_UNDEFINED) return;
    const c10::Device device = t->device();
    out->scalar_type = static_cast<int32_t>(t->scalar_type());
    out->device_type = static_cast<int32_t>(device.type());
    out->device_index = device.index();
    if (out->kind != ABT_STRIDED) return;
    out->flags = (t->is_conj() ? ABT_CONJUGATED : 0) | (t->is_neg() ? ABT_NEGATED : 0) |
        (t->requires_grad() ? ABT_REQUIRES_GRAD : 0);
    out->rank = static_cast<size_t>(t->dim());
    out->sizes = reinterpret_cast<const size_t*>(t->sizes().data());
    out->strides = reinterpret_cast<const ptrdiff_t*>(t->strides().data());
    if (device.type() != c10::kCPU && device.type() != c10::kCUDA) return;
    const size_t reached = at::detail::computeStorageNbytes(
        t->sizes(), t->strides(), t->itemsize(), static_cast<size_t>(t->storage_offset()));
    if (reached > t->storage().nbytes()) {
      out->kind = ABT_OUT_OF_BOUNDS;
      return;
    }
    // The const accessor: the other one would end copy-on-write sharing.
    out->data = t->numel() == 0 ? nullptr : t->const_data_ptr();
    out->reach = reach_of(*t);
    const c10::DataPtr& data = t->storage().data_ptr();
    out->kept = data.get_deleter() == &release ? data.get_context() : nullptr;
  });
}

// Makes a tensor over memory. `kept`, which is not null, goes to `arraybridge_tch_release` once: with the storage, or
// before this returns a failure. Sizes and strides are not negative and reach `nbytes` at most.
ABT_API int abt_wrap(
    void* data,
    size_t nbytes,
    const size_t* sizes,
    const ptrdiff_t* strides,
    size_t rank,
    int32_t scalar_type,
    int32_t device_type,
    int32_t device_index,
    void* kept,
    at::Tensor** out,
    char** message) {
  return guarded(message, [&] {
    const c10::Device device = device_of(device_type, device_index);
    const at::IntArrayRef lengths(reinterpret_cast<const int64_t*>(sizes), rank);
    const at::IntArrayRef steps(reinterpret_cast<const int64_t*>(strides), rank);
    *out = new at::Tensor(wrapped(data, nbytes, lengths, steps, scalar_type, device, kept));
  });
}

// Copies a tensor on its device, into memory of torch's own allocator.
ABT_API int abt_copy(const at::Tensor* t, at::Tensor** out, char** message) {
  return guarded(message, [&] {
    const c10::NoGradGuard no_graph;
    at::Tensor made = resolved(*t);
    // Resolving copied where there was something to resolve.
    const bool copied = t->is_conj() || t->is_neg();
    *out = new at::Tensor(copied ? made : made.clone());
  });
}

// Copies a tensor to a device.
ABT_API int abt_move(
    const at::Tensor* t,
    int32_t device_type,
    int32_t device_index,
    at::Tensor** out,
    char** message) {
  return guarded(message, [&] {
    const c10::NoGradGuard no_graph;
    const c10::Device device = device_of(device_type, device_index);
    *out = new at::Tensor(resolved(*t).to(device, t->scalar_type(), /*non_blocking=*/false, /*copy=*/true));
  });
}

// Casts a tensor on its device, into a tensor of its own.
ABT_API int abt_cast(const at::Tensor* t, int32_t scalar_type, at::Tensor** out, char** message) {
  return guarded(message, [&] {
    *out = new at::Tensor(
        t->to(static_cast<c10::ScalarType>(scalar_type), /*non_blocking=*/false, /*copy=*/true));
  });
}

// Reads the bytes of a tensor's elements as another element type of the same size, without a copy.
ABT_API int abt_reinterpret(const at::Tensor* t, int32_t scalar_type, at::Tensor** out, char** message) {
  return guarded(message, [&] {
    *out = new at::Tensor(t->view(static_cast<c10::ScalarType>(scalar_type)));
  });
}

// Copies a tensor's elements, in row-major order, into main memory of as many bytes.
ABT_API int abt_read(const at::Tensor* t, void* data, size_t nbytes, char** message) {
  return guarded(message, [&] {
    const c10::NoGradGuard no_graph;
    const at::Tensor source = resolved(*t);
    TORCH_CHECK(source.nbytes() == nbytes, "a tensor of ", source.nbytes(), " bytes is read into ", nbytes);
    if (nbytes == 0) return;
    std::vector<int64_t> strides(source.dim(), 1);
    for (int64_t axis = source.dim() - 2; axis >= 0; --axis) {
      strides[axis] = strides[axis + 1] * std::max<int64_t>(source.size(axis + 1), 1);
    }
    at::Tensor target = wrapped(
        data, nbytes, source.sizes(), strides,
        static_cast<int32_t>(source.scalar_type()), c10::Device(c10::kCPU), nullptr);
    target.copy_(source, /*non_blocking=*/false);
  });
}

ABT_API int abt_ones(
    const int64_t* sizes,
    size_t rank,
    int32_t scalar_type,
    int32_t device_type,
    int32_t device_index,
    at::Tensor** out,
    char** message) {
  return guarded(message, [&] {
    const auto options = at::TensorOptions()
                             .dtype(static_cast<c10::ScalarType>(scalar_type))
                             .device(device_of(device_type, device_index));
    *out = new at::Tensor(at::ones(at::IntArrayRef(sizes, rank), options));
  });
}

// Returns how many CUDA devices there are, 0 without a driver.
ABT_API int32_t abt_cuda_count() {
  char* message = nullptr;
  int32_t count = 0;
  if (guarded(&message, [&] {
        if (at::hasCUDA()) count = at::detail::getCUDAHooks().getNumGPUs();
      }) != 0) {
    free(message);
  }
  return count;
}

ABT_API int abt_cuda_device(int32_t* index, char** message) {
  return guarded(message, [&] { *index = c10::impl::VirtualGuardImpl(c10::kCUDA).getDevice().index(); });
}

ABT_API int abt_cuda_set_device(int32_t index, char** message) {
  return guarded(message, [&] { c10::impl::VirtualGuardImpl(c10::kCUDA).setDevice(cuda(index)); });
}

// Returns this thread's current stream of a device: torch's number of it and CUDA's handle.
ABT_API int abt_stream_current(int32_t index, int64_t* id, void** handle, char** message) {
  return guarded(message, [&] {
    const c10::Stream stream = c10::impl::VirtualGuardImpl(c10::kCUDA).getStream(cuda(index));
    *id = stream.id();
    *handle = stream.native_handle();
  });
}

// Takes a stream from torch's pool.
ABT_API int abt_stream_take(int32_t index, int64_t* id, char** message) {
  return guarded(message, [&] {
    *id = c10::impl::VirtualGuardImpl(c10::kCUDA).getStreamFromGlobalPool(cuda(index)).id();
  });
}

// Finds the number of a stream of somebody else's, by CUDA's handle; -1 if torch cannot use it.
ABT_API int abt_stream_of_handle(int32_t index, void* handle, int64_t* id, char** message) {
  return guarded(message, [&] {
    // torch numbers a foreign stream by its handle. That is torch's inner business, so what comes
    // of it is looked at before it is used.
    const c10::StreamId guess = reinterpret_cast<intptr_t>(handle);
    const c10::Stream stream(c10::Stream::UNSAFE, cuda(index), guess);
    *id = stream.native_handle() == handle ? guess : -1;
  });
}

// Makes a stream this thread's current one.
ABT_API int abt_stream_set(int32_t index, int64_t id, char** message) {
  return guarded(message, [&] {
    c10::impl::VirtualGuardImpl(c10::kCUDA)
        .exchangeStream(c10::Stream(c10::Stream::UNSAFE, cuda(index), id));
  });
}

// Makes later work of one stream wait for the work that is queued on another now.
ABT_API int abt_stream_wait(int32_t index, int64_t waiter, int64_t on, char** message) {
  return guarded(message, [&] {
    c10::Event event(c10::kCUDA);
    event.record(c10::Stream(c10::Stream::UNSAFE, cuda(index), on));
    event.block(c10::Stream(c10::Stream::UNSAFE, cuda(index), waiter));
  });
}

// Waits until the work that is queued on a stream is done.
ABT_API int abt_stream_finish(int32_t index, int64_t id, char** message) {
  return guarded(message, [&] {
    c10::impl::VirtualGuardImpl(c10::kCUDA)
        .synchronizeStream(c10::Stream(c10::Stream::UNSAFE, cuda(index), id));
  });
}

// Marks the work that is queued on a stream now.
ABT_API int abt_event_record(int32_t index, int64_t id, c10::Event** out, char** message) {
  return guarded(message, [&] {
    auto event = std::make_unique<c10::Event>(c10::kCUDA);
    event->record(c10::Stream(c10::Stream::UNSAFE, cuda(index), id));
    *out = event.release();
  });
}

// Waits for the marked work.
ABT_API int abt_event_finish(const c10::Event* event, char** message) {
  return guarded(message, [&] { event->synchronize(); });
}

ABT_API void abt_event_free(c10::Event* event) {
  delete event;
}

// Gives memory that torch caches on CUDA devices back to the driver, and tells how many bytes.
ABT_API int abt_cuda_empty_cache(int32_t count, int64_t* freed, char** message) {
  return guarded(message, [&] {
    auto* const allocator = c10::getDeviceAllocator(c10::kCUDA);
    if (!allocator->initialized()) return;
    const auto reserved = [&] {
      int64_t bytes = 0;
      for (int32_t index = 0; index < count; ++index) {
        const auto stats = allocator->getDeviceStats(static_cast<c10::DeviceIndex>(index));
        bytes += stats.reserved_bytes[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)].current;
      }
      return bytes;
    };
    const int64_t before = reserved();
    allocator->emptyCache();
    *freed = before - reserved();
  });
}

ABT_API void abt_message_free(char* message) {
  free(message);
}
