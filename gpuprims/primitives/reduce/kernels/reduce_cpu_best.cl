/* reduce/cpu_best: each work-item searches one contiguous chunk for the best value, for devices whose work-items are
 * CPU threads.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: one value for each
 * scratch partials: WORDS for each part of each output; counters: one for each output, zero before and after
 * launch  any number of groups of one work-item; each takes (output, part) pairs until none are left
 * host    MAP(o, j), ROW(o, j), ROW_END(j, last), MAP_ROW(row, j), OP(a, b), IDENTITY, STORE(o, j, value); LEAD(value),
 *         its first component, and BETTER(a, b) of two leads; IN_ORDER, INDEX_FALLS, NARROW
 * order   among equally good values the first wins
 *
 * Only first components are compared, a span at a time. The other components, such as the index of an argmax, are read
 * once a chunk. Few spans have a value better than the best so far: log(s) of s random ones. For spans of four:
 *
 *     elements   3 1 4 1 | 2 3 1 0 | 5 9 2 6 | 5 3 9 8
 *     best       4         4         9         9           found in the third span
 *
 * A value that compares better than itself (NaN) wins and ends the search. Elements that are not IN_ORDER of their indices
 * may equal the best so far and have a lower index, so the best value of a span with such elements is found at once
 * (rows: cpu_best-order).
 */
#define BEATS(a, b) (BETTER(a, b) && !BETTER(b, b))
#define AS_GOOD(a, b) (BETTER(a, a) | !BETTER(b, a)) /* neither test waits for the other (rows: cpu_best-nan) */
#define LANES ((int)(sizeof(lead_t) == 8 ? 16 : 32) >> NARROW) /* rows: cpu_best-narrow */
#define EACH_OF(lanes) _Pragma("clang loop unroll(disable)") for (int lane = 0; lane < lanes; lane++)
#define EACH_LANE EACH_OF(LANES)
#define SPAN 2048 /* rows: cpu_best */

/* Return 1 if one of `span` elements from j on is better than `best`, or as good and not IN_ORDER. */
DEVICE int has_better(INPUTS, const layout_t layout, const row_t row, const i64 j, const int span, const lead_t best)
{
#define SEARCH(type)                                                                                                   \
    type found = 0;                                                                                                    \
    for (int k = 0; k < span; k++) {                                                                                   \
        const lead_t lead = LEAD(MAP_ROW(row, j + k));                                                                 \
        found |= BETTER(lead, best);                                                                                   \
        if (!IN_ORDER) found |= !BETTER(best, lead);                                                                   \
    }                                                                                                                  \
    return found
    if (sizeof(lead_t) == 1) {
        SEARCH(i8);
    } else if (sizeof(lead_t) == 2) {
        SEARCH(i16);
    } else {
        SEARCH(i32);
    }
}

/* Return the best lead of `span` elements from j on. Loops over lanes stay rolled: Intel's compiler does not vectorise
 * unrolled ones. A level of the tree lies before the level below: in place, vectors would be stored
 * in part, and the next loads would wait for that. */
DEVICE lead_t best_of(INPUTS, const layout_t layout, const row_t row, const i64 j, const int span)
{
    lead_t best = LEAD(MAP_ROW(row, j)), leads[LANES], tree[2 * LANES];
    if (span < LANES) {
        for (int k = 1; k < span; k++) {
            const lead_t lead = LEAD(MAP_ROW(row, j + k));
            best = AS_GOOD(lead, best) ? lead : best;
        }
        return best;
    }
    EACH_LANE leads[lane] = best;
    for (int k = 0; k < span; k += LANES) {
        const i64 near = j + min(k, span - LANES); /* the last elements twice, if need be */
        EACH_LANE
        {
            const lead_t lead = LEAD(MAP_ROW(row, near + lane));
            leads[lane] = AS_GOOD(lead, leads[lane]) ? lead : leads[lane];
        }
    }
    EACH_LANE tree[LANES + lane] = leads[lane];
#pragma unroll
    for (int level = LANES / 2; level > 0; level /= 2)
        EACH_OF(level)
        {
            const lead_t one = tree[2 * level + lane], other = tree[3 * level + lane];
            tree[level + lane] = AS_GOOD(other, one) ? other : one;
        }
    return tree[1];
}

/* Return the value of the lowest index that is as good as the best of a span, LANES elements at a time. A map may round differently in
 * vectors; if no value is as good, search again one by one. */
DEVICE value_t value_of(INPUTS, const layout_t layout, const row_t row, const i64 first, const i64 last, const lead_t best)
{
#if LEAD_ALONE
    return best;
#else
    for (i64 k = 0; last - first >= LANES && k < last - first; k += LANES) {
        const i64 near = INDEX_FALLS ? max(first, last - k - LANES) : min(first + k, last - LANES); /* some elements twice */
        int found = 0;
        EACH_LANE found |= !BEATS(best, LEAD(MAP_ROW(row, near + lane)));
        for (int lane = 0; found && lane < LANES; lane++) {
            const i64 j = near + (INDEX_FALLS ? LANES - 1 - lane : lane);
            if (!BEATS(best, LEAD(MAP_ROW(row, j)))) return MAP_ROW(row, j);
        }
    }
    value_t value = MAP_ROW(row, first);
    for (i64 j = first + 1; j < last; j++) value = OP(value, MAP_ROW(row, j));
    return value;
#endif
}

__kernel WORK_GROUP(1)
void reduce_cpu_best(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 outputs,
                     const i64 n, const i64 parts)
{
    const i64 chunk = (n + parts - 1) / parts;

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task / parts, first = min((task % parts) * chunk, n), last = min(first + chunk, n);
        value_t value = IDENTITY;

        if (first < last) {
            /* 1. Find the span of the best value, within a row. The first element is the best so far, even if it equals
             * the identity. */
            i64 at = first, behind = first;
            lead_t best = LEAD(MAP(o, first));
            for (i64 j = first; j < last && !(IN_ORDER && BETTER(best, best));) {
                const row_t row = ROW(o, j);
                const int span = (int)min((i64)SPAN, ROW_END(j, last) - j);
                if (j == first || has_better(INPUT_NAMES, layout, row, j, span, best)) {
                    best = best_of(INPUT_NAMES, layout, row, j, span);
                    if (!IN_ORDER) value = OP(value, value_of(INPUT_NAMES, layout, row, j, j + span, best));
                    at = j;
                    behind = j + span;
                }
                j += span;
            }

            /* 2. Find the value in the span. */
            if (IN_ORDER) value = value_of(INPUT_NAMES, layout, ROW(o, at), at, max(behind, at + 1), best);
        }

        /* 3. Store; or leave the value, and the last part folds all of them in order. */
        if (parts > 1) {
            gp_leave(partials, task, value);
            if (!gp_last_done(counters + o, parts)) continue;
            value = IDENTITY;
            for (i64 part = 0; part < parts; part++) value = OP(value, gp_collect(partials, o * parts + part));
        }
        STORE(o, 0, value);
    }
}
