/* Operands of gradient descent by single samples, in a given order.
 *
 * The order has stretches of equal length. Each stretch has a rate, and a factor by which an iteration keeps the
 * coefficients. */
#if WEIGHTED
#define SAMPLE(step) x4[gp_at_x4(layout, 0, 0) + (step)]
#define PACE(number) x5[gp_at_x5(layout, 0, 0) + (number)]
#else
#define SAMPLE(step) x3[gp_at_x3(layout, 0, 0) + (step)]
#define PACE(number) x4[gp_at_x4(layout, 0, 0) + (number)]
#endif
#define RATE(stretch) PACE(2 * (stretch))
#define KEEP(stretch) PACE(2 * (stretch) + 1)
#define MOVED(feature) y0[gp_at_y0(layout, 0, 0) + (feature)]
