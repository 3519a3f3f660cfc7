from gpuprims.testing import check_primitive


def test_it_keeps_the_contract_of_primitives():
    check_primitive("adjacent_difference")
