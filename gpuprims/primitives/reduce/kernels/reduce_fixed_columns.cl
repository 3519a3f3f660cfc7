/* reduce/fixed_columns: work-items share outputs side by side, and fold them by a tree that is the same on every device.
 *
 * in      INPUTS: n elements for each of `outputs` outputs, neighbouring outputs next to each other in memory
 * out     OUTPUTS: one value for each
 * scratch partials: WORDS for each share of each part of each output; counters: one for each STRIP_WIDTH outputs, zero before
 *         and after
 * launch  any number of groups of BLOCK; each takes STRIP_WIDTH outputs and one of 2^split shares of a part of 2^shift blocks
 *         of their elements, until none are left. Only operators that commute are split, in parts of one block
 * host    MAP(o, j), OP(a, b), IDENTITY, STORE(o, j, value), COMMUTATIVE, TREE_LANES, TREE_RUN; STRIP_WIDTH,
 *         BATCH = 2^BATCH_BITS and LANE_LOADS (powers of two; no lane has more elements than LANE_LOADS, or it is 4);
 *         BATCH_LEVELS, of the nodes of batches
 * order   of fixed_trees.py, whatever BLOCK, STRIP_WIDTH, `parts` and `split` are
 *
 * A work-item takes lanes of the tree that fold with each other first, BATCH at a time: lanes with the same remainder, in
 * the order of their reversed bits; or neighbours, if operands keep their order. The nodes of such batches fold as a binary
 * counter. Then the work-items that share an output fold their nodes in local memory, and the last group those of all shares.
 * Of 16 lanes, for two shares and two work-items:
 *
 *     share       0           1           0            1
 *     work-item   0           0           1            1
 *     lanes       0 8  4 12   1 9  5 13   2 10  6 14   3 11  7 15
 */
#define SHARERS (BLOCK / STRIP_WIDTH) /* a power of two */
#define GROUPS_AT_ONCE ((WORDS <= 2 ? 1024 : 512) / BLOCK)
#define AHEAD 4 /* values of other groups that are read at once */
#define EACH_NODE _Pragma("unroll") for (int k = 0; k < BATCH; k++)
/* Nodes that wait stay in registers if values have few words. */
#if WORDS <= 2
#define EACH_LEVEL _Pragma("unroll") for (int level = 0; level < BATCH_LEVELS; level++)
#else
#define EACH_LEVEL for (int level = 0; level < BATCH_LEVELS && carries; level++)
#endif
#if COMMUTATIVE
#define LANE_STEP TREE_LANES /* from an element of a lane to the next */
#define LANES_OF(most) min(most, TREE_LANES)
#define FIRST_AT(lane) (lane)
#define ARE_WHOLE(row) ((LANE_LOADS > 1 ? ((row) + LANE_LOADS) * TREE_LANES : taken.apart << taken.bits) <= most)
#define ROWS_OF(most) (((most) + TREE_LANES - 1) / TREE_LANES)
#else
#define LANE_STEP 1
#define LANES_OF(most) (((most) + TREE_RUN - 1) / TREE_RUN)
#define FIRST_AT(lane) ((lane)*TREE_RUN)
#define ARE_WHOLE(row) ((first + BATCH) * TREE_RUN <= most)
#define ROWS_OF(most) TREE_RUN
#endif

/* The lanes of a block that a work-item takes: each `apart`-th one from `sharer` on, 2^bits in all; or 2^bits neighbours. */
typedef struct { int sharer, apart, bits; } taken_t;

/* Number `at` of the lanes that a work-item takes. */
DEVICE int lane_of(const taken_t taken, const int at)
{
#if COMMUTATIVE
    return taken.sharer + taken.apart * gp_reversed(at, taken.bits);
#else
    return (taken.sharer << taken.bits) + at;
#endif
}

/* The BATCH_BITS bits of a constant, four at most, the last one first: a loop would stay between the loads of two lanes. */
#define REVERSED_BITS(k) ((((k)&1) << 3 | ((k)&2) << 1 | ((k)&4) >> 1 | ((k)&8) >> 3) >> (4 - BATCH_BITS))

/* Lane k of a batch whose first one is `first`. */
DEVICE int lane_in(const taken_t taken, const int first, const int k)
{
#if COMMUTATIVE
    return first + (taken.apart << (taken.bits - BATCH_BITS)) * REVERSED_BITS(k);
#else
    return first + k;
#endif
}

