/* How values pass from group to group.
 *
 * Groups that share an output leave their values in `partials`; the last of them to be done, told by a ticket, folds all of
 * them in order. Nobody waits, so no promise of forward progress is needed. Values are left and collected by atomics, which
 * is what OpenCL 1.2 makes visible across groups.
 */
DEVICE void gp_fence(void)
{
#ifdef __NV_CL_C_VERSION
    asm volatile("membar.gl;" : : : "memory"); /* NVIDIA's mem_fence orders within a group alone */
#else
    mem_fence(CLK_GLOBAL_MEM_FENCE);
#endif
}

DEVICE void gp_leave(GLOBAL u32 *partials, const i64 at, const value_t value)
{
    u32 words[WORDS];
    gp_split(value, words);
    for (int word = 0; word < WORDS; word++) atomic_xchg(partials + at * WORDS + word, words[word]);
}

DEVICE value_t gp_collect(GLOBAL u32 *partials, const i64 at)
{
    u32 words[WORDS];
    for (int word = 0; word < WORDS; word++) words[word] = atomic_or(partials + at * WORDS + word, 0);
    return gp_join(words);
}

/* Whether this is the last of `parts` groups to leave a value; the ticket is then zero again, for the next launch. */
DEVICE int gp_last_done(GLOBAL u32 *ticket, const i64 parts)
{
    gp_fence();
    const int last = atomic_inc(ticket) == parts - 1;
    if (last) atomic_xchg(ticket, 0);
    gp_fence();
    return last;
}
