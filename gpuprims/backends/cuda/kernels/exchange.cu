/* How values pass from lane to lane of a warp, and from group to group.
 *
 * Groups that share an output leave their values in `partials`; the last of them to be done, told by a ticket, folds all of
 * them in order. Nobody waits, so no promise of forward progress is needed. Values are left and collected past the first
 * level of cache, which groups do not share.
 */

#define WHOLE_WARPS

/* Atomics on one slot of 32 or 64 bits, which give what was there before. */
#define gp_compare_exchange(slot, expected, desired) atomicCAS(slot, expected, desired)
#define gp_exchange(slot, value) atomicExch(slot, value)

/* The value of the lane `stride` further on; of the last lanes, their own. */
DEVICE value_t gp_shuffle_down(const value_t value, const int stride)
{
    u32 words[WORDS];
    gp_split(value, words);
#pragma unroll
    for (int word = 0; word < WORDS; word++) words[word] = __shfl_down_sync(0xffffffffu, words[word], stride);
    return gp_join(words);
}

DEVICE void gp_fence(void)
{
    __threadfence();
}

DEVICE void gp_leave(u32 *partials, const i64 at, const value_t value)
{
    u32 words[WORDS];
    gp_split(value, words);
#pragma unroll
    for (int word = 0; word < WORDS; word++) __stcg(partials + at * WORDS + word, words[word]);
}

DEVICE value_t gp_collect(const u32 *partials, const i64 at)
{
    u32 words[WORDS];
#pragma unroll
    for (int word = 0; word < WORDS; word++) words[word] = __ldcg(partials + at * WORDS + word);
    return gp_join(words);
}

/* Whether this is the last of `parts` groups to leave a value; the ticket is then zero again, for the next launch. */
DEVICE int gp_last_done(u32 *ticket, const i64 parts)
{
    gp_fence();
    const int last = atomicAdd(ticket, 1) == parts - 1;
    if (last) *ticket = 0;
    gp_fence();
    return last;
}
