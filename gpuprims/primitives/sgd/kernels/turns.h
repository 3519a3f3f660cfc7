/* Teams of LANES neighbouring work-items that take samples in turn: a work-item has every LANES-th feature of all samples of
 * its team, so that neighbours load from neighbouring memory. It keeps its SHARE of a sample, and of the weights that its
 * score read, in registers if they are few. Work-items beyond the ROWS teams only wait. */
#define SHARE ((FEATURES + LANES - 1) / LANES)
#define HOLDS (SHARE <= 32)

/* A work-item's share of a sample, and of the weights that its score read. */
typedef struct {
    value_t row[HOLDS ? SHARE : 1], weights[HOLDS ? SHARE : 1];
} share_t;

/* Load a work-item's share of a sample, before the weights that other teams still change. */
DEVICE void gp_load_share(GLOBAL const NUMBER *row, const int own, share_t *share)
{
#if HOLDS
#pragma unroll
    for (int k = 0; k < SHARE; k++) share->row[k] = own + k * LANES < FEATURES ? row[own + k * LANES] : 0;
#endif
}

/* A work-item's part of the score of a row. */
DEVICE value_t gp_part_of_score(GLOBAL const NUMBER *row, GLOBAL const NUMBER *weights, const int own, share_t *share)
{
    value_t sum = 0;
#if HOLDS
#pragma unroll
    for (int k = 0; k < SHARE; k++) {
        share->weights[k] = own + k * LANES < FEATURES ? weights[own + k * LANES] : 0;
        sum += share->row[k] * share->weights[k];
    }
#else
    for (int feature = own; feature < FEATURES; feature += LANES) sum += row[feature] * weights[feature];
#endif
    return sum;
}

/* Change a work-item's weights by a row. */
DEVICE void gp_change_part(GLOBAL const NUMBER *row, GLOBAL NUMBER *weights, const int own, const value_t keep,
                           const value_t move, const share_t *share)
{
#if HOLDS
#pragma unroll
    for (int k = 0; k < SHARE; k++)
        if (own + k * LANES < FEATURES) weights[own + k * LANES] = keep * share->weights[k] - move * share->row[k];
#else
    for (int feature = own; feature < FEATURES; feature += LANES)
        weights[feature] = keep * weights[feature] - move * row[feature];
#endif
}
