from gpuprims.testing import check_backend


def test_it_keeps_the_contract_of_backends():
    assert check_backend("abacus") == {}
