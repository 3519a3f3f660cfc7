from gpuprims.testing import check_variant


def test_it_computes_what_numpy_does():
    check_variant("opencl map/single_task")
