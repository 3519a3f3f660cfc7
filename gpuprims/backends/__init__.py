"""The vendors' libraries behind one contract, :mod:`gpuprims.driver`. Nothing here is imported before it is asked for."""
