/* Values by the integers of order.h, and picks: the integer of an element together with its place, so that all differ. */
DEVICE order_t gp_order(const value_t value)
{
    return gp_order_of_raw((order_t)(ORDER_RAW(value)) & ORDER_MASK);
}

/* The order by which elements are taken, the highest first: the largest, or the smallest. */
DEVICE order_t gp_rank_order(const value_t value)
{
#if LARGEST
    return gp_order(value);
#else
    return ~gp_order(value) & ORDER_MASK;
#endif
}

/* A pick has the order of an element and the number of elements behind it in its row. So of equal elements the first has the
 * largest pick. */
#if FAR
typedef struct {
    u64 order, behind;
} pick_t;

DEVICE pick_t gp_pick(const order_t order, const i64 behind)
{
    pick_t pick;
    pick.order = order;
    pick.behind = (u64)behind;
    return pick;
}

DEVICE int gp_beats(const pick_t a, const pick_t b)
{
    return (a.order > b.order) | ((a.order == b.order) & (a.behind > b.behind));
}

#define ORDER_OF(pick) ((order_t)(pick).order)
#define BEHIND_OF(pick) ((i64)(pick).behind)
#else
typedef u64 pick_t;
#define gp_pick(order, behind) ((u64)(order) << 32 | (u32)(behind))
#define gp_beats(a, b) ((a) > (b))
#define ORDER_OF(pick) ((order_t)((pick) >> 32))
#define BEHIND_OF(pick) ((i64)((pick) & 0xffffffffu))
#endif

/* Rows: the element at place `i` of row `o`, of `ROW_SIZE(o)`. */
#if SEGMENTED
#define ROW_FIRST(o) ((i64)x1[gp_at_x1(layout, o, 0)])
#define ROW_SIZE(o) ((i64)x1[gp_at_x1(layout, (o) + 1, 0)] - ROW_FIRST(o))
#else
#define ROW_FIRST(o) ((i64)0)
#define ROW_SIZE(o) n
#endif
