/* How groups add in memory that they share, and the local memory that a launch gives them. */
#define LOCAL_PARAMETER
#define GLOBAL_BARRIER() __syncthreads()
#define LOCAL_HISTOGRAM(name)                                                                                          \
    extern __shared__ u64 gp_dynamic[];                                                                                \
    bin_t *name = reinterpret_cast<bin_t *>(gp_dynamic)
#define LOCAL_WORDS(name)                                                                                              \
    extern __shared__ u64 gp_dynamic[];                                                                                \
    u32 *name = reinterpret_cast<u32 *>(gp_dynamic)

#define gp_magnitude(number) fabsf(number)
#define gp_increment(place) atomicAdd(place, 1u)
#define gp_raise(place, number) atomicMax(place, number)
#define gp_add_count(place, number) atomicAdd(place, number)
#define gp_add_integer(place, number) atomicAdd(reinterpret_cast<u64 *>(place), (u64)(number))
#define gp_add_float_locally(place, number) atomicAdd(place, number)
#define gp_add_float_globally(place, number) atomicAdd(place, number)
#define gp_take_place(slot, free, place) atomicCAS(slot, free, place)
#define gp_count_bits(word) __popc(word)
