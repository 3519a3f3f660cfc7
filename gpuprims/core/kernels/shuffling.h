/* Values that pass from lane to lane, of a warp a word at a time, the same in both dialects.
 *
 * A warp has WARP lanes, from 4 to 64 by device: no mask of lanes is held in a word. A group of fewer work-items than that is the
 * first lanes of one warp, and takes no value of a lane that it does not have.
 */
#if WARP

/* The value of the lane `stride` further on; of the last lanes, any. */
DEVICE value_t gp_shuffle_down(const value_t value, const int stride)
{
    u32 words[WORDS];
    gp_split(value, words);
#pragma unroll
    for (int word = 0; word < WORDS; word++) words[word] = gp_shuffle_word_down(words[word], stride);
    return gp_join(words);
}

/* The value of the lane `stride` before; of the first lanes, any. */
DEVICE value_t gp_shuffle_up(const value_t value, const int stride)
{
    u32 words[WORDS];
    gp_split(value, words);
#pragma unroll
    for (int word = 0; word < WORDS; word++) words[word] = gp_shuffle_word_up(words[word], stride);
    return gp_join(words);
}

/* The value of one lane, for all. */
DEVICE value_t gp_shuffle_from(const value_t value, const int lane)
{
    u32 words[WORDS];
    gp_split(value, words);
#pragma unroll
    for (int word = 0; word < WORDS; word++) words[word] = gp_shuffle_word_from(words[word], lane);
    return gp_join(words);
}

#endif

/* The value of the work-item whose number differs in the one bit `stride`: by a shuffle within a warp, else by local memory, for
 * which the whole group must be here. */
DEVICE value_t swapped(const value_t value, const int stride, LOCAL value_t *partial, const int tid)
{
#if WARP
    if (stride < WARP) return gp_shuffle_from(value, (tid ^ stride) % WARP);
#endif
    partial[tid] = value;
    BARRIER();
    const value_t taken = partial[tid ^ stride];
    BARRIER();
    return taken;
}
