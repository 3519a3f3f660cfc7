/* Pass values from lane to lane and from group to group, a 32-bit word at a time.
 *
 * A warp has WARP lanes, 4 to 64, so a mask of lanes does not fit in a word. A group of fewer work-items is the first lanes of one warp
 * and must not read the other lanes.
 *
 * Groups that share an output leave their values in `partials`. gp_last_done tells the last of them, which folds all values in order.
 * No group waits for another, so forward progress is not needed.
 */

/* Leave a value for another group. */
DEVICE void gp_leave(GLOBAL u32 *partials, const i64 at, const value_t value)
{
    u32 words[WORDS];
    gp_split(value, words);
#pragma unroll
    for (int word = 0; word < WORDS; word++) gp_write_word(partials + at * WORDS + word, words[word]);
}

/* Read a value that another group left. */
DEVICE value_t gp_collect(GLOBAL u32 *partials, const i64 at)
{
    u32 words[WORDS];
#pragma unroll
    for (int word = 0; word < WORDS; word++) words[word] = gp_read_word(partials + at * WORDS + word);
    return gp_join(words);
}

#if WARP

/* The value of the lane `stride` above; undefined in the last `stride` lanes. */
DEVICE value_t gp_shuffle_down(const value_t value, const int stride)
{
    u32 words[WORDS];
    gp_split(value, words);
#pragma unroll
    for (int word = 0; word < WORDS; word++) words[word] = gp_shuffle_word_down(words[word], stride);
    return gp_join(words);
}

/* The value of the lane `stride` below; undefined in the first `stride` lanes. */
DEVICE value_t gp_shuffle_up(const value_t value, const int stride)
{
    u32 words[WORDS];
    gp_split(value, words);
#pragma unroll
    for (int word = 0; word < WORDS; word++) words[word] = gp_shuffle_word_up(words[word], stride);
    return gp_join(words);
}

/* The value of the lane `lane`. */
DEVICE value_t gp_shuffle_from(const value_t value, const int lane)
{
    u32 words[WORDS];
    gp_split(value, words);
#pragma unroll
    for (int word = 0; word < WORDS; word++) words[word] = gp_shuffle_word_from(words[word], lane);
    return gp_join(words);
}

#endif

/* The value of the work-item whose number differs in the bit `stride`: by a shuffle within a warp, else through local memory, where
 * every work-item of the group must take part. */
DEVICE value_t gp_butterfly(const value_t value, const int stride, LOCAL value_t *partial, const int tid)
{
#if WARP
    if (stride < WARP) return gp_shuffle_from(value, (tid ^ stride) % WARP);
#endif
    partial[tid] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    const value_t taken = partial[tid ^ stride];
    barrier(CLK_LOCAL_MEM_FENCE);
    return taken;
}
