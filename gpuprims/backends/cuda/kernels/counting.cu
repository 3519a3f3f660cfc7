/* How groups add in memory that they share, and the local memory that a launch gives them. */
#define LOCAL_PARAMETER
#define LOCAL_MEMORY(type, name)                                                                                       \
    extern __shared__ u64 gp_dynamic[];                                                                                \
    type *name = reinterpret_cast<type *>(gp_dynamic)

#define gp_magnitude(number) fabsf(number)
#define gp_increment(place) atomicAdd(place, 1u)
#define gp_add_count(place, number) atomicAdd(place, number)
#define gp_add_integer(place, number) atomicAdd(reinterpret_cast<u64 *>(place), (u64)(number))
#define gp_add_float_locally(place, number) atomicAdd(place, number)
#define gp_add_float_globally(place, number) atomicAdd(place, number)
#define gp_take_place(slot, free, place) atomicCAS(slot, free, place)