/* Fold LANE_LOADS elements of each lane of a batch, from number `row` on, those before place `most` of the block; or all if they
 * are `whole`. */
DEVICE void fold_rows(INPUTS, const layout_t layout, const i64 o, const i64 base, const int most, const int whole,
                      const taken_t taken, const int first, const int row, value_t *nodes)
{
    value_t values[BATCH][LANE_LOADS];
    /* What a lane lacks is loaded again from the last place, without a branch, and not folded. */
    EACH_NODE
    {
        const int at = FIRST_AT(lane_in(taken, first, k)) + row * LANE_STEP;
#pragma unroll
        for (int one = 0; one < LANE_LOADS; one++)
            values[k][one] = MAP(o, base + (whole ? at + one * LANE_STEP : min(at + one * LANE_STEP, most - 1)));
    }
    EACH_NODE
    {
        const int at = FIRST_AT(lane_in(taken, first, k)) + row * LANE_STEP;
        value_t *own = values[k];
#pragma unroll
        for (int apart = 1; apart < LANE_LOADS; apart *= 2) {
#pragma unroll
            for (int one = 0; one < LANE_LOADS; one += 2 * apart)
                if (whole || at + (one + apart) * LANE_STEP < most) own[one] = OP(own[one], own[one + apart]);
        }
        if (row == 0) nodes[k] = own[0];
        else if (whole || at < most) nodes[k] = OP(nodes[k], own[0]);
    }
}

/* Fold the elements of a batch of lanes. */
DEVICE void fold_lanes(INPUTS, const layout_t layout, const i64 o, const i64 base, const int most, const taken_t taken,
                       const int first, value_t *nodes)
{
    for (int row = 0; row < (LANE_LOADS > 1 ? ROWS_OF(most) : 1); row += LANE_LOADS) {
        if (ARE_WHOLE(row)) {
            fold_rows(INPUT_NAMES, layout, o, base, most, 1, taken, first, row, nodes);
        } else {
            fold_rows(INPUT_NAMES, layout, o, base, most, 0, taken, first, row, nodes);
        }
    }
}

/* Add node number `count` to a binary counter. Bit k of `held` is set if the node that waits at level k exists; missing nodes
 * come last. */
DEVICE value_t carry_node(value_t *waiting, u32 *held, const int count, value_t node, u32 exists)
{
    int carries = 1;
    EACH_LEVEL
    {
        const value_t before = waiting[level];
        const u32 bit = (u32)1 << level;
        if (carries && !(count & bit)) {
            waiting[level] = node;
            *held = exists ? *held | bit : *held & ~bit;
        }
        carries = carries && count & bit;
        if (carries) {
            node = exists ? OP(before, node) : before;
            exists = *held & bit;
        }
    }
    return node;
}

/* Fold the lanes of a block that a work-item takes. */
DEVICE value_t fold_block(INPUTS, const layout_t layout, const i64 o, const i64 base, const int most, const taken_t taken)
{
    const int lanes = LANES_OF(most), whole = lanes == taken.apart << taken.bits;
    value_t waiting[BATCH_LEVELS], node = IDENTITY;
    u32 held = 0;
    for (int batch = 0; batch < 1 << (taken.bits - BATCH_BITS); batch++) {
        const int first = lane_of(taken, batch * BATCH);
        value_t nodes[BATCH];
        fold_lanes(INPUT_NAMES, layout, o, base, most, taken, first, nodes);
#pragma unroll
        for (int apart = 1; apart < BATCH; apart *= 2) {
#pragma unroll
            for (int k = 0; k < BATCH; k += 2 * apart)
                if (whole || lane_in(taken, first, k + apart) < lanes) nodes[k] = OP(nodes[k], nodes[k + apart]);
        }
        node = carry_node(waiting, &held, batch, nodes[0], first < lanes);
    }
    return node;
}

/* Fold the nodes of the work-items that share an output; the first of them gets the fold. Those that share a block have lanes
 * from (sharer << bits) + from on, and `lanes` have elements; parts are neighbours, one each. */
