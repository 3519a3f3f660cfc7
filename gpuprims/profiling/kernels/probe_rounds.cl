/* probe/rounds: one group repeats one operation, each time after the one before.
 *
 * in      INPUTS: x0 a table of u32
 * out     OUTPUTS: y0 a u32 for each work-item, so that no compiler removes the loop
 * launch  one group of BLOCK, a multiple of WARP; `rounds` repetitions of the operation that OPERATION numbers
 * host    gp_shuffle_from, atomics of the prelude
 * order   in each round all work-items do the same
 *
 * NOTHING is the loop alone. CHASE reads the table's element whose number the last one was, from `first` on, so loads
 * wait for each other; CHASE_LOCAL does the same in local memory. Atomics add to one address, or each to its own.
 */
#define NOTHING 0
#define CHASE 1
#define CHASE_LOCAL 2
#define BARRIER 3
#define LOCAL_ATOMIC_ONE 4
#define LOCAL_ATOMIC_EACH 5
#define GLOBAL_ATOMIC_ONE 6
#define GLOBAL_ATOMIC_EACH 7
#define SHUFFLE 8

#define TABLE (x0 + gp_at_x0(layout, 0, 0))
#define RESULT(tid) y0[gp_at_y0(layout, 0, 0) + (tid)]

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void probe_rounds(INPUTS, OUTPUTS, const layout_t layout, const i64 first, const i64 rounds)
{
    __local u32 held[BLOCK];
    const int tid = get_local_id(0);
    u32 at = OPERATION == CHASE ? (u32)first : 0;

    /* 1. Fill local memory: each element has the number of another one, in one cycle. */
    held[tid] = (u32)((tid + 1) % BLOCK);
    RESULT(tid) = 0;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);

    /* 2. Repeat. */
    for (i64 round = 0; round < rounds; round++) {
#if OPERATION == NOTHING
        at = at * 1664525u + 1013904223u;
#elif OPERATION == CHASE
        at = TABLE[at];
#elif OPERATION == CHASE_LOCAL
        at = held[at];
#elif OPERATION == BARRIER
        barrier(CLK_LOCAL_MEM_FENCE);
#elif OPERATION == LOCAL_ATOMIC_ONE
        gp_add_count(held, 1u);
#elif OPERATION == LOCAL_ATOMIC_EACH
        gp_add_count(held + tid, 1u);
#elif OPERATION == GLOBAL_ATOMIC_ONE
        gp_add_count(&RESULT(0), 1u);
#elif OPERATION == GLOBAL_ATOMIC_EACH
        gp_add_count(&RESULT(tid), 1u);
#elif OPERATION == SHUFFLE && WARP
        at = gp_shuffle_from(at + 1u, (int)(at + (u32)tid + 1u) % WARP);
#endif
    }

    /* 3. Store. */
    barrier(CLK_LOCAL_MEM_FENCE);
    gp_add_count(&RESULT(tid), at + held[tid]);
}
