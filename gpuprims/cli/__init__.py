"""The commands of ``gpuprims``, one module each."""
