/* How kernels of logistic regression read their samples and pass values between work-items, the same in both dialects. */
#define SAMPLES(row) (x0 + gp_at_x0(layout, 0, 0) + (row) * FEATURES)
#define LABEL(row) x1[gp_at_x1(layout, 0, 0) + (row)]
#define WEIGHT(feature) x2[gp_at_x2(layout, 0, 0) + (feature)]
#if INTERCEPT
#define START WEIGHT(FEATURES)
#else
#define START 0
#endif
#if WEIGHTED
#define SHARE(row) x3[gp_at_x3(layout, 0, 0) + (row)]
#else
#define SHARE(row) 1
#endif

/* What kernels that step have beside: what part of a coefficient a step takes off, and the rate of its steps. */
#if WEIGHTED
#define RATES(number) x4[gp_at_x4(layout, 0, 0) + (number)]
#else
#define RATES(number) x3[gp_at_x3(layout, 0, 0) + (number)]
#endif
#define DECAY RATES(0)
#define RATE RATES(1)
#define STORE_WEIGHT(feature, value) y0[gp_at_y0(layout, 0, 0) + (feature)] = value

/* VECTOR neighbours of a row, in one load. */
#if VECTOR > 1
#define READ_SAMPLES(from, to) READ_VECTOR(NUMBER, VECTOR, from, to)
#else
#define READ_SAMPLES(from, to) (to)[0] = *(from)
#endif

/* The value of one of the LANES work-items that share a row, for all of them. */
DEVICE value_t from_lane(const value_t value, const int lane, LOCAL value_t *partial, const int tid)
{
#if LANES == 1
    return value;
#elif LANES <= WARP
    return gp_shuffle_from(value, tid % WARP / LANES * LANES + lane);
#else
    partial[tid] = value;
    BARRIER();
    const value_t taken = partial[tid / LANES * LANES + lane];
    BARRIER();
    return taken;
#endif
}

/* Add to a weight what may be smaller than its rounding; the rest that was rounded off is kept for the next time. */
DEVICE void change_weight(value_t *weight, value_t *rest, const value_t change)
{
    const value_t all = *rest + change, changed = *weight + all;
    *rest = (*weight - changed) + all;
    *weight = changed;
}
