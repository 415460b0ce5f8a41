// The kernels for the host, found by their names. The stand-in for the driver links this.

#include "host.h"

#include "kernels.cu"

extern "C" Run arraybridge_kernel(const char *name, size_t length) {
    const auto found = kernels().find(std::string(name, length));
    return found == kernels().end() ? nullptr : found->second;
}
