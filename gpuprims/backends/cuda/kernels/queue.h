/* Queues of tiles in local memory: gates, bulk copies of elements to a slot of the queue, and of results from a place.
 *
 * host    RUNS, LOOKUPS, PHASED, EACH_QUEUED and EACH_RESULT; gp_read_entries (scanning.h)
 * needs   cp.async.bulk and mbarrier (compute capability 9.0)
 *
 * Bulk copies move whole blocks of 16 bytes. So a tile lies in local memory as in global memory, gaps between its elements
 * included, and, if PHASED, as many bytes after a multiple of 16. Copies also bring the bytes before it in its first
 * block and behind it in its last, which nobody reads. A last block may be the last of the memory, so of tiles at either
 * end, lanes bring the bytes there; the copies of the next tile wait for these. Of results, lanes write what is not a
 * whole block.
 */
#define SCANS (RUNS / LANES)
#undef TILE /* scanning.h has all warps scan */
#define TILE (RUNS * ITEMS)

/* Gates in local memory: a work-item passes when a phase has all its arrivals, and the bytes of its bulk copies. */
DEVICE u32 local_address(const void *place)
{
    return (u32)__cvta_generic_to_shared(place);
}

DEVICE void make_gate(u64 *gate, const u32 arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(local_address(gate)), "r"(arrivals) : "memory");
}

DEVICE void arrive(u64 *gate)
{
    asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }" : : "r"(local_address(gate)) : "memory");
}

/* Arrive before the bulk copies of so many bytes. */
DEVICE void arrive_before(u64 *gate, const u32 nbytes)
{
    asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared::cta.b64 s, [%0], %1; }"
                 :
                 : "r"(local_address(gate)), "r"(nbytes)
                 : "memory");
}

DEVICE void pass_gate(u64 *gate, const u32 phase)
{
    u32 open = 0;
    while (!open)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(open)
                     : "r"(local_address(gate)), "r"(phase)
                     : "memory");
}

/* Bulk copies, of whole 16 bytes: to local memory, which a gate counts, and from there, in groups that a work-item ends and
 * awaits. They see what a work-item wrote to local memory before show_to_copies. */
DEVICE void bring(void *to, const void *from, const u32 nbytes, u64 *gate)
{
    if (nbytes)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     :
                     : "r"(local_address(to)), "l"(from), "r"(nbytes), "r"(local_address(gate))
                     : "memory");
}

DEVICE void take(void *to, const void *from, const u32 nbytes)
{
    if (nbytes)
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                     :
                     : "l"(to), "r"(local_address(from)), "r"(nbytes)
                     : "memory");
}

#define show_to_copies() asm volatile("fence.proxy.async.shared::cta;" : : : "memory")
#define end_copies() asm volatile("cp.async.bulk.commit_group;" : : : "memory")
#define await_copies(left) asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(left) : "memory")

/* Bytes of whole blocks. */
#define WHOLE(nbytes) ((nbytes) & ~15u)

/* A block has at most this many elements. */
#define BLOCK_ELEMENTS 16

DEVICE u32 phase_of(const void *address)
{
    return PHASED ? (u32)(u64)address & 15 : 0;
}

/* The memory of `count` elements of a tile, from a multiple of 16 bytes on: it begins `place` bytes into the operand's
 * part of the queue. `first` is the first element, and `step` the bytes from each to the next. */
typedef struct { const u8 *from; u32 place, nbytes; } piece_t;

DEVICE piece_t piece_of(const void *first, const int step, const int size, const int count)
{
    const u8 *lowest = (const u8 *)first + (step < 0 ? (TILE - 1) * step : 0);
    const u32 absent = step < 0 ? (TILE - count) * -step : 0; /* bytes of a whole tile below the last element */
    const u32 place = phase_of(lowest) + absent, before = PHASED ? place & 15 : 0;
    piece_t piece;
    piece.from = lowest + absent - before;
    piece.place = place - before;
    piece.nbytes = before + (count - 1) * (step < 0 ? -step : step) + size;
    return piece;
}

