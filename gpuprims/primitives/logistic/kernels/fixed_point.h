/* Products of four 8-bit integers in a word with four others, added to a sum. */
#if defined(__CUDACC_RTC__)
#define gp_dot4(one, other, sum) __dp4a((int)(one), (int)(other), sum)
#elif defined(__NV_CL_C_VERSION)
DEVICE int gp_dot4(const u32 one, const u32 other, const int sum)
{
    int found;
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(found) : "r"(one), "r"(other), "r"(sum));
    return found;
}
#elif defined(__opencl_c_integer_dot_product_input_4x8bit_packed)
#define gp_dot4(one, other, sum) (dot_4x8packed_ss_int(one, other) + (sum))
#else
/* A CPU's compiler makes this an instruction where there is one. */
DEVICE int gp_dot4(const u32 one, const u32 other, int sum)
{
#pragma unroll
    for (int shift = 0; shift < 32; shift += 8) sum += ((int)(one << (24 - shift)) >> 24) * ((int)(other << (24 - shift)) >> 24);
    return sum;
}
#endif
