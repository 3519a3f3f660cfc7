/* reduce/fixed_columns: work-items share outputs side by side, and fold them by a tree that is the same on every device.
 *
 * in      INPUTS: n elements for each of `outputs` outputs, neighbouring outputs next to each other in memory
 * out     OUTPUTS: one value for each
 * scratch partials: WORDS for each part of each output; counters: one for each STRIP_WIDTH outputs, zero before and after
 * launch  any number of groups of BLOCK; each takes STRIP_WIDTH outputs and a part of 2^shift blocks of their elements
 *         until none are left
 * host    MAP(o, j), OP(a, b), IDENTITY, STORE(o, j, value), COMMUTATIVE, TREE_LANES, TREE_RUN; STRIP_WIDTH,
 *         BATCH = 2^BATCH_BITS and LANE_LOADS (powers of two; LANE_LOADS is 1 if no lane has more than one element, else 4);
 *         BATCH_LEVELS, of the nodes of batches
 * order   of fixed_trees.py, whatever BLOCK, STRIP_WIDTH and `parts` are
 *
 * A work-item takes lanes of the tree that fold with each other first, BATCH at a time: lanes with the same remainder, in
 * the order of their reversed bits; or neighbours, if operands keep their order. The nodes of such batches fold as a binary
 * counter. Then the work-items that share an output fold their nodes in local memory. Of 16 lanes, for four work-items:
 *
 *     work-item   0           1           2            3
 *     lanes       0 8  4 12   1 9  5 13   2 10  6 14   3 11  7 15
 */
#define SHARERS (BLOCK / STRIP_WIDTH)
#define EACH_NODE _Pragma("unroll") for (int k = 0; k < BATCH; k++)
#if COMMUTATIVE
#define LANE_STEP TREE_LANES /* from an element of a lane to the next */
#define LANES_OF(most) min(most, TREE_LANES)
#define FIRST_AT(lane) (lane)
#define ALIKE(most) (LANE_LOADS == 1 || (most) % (LANE_LOADS * TREE_LANES) == 0) /* lanes that have elements have as many */
#else
#define LANE_STEP 1
#define LANES_OF(most) (((most) + TREE_RUN - 1) / TREE_RUN)
#define FIRST_AT(lane) ((lane)*TREE_RUN)
#define ALIKE(most) ((most) % TREE_RUN == 0)
#endif

/* Lane number `at` of those that a sharer takes, 2^bits in all. */
DEVICE int lane_of(const int sharer, const int at, const int bits)
{
#if COMMUTATIVE
    return sharer + SHARERS * gp_reversed(at, bits);
#else
    return (sharer << bits) + at;
#endif
}

/* Lane k of a batch whose first one is `first`; the compiler adds a constant. */
DEVICE int lane_in(const int first, const int k, const int bits)
{
#if COMMUTATIVE
    return first + (SHARERS * gp_reversed(k, BATCH_BITS) << (bits - BATCH_BITS));
#else
    return first + k;
#endif
}

/* Fold the elements of a batch of lanes, those before place `most` of the block. If the batch is `whole`, all lanes have as
 * many. */
DEVICE void fold_lanes(INPUTS, const layout_t layout, const i64 o, const i64 base, const int most, const int whole,
                       const int first, const int bits, value_t *nodes)
{
    value_t values[BATCH][LANE_LOADS];
    for (int row = 0; row < (LANE_LOADS > 1 ? TREE_RUN : 1); row += LANE_LOADS) {
        if (FIRST_AT(first) + row * LANE_STEP >= most) break;

        /* What lies past the end is loaded again from the last place, without a branch, and not folded. */
        EACH_NODE
        {
            const int at = FIRST_AT(lane_in(first, k, bits)) + row * LANE_STEP;
#pragma unroll
            for (int one = 0; one < LANE_LOADS; one++)
                values[k][one] = MAP(o, base + (whole ? at + one * LANE_STEP : min(at + one * LANE_STEP, most - 1)));
        }
        EACH_NODE
        {
            const int at = FIRST_AT(lane_in(first, k, bits)) + row * LANE_STEP;
            value_t *own = values[k];
#pragma unroll
            for (int apart = 1; apart < LANE_LOADS; apart *= 2) {
#pragma unroll
                for (int one = 0; one < LANE_LOADS; one += 2 * apart)
                    if (whole || at + (one + apart) * LANE_STEP < most) own[one] = OP(own[one], own[one + apart]);
            }
            if (whole || at < most) nodes[k] = row ? OP(nodes[k], own[0]) : own[0];
        }
    }
}

