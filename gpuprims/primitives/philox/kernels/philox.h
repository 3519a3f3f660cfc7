/* Philox 4x32-10, a random function of a counter and a key: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
 * easy as 1, 2, 3" (2011).
 */

/* Compute the four words of a block of a stream. */
DEVICE void gp_philox(const u64 key, const u64 stream, const u64 block, u32 *words)
{
    u32 a = (u32)block, b = (u32)(block >> 32), c = (u32)stream, d = (u32)(stream >> 32);
    u32 first = (u32)key, second = (u32)(key >> 32);
#pragma unroll
    for (int round = 0; round < 10; round++) {
        const u64 left = (u64)0xd2511f53u * a, right = (u64)0xcd9e8d57u * c;
        a = (u32)(right >> 32) ^ b ^ first;
        b = (u32)right;
        c = (u32)(left >> 32) ^ d ^ second;
        d = (u32)left;
        first += 0x9e3779b9u;
        second += 0xbb67ae85u;
    }
    words[0] = a;
    words[1] = b;
    words[2] = c;
    words[3] = d;
}
