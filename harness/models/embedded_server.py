"""The process that serves the embedded model; run as a script with the model's path.

It prints `READY <address>` and serves until its standard input closes, which happens when its
parent ends, however it ends.
"""

import argparse
import sys

CONTEXT_TOKENS = 4096
CACHE_MIB = 64


def main(argv: list[str]) -> None:
    """Serve a GGUF model, with an adapter or bare, with one thread and one slot."""
    import xllamacpp

    parser = argparse.ArgumentParser(description="Serve a GGUF model on a free local port.")
    parser.add_argument("model")
    parser.add_argument("--adapter")
    given = parser.parse_args(argv)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = given.model
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.warmup = False
    parameters.cache_ram_mib = CACHE_MIB
    parameters.port = 0
    if given.adapter:
        parameters.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(given.adapter, 1.0)]
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f"READY {server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1:])
