/* Folds of up to eight lanes of the fixed tree (fixed_trees.py) by halves, for devices whose work-items are CPU threads: E(k) is
 * lane k of them, and those half as many apart fold first. */
#define HALVES_1(E) E(0)
#define HALVES_2(E) OP(E(0), E(1))
#define HALVES_3(E) OP(OP(E(0), E(2)), E(1))
#define HALVES_4(E) OP(OP(E(0), E(2)), OP(E(1), E(3)))
#define HALVES_5(E) OP(OP(OP(E(0), E(4)), E(2)), OP(E(1), E(3)))
#define HALVES_6(E) OP(OP(OP(E(0), E(4)), E(2)), OP(OP(E(1), E(5)), E(3)))
#define HALVES_7(E) OP(OP(OP(E(0), E(4)), OP(E(2), E(6))), OP(OP(E(1), E(5)), E(3)))
#define HALVES_8(E) OP(OP(OP(E(0), E(4)), OP(E(2), E(6))), OP(OP(E(1), E(5)), OP(E(3), E(7))))
