"""The vendors' libraries behind one contract, :mod:`gpuprims.driver`. Each is imported when it is asked for."""
