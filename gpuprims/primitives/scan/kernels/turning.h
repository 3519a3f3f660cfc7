/* Runs that lanes of a warp turn in local memory: vectors of neighbours, as lanes load and store them, into a run of
 * RUN_ITEMS for each lane, and back.
 *
 * host    RUN_ITEMS, SLOT, SLOT_TYPE; LANES (scanning.h); `own` is the local memory of the warp
 */

/* Runs that are turned at once, and slots of SLOT values that a run has there. */
#if LANES == 1 || WORDS == 1
#define TURNED LANES
#elif WORDS == 2
#define TURNED (LANES / 2)
#elif WORDS <= 4
#define TURNED (LANES / 4)
#else
#define TURNED (LANES / 8)
#endif
#define SLOTS (RUN_ITEMS / SLOT)
#define PART (TURNED * RUN_ITEMS)
#define PARTS (LANES * ITEMS / PART)

#if LANES > 1
/* The place of a value in local memory; neighbouring lanes that write vectors, or read runs, use different banks. */
DEVICE int gp_turned_place(const int at)
{
    const int run = at / RUN_ITEMS, slot = at % RUN_ITEMS / SLOT;
    return (run * SLOTS + (slot ^ (SLOTS == 4 ? run / 2 : run) % SLOTS)) * SLOT + at % SLOT;
}

/* True if a vector belongs to a part; `item` is its first, which tells alone where a part has vectors of all lanes. */
DEVICE int gp_is_in(const int part, const int item, const int lane)
{
    return (item * LANES + (LANES * VECTOR <= PART ? 0 : lane * VECTOR)) / PART == part;
}

/* Moves of a vector, and of a lane's run: loops in the kernel itself, since NVRTC spills more registers in functions. */
#if SLOT > 1
#define WRITE_SLOTS(count, at, values)                                                                                 \
    _Pragma("unroll") for (int k = 0; k < count; k += SLOT)                                                            \
        WRITE_LOCAL(SLOT_TYPE, SLOT, own + gp_turned_place(at + k), values + k)
#define READ_SLOTS(count, at, values)                                                                                  \
    _Pragma("unroll") for (int k = 0; k < count; k += SLOT)                                                            \
        READ_LOCAL(SLOT_TYPE, SLOT, own + gp_turned_place(at + k), values + k)
#endif
#define WRITE_EACH(count, at, values)                                                                                  \
    _Pragma("unroll") for (int k = 0; k < count; k++) own[gp_turned_place(at + k)] = values[k]
#define READ_EACH(count, at, values)                                                                                   \
    _Pragma("unroll") for (int k = 0; k < count; k++) values[k] = own[gp_turned_place(at + k)]

#if SLOT > 1 && VECTOR >= SLOT
#define WRITE_TURNED(at, vector) WRITE_SLOTS(VECTOR, at, vector)
#define READ_TURNED(at, vector) READ_SLOTS(VECTOR, at, vector)
#else
#define WRITE_TURNED(at, vector) WRITE_EACH(VECTOR, at, vector)
#define READ_TURNED(at, vector) READ_EACH(VECTOR, at, vector)
#endif
#if SLOT > 1
#define WRITE_RUN(lane, run) WRITE_SLOTS(RUN_ITEMS, lane % TURNED * RUN_ITEMS, run)
#define READ_RUN(lane, run) READ_SLOTS(RUN_ITEMS, lane % TURNED * RUN_ITEMS, run)
#else
#define WRITE_RUN(lane, run) WRITE_EACH(RUN_ITEMS, lane % TURNED * RUN_ITEMS, run)
#define READ_RUN(lane, run) READ_EACH(RUN_ITEMS, lane % TURNED * RUN_ITEMS, run)
#endif
#endif
