/* Return the place of an index among `length` elements, in [0, length). With MODE_RAISE, an index out of bounds sets `outside`
 * and returns 0; with MODE_CLIP it returns the nearest place; else it wraps around. */
DEVICE i64 gp_place_of(const index_t index, const i64 length, u32 *outside)
{
    const i64 place = (i64)index;
    const int below = SIGNED_INDEX && place < 0; /* unsigned indices of 2^63 and more are above */
#if MODE_RAISE
    const i64 from_end = below ? place + length : place;
    const int within = (u64)from_end < (u64)length;
    *outside |= !within;
    return within ? from_end : 0;
#elif MODE_CLIP
    return below ? 0 : (u64)place < (u64)length ? place : length - 1;
#else
    if ((u64)place < (u64)length) return place;
    if (!below) return (i64)((u64)place % (u64)length);
    const i64 left = place % length;
    return left < 0 ? left + length : left;
#endif
}

/* Tell the host if an index was out of bounds: groups set a flag, and the last group to end writes it to `found`. `outside` is
 * what this work-item found. */
DEVICE void gp_tell_outside(GLOBAL i64 *found, GLOBAL u32 *counters, LOCAL u32 *mark, const u32 outside, const int tid)
{
#if MODE_RAISE
    if (tid == 0) *mark = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (outside) gp_raise(mark, 1u);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid == 0) {
        if (*mark) gp_raise(counters + 1, 1u);
        if (gp_last_done(counters, get_num_groups(0))) {
            *found = gp_read_word(counters + 1);
            gp_write_word(counters + 1, 0);
        }
    }
#endif
}