/* Start the copies of a tile's `count` elements to a slot; a warp does. */
DEVICE void bring_tile(INPUTS, const layout_t layout, LOCAL u8 *elements, const i64 o, const i64 base, const int count,
                       const i64 n, u64 *landed, const int lane)
{
    const int inner = PHASED && min(base, n - base - count) >= BLOCK_ELEMENTS;
#define BROUGHT(nbytes) WHOLE((nbytes) + (inner ? 15 : 0))
#define PIECE(first, size, step) const piece_t piece = piece_of(first, step, size, count)
#define ADD_WHOLE(first, begin, size, step) +BROUGHT(piece_of(first, step, size, count).nbytes)
#define BRING(first, begin, size, step)                                                                                \
    {                                                                                                                  \
        PIECE(first, size, step);                                                                                      \
        bring(elements + (begin) + piece.place, piece.from, BROUGHT(piece.nbytes), landed);                            \
    }
#define BRING_REST(first, begin, size, step)                                                                           \
    {                                                                                                                  \
        PIECE(first, size, step);                                                                                      \
        for (u32 at = WHOLE(piece.nbytes) + lane - 1; at < piece.nbytes; at += LANES - 1)                              \
            elements[(begin) + piece.place + at] = piece.from[at];                                                     \
    }
    if (lane == 0) {
        arrive_before(landed, 0 EACH_QUEUED(ADD_WHOLE, o, base));
        EACH_QUEUED(BRING, o, base)
    } else {
        if ((PHASED || count < TILE) && !inner) {
            EACH_QUEUED(BRING_REST, o, base)
            show_to_copies();
        }
        arrive(landed);
    }
}

/* Start the copies of `count` results of at most `most` from a place; lane 0 ends them. Results of a negative step lie
 * there in reverse, the first of them last. */
DEVICE void take_results(OUTPUTS, const layout_t layout, LOCAL const u8 *results, const i64 o, const i64 first,
                         const int count, const int most, const int lane)
{
#define LOWEST(first, size, step, elements) ((GLOBAL u8 *)(first) + ((step) < 0 ? ((elements) - 1) * (step) : 0))
#define PLACE_OF(first, begin, size, step)                                                                             \
    ((begin) + phase_of(LOWEST(first, size, step, most)) + ((step) < 0 ? (most - count) * (size) : 0))
#define BEFORE_VECTORS(to, size) min((0 - phase_of(to)) & 15, (u32)(count * (size)))
#define TAKE(first, begin, size, step)                                                                                 \
    {                                                                                                                  \
        GLOBAL u8 *to = LOWEST(first, size, step, count);                                                              \
        take(to + BEFORE_VECTORS(to, size), results + PLACE_OF(first, begin, size, step) + BEFORE_VECTORS(to, size),   \
             WHOLE(count * (size) - BEFORE_VECTORS(to, size)));                                                        \
    }
#define TAKE_REST(first, begin, size, step)                                                                            \
    for (u32 whole = WHOLE(count * (size) - BEFORE_VECTORS(LOWEST(first, size, step, count), size)), at = lane;        \
         at < count * (size) - whole; at += LANES) {                                                                   \
        GLOBAL u8 *to = LOWEST(first, size, step, count);                                                              \
        const u32 here = at < BEFORE_VECTORS(to, size) ? at : at + whole;                                              \
        to[here] = results[PLACE_OF(first, begin, size, step) + here];                                                 \
    }
    if (lane == 0) {
        EACH_RESULT(TAKE, o, first)
    }
    if (PHASED || count < most) {
        EACH_RESULT(TAKE_REST, o, first)
    }
}

/* Return bits for those of `count` statuses that a lane reads, at most LOOKUPS. */
DEVICE u32 lookups_of(const int count, const int lane)
{
    u32 asked = 0;
#pragma unroll
    for (int k = 0; k < LOOKUPS; k++)
        if (k * LANES + lane < count) asked |= 1u << k;
    return asked;
}

/* Read statuses from `first` on; neighbouring lanes read neighbouring ones, as all groups read the same lines of memory. */
DEVICE void look_up(GLOBAL u64 *statuses, const i64 first, const u32 asked, const int lane, u64 *entries)
{
#pragma unroll
    for (int k = 0; k < LOOKUPS; k++)
        if (asked >> k & 1) gp_read_entries(statuses, first + k * LANES + lane, entries + k * WORDS);
}
