/* How values pass from lane to lane of a warp, and from group to group.
 *
 * Groups that share an output leave their values in `partials`; the last of them to be done, told by a ticket, folds all of
 * them in order. Nobody waits, so no promise of forward progress is needed. Values are left and collected by atomics, which
 * is what OpenCL 1.2 makes visible across groups.
 */

/* Atomics on one slot of 32 or 64 bits, which give what was there before. */
#if WORDS == 1
#define gp_compare_exchange(slot, expected, desired) atomic_cmpxchg(slot, expected, desired)
#define gp_exchange(slot, value) atomic_xchg(slot, value)
#elif defined(cl_khr_int64_base_atomics)
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define gp_compare_exchange(slot, expected, desired) atom_cmpxchg(slot, expected, desired)
#define gp_exchange(slot, value) atom_xchg(slot, value)
#endif

#if WARP
#if defined(__NV_CL_C_VERSION)
#define WHOLE_WARPS
#define gp_warp_barrier() asm volatile("bar.warp.sync 0xffffffff;" : : : "memory")
DEVICE u32 gp_shuffle_word_down(const u32 word, const u32 stride)
{
    u32 taken;
    asm volatile("shfl.sync.down.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(taken) : "r"(word), "r"(stride));
    return taken;
}

DEVICE u32 gp_shuffle_word_up(const u32 word, const u32 stride)
{
    u32 taken;
    asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;" : "=r"(taken) : "r"(word), "r"(stride));
    return taken;
}

DEVICE u32 gp_shuffle_word_from(const u32 word, const u32 lane)
{
    u32 taken;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(taken) : "r"(word), "r"(lane));
    return taken;
}

DEVICE int gp_any_lane(const int said)
{
    int any;
    asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; vote.sync.any.pred q, p, 0xffffffff; selp.s32 %0, 1, 0, q; }"
                 : "=r"(any)
                 : "r"(said));
    return any;
}
#elif defined(cl_intel_subgroups)
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#define WHOLE_WARPS __attribute__((intel_reqd_sub_group_size(WARP)))
#define gp_warp_barrier() sub_group_barrier(CLK_LOCAL_MEM_FENCE)
#define gp_shuffle_word_down(word, stride) intel_sub_group_shuffle_down(word, word, (u32)(stride))
#define gp_shuffle_word_up(word, stride) intel_sub_group_shuffle_up(word, word, (u32)(stride))
#define gp_shuffle_word_from(word, lane) intel_sub_group_shuffle(word, (u32)(lane))
#define gp_any_lane(said) sub_group_any(said)
#endif
#else
#define WHOLE_WARPS
#endif

DEVICE void gp_fence(void)
{
#ifdef __NV_CL_C_VERSION
    asm volatile("membar.gl;" : : : "memory"); /* NVIDIA's mem_fence orders within a group alone */
#else
    mem_fence(CLK_GLOBAL_MEM_FENCE);
#endif
}

/* 64 bits that groups running at the same time see each other write, whole; where there are GP_ENTRIES. */
#if defined(__NV_CL_C_VERSION)
#define GP_ENTRIES
DEVICE u64 gp_read_entry(GLOBAL u64 *entry)
{
    u64 bits;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(bits) : "l"(entry) : "memory");
    return bits;
}

DEVICE void gp_write_entry(GLOBAL u64 *entry, const u64 bits)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(entry), "l"(bits) : "memory");
}
#elif defined(cl_khr_int64_base_atomics)
#define GP_ENTRIES
#define gp_read_entry(entry) atom_add(entry, (u64)0)
#define gp_write_entry(entry, bits) atom_xchg(entry, bits)
#endif

#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define gp_add_entry(entry, number) atom_add(entry, (u64)(number))
#endif

#ifdef LOCK_FREE
/* A number in global memory that all groups add to at once: what it is now, and an addition that no other undoes. */
#if defined(__NV_CL_C_VERSION)
#if WORDS == 1
#define GP_NUMBER "f32"
#define GP_REGISTER "f"
#else
#define GP_NUMBER "f64"
#define GP_REGISTER "d"
#endif
DEVICE value_t gp_now(GLOBAL value_t *place)
{
    value_t number;
    asm volatile("ld.relaxed.gpu.global." GP_NUMBER " %0, [%1];" : "=" GP_REGISTER(number) : "l"(place) : "memory");
    return number;
}

DEVICE void gp_add_now(GLOBAL value_t *place, const value_t number)
{
    asm volatile("red.relaxed.gpu.global.add." GP_NUMBER " [%0], %1;" : : "l"(place), GP_REGISTER(number) : "memory");
}
#else
#if WORDS == 1
typedef u32 gp_bits_t;
#define gp_number(bits) as_float(bits)
#define gp_bits(number) as_uint(number)
#define gp_read(place) atomic_or(place, 0)
#else
typedef u64 gp_bits_t;
#define gp_number(bits) as_double(bits)
#define gp_bits(number) as_ulong(number)
#define gp_read(place) atom_add(place, (u64)0)
#endif
DEVICE value_t gp_now(GLOBAL value_t *place)
{
    return gp_number(gp_read((GLOBAL gp_bits_t *)place));
}

DEVICE void gp_add_now(GLOBAL value_t *place, const value_t number)
{
    gp_bits_t seen = gp_bits(gp_now(place)), expected;
    do {
        expected = seen;
        seen = gp_compare_exchange((GLOBAL gp_bits_t *)place, expected, gp_bits(gp_number(expected) + number));
    } while (seen != expected);
}
#endif
#endif

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
