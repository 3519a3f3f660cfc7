/* idle: a thread that waits until so many nanoseconds have passed. */
static __device__ unsigned long long now() {
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}

extern "C" __global__ void idle(unsigned long long nanoseconds) {
    unsigned long long begin = now();
    while (now() - begin < nanoseconds);
}
