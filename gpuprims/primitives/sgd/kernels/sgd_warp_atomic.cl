/* sgd/warp_atomic: the thesis' second kernel. Each work-item of a team multiplies a part of a sample with the weights,
 * warps fold the parts, and each warp's sum is added to one of SLOTS sums in local memory by an atomic.
 *
 * in      INPUTS: x0 rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights, then the order
 *         of rows and the rates of stretches (single.h)
 * out     OUTPUTS: y0 the weights
 * scratch none: partials and counters are not touched
 * launch  one group of BLOCK, a multiple of FOLDED_LANES: ROWS teams of LANES, any numbers, then work-items that wait
 * host    `steps` samples in order, in stretches; share_t, gp_load_share, gp_part_of_score, gp_change_part (turns.h), gp_butterfly; a number of
 *         one or two WORDS
 * order   samples in order, each by the next team; warps' sums in any order, so results differ from run to run
 *
 * The thesis starts many groups, whose changes of the weights meet in any order, as those of hogwild/lock_free do. Here
 * the teams of one group take turns, so that steps are those of all kernels of sgd. Teams need not be whole warps: all
 * work-items but those of the present team have zero.
 */
#define FOLDED_LANES 32
/* Sums that a step's warps add to: each retry of warps that meet costs as much as an addition (measurements.md, slots). */
#define SLOTS 8
#if WORDS == 1
typedef u32 slot_t;
#define BITS(words) (words)[0]
#else
typedef u64 slot_t;
#define BITS(words) ((words)[0] | (u64)(words)[1] << 32)
#endif

/* The number whose bits are in a slot; the bits of zero are zero. */
DEVICE value_t number_in(const slot_t slot)
{
    u32 words[WORDS];
#pragma unroll
    for (int word = 0; word < WORDS; word++) words[word] = (u32)(slot >> 32 * word);
    return gp_join(words);
}

/* Add to a slot of local memory that other warps change at the same time. */
DEVICE void add_number(LOCAL slot_t *slot, const value_t number)
{
    slot_t seen = 0, expected;
    do {
        u32 words[WORDS];
        expected = seen;
        gp_split(number_in(expected) + number, words);
        seen = gp_compare_exchange(slot, expected, BITS(words));
    } while (seen != expected);
}

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void sgd_warp_atomic(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 steps,
                     const i64 stretch)
{
    __local value_t partial[BLOCK];
    __local slot_t scores[2][SLOTS];
    const int tid = get_local_id(0), team = tid / LANES, own = tid % LANES;
    GLOBAL NUMBER *weights = &MOVED(0);
    value_t bias = INITIAL_SCORE;
    int now = 0;
    i64 next = steps > 0 ? SAMPLE(0) : 0, pace = 0, left = stretch;
    share_t share;
    if (team == 0) gp_load_share(SAMPLES(next), own, &share);

    /* 1. Copy the weights, and begin with sums of zero. */
    if (tid < 2 * SLOTS) scores[tid / SLOTS][tid % SLOTS] = 0;
    for (int feature = tid; feature < FEATURES; feature += BLOCK) weights[feature] = WEIGHT(feature);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);

    for (i64 step = 0; step < steps; step++) {
        /* What this step needs of its sample, and the next team's share, arrive while the score is computed. */
        const i64 number = next;
        const value_t label = LABEL(number), weight = RATE(pace) * SAMPLE_WEIGHT(number), keep = KEEP(pace);
        const int after = now + 1 < ROWS ? now + 1 : 0;
        const int turn = team == now, side = step % 2;
        if (step + 1 < steps) next = SAMPLE(step + 1);
        if (ROWS > 1 && team == after) gp_load_share(SAMPLES(next), own, &share);

        /* 2. Multiply the parts of the sample. */
        value_t sum = turn ? gp_part_of_score(SAMPLES(number), weights, own, &share) : 0;

        /* 3. Fold each warp; those with work-items of the team add their sum. */
        for (int stride = FOLDED_LANES / 2; stride > 0; stride /= 2) sum += gp_butterfly(sum, stride, partial, tid);
        const int takes_part = tid < (now + 1) * LANES && tid + FOLDED_LANES > now * LANES;
        if (tid % FOLDED_LANES == 0 && takes_part) add_number(&scores[side][tid / FOLDED_LANES % SLOTS], sum);
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 4. Change the weights, and clear the sums of the next step. */
        value_t score = bias;
#pragma unroll
        for (int slot = 0; slot < SLOTS; slot++) score += number_in(scores[side][slot]);
        const value_t move = weight * (SIGMOID(score) - label);
        if (tid < SLOTS) scores[1 - side][tid] = 0;
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
