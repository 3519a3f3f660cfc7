"""The commands of ``gpuprims``, a module each."""
