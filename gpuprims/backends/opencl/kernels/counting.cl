/* How groups add in memory that they share, and the local memory that a launch gives them.
 *
 * An atomic of OpenCL 1.2 takes pointers to local and to global memory alike; what is made of several is written for both.
 */
#define LOCAL_PARAMETER , LOCAL u64 *gp_dynamic
#define LOCAL_MEMORY(type, name) LOCAL type *name = (LOCAL type *)gp_dynamic

/* Not by fabs, for which Intel's compiler gives up to find the bins of many elements at once. */
#define gp_magnitude(number) as_float(as_uint(number) & 0x7FFFFFFFu)
#define gp_increment(place) atomic_inc(place)
#define gp_add_count(place, number) atomic_add(place, number)

#if (WIDE || MERGED) && defined(cl_khr_int64_base_atomics)
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define gp_add_integer(place, number) atom_add(place, number)
#if SUMS_FLOATS
#define GP_ADD_FLOAT(name, SPACE)                                                                                      \
    DEVICE void name(SPACE bin_t *place, const bin_t number)                                                           \
    {                                                                                                                  \
        SPACE long *bits = (SPACE long *)place;                                                                        \
        long expected, seen = 0;                                                                                       \
        do {                                                                                                           \
            expected = seen;                                                                                           \
            seen = atom_cmpxchg(bits, expected, as_long(as_double(expected) + number));                                \
        } while (seen != expected);                                                                                    \
    }
GP_ADD_FLOAT(gp_add_float_locally, LOCAL)
GP_ADD_FLOAT(gp_add_float_globally, GLOBAL)
#endif
#endif
#define gp_take_place(slot, free, place) atomic_cmpxchg(slot, free, place)
