// What the kernels stand on when they are compiled for a GPU, with clang and no headers of CUDA.

#define DEVICE __attribute__((device)) inline __attribute__((always_inline))
#define KERNEL(NAME, ARGUMENTS) \
    extern "C" __attribute__((global)) void NAME(const ARGUMENTS a)

DEVICE unsigned long long first_index() {
    return __nvvm_read_ptx_sreg_ctaid_x() * (unsigned long long)__nvvm_read_ptx_sreg_ntid_x() +
           __nvvm_read_ptx_sreg_tid_x();
}

DEVICE unsigned long long index_step() {
    return __nvvm_read_ptx_sreg_nctaid_x() * (unsigned long long)__nvvm_read_ptx_sreg_ntid_x();
}

template <class T> DEVICE T load(unsigned long long address, long long index) {
    return ((const T *)address)[index];
}

template <class T> DEVICE void store(unsigned long long address, long long index, T value) {
    ((T *)address)[index] = value;
}

template <class To, class From> DEVICE To bits_of(From value) {
    static_assert(sizeof(To) == sizeof(From), "one size");
    To result;
    __builtin_memcpy(&result, &value, sizeof(To));
    return result;
}
