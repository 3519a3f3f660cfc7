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

#define gp_warp_barrier() __syncwarp()
#define gp_shuffle_word_down(word, stride) __shfl_down_sync(0xffffffffu, word, stride)
#define gp_shuffle_word_up(word, stride) __shfl_up_sync(0xffffffffu, word, stride)
#define gp_shuffle_word_from(word, lane) __shfl_sync(0xffffffffu, word, lane)
#define gp_any_lane(said) __any_sync(0xffffffffu, said)

DEVICE void gp_fence(void)
{
    __threadfence();
}

/* 64 bits that groups running at the same time see each other write, whole; where there are GP_ENTRIES. */
#define GP_ENTRIES
DEVICE u64 gp_read_entry(const u64 *entry)
{
    u64 bits;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(bits) : "l"(entry) : "memory");
    return bits;
}

DEVICE void gp_write_entry(u64 *entry, const u64 bits)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(entry), "l"(bits) : "memory");
}

#define gp_add_entry(entry, number) atomicAdd(entry, number)

#ifdef LOCK_FREE
/* A number in global memory that all groups add to at once: what it is now, and an addition that no other undoes. */
#if WORDS == 1
#define GP_NUMBER "f32"
#define GP_REGISTER "f"
#else
#define GP_NUMBER "f64"
#define GP_REGISTER "d"
#endif
DEVICE value_t gp_now(value_t *place)
{
    value_t number;
    asm volatile("ld.relaxed.gpu.global." GP_NUMBER " %0, [%1];" : "=" GP_REGISTER(number) : "l"(place) : "memory");
    return number;
}

#define gp_add_now(place, number) atomicAdd(place, number)
#endif

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
