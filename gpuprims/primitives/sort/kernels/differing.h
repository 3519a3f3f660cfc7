/* Set bit k of `unlike` if digit k of a lane's differences of keys is not zero; all lanes of a warp take part. */
DEVICE void gp_note_digits(LOCAL u32 *unlike, const element_t differing, const int lane)
{
    u32 digits = 0;
#pragma unroll
    for (int digit = 0; digit < (int)sizeof(element_t); digit++)
        digits |= gp_any_lane((differing >> (8 * digit) & 0xff) != 0) ? 1u << digit : 0;
    if (lane == 0 && digits) gp_set_bits(unlike, digits);
}
