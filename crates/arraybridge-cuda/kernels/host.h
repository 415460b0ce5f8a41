// What the kernels stand on when they are compiled for the host: every thread of a launch in turn, and
// every access to memory through a function that checks it.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>

#define DEVICE inline

extern "C" void *arraybridge_access(uint64_t address, size_t size, bool write);

using Run = void (*)(const void *arguments, const uint32_t *grid, const uint32_t *block);

inline std::map<std::string, Run> &kernels() {
    static std::map<std::string, Run> all;
    return all;
}

struct Registered {
    Registered(const char *name, Run run) { kernels()[name] = run; }
};

static thread_local unsigned long long this_index, all_threads;

DEVICE unsigned long long first_index() { return this_index; }
DEVICE unsigned long long index_step() { return all_threads; }

template <class ARGUMENTS, void (*BODY)(const ARGUMENTS &)>
void run_all(const void *arguments, const uint32_t *grid, const uint32_t *block) {
    const ARGUMENTS &a = *static_cast<const ARGUMENTS *>(arguments);
    all_threads = (unsigned long long)grid[0] * block[0];
    for (this_index = 0; this_index < all_threads; ++this_index) BODY(a);
}

#define KERNEL(NAME, ARGUMENTS)                                                      \
    static void NAME(const ARGUMENTS &a);                                            \
    static Registered NAME##_registered(#NAME, run_all<ARGUMENTS, NAME>);            \
    static void NAME(const ARGUMENTS &a)

template <class T> DEVICE T load(unsigned long long address, long long index) {
    T value;
    memcpy(&value, arraybridge_access(address + index * sizeof(T), sizeof(T), false), sizeof(T));
    return value;
}

template <class T> DEVICE void store(unsigned long long address, long long index, T value) {
    memcpy(arraybridge_access(address + index * sizeof(T), sizeof(T), true), &value, sizeof(T));
}

template <class To, class From> DEVICE To bits_of(From value) {
    static_assert(sizeof(To) == sizeof(From), "one size");
    To result;
    memcpy(&result, &value, sizeof(To));
    return result;
}
