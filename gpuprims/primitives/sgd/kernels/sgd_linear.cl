/* sgd/linear: the thesis' first kernel. Each work-item of a team multiplies a part of a sample with the weights, and one
 * of them adds up the parts.
 *
 * in      INPUTS: x0 rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights, then the order
 *         of rows and the rates of stretches (single.h)
 * out     OUTPUTS: y0 the weights
 * scratch none: partials and counters are not touched
 * launch  one group of BLOCK: ROWS teams of LANES, any numbers
 * host    `steps` samples in order, in stretches; share_t, gp_load_share, gp_part_of_score, gp_change_part (turns.h)
 * order   samples in order, each by the next team; a score's parts in order
 *
 * The thesis starts many groups, whose changes of the weights meet in any order, as those of hogwild/lock_free do. Here
 * the teams of one group take turns, so that steps are those of all kernels of sgd.
 */
__kernel WORK_GROUP(BLOCK)
void sgd_linear(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 steps,
                const i64 stretch)
{
    __local value_t partial[BLOCK], scores[ROWS];
    const int tid = get_local_id(0), team = tid / LANES, own = tid % LANES;
    GLOBAL NUMBER *weights = &MOVED(0);
    value_t bias = INITIAL_SCORE;
    int now = 0;
    i64 next = steps > 0 ? SAMPLE(0) : 0, pace = 0, left = stretch;
    share_t share;
    if (team == 0) gp_load_share(SAMPLES(next), own, &share);

    /* 1. Copy the weights. */
    for (int feature = tid; feature < FEATURES; feature += BLOCK) weights[feature] = WEIGHT(feature);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);

    for (i64 step = 0; step < steps; step++) {
        /* What this step needs of its sample, and the next team's share, arrive while the score is computed. */
        const i64 number = next;
        const value_t label = LABEL(number), weight = RATE(pace) * SAMPLE_WEIGHT(number), keep = KEEP(pace);
        const int after = now + 1 < ROWS ? now + 1 : 0;
        const int turn = team == now;
        if (step + 1 < steps) next = SAMPLE(step + 1);
        if (ROWS > 1 && team == after) gp_load_share(SAMPLES(next), own, &share);

        /* 2. Multiply the parts of the sample. */
        partial[tid] = turn ? gp_part_of_score(SAMPLES(number), weights, own, &share) : 0;
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 3. Add them up, one after the other. */
        if (turn && own == 0) {
            value_t score = 0;
            for (int lane = 0; lane < LANES; lane++) score += partial[tid + lane];
            scores[now] = score;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 4. Change the weights. */
        const value_t move = weight * (SIGMOID(scores[now] + bias) - label);
        if (turn) gp_change_part(SAMPLES(number), weights, own, keep, move, &share);
        if (INTERCEPT) bias -= move;
        if (ROWS == 1 && turn) gp_load_share(SAMPLES(next), own, &share);
        if (--left == 0) pace++, left = stretch;
        now = after;
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }

    /* 5. Store the intercept; the weights are in place. */
    if (INTERCEPT && tid == 0) MOVED(FEATURES) = bias;
}