DEVICE value_t fold_nodes(const value_t node, LOCAL value_t *partial, const int tid, const int commutes, const int from,
                          const int bits, const int lanes)
{
    const int sharer = tid / STRIP_WIDTH;
    if (SHARERS == 1) return node;
    partial[tid] = node;
    for (int level = 1; level < SHARERS; level *= 2) {
        const int stride = commutes ? SHARERS / 2 / level : level;
        const int folds = commutes ? sharer < stride : sharer % (2 * stride) == 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (folds && ((sharer + stride) << bits) + from < lanes)
            partial[tid] = OP(partial[tid], partial[tid + stride * STRIP_WIDTH]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const value_t folded = partial[tid % STRIP_WIDTH];
    barrier(CLK_LOCAL_MEM_FENCE);
    return folded;
}

/* Fold the shares of a part of an output, `have` of them, which other groups left from place `at` on. */
DEVICE value_t fold_shares(GLOBAL u32 *partials, const i64 at, const int have, const int split)
{
    value_t waiting[BATCH_LEVELS], shares[AHEAD], node = IDENTITY;
    u32 held = 0;
    for (int share = 0; share < 1 << split; share += AHEAD) {
#pragma unroll
        for (int k = 0; k < AHEAD; k++) shares[k] = gp_collect(partials, at + min(gp_reversed(share + k, split), have - 1));
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const int exists = gp_reversed(share + k, split) < have;
            if (share + k < 1 << split) node = carry_node(waiting, &held, share + k, shares[k], exists);
        }
    }
    return node;
}

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_AT_ONCE)
void reduce_fixed_columns(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout,
                          const i64 outputs, const i64 n, const i64 parts, const i64 shift, const i64 split)
{
    __local value_t partial[BLOCK];
    __local int last;
    const int tid = get_local_id(0), sharer = tid / STRIP_WIDTH, shares = 1 << split;
    const i64 strips = (outputs + STRIP_WIDTH - 1) / STRIP_WIDTH, each = parts << split; /* values of an output */
    value_t levels[FIXED_LEVELS];

    for (i64 task = get_group_id(0); task < strips * each; task += get_num_groups(0)) {
        const i64 strip = task / each, part = task % each >> split, o = min(strip * STRIP_WIDTH + tid % STRIP_WIDTH, outputs - 1);
        const int share = (int)(task % shares);
        const int stores = sharer == 0 && strip * STRIP_WIDTH + tid < outputs; /* others past the last output repeat it */
        const i64 first = (part << shift) * FIXED_BLOCK, end = min(first + (FIXED_BLOCK << shift), n);
        i64 blocks = 0;
        value_t folded = IDENTITY;

        /* 1. Fold the part's blocks: lanes by each work-item, then what sharers have. */
        for (i64 base = first; base < end; base += FIXED_BLOCK) {
            const int most = (int)min(end - base, FIXED_BLOCK), lanes = LANES_OF(most);
            taken_t taken = {share + (sharer << split), SHARERS << split, BATCH_BITS};
            while (taken.apart << taken.bits < lanes) taken.bits++;
            folded = fold_block(INPUT_NAMES, layout, o, base, most, taken);
            folded = fold_nodes(folded, partial, tid, COMMUTATIVE, share, COMMUTATIVE ? (int)split : taken.bits, lanes);
            if (end - first > FIXED_BLOCK) gp_push(levels, blocks, folded);
            blocks++;
        }
        if (blocks > 1) folded = gp_fold_levels(levels, blocks);

        /* 2. Store; or leave the value, and the last group folds all parts: each sharer 2^run of them, then neighbours. */
        if (each == 1) {
            if (stores) STORE(o, 0, folded);
            continue;
        }
        if (stores) gp_leave(partials, o * each + task % each, folded);
        gp_fence();
        barrier(CLK_LOCAL_MEM_FENCE);
        if (tid == 0) last = gp_last_done(counters + strip, each);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (last) {
            int run = 0;
            while ((parts - 1) >> run >= SHARERS) run++;
            const i64 from = (i64)sharer << run, stop = min(from + ((i64)1 << run), parts);
            for (i64 at = from; at < stop; at++) {
                const int have = (int)min(n - at * FIXED_BLOCK, (i64)shares); /* lanes that begin the tree, one in each share */
                gp_push(levels, at - from, fold_shares(partials, o * each + (at << split), have, (int)split));
            }
            folded = from < stop ? gp_fold_levels(levels, stop - from) : IDENTITY;
            folded = fold_nodes(folded, partial, tid, 0, 0, 0, (int)(((parts - 1) >> run) + 1));
            if (stores) STORE(o, 0, folded);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
