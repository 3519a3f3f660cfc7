/* Teams of LANES neighbouring work-items that take samples in turn: a work-item has the same features of all samples of
 * its team, the next SHARE ones after those of the work-item before. Work-items beyond the ROWS teams only wait. */
#define SHARE ((FEATURES + LANES - 1) / LANES)
#define FIRST(own) ((own) * SHARE)
#define LAST(own) (FIRST((own) + 1) < FEATURES ? FIRST((own) + 1) : FEATURES)

/* A work-item's part of the score of a row. */
DEVICE value_t gp_part_of_score(GLOBAL const NUMBER *row, GLOBAL const NUMBER *weights, const int own)
{
    value_t sum = 0;
    for (int feature = FIRST(own); feature < LAST(own); feature++) sum += row[feature] * weights[feature];
    return sum;
}

/* Change a work-item's weights by a row. */
DEVICE void gp_change_part(GLOBAL const NUMBER *row, GLOBAL NUMBER *weights, const int own, const value_t keep,
                           const value_t move)
{
    for (int feature = FIRST(own); feature < LAST(own); feature++)
        weights[feature] = keep * weights[feature] - move * row[feature];
}
