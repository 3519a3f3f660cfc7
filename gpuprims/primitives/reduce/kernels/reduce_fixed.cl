/* reduce/fixed: each group folds blocks by a tree that is the same on every device, lanes in local memory.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: one value for each
 * scratch partials: WORDS for each part of each output; counters: one for each output, zero before and after
 * launch  any number of groups of BLOCK; each takes (output, part) pairs until none are left. A part has 2^shift blocks
 * host    MAP(o, j), MAP_VECTOR(o, j, values), OP(a, b), IDENTITY, STORE(o, j, value), COMMUTATIVE, TREE_LANES, TREE_RUN
 * order   of fixed_trees.py, whatever BLOCK, VECTOR and `parts` are
 */
#define HELD (TREE_LANES / (BLOCK * VECTOR)) /* vectors of lanes that a work-item folds, one after the other */
#define LANE(held) (((held)*BLOCK + tid) * VECTOR)
#define LOADED(k) values[k][item]
/* The first element of a block that a lane takes, and the distance of the next one. In order, these are neighbours. */
#if COMMUTATIVE
#define LANE_FIRST(lane) (lane)
#define LANE_STEP TREE_LANES
#define ROWS_OF(most) (((most) + TREE_LANES - 1) / TREE_LANES)
#else
#define LANE_FIRST(lane) ((lane)*TREE_RUN)
#define LANE_STEP 1
#define ROWS_OF(most) TREE_RUN
#endif

__kernel WORK_GROUP(BLOCK)
void reduce_fixed(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 outputs,
                  const i64 n, const i64 parts, const i64 shift)
{
    __local value_t partial[TREE_LANES];
    __local int last;
    const int tid = get_local_id(0);
    value_t levels[FIXED_LEVELS];

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task / parts, first = (task % parts << shift) * FIXED_BLOCK;
        const i64 end = min(first + (FIXED_BLOCK << shift), n);
        i64 blocks = 0;

        for (i64 base = first; base < end; base += FIXED_BLOCK) {
            const int most = (int)min(end - base, FIXED_BLOCK);

            /* 1. Fold the elements of each lane: fours, one after the other. */
            for (int held = 0; held < HELD; held++) {
                const int lane = LANE(held);
#if COMMUTATIVE
                if (most == FIXED_BLOCK) {
                    value_t values[4][VECTOR], folded[VECTOR];
#pragma unroll
                    for (int row = 0; row < TREE_RUN; row += 4) {
#pragma unroll
                        for (int k = 0; k < 4; k++) MAP_VECTOR(o, base + (row + k) * TREE_LANES + lane, values[k]);
#pragma unroll
                        for (int item = 0; item < VECTOR; item++)
                            folded[item] = row ? OP(folded[item], FIRST_4(LOADED)) : FIRST_4(LOADED);
                    }
#pragma unroll
                    for (int item = 0; item < VECTOR; item++) partial[lane + item] = folded[item];
                    continue;
                }
#endif
                /* What a lane of a smaller block lacks is loaded again from the last place, without a branch, and not folded. */
                for (int row = 0; row < ROWS_OF(most); row += 4) {
                    value_t values[4][VECTOR];
#pragma unroll
                    for (int k = 0; k < 4; k++) {
#pragma unroll
                        for (int item = 0; item < VECTOR; item++)
                            values[k][item] = MAP(o, base + min(LANE_FIRST(lane + item) + (row + k) * LANE_STEP, most - 1));
                    }
#pragma unroll
                    for (int item = 0; item < VECTOR; item++) {
                        const int at = LANE_FIRST(lane + item) + row * LANE_STEP;
                        value_t four = values[0][item], later = values[2][item];
                        if (at + LANE_STEP < most) four = OP(four, values[1][item]);
                        if (at + 3 * LANE_STEP < most) later = OP(later, values[3][item]);
                        if (at + 2 * LANE_STEP < most) four = OP(four, later);
                        if (at < most) partial[lane + item] = row ? OP(partial[lane + item], four) : four;
                    }
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);

            /* 2. Fold the lanes that have elements: commutative ones by halves, else neighbours. */
            const int lanes = COMMUTATIVE ? min(most, TREE_LANES) : (most + TREE_RUN - 1) / TREE_RUN;
            for (int level = 1; level < TREE_LANES; level *= 2) {
                const int stride = COMMUTATIVE ? TREE_LANES / 2 / level : level;
                for (int k = tid; k * level * 2 < TREE_LANES; k += BLOCK) {
                    const int at = COMMUTATIVE ? k : 2 * stride * k;
                    if (at + stride < lanes) partial[at] = OP(partial[at], partial[at + stride]);
                }
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            if (tid == 0) gp_push(levels, blocks, partial[0]);
            blocks++;
            barrier(CLK_LOCAL_MEM_FENCE);
        }

        /* 3. Store; or leave the value, and the last group folds all parts: each work-item 2^run of them, then neighbours. */
        if (tid == 0) {
            const value_t folded = blocks ? gp_fold_levels(levels, blocks) : IDENTITY;
            last = 0;
            if (parts == 1) {
                STORE(o, 0, folded);
            } else {
                gp_leave(partials, task, folded);
                last = gp_last_done(counters + o, parts);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (last) {
            int run = 0;
            while ((parts - 1) >> run >= BLOCK) run++;
            const i64 from = (i64)tid << run, stop = min(from + ((i64)1 << run), parts);
            for (i64 part = from; part < stop; part++) gp_push(levels, part - from, gp_collect(partials, o * parts + part));
            if (from < stop) partial[tid] = gp_fold_levels(levels, stop - from);
            const int nodes = (int)(((parts - 1) >> run) + 1);
            for (int stride = 1; stride < BLOCK; stride *= 2) {
                barrier(CLK_LOCAL_MEM_FENCE);
                if (tid % (2 * stride) == 0 && tid + stride < nodes) partial[tid] = OP(partial[tid], partial[tid + stride]);
            }
            if (tid == 0) STORE(o, 0, partial[0]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
