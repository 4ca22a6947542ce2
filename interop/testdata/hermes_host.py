"""A small host for the published Hermes plugin of StageWhisper.

It stands in for the modules of Hermes that the plugin asks for its model, and runs the
plugin's pairing or its relay service. The model is a rule: it quotes the prompt.

Usage: hermes_host.py pair <code> <api url>
       hermes_host.py serve
"""

import asyncio
import json
import logging
import sys
import types


class Completions:
    """Answers like a chat completions endpoint."""

    async def create(self, *, model, messages, **_):
        last = messages[-1]["content"]
        wants_json = any("JSON Schema" in m["content"] for m in messages)
        if wants_json:
            prompt = json.loads(last).get("user_prompt", "")
            signal = {"severity": "green", "message": f"about: {prompt}"}
            text = json.dumps({"signals": [signal], "no_signal_reason": ""})
        else:
            text = f"heard: {last}"
        return {
            "id": "chat-1",
            "model": model,
            "usage": {"prompt_tokens": 1, "completion_tokens": 2},
            "choices": [{"message": {"content": text}}],
        }


class Response(dict):
    """A dictionary whose keys are attributes as well, as clients of vendors have it."""

    __getattr__ = dict.get


class Client:
    def __init__(self):
        rules = Completions()

        async def create(**kwargs):
            return Response(await rules.create(**kwargs))

        self.chat = types.SimpleNamespace(completions=types.SimpleNamespace(create=create))


def stand_in(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module


def install_host():
    stand_in("agent")
    stand_in("agent.auxiliary_client", resolve_provider_client=lambda **_: (Client(), "rule-based"))
    stand_in("hermes_cli")
    stand_in("hermes_cli.config", load_config=lambda: {"model": {"provider": "rule", "default": "rule-based"}})
    stand_in("hermes_cli.runtime_provider", resolve_runtime_provider=lambda **_: {"provider": "rule"})


async def serve():
    import hermes_stagewhisper_plugin.config  # noqa: F401  reads what pairing has kept
    from hermes_stagewhisper_plugin.relay.service import relay_service

    await relay_service.start()
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await relay_service.stop()


def main():
    logging.basicConfig(level=logging.INFO)
    install_host()
    if sys.argv[1] == "pair":
        from hermes_stagewhisper_plugin.tools import stagewhisper_pair

        answer = json.loads(stagewhisper_pair(sys.argv[2], "published plugin", sys.argv[3]))
        print(answer.get("error", "paired"))
        sys.exit("error" in answer)
    asyncio.run(serve())


main()
