/* The best build of the core that this machine can run. Plain C, compiled for any machine. */
#ifndef NOLANA_BUILD_H
#define NOLANA_BUILD_H

static const char* best_build(void) {
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        const int wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
        return wide ? "avx512" : "avx2";
    }
#endif
    return "baseline";
}

#endif