/* Fold the lanes of a block that a sharer takes. */
DEVICE value_t fold_block(INPUTS, const layout_t layout, const i64 o, const i64 base, const int most, const int sharer,
                          const int bits)
{
    const int lanes = LANES_OF(most);
    const int whole = lanes == SHARERS << bits && ALIKE(most);
    value_t waiting[BATCH_LEVELS], node = IDENTITY;
    for (int batch = 0; batch < 1 << (bits - BATCH_BITS); batch++) {
        const int first = lane_of(sharer, batch * BATCH, bits);
        value_t nodes[BATCH];
        EACH_NODE nodes[k] = IDENTITY;
        if (whole) {
            fold_lanes(INPUT_NAMES, layout, o, base, most, 1, first, bits, nodes);
        } else {
            fold_lanes(INPUT_NAMES, layout, o, base, most, 0, first, bits, nodes);
        }
#pragma unroll
        for (int apart = 1; apart < BATCH; apart *= 2) {
#pragma unroll
            for (int k = 0; k < BATCH; k += 2 * apart)
                if (whole || lane_in(first, k + apart, bits) < lanes) nodes[k] = OP(nodes[k], nodes[k + apart]);
        }
        node = nodes[0];
        int carries = 1;
#pragma unroll
        for (int level = 0; level < BATCH_LEVELS; level++) {
            const int begins = whole ? 0 : lane_of(sharer, (batch >> level << level) * BATCH, bits);
            const value_t before = waiting[level];
            if (carries && !(batch >> level & 1)) waiting[level] = node;
            carries &= batch >> level & 1;
            if (carries) node = begins < lanes ? OP(before, node) : before;
        }
    }
    return node;
}

/* Fold the nodes of the work-items that share an output; the first of them gets the fold. Those that share a block have 2^bits
 * of its lanes each, of which `lanes` have elements; parts are neighbours, one each. */
DEVICE value_t fold_nodes(const value_t node, LOCAL value_t *partial, const int tid, const int commutes, const int bits,
                            const int lanes)
{
    const int sharer = tid / STRIP_WIDTH;
    if (SHARERS == 1) return node;
    partial[tid] = node;
    for (int level = 1; level < SHARERS; level *= 2) {
        const int stride = commutes ? SHARERS / 2 / level : level;
        const int folds = commutes ? sharer < stride : sharer % (2 * stride) == 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (folds && (sharer + stride) << bits < lanes) partial[tid] = OP(partial[tid], partial[tid + stride * STRIP_WIDTH]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const value_t folded = partial[tid % STRIP_WIDTH];
    barrier(CLK_LOCAL_MEM_FENCE);
    return folded;
}

__kernel WORK_GROUP(BLOCK)
void reduce_fixed_columns(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout,
                          const i64 outputs, const i64 n, const i64 parts, const i64 shift)
{
    __local value_t partial[BLOCK];
    __local int last;
    const int tid = get_local_id(0), sharer = tid / STRIP_WIDTH;
    const i64 strips = (outputs + STRIP_WIDTH - 1) / STRIP_WIDTH;
    value_t levels[FIXED_LEVELS];

    for (i64 task = get_group_id(0); task < strips * parts; task += get_num_groups(0)) {
        const i64 strip = task / parts, part = task % parts, o = min(strip * STRIP_WIDTH + tid % STRIP_WIDTH, outputs - 1);
        const int stores = sharer == 0 && strip * STRIP_WIDTH + tid < outputs; /* others past the last output repeat it */
        const i64 first = (part << shift) * FIXED_BLOCK, end = min(first + (FIXED_BLOCK << shift), n);
        i64 blocks = 0;
        value_t folded = IDENTITY;

        /* 1. Fold the part's blocks: lanes by each work-item, then what sharers have. */
        for (i64 base = first; base < end; base += FIXED_BLOCK) {
            const int most = (int)min(end - base, FIXED_BLOCK), lanes = LANES_OF(most);
            int bits = BATCH_BITS;
            while (SHARERS << bits < lanes) bits++;
            folded = fold_block(INPUT_NAMES, layout, o, base, most, sharer, bits);
            folded = fold_nodes(folded, partial, tid, COMMUTATIVE, COMMUTATIVE ? 0 : bits, lanes);
            if (end - first > FIXED_BLOCK) gp_push(levels, blocks, folded);
            blocks++;
        }
        if (blocks > 1) folded = gp_fold_levels(levels, blocks);

        /* 2. Store; or leave the value, and the last group folds all parts: each sharer 2^run of them, then neighbours. */
        if (parts == 1) {
            if (stores) STORE(o, 0, folded);
            continue;
        }
        if (stores) gp_leave(partials, o * parts + part, folded);
        gp_fence();
        barrier(CLK_LOCAL_MEM_FENCE);
        if (tid == 0) last = gp_last_done(counters + strip, parts);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (last) {
            int run = 0;
            while ((parts - 1) >> run >= SHARERS) run++;
            const i64 from = (i64)sharer << run, stop = min(from + ((i64)1 << run), parts);
            for (i64 at = from; at < stop; at++) gp_push(levels, at - from, gp_collect(partials, o * parts + at));
            folded = from < stop ? gp_fold_levels(levels, stop - from) : IDENTITY;
            folded = fold_nodes(folded, partial, tid, 0, 0, (int)(((parts - 1) >> run) + 1));
            if (stores) STORE(o, 0, folded);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
