/* reduce/atomic: work-items fold part of an output's elements, a tree folds the group, one atomic adds its aggregate
 * to the output's slot.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: one value for each
 * scratch counters: one for each output, rounded up to an even number, then a slot for each; zero before and after
 * launch  any number of groups of BLOCK (a power of two); each takes (output, part) pairs until none are left
 * host    gp_fold_elements and gp_fold_tree (folding.h), OP(a, b), IDENTITY, STORE(o, j, value); a value of one or two
 *         WORDS
 * order   groups are folded as they finish: OP must commute, and sums of floats differ from run to run
 *
 * A slot holds the bits in which a value differs from the identity, so zeroed memory is the identity.
 */
#if WORDS == 1
typedef u32 slot_t;
#define BITS(words) (words)[0]
#else
typedef u64 slot_t;
#define BITS(words) ((words)[0] | (u64)(words)[1] << 32)
#endif

/* Convert a value to a slot's bits, and back. */
DEVICE slot_t slot_of(const value_t value)
{
    u32 words[WORDS], identity[WORDS];
    gp_split(value, words);
    gp_split(IDENTITY, identity);
    return BITS(words) ^ BITS(identity);
}

DEVICE value_t value_in(const slot_t slot)
{
    u32 words[WORDS], identity[WORDS];
    gp_split(IDENTITY, identity);
#pragma unroll
    for (int word = 0; word < WORDS; word++) words[word] = (u32)(slot >> 32 * word) ^ identity[word];
    return gp_join(words);
}

/* Fold a value into a slot that other groups change at the same time. */
DEVICE void add_in(GLOBAL slot_t *slot, const value_t value)
{
    slot_t seen = 0, expected;
    do {
        expected = seen;
        seen = gp_compare_exchange(slot, expected, slot_of(OP(value_in(expected), value)));
    } while (seen != expected);
}

__kernel WORK_GROUP(BLOCK)
void reduce_atomic(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 outputs,
                   const i64 n, const i64 parts)
{
    __local value_t partial[BLOCK];
    const int tid = get_local_id(0);
    GLOBAL slot_t *slots = (GLOBAL slot_t *)(counters + (outputs + 1) / 2 * 2);

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task / parts, part = task % parts;

        /* 1. Load and fold this part's elements, then the group. */
        value_t folded = gp_fold_elements(INPUT_NAMES, layout, o, 0, n, part * BLOCK + tid, parts * BLOCK);
        folded = gp_fold_tree(folded, partial, tid);
        if (tid > 0) continue;

        /* 2. Store the only part; or fold it into the slot, and the last group stores the slot's value. */
        if (parts == 1) {
            STORE(o, 0, folded);
        } else {
            add_in(slots + o, folded);
            if (gp_last_done(counters + o, parts)) STORE(o, 0, value_in(gp_exchange(slots + o, 0)));
        }
    }
}
