/* Read 16 bytes from any address on, as the whole vectors in which they lie, and shift their words. */
DEVICE void gp_read_shifted(GLOBAL const u8 *at, u32 *to)
{
    const u32 low = (u32)(size_t)at & 15;
    GLOBAL const u32 *from = (GLOBAL const u32 *)(at - low);
    u32 words[8];
    READ_VECTOR(u32, 4, from, words);
    READ_VECTOR(u32, 4, from + (low ? 4 : 0), words + 4);
#pragma unroll
    for (int k = 0; k < 6; k++) words[k] = low & 8 ? words[k + 2] : words[k];
#pragma unroll
    for (int k = 0; k < 5; k++) words[k] = low & 4 ? words[k + 1] : words[k];
#pragma unroll
    for (int k = 0; k < 4; k++) to[k] = (u32)(((u64)words[k + 1] << 32 | words[k]) >> (low & 3) * 8);
}
