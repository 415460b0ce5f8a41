// An OpenCL driver whose one platform answers every question about itself and its devices with an
// error: what a driver does whose hardware is gone.

#include <stddef.h>
#include <string.h>

#define OUT_OF_RESOURCES (-5)

struct platform {
    void** dispatch;
};

static int get_platforms(unsigned count, struct platform** platforms, unsigned* found);
static int platform_info(struct platform*, unsigned what, size_t size, void* value, size_t* needed);
static int devices(struct platform*, unsigned long kind, unsigned count, void** found, unsigned* all);
static int fails(void) { return OUT_OF_RESOURCES; }

// The order of the first entries is that of cl_icd.h; everything else fails too.
static void* dispatch[160];
static struct platform only = {dispatch};

static int get_platforms(unsigned count, struct platform** platforms, unsigned* found) {
    for (int entry = 0; entry < 160; entry++) dispatch[entry] = (void*)fails;
    dispatch[0] = (void*)get_platforms;
    dispatch[1] = (void*)platform_info;
    dispatch[2] = (void*)devices;
    if (platforms && count) platforms[0] = &only;
    if (found) *found = 1;
    return 0;
}

static int answer(const char* text, size_t size, void* value, size_t* needed) {
    if (needed) *needed = strlen(text) + 1;
    if (value && size > strlen(text)) strcpy(value, text);
    return 0;
}

static int platform_info(struct platform* p, unsigned what, size_t size, void* value, size_t* needed) {
    switch (what) {
        case 0x0901: return answer("OpenCL 1.2 failing", size, value, needed);  // version
        case 0x0902: return answer("A failing driver", size, value, needed);    // name
        case 0x0904: return answer("cl_khr_icd", size, value, needed);          // extensions
        case 0x0920: return answer("FAIL", size, value, needed);                // ICD suffix
        default: return answer("", size, value, needed);
    }
}

static int devices(struct platform* p, unsigned long kind, unsigned count, void** found, unsigned* all) {
    return OUT_OF_RESOURCES;
}

int clIcdGetPlatformIDsKHR(unsigned count, struct platform** platforms, unsigned* found) {
    return get_platforms(count, platforms, found);
}

void* clGetExtensionFunctionAddress(const char* name) {
    if (!strcmp(name, "clIcdGetPlatformIDsKHR")) return (void*)clIcdGetPlatformIDsKHR;
    return 0;
}

int clGetPlatformInfo(struct platform* p, unsigned what, size_t size, void* value, size_t* needed) {
    return platform_info(p, what, size, value, needed);
}
