"""The vendors' libraries behind one contract, :mod:`gpuprims.core.driver`. Each is imported when it is asked for."""
